/**
 * `npm run soak`: a million signed calls and some thousand grants to one standalone server whose clock moves on in between, until nonces
 * and tokens expire; then callers that try to exhaust a server. Its memory must stay flat.
 *
 *     npm run soak [-- CALLS]     the number of calls; 0 leaves only the hostile callers
 */
import { execFileSync } from 'node:child_process'
import { sendAll } from './bench/load.ts'
import { type Started, startScript } from './bench/processes.ts'
import { basicRequest, grantRequests, signedRequests } from './bench/requests.ts'
import { hostileCallers } from './soak/callers.ts'

const calls = Number(process.argv[2] ?? 1_000_000)
const rounds = 50
const grantsPerRound = 200
/** Makes 7 days, the lifetime of a refresh token, pass more than once. */
const roundMs = 6 * 60 * 60_000
/** The maximum ratio of the memory in the last quarter to that in the second one. */
const allowedGrowth = 1.25
/** How much an idle server grows with its first calls. In MiB. */
const warmUpMiB = 32
/** The most memory of the server under attack. */
const mostMiB = 400
const root = { id: 'soak', secret: 'not-a-secret-0001' }

const serveArgs = ['serve', '--key-id', root.id, '--key-secret', root.secret]
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const isFlat = [calls === 0 || (await soakWithCalls()), await soakWithCallers()]
process.exitCode = isFlat.every(Boolean) ? 0 : 1

/** With a small heap garbage does not hide what is kept. */
function startServer(...more: string[]): Promise<Started> {
  return startScript(
    new URL('../suites/bin.js', import.meta.url).href,
    [...serveArgs, ...more],
    ['--max-old-space-size=96'],
  )
}

async function soakWithCalls(): Promise<boolean> {
  const server = await startServer('--control', '--virtual-clock')
  const memory: number[] = []
  const begun = performance.now()
  for (let round = 1; round <= rounds; round++) {
    const nowMs = await advance(server, roundMs)
    await sendAll(server.port, grantRequests(root, grantsPerRound), 4)
    await sendAll(server.port, signedRequests(root, Math.ceil(calls / rounds), nowMs), 16)
    memory.push(residentMiB(server))
    if (round % 5 === 0) {
      const done = Math.round((calls / rounds) * round).toLocaleString('en')
      print(`${done.padStart(9)} calls   ${memory.at(-1)?.toFixed(0)} MiB`)
    }
  }
  await server.stop()
  const quarter = Math.floor(rounds / 4)
  const [early, late] = [median(memory.slice(quarter, 2 * quarter)), median(memory.slice(-quarter))]
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  print(
    `${calls.toLocaleString('en')} signed calls and ${rounds * grantsPerRound} grants in ${seconds} s: ` +
      `${early.toFixed(0)} MiB in the second quarter, ${late.toFixed(0)} MiB in the last (wanted: at most ${allowedGrowth} times as much)`,
  )
  return late <= early * allowedGrowth
}

/** Each kind of caller attacks three times: the memory after the third round against that after the first. */
async function soakWithCallers(): Promise<boolean> {
  const server = await startServer()
  const request = basicRequest(root)
  let isFlat = true
  for (const { name, attack } of hostileCallers) {
    const peaks: number[] = []
    const after: number[] = []
    let outcome = ''
    for (let round = 0; round < 3; round += 1) {
      let peak = 0
      const watch = setInterval(() => {
        peak = Math.max(peak, residentMiB(server))
      }, 250)
      outcome = await attack(server.port, request)
      clearInterval(watch)
      await new Promise((resolve) => setTimeout(resolve, 500))
      peaks.push(peak)
      after.push(residentMiB(server))
    }
    const [first = 0, , last = 0] = after
    const peak = Math.max(...peaks)
    const grows = last > Math.max(first * allowedGrowth, first + warmUpMiB) || peak > mostMiB
    if (grows) isFlat = false
    print(
      `${grows ? '✗' : '✓'} ${name}: ${outcome}; at most ${peak.toFixed(0)} MiB, after each round ${after.map((one) => one.toFixed(0)).join(', ')} MiB`,
    )
  }
  await server.stop()
  return isFlat
}

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
