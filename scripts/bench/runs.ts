/** How long runs and starts take, from the start of the process to its end, as users have them built. */
import { type Figure, type Measure, median, medianRatio } from './measure.ts'
import { startScript } from './processes.ts'
import { bin, emptyTest, emptyTestSeconds, node, npm, seconds } from './times.ts'

export const bundledMeasure: Measure = {
  id: 'bundled-run',
  async run(turns) {
    const ours: number[] = []
    const empty: number[] = []
    for (let turn = 0; turn < turns; turn += 1) {
      ours.push(await seconds(() => node([bin, 'run'])))
      empty.push(await emptyTestSeconds())
    }
    return [
      {
        name: 'A bundled run, all cases',
        value: median(ours),
        unit: 's',
        runs: turns,
        reference: { name: emptyTest, value: median(empty) },
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
      runs: turns,
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

/** All tests, and the short ones. What they need is built already. */
export const testsMeasure: Measure = {
  id: 'tests',
  async run(turns) {
    const commands = [
      { name: '`npm test`', script: 'test', atMost: 75 },
      { name: '`npm run test:fast`', script: 'test:fast', atMost: 20 },
    ]
    const figures: Figure[] = []
    for (const { name, script, atMost } of commands) {
      const ours: number[] = []
      const empty: number[] = []
      for (let turn = 0; turn < turns; turn += 1) {
        ours.push(await seconds(() => npm(script)))
        empty.push(await emptyTestSeconds())
      }
      figures.push({
        name,
        value: median(ours),
        unit: 's',
        runs: turns,
        reference: { name: emptyTest, value: median(empty) },
        ratio: medianRatio(ours, empty),
        wanted: { atMost },
      })
    }
    return figures
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
