/** How fast the standalone server is, compared with a bare node:http server that checks the same signature; both are separate processes. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Figure, type Measure, median, medianRatio } from './measure.ts'
import { type LoadResult, type Signer, sendAll, signedRequests, startScript } from './processes.ts'

const script = (name: string): string => new URL(name, import.meta.url).href
const serve = script('../../suites/bin.js')
const connections = 16
const callsATurn = 20_000
/** Not measured: code runs slowly until it has run often. */
const warmUpTurns = 2
const secret = 'not-a-secret-0001'

interface Side {
  file: string
  args: string[]
}

export const hmacMeasure: Measure = {
  id: 'server-hmac',
  run: (turns) =>
    besideBare(
      {
        name: 'HMAC',
        signer: { id: 'bench', secret },
        bareArgs: ['hmac', secret],
        serveArgs: ['--key-secret', secret],
      },
      turns,
    ),
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
}

async function besideBare({ name, signer, bareArgs, serveArgs }: Compared, turns: number): Promise<Figure[]> {
  const count = 'secret' in signer ? callsATurn : callsATurn / 4
  const ours = { file: serve, args: ['serve', '--key-id', 'bench', ...serveArgs] }
  const { one, other } = await inTurns({ file: script('./bare-server.js'), args: bareArgs }, ours, turns, () =>
    signedRequests(signer, count),
  )
  const of = (results: readonly Turn[], member: keyof LoadResult): number[] => results.map((result) => result[member])
  const figure = (what: string, member: keyof LoadResult, unit: Figure['unit'], wanted: Figure['wanted']): Figure => ({
    name: `${name} signed calls, ${what}`,
    value: median(of(other, member)),
    unit,
    runs: turns,
    reference: { name: 'bare node:http', value: median(of(one, member)) },
    ratio: medianRatio(of(other, member), of(one, member)),
    wanted,
  })
  return [
    figure('over 16 connections', 'callsPerSecond', 'calls/s', { ratioAtLeast: 0.9 }),
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
    const { one, other } = await inTurns(server(0), server(1000), journalTurns, () =>
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

async function inTurns(
  oneSide: Side,
  otherSide: Side,
  turns: number,
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
