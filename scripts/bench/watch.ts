/** What `watch` costs, compared with a bare proxy of the same library before the same server; all are separate processes. */
import { type Figure, figureBeside, type Measure, median } from './measure.ts'
import { type LoadResult, sendAll, signedRequests, startScript } from './processes.ts'

const script = (name: string): string => new URL(name, import.meta.url).href
const cli = script('../../suites/bin.js')
const key = { id: 'bench', secret: 'not-a-secret-0001' }
/** Not measured: code runs slowly until it has run often. */
const warmUpCalls = 5000

async function withProxies<T>(
  work: (ports: { bare: number; watch: number; memoryMb(): number }) => Promise<T>,
): Promise<T> {
  const server = await startScript(cli, ['serve', '--key-id', key.id, '--key-secret', key.secret])
  const url = `http://127.0.0.1:${server.port}`
  const bare = await startScript(script('./bare-proxy.js'), [url])
  const watch = await startScript(cli, ['watch', '--url', url])
  try {
    return await work({ bare: bare.port, watch: watch.port, memoryMb: watch.memoryMb })
  } finally {
    await Promise.all([watch.stop(), bare.stop(), server.stop()])
  }
}

export const watchMeasure: Measure = {
  id: 'watch',
  run: (turns) =>
    withProxies(async (ports) => {
      const rows = [
        { connections: 1, calls: 3000 },
        { connections: 16, calls: 20_000 },
      ]
      const figures: Figure[] = []
      for (const { connections, calls } of rows) {
        const results: { bare: LoadResult[]; watch: LoadResult[] } = { bare: [], watch: [] }
        for (const side of ['bare', 'watch'] as const)
          await sendAll(ports[side], signedRequests(key, warmUpCalls), connections)
        for (let turn = 0; turn < turns; turn += 1)
          for (const side of turn % 2 === 0 ? (['bare', 'watch'] as const) : (['watch', 'bare'] as const))
            results[side].push(await sendAll(ports[side], signedRequests(key, calls), connections))
        figures.push(connections === 1 ? addedFigure(results) : rateFigure(results, connections))
      }
      return figures
    }),
}

type Results = { [side in 'bare' | 'watch']: readonly LoadResult[] }

function addedFigure({ bare, watch }: Results): Figure {
  const added = watch.map(({ p50Ms }, turn) => p50Ms - (bare[turn]?.p50Ms ?? 0))
  return {
    name: 'What `watch` adds to a call, median',
    value: median(added),
    unit: 'ms',
    runs: watch.length,
    reference: { name: 'a call through a bare proxy', value: median(bare.map(({ p50Ms }) => p50Ms)) },
    wanted: { atMost: 1 },
  }
}

function rateFigure({ bare, watch }: Results, connections: number): Figure {
  const rates = (side: readonly LoadResult[]): number[] => side.map(({ callsPerSecond }) => callsPerSecond)
  return figureBeside(
    { name: `Calls through \`watch\` over ${connections} connections`, values: rates(watch) },
    { name: 'a bare proxy', values: rates(bare) },
    'calls/s',
    { ratioAtLeast: 0.5 },
  )
}

const millionCalls = 1_000_000
const callsAtOnce = 20_000

/** Minutes: a million calls, as fast as they go. */
export const watchMemoryMeasure: Measure = {
  id: 'watch-memory',
  run: () =>
    withProxies(async ({ watch, memoryMb }) => {
      let most = 0
      for (let calls = 0; calls < millionCalls; calls += callsAtOnce) {
        await sendAll(watch, signedRequests(key, callsAtOnce), 16)
        most = Math.max(most, memoryMb())
      }
      return [
        {
          name: 'Memory of `watch`, at most, in a million calls',
          value: most,
          unit: 'MB',
          runs: 1,
          wanted: { atMost: 300 },
        },
      ]
    }),
}
