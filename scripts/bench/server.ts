/** How fast the standalone server is, compared with a bare node:http server that checks the same signature; both are separate processes. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Figure, figureBeside, type Measure, medianRatio } from './measure.ts'
import { type LoadResult, type Signer, sendAll, signedRequests, startScript } from './processes.ts'

const script = (name: string): string => new URL(name, import.meta.url).href
const serve = script('../../suites/bin.js')
const callsATurn = 20_000
/** Over a longer turn, used nonces are forgotten and memory is collected: what stays hidden in a short one. */
const longTurn = { connections: 32, calls: 100_000 }
/** Not measured: code runs slowly until it has run often. */
const warmUpTurns = 2
const secret = 'not-a-secret-0001'

interface Side {
  file: string
  args: string[]
}

const hmac: Compared = {
  name: 'HMAC',
  signer: { id: 'bench', secret },
  bareArgs: ['hmac', secret],
  serveArgs: ['--key-secret', secret],
}

export const hmacMeasure: Measure = { id: 'server-hmac', run: (turns) => besideBare(hmac, turns) }

export const longHmacMeasure: Measure = {
  id: 'server-hmac-long',
  run: (turns) => besideBare({ ...hmac, name: 'HMAC, long turns,', load: longTurn }, turns),
}

export const eccMeasure: Measure = {
  id: 'server-ecc',
  async run(turns) {
    const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const pemFile = join(folder, 'public.pem')
    writeFileSync(pemFile, pem)
    try {
      const signer = { id: 'bench', privateKey }
      return await besideBare(
        { name: 'ECC', signer, bareArgs: ['ecc', pem], serveArgs: ['--public-key', pemFile] },
        turns,
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

interface Compared {
  name: string
  signer: Signer
  bareArgs: string[]
  serveArgs: string[]
  load?: Load
}

interface Load {
  connections: number
  calls: number
}

const usualLoad: Load = { connections: 16, calls: callsATurn }

async function besideBare(compared: Compared, turns: number): Promise<Figure[]> {
  const { name, signer, bareArgs, serveArgs, load = usualLoad } = compared
  const count = 'secret' in signer ? load.calls : load.calls / 4
  const ours = { file: serve, args: ['serve', '--key-id', 'bench', ...serveArgs] }
  const bare = { file: script('./bare-server.js'), args: bareArgs }
  const { one, other } = await inTurns(bare, ours, turns, load.connections, () => signedRequests(signer, count))
  const of = (results: readonly Turn[], member: keyof LoadResult): number[] => results.map((result) => result[member])
  const figure = (what: string, member: keyof LoadResult, unit: Figure['unit'], wanted: Figure['wanted']): Figure =>
    figureBeside(
      { name: `${name} signed calls, ${what}`, values: of(other, member) },
      { name: 'bare node:http', values: of(one, member) },
      unit,
      wanted,
    )
  return [
    figure(`over ${load.connections} connections`, 'callsPerSecond', 'calls/s', { ratioAtLeast: 0.9 }),
    figure('99th percentile of an answer', 'p99Ms', 'ms', { ratioAtMost: 1.1 }),
  ]
}

const journalTurns = 9

/** CPU time, not elapsed time, so that other work of the machine does not count. */
export const journalMeasure: Measure = {
  id: 'journal',
  async run() {
    const server = (calls: number): Side => ({
      file: serve,
      args: ['serve', '--key-id', 'bench', '--key-secret', secret, '--journal', String(calls)],
    })
    const { one, other } = await inTurns(server(0), server(1000), journalTurns, usualLoad.connections, () =>
      signedRequests({ id: 'bench', secret }, callsATurn / 2),
    )
    const ratio = medianRatio(
      other.map(({ cpuMs }) => cpuMs),
      one.map(({ cpuMs }) => cpuMs),
    )
    const value = (ratio - 1) * 100
    return [
      {
        name: 'CPU time that a journal of 1,000 calls adds',
        value,
        unit: '%',
        runs: journalTurns,
        wanted: { atMost: 5 },
      },
    ]
  },
}

interface Turn extends LoadResult {
  cpuMs: number
}

// biome-ignore lint/complexity/useMaxParams: two sides, and how they are asked
async function inTurns(
  oneSide: Side,
  otherSide: Side,
  turns: number,
  connections: number,
  requests: () => Buffer[],
): Promise<{ one: Turn[]; other: Turn[] }> {
  const started = {
    one: await startScript(oneSide.file, oneSide.args),
    other: await startScript(otherSide.file, otherSide.args),
  }
  const results: { one: Turn[]; other: Turn[] } = { one: [], other: [] }
  for (let turn = -warmUpTurns; turn < turns; turn += 1) {
    for (const side of turn % 2 === 0 ? (['one', 'other'] as const) : (['other', 'one'] as const)) {
      const before = started[side].cpuMs()
      const result = await sendAll(started[side].port, requests(), connections)
      if (turn >= 0) results[side].push({ ...result, cpuMs: started[side].cpuMs() - before })
    }
  }
  await Promise.all([started.one.stop(), started.other.stop()])
  return results
}
