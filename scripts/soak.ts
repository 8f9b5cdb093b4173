/**
 * `npm run soak`: a million signed calls and some thousand grants to one standalone server whose clock moves on in between, so that nonces
 * and tokens come to their end; its memory must stay flat. Argument: the number of calls.
 */
import { execFileSync } from 'node:child_process'
import { sendAll } from './bench/load.ts'
import { type Started, startScript } from './bench/processes.ts'
import { grantRequests, signedRequests } from './bench/requests.ts'

const calls = Number(process.argv[2] ?? 1_000_000)
const rounds = 50
const grantsPerRound = 200
/** So that 7 days, the life of a refresh token, pass more than once. */
const roundMs = 6 * 60 * 60_000
/** Memory in the last quarter against that in the second one. */
const allowedGrowth = 1.25
const root = { id: 'soak', secret: 'not-a-secret-0001' }

const serveArgs = ['serve', '--control', '--virtual-clock', '--key-id', root.id, '--key-secret', root.secret]
// With a small heap garbage does not hide what is kept.
const server = await startScript(new URL('../suites/bin.js', import.meta.url).href, serveArgs, [
  '--max-old-space-size=96',
])
const memory: number[] = []
const begun = performance.now()
for (let round = 1; round <= rounds; round++) {
  const nowMs = await advance(server, roundMs)
  await sendAll(server.port, grantRequests(root, grantsPerRound), 4)
  await sendAll(server.port, signedRequests(root, Math.ceil(calls / rounds), nowMs), 16)
  memory.push(residentMiB(server))
  if (round % 5 === 0) {
    const done = Math.round((calls / rounds) * round).toLocaleString('en')
    process.stdout.write(`${done.padStart(9)} calls   ${memory.at(-1)?.toFixed(0)} MiB\n`)
  }
}
await server.stop()

const quarter = Math.floor(rounds / 4)
const [early, late] = [median(memory.slice(quarter, 2 * quarter)), median(memory.slice(-quarter))]
const seconds = ((performance.now() - begun) / 1000).toFixed(0)
process.stdout.write(
  `${calls.toLocaleString('en')} signed calls and ${rounds * grantsPerRound} grants in ${seconds} s: ` +
    `${early.toFixed(0)} MiB in the second quarter, ${late.toFixed(0)} MiB in the last (wanted: at most ${allowedGrowth} times as much)\n`,
)
process.exitCode = late <= early * allowedGrowth ? 0 : 1

/** Moves the server's clock; gives its new time. */
async function advance({ line }: Started, ms: number): Promise<number> {
  const { controlUrl, controlToken } = JSON.parse(line)
  const answer = await fetch(`${controlUrl}/clock/advance`, {
    method: 'POST',
    headers: { authorization: `Bearer ${controlToken}` },
    body: JSON.stringify({ ms }),
  })
  const { nowMs } = (await answer.json()) as { nowMs: number }
  return nowMs
}

function residentMiB({ process: { pid } }: Started): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
