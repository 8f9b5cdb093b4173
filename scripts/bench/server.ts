/** How fast the standalone server is, compared with a bare node:http server that checks the same signature; both are separate processes. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtBin } from '../../suites/self/printed-by.ts'
import { inTurns, type LoadResult, type Signer, signedRequests, type Turn } from './load.ts'
import { type Figure, figureBeside, type Measure, medianRatio } from './measure.ts'
import { benchKey, type Started, startScript, startServer } from './processes.ts'

const bareServer = fileURLToPath(new URL('./bare-server.js', import.meta.url))
const callsATurn = 20_000
/** Over a longer turn, used nonces are forgotten and memory is collected: what stays hidden in a short one. */
const longTurn = { connections: 32, calls: 100_000 }

const hmac: Compared = {
  name: 'HMAC',
  signer: benchKey,
  bareArgs: ['hmac', benchKey.secret],
  start: startServer,
}

const hmacMeasure: Measure = { id: 'server-hmac', run: (turns) => besideBare(hmac, turns) }

const longHmacMeasure: Measure = {
  id: 'server-hmac-long',
  run: (turns) => besideBare({ ...hmac, name: 'HMAC, long turns,', load: longTurn }, turns),
}

const eccMeasure: Measure = {
  id: 'server-ecc',
  async run(turns) {
    const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const pemFile = join(folder, 'public.pem')
    writeFileSync(pemFile, pem)
    try {
      const signer = { id: 'bench', privateKey }
      const serveArgs = ['serve', '--key-id', 'bench', '--public-key', pemFile]
      return await besideBare(
        { name: 'ECC', signer, bareArgs: ['ecc', pem], start: () => startScript(builtBin, serveArgs) },
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
  start(): Promise<Started>
  load?: Load
}

interface Load {
  connections: number
  calls: number
}

const usualLoad: Load = { connections: 16, calls: callsATurn }

async function besideBare(compared: Compared, turns: number): Promise<Figure[]> {
  const { name, signer, bareArgs, start, load = usualLoad } = compared
  const count = 'secret' in signer ? load.calls : load.calls / 4
  const [bare, ours] = [await startScript(bareServer, bareArgs), await start()]
  const { connections } = load
  const requests = () => signedRequests(signer, count)
  const { one, other } = await inTurns({ one: bare, other: ours }, { turns, connections, requests })
  await Promise.all([bare.stop(), ours.stop()])
  const of = (results: readonly Turn[], member: keyof LoadResult): number[] => results.map((result) => result[member])
  const figure = (what: string, member: keyof LoadResult, unit: Figure['unit'], wanted: Figure['wanted']): Figure =>
    figureBeside(
      { name: `${name} signed calls, ${what}`, values: of(other, member) },
      { name: 'bare node:http', values: of(one, member) },
      unit,
      wanted,
    )
  return [
    figure(`over ${connections} connections`, 'callsPerSecond', 'calls/s', { ratioAtLeast: 0.9 }),
    figure('99th percentile of an answer', 'p99Ms', 'ms', { ratioAtMost: 1.1 }),
  ]
}

const journalTurns = 9

/** CPU time, not elapsed time, so that other work of the machine does not count. */
const journalMeasure: Measure = {
  id: 'journal',
  async run() {
    const sides = { one: await startServer('--journal', '0'), other: await startServer('--journal', '1000') }
    const { one, other } = await inTurns(sides, {
      turns: journalTurns,
      connections: usualLoad.connections,
      requests: () => signedRequests(benchKey, callsATurn / 2),
    })
    await Promise.all([sides.one.stop(), sides.other.stop()])
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

export const serverMeasures: readonly Measure[] = [hmacMeasure, longHmacMeasure, eccMeasure, journalMeasure]
