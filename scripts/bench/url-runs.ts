/** How long runs against a URL take, near and far, from the start of the process to its end. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startDelayingProxy } from './delaying-proxy.ts'
import { sendAll } from './load.ts'
import { type Measure, median, medianRatio } from './measure.ts'
import { startScript } from './processes.ts'
import { basicRequest } from './requests.ts'
import { bin, emptyTest, emptyTestSeconds, seconds } from './times.ts'

const rootKey = { id: 'bench', secret: 'not-a-secret-0001' }

interface UrlRun {
  id: string
  name: string
  roundTripMs: number
  args: string[]
  atMost?: number
  /** How many runs are made at the same time: one against a distant server mostly waits. */
  atOnce: number
}

/** The model is measured apart. */
const disposable = ['--disposable', '--no-explore']

const urlRuns: readonly UrlRun[] = [
  {
    id: 'loopback',
    name: 'The cases of a disposable run, on the loopback',
    roundTripMs: 0,
    args: disposable,
    atMost: 6,
    atOnce: 1,
  },
  {
    id: 'loopback-model',
    name: 'A disposable run on the loopback, with the model',
    roundTripMs: 0,
    args: ['--disposable'],
    atOnce: 1,
  },
  { id: 'without-allow', name: 'Without --allow, 100 ms away', roundTripMs: 100, args: [], atMost: 8, atOnce: 1 },
  {
    id: 'far-100',
    name: 'The cases of a disposable run, 100 ms away',
    roundTripMs: 100,
    args: disposable,
    atMost: 60,
    atOnce: 2,
  },
  {
    id: 'far-300',
    name: 'The cases of a disposable run, 300 ms away',
    roundTripMs: 300,
    args: disposable,
    atMost: 150,
    atOnce: 5,
  },
]

/** Runs that are made at the same time start one after another, because the start needs a whole core. */
const apartMs = 2000

export const urlMeasures: readonly Measure[] = urlRuns.map(({ id, name, roundTripMs, args, atMost, atOnce }) => ({
  id,
  async run(turns) {
    const results: UrlTurn[] = []
    while (results.length < turns) {
      const batch = Array.from({ length: Math.min(atOnce, turns - results.length) }, async (_, index) => {
        await setTimeout(index * apartMs)
        return urlTurn(roundTripMs, args)
      })
      results.push(...(await Promise.all(batch)))
    }
    const times = results.map(({ runSeconds }) => runSeconds)
    const references = results.map(({ referenceSeconds }) => referenceSeconds)
    return [
      {
        name,
        value: median(times),
        unit: 's',
        runs: turns,
        reference: { name: roundTripMs === 0 ? emptyTest : 'one call', value: median(references) },
        ratio: medianRatio(times, references),
        wanted: atMost === undefined ? {} : { atMost },
      },
    ]
  },
}))

interface UrlTurn {
  runSeconds: number
  /** Of an empty test; of one call where the server is distant. */
  referenceSeconds: number
}

/** A run against its own, freshly started server. */
async function urlTurn(roundTripMs: number, args: string[]): Promise<UrlTurn> {
  const server = await startScript(new URL('../../suites/bin.js', import.meta.url).href, [
    'serve',
    ...['--key-id', rootKey.id, '--key-secret', rootKey.secret],
  ])
  const proxy = roundTripMs === 0 ? undefined : await startDelayingProxy(server.port, roundTripMs)
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    const url = proxy?.url ?? `http://127.0.0.1:${server.port}`
    const referenceSeconds = proxy === undefined ? await emptyTestSeconds() : await callSeconds(url)
    return { referenceSeconds, runSeconds: await seconds(() => urlRun(['run', '--url', url, ...args], folder)) }
  } finally {
    await proxy?.close()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}

/** The time of a call over an open connection: the median of three, of which the first has to open it. */
async function callSeconds(url: string): Promise<number> {
  const call = basicRequest(rootKey)
  return (await sendAll(Number(new URL(url).port), [call, call, call], 1)).p50Ms / 1000
}

/** Not spawnSync: the proxy in this process must keep running. */
async function urlRun(args: string[], folder: string): Promise<void> {
  const child = spawn(process.execPath, [bin, ...args, '--report', 'json=report.json'], {
    cwd: folder,
    stdio: 'ignore',
    env: { ...process.env, SVC_KEY_ID: rootKey.id, SVC_KEY_SECRET: rootKey.secret, XDG_STATE_HOME: folder },
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code === 0) return
  const report = readFileSync(join(folder, 'report.json'), 'utf8')
  const { cases } = JSON.parse(report) as { cases: { key: string; verdict: string; problem?: { message: string } }[] }
  const wrong = cases.filter(({ verdict }) => ['failed', 'blocked', 'warned'].includes(verdict))
  const lines = wrong.map(({ key, verdict, problem }) => `${verdict} ${key}: ${problem?.message ?? ''}`)
  throw new Error([`svc-conformance ${args.join(' ')} ended with ${code}`, ...lines].join('\n  '))
}
