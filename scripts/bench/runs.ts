/** How long runs and starts take, from the start of the process to its end, as users have them built. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { packageRoot } from '../../suites/engine/language/package-root.ts'
import { type HostileServer, tcpServer } from '../../suites/self/hostile/servers.ts'
import { builtBin, runBuilt } from '../../suites/self/printed-by.ts'
import { basicRequest, sendAll } from './load.ts'
import {
  besideEmptyTest,
  emptyTest,
  emptyTestSeconds,
  type Figure,
  figureBeside,
  type Measure,
  node,
  npm,
  seconds,
} from './measure.ts'
import { benchKey, startServer } from './processes.ts'

const bundledMeasure: Measure = {
  id: 'bundled-run',
  run: async (turns) => [
    await besideEmptyTest('A bundled run, all cases', () => node([builtBin, 'run']), turns, {
      atMost: 1.5,
      ratioAtMost: 3.5,
    }),
  ],
}

const startMeasure: Measure = {
  id: 'start',
  async run(turns) {
    const version: number[] = []
    const serve: number[] = []
    const nothing: number[] = []
    for (let turn = 0; turn < turns; turn += 1) {
      nothing.push(1000 * (await seconds(() => node(['-e', '0']))))
      version.push(1000 * (await seconds(() => node([builtBin, '--version']))))
      const begun = performance.now()
      const server = await startServer()
      await (await fetch(`http://127.0.0.1:${server.port}/api`, { method: 'POST', body: '{}' })).text()
      serve.push(performance.now() - begun)
      await server.stop()
    }
    const figure = (name: string, values: readonly number[], ratioAtMost: number): Figure =>
      figureBeside({ name, values }, { name: 'node -e 0', values: nothing }, 'ms', { ratioAtMost })
    return [
      figure('`svc-conformance --version`', version, 1.5),
      figure('`svc-conformance serve`, to its first answer', serve, 2.5),
    ]
  },
}

/** All tests, and the short ones. What they need is built already. The ratios are the goals beside an empty test of 0.43 s, as on the machine that they were set for. */
export const testsMeasure: Measure = {
  id: 'tests',
  async run(turns) {
    const commands = [
      { name: '`npm test`', script: 'test', wanted: { atMost: 60, ratioAtMost: 140 } },
      { name: '`npm run test:fast`', script: 'test:fast', wanted: { atMost: 15, ratioAtMost: 35 } },
    ]
    const figures: Figure[] = []
    for (const { name, script, wanted } of commands)
      figures.push(await besideEmptyTest(name, () => npm(script), turns, wanted))
    return figures
  },
}

/** How long runs against a URL take, near and far, from the start of the process to its end. */

/** The model is measured apart. */
const disposable = ['--disposable', '--no-explore']

/** Runs that are made at the same time start one after another, because the start needs a whole core. */
const apartMs = 2000

interface UrlRun {
  roundTripMs?: number
  args: string[]
  atMost: number
  ratioAtMost?: number
  /** How many runs are made at the same time: one against a distant server mostly waits. */
  atOnce?: number
}

const urlMeasure = (id: string, name: string, { roundTripMs = 0, args, atOnce = 1, ...wanted }: UrlRun): Measure => ({
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
    const reference = { name: roundTripMs === 0 ? emptyTest : 'one call', values: references }
    return [figureBeside({ name, values: times }, reference, 's', wanted)]
  },
})

const urlMeasures: readonly Measure[] = [
  urlMeasure('loopback', 'The cases of a disposable run, on the loopback', {
    args: disposable,
    atMost: 5,
    ratioAtMost: 12,
  }),
  urlMeasure('loopback-model', 'A disposable run on the loopback, with the model', {
    args: ['--disposable'],
    atMost: 20,
    ratioAtMost: 45,
  }),
  urlMeasure('without-allow', 'Without --allow, 100 ms away', { roundTripMs: 100, args: [], atMost: 8 }),
  urlMeasure('far-100', 'The cases of a disposable run, 100 ms away', {
    roundTripMs: 100,
    args: disposable,
    atMost: 60,
    atOnce: 2,
  }),
  urlMeasure('far-300', 'The cases of a disposable run, 300 ms away', {
    roundTripMs: 300,
    args: disposable,
    atMost: 150,
    atOnce: 5,
  }),
]

interface UrlTurn {
  runSeconds: number
  /** Of an empty test; of one call where the server is distant. */
  referenceSeconds: number
}

/** A run against its own, freshly started server. */
async function urlTurn(roundTripMs: number, args: string[]): Promise<UrlTurn> {
  const server = await startServer()
  const proxy = roundTripMs === 0 ? undefined : await startDelayingProxy(server.port, roundTripMs)
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    const url = proxy?.url ?? `http://127.0.0.1:${server.port}`
    const referenceSeconds = proxy === undefined ? await emptyTestSeconds() : await callSeconds(url)
    return { referenceSeconds, runSeconds: await seconds(() => urlRun(['run', '--url', url, ...args], folder)) }
  } finally {
    proxy?.close()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
}

/** The time of a call over an open connection: the median of three, of which the first has to open it. */
async function callSeconds(url: string): Promise<number> {
  const call = basicRequest(benchKey)
  return (await sendAll(Number(new URL(url).port), [call, call, call], 1)).p50Ms / 1000
}

/** Not spawnSync: the proxy in this process must keep running. */
async function urlRun(args: string[], folder: string): Promise<void> {
  const { code } = await runBuilt([...args, '--report', 'json=report.json'], {
    cwd: folder,
    env: { SVC_KEY_ID: benchKey.id, SVC_KEY_SECRET: benchKey.secret, XDG_STATE_HOME: folder },
  })
  if (code === 0) return
  const report = readFileSync(join(folder, 'report.json'), 'utf8')
  const { cases } = JSON.parse(report) as { cases: { key: string; verdict: string; problem?: { message: string } }[] }
  const wrong = cases.filter(({ verdict }) => ['failed', 'blocked', 'warned'].includes(verdict))
  const lines = wrong.map(({ key, verdict, problem }) => `${verdict} ${key}: ${problem?.message ?? ''}`)
  throw new Error([`svc-conformance ${args.join(' ')} ended with ${code}`, ...lines].join('\n  '))
}

/**
 * A server that is far away: every byte of a connection arrives half of `roundTripMs` later, in both directions, and opening a connection
 * takes a round trip, as the handshake of TCP does. Used by the benchmark only.
 */
function startDelayingProxy(port: number, roundTripMs: number): Promise<HostileServer> {
  return tcpServer((near, keep) => {
    const far = connect(port, '127.0.0.1')
    keep(far)
    const openedAtMs = performance.now() + roundTripMs
    delay(near, far, () => Math.max(openedAtMs, performance.now()) + roundTripMs / 2)
    delay(far, near, () => performance.now() + roundTripMs / 2)
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', () => {
        near.destroy()
        far.destroy()
      })
    }
  })
}

/** Bytes leave in the order in which they came: a timer for each chunk would let one overtake another. */
function delay(from: Socket, to: Socket, dueMs: () => number): void {
  const waiting: { dueMs: number; send(): void }[] = []
  const sendDue = (): void => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      const leftMs = first.dueMs - performance.now()
      if (leftMs > 0) return void globalThis.setTimeout(sendDue, leftMs)
      waiting.shift()
      first.send()
    }
  }
  const later = (send: () => void): void => {
    waiting.push({ dueMs: dueMs(), send })
    if (waiting.length === 1) sendDue()
  }
  from.on('data', (chunk) => later(() => to.writable && to.write(chunk)))
  from.on('end', () => later(() => to.end()))
}

/** The dependencies that an installation of the package adds, as the lock file has them for this platform. */

interface LockFile {
  packages: { [path: string]: { dev?: boolean } }
}

const installationMeasure: Measure = {
  id: 'installation',
  async run() {
    const { packages } = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as LockFile
    const paths = Object.entries(packages)
      .filter(([path, { dev = false }]) => path !== '' && !dev)
      .map(([path]) => join(packageRoot, path))
      // Those of other platforms are in the lock file and not here.
      .filter((path) => existsSync(path))
    const bytes = paths.reduce((sum, path) => sum + bytesIn(path), 0)
    return [
      { name: 'Packages in an installation', value: paths.length, unit: 'packages', runs: 1, wanted: {} },
      { name: 'Their size', value: bytes / 1e6, unit: 'MB', runs: 1, wanted: {} },
    ]
  },
}

/** Without the packages inside, which the lock file lists by themselves. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? sum : sum + bytesIn(path)
    return entry.isFile() ? sum + statSync(path).size : sum
  }, 0)
}

export const runMeasures: readonly Measure[] = [installationMeasure, startMeasure, bundledMeasure, ...urlMeasures]
