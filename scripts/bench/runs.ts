/** How long runs take, from the start of the process to its end, as users have them built. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../suites/engine/fixture/package-root.ts'
import { startDelayingProxy } from './delaying-proxy.ts'
import { type Figure, type Measure, median, medianRatio } from './measure.ts'
import { startScript } from './processes.ts'

const bin = join(packageRoot, 'dist', 'suites', 'bin.js')
const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs')
const rootKey = { id: 'bench', secret: 'not-a-secret-0001' }

async function seconds(work: () => unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

function node(args: string[], cwd = packageRoot): void {
  const { status } = spawnSync(process.execPath, args, { cwd, stdio: 'ignore' })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
}

export const bundledMeasure: Measure = {
  id: 'bundled-run',
  async run(turns) {
    const folder = mkdtempSync(join(packageRoot, '.build', 'empty-'))
    writeFileSync(join(folder, 'empty.test.js'), "import { test } from 'vitest'\ntest('nothing', () => {})\n")
    const ours: number[] = []
    const empty: number[] = []
    for (let turn = 0; turn < turns; turn += 1) {
      ours.push(await seconds(() => node([bin, 'run'])))
      empty.push(await seconds(() => node([vitest, 'run', '--root', folder])))
    }
    rmSync(folder, { recursive: true })
    return [
      {
        name: 'A bundled run, all cases',
        value: median(ours),
        unit: 's',
        reference: { name: 'vitest with one empty test', value: median(empty) },
        ratio: medianRatio(ours, empty),
        wanted: { atMost: 1.5, ratioAtMost: 4 },
      },
    ]
  },
}

export const startMeasure: Measure = {
  id: 'start',
  async run(turns) {
    const version: number[] = []
    const serve: number[] = []
    const nothing: number[] = []
    for (let turn = 0; turn < turns; turn += 1) {
      nothing.push(1000 * (await seconds(() => node(['-e', '0']))))
      version.push(1000 * (await seconds(() => node([bin, '--version']))))
      serve.push(await firstAnswerMs())
    }
    const figure = (name: string, values: readonly number[], ratioAtMost: number): Figure => ({
      name,
      value: median(values),
      unit: 'ms',
      reference: { name: 'node -e 0', value: median(nothing) },
      ratio: medianRatio(values, nothing),
      wanted: { ratioAtMost },
    })
    return [
      figure('`svc-conformance --version`', version, 1.5),
      figure('`svc-conformance serve`, to its first answer', serve, 2.5),
    ]
  },
}

async function firstAnswerMs(): Promise<number> {
  const begun = performance.now()
  const server = await startScript(new URL('../../suites/bin.js', import.meta.url).href, ['serve'])
  await (await fetch(`http://127.0.0.1:${server.port}/api`, { method: 'POST', body: '{}' })).text()
  const tookMs = performance.now() - begun
  await server.stop()
  return tookMs
}

interface UrlRun {
  name: string
  roundTripMs: number
  args: string[]
  atMost: number
  turns: number
}

const disposable = ['--disposable', '--no-explore']

/** Runs against distant servers take long, so they get fewer turns. */
const urlRuns: readonly UrlRun[] = [
  { name: 'A disposable run on the loopback', roundTripMs: 0, args: disposable, atMost: 6, turns: 5 },
  { name: 'Without --allow, 100 ms away', roundTripMs: 100, args: [], atMost: 8, turns: 3 },
  { name: 'A disposable run, 100 ms away (once)', roundTripMs: 100, args: disposable, atMost: 60, turns: 1 },
  { name: 'A disposable run, 300 ms away (once)', roundTripMs: 300, args: disposable, atMost: 150, turns: 1 },
]

export const urlMeasure: Measure = {
  id: 'url-runs',
  async run(turns) {
    const figures: Figure[] = []
    for (const { name, roundTripMs, args, atMost, turns: most } of urlRuns) {
      const times: number[] = []
      for (let turn = 0; turn < Math.min(turns, most); turn += 1) times.push(await urlRunSeconds(roundTripMs, args))
      figures.push({ name, value: median(times), unit: 's', wanted: { atMost } })
    }
    return figures
  },
}

/** Against its own, freshly started server. */
async function urlRunSeconds(roundTripMs: number, args: string[]): Promise<number> {
  const server = await startScript(new URL('../../suites/bin.js', import.meta.url).href, [
    'serve',
    ...['--key-id', rootKey.id, '--key-secret', rootKey.secret],
  ])
  const proxy = roundTripMs === 0 ? undefined : await startDelayingProxy(server.port, roundTripMs)
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    const url = proxy?.url ?? `http://127.0.0.1:${server.port}`
    return await seconds(() => urlRun(['run', '--url', url, ...args], folder))
  } finally {
    await proxy?.close()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
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
