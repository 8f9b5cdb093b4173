/**
 * `npm run bench`: signed calls a second of the standalone server beside a bare node:http server that checks the same signature, both as
 * processes of their own, turn by turn in one run; the ratio is the median over the turns. Then the start of the server and a whole
 * bundled run. Arguments: calls per turn, turns.
 */
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../suites/engine/fixture/package-root.ts'
import { type LoadResult, sendAll } from './bench/load.ts'
import { startScript } from './bench/processes.ts'
import { type Signer, signedRequests } from './bench/requests.ts'

const calls = Number(process.argv[2] ?? 20_000)
const turns = Number(process.argv[3] ?? 5)
const connections = 16
/** They do not count: code runs slowly until it was run often. */
const warmUpTurns = 2
const wanted = 0.75
const wantedRunSeconds = 2.5
const script = (name: string) => new URL(name, import.meta.url).href

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
const pemFile = join(folder, 'public.pem')
writeFileSync(pemFile, pem)

process.stdout.write(`Node ${process.version}, ${turns} turns of ${calls} calls over ${connections} connections\n\n`)
const good = [
  await compare(
    'HMAC',
    { id: 'bench', secret: 'not-a-secret-0001' },
    ['hmac', 'not-a-secret-0001'],
    ['--key-secret', 'not-a-secret-0001'],
  ),
  await compare('ECC', { id: 'bench', privateKey }, ['ecc', pem], ['--public-key', pemFile]),
  await measureStart(),
  measureRun(),
]
rmSync(folder, { recursive: true })
process.exitCode = good.every(Boolean) ? 0 : 1

async function compare(name: string, signer: Signer, bareArgs: string[], serveArgs: string[]): Promise<boolean> {
  const bare = await startScript(script('./bench/bare-server.js'), bareArgs)
  const ours = await startScript(script('../suites/bin.js'), ['serve', '--key-id', 'bench', ...serveArgs])
  const results: { bare: LoadResult[]; ours: LoadResult[] } = { bare: [], ours: [] }
  const sides = { bare, ours }
  const count = 'secret' in signer ? calls : Math.ceil(calls / 4)
  for (let turn = -warmUpTurns; turn < turns; turn++) {
    for (const side of turn % 2 === 0 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const)) {
      const result = await sendAll(sides[side].port, signedRequests(signer, count), connections)
      if (turn >= 0) results[side].push(result)
    }
  }
  await Promise.all([bare.stop(), ours.stop()])
  print(`${name}, bare node:http`, results.bare)
  print(`${name}, svc-conformance serve`, results.ours)
  // Both sides of a turn met the same load of the machine; the medians of each side need not have.
  const ratio = median(
    results.ours.map((ours, turn) => ours.callsPerSecond / (results.bare[turn]?.callsPerSecond ?? 1)),
  )
  process.stdout.write(`${name} ratio ${ratio.toFixed(2)} (wanted: at least ${wanted})\n\n`)
  return ratio >= wanted
}

/** From the start of the process to its first answer. */
async function measureStart(): Promise<boolean> {
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const begun = performance.now()
    const server = await startScript(script('../suites/bin.js'), ['serve'])
    await (await fetch(`http://127.0.0.1:${server.port}/api`, { method: 'POST', body: '{}' })).text()
    times.push(performance.now() - begun)
    await server.stop()
  }
  const middle = median(times)
  process.stdout.write(`Start to first answer ${middle.toFixed(0)} ms (wanted: at most 250)\n`)
  return middle <= 250
}

/** A whole run against the bundled server, from the start of the process to its end, as users have it built. */
function measureRun(): boolean {
  const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const begun = performance.now()
    const { status } = spawnSync(process.execPath, [bin, 'run'], { stdio: 'ignore' })
    if (status !== 0) throw new Error(`a bundled run ended with ${status}`)
    times.push((performance.now() - begun) / 1000)
  }
  const middle = median(times)
  process.stdout.write(`Bundled run, all cases ${middle.toFixed(2)} s (wanted: at most ${wantedRunSeconds})\n`)
  return middle <= wantedRunSeconds
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function print(name: string, results: readonly LoadResult[]): void {
  const of = (member: keyof LoadResult) => median(results.map((result) => result[member]))
  const rate = Math.round(of('callsPerSecond')).toLocaleString('en').padStart(8)
  const latency = `p50 ${of('p50Ms').toFixed(2)} ms   p99 ${of('p99Ms').toFixed(2)} ms`
  process.stdout.write(`${name.padEnd(32)} ${rate} calls/s   ${latency}\n`)
}
