/** What `watch` costs, compared with a bare proxy of the same library before the same server; all are separate processes. */
import { fileURLToPath } from 'node:url'
import { builtBin } from '../../suites/self/printed-by.ts'
import { inTurns, type LoadResult, sendAll, signedRequests } from './load.ts'
import { figureBeside, type Measure, median } from './measure.ts'
import { benchKey, type Started, startScript, startServer } from './processes.ts'

const bareProxy = fileURLToPath(new URL('./bare-proxy.js', import.meta.url))

async function withProxies<T>(work: (proxies: { bare: Started; watch: Started }) => Promise<T>): Promise<T> {
  const server = await startServer()
  const url = `http://127.0.0.1:${server.port}`
  const bare = await startScript(bareProxy, [url])
  const watch = await startScript(builtBin, ['watch', '--url', url])
  try {
    return await work({ bare, watch })
  } finally {
    await Promise.all([watch.stop(), bare.stop(), server.stop()])
  }
}

const watchMeasure: Measure = {
  id: 'watch',
  run: (turns) =>
    withProxies(async ({ bare, watch }) => {
      const measured = (connections: number, calls: number) => {
        const requests = () => signedRequests(benchKey, calls)
        return inTurns({ one: bare, other: watch }, { turns, connections, requests })
      }
      const alone = await measured(1, 3000)
      const added = alone.other.map(({ p50Ms }, turn) => p50Ms - (alone.one[turn]?.p50Ms ?? 0))
      const rates = (side: readonly LoadResult[]): number[] => side.map(({ callsPerSecond }) => callsPerSecond)
      const many = await measured(16, 20_000)
      return [
        {
          name: 'What `watch` adds to a call, median',
          value: median(added),
          unit: 'ms',
          runs: turns,
          reference: { name: 'a call through a bare proxy', value: median(alone.one.map(({ p50Ms }) => p50Ms)) },
          wanted: { atMost: 1 },
        },
        figureBeside(
          { name: 'Calls through `watch` over 16 connections', values: rates(many.other) },
          { name: 'a bare proxy', values: rates(many.one) },
          'calls/s',
          { ratioAtLeast: 0.5 },
        ),
      ]
    }),
}

const millionCalls = 1_000_000
const callsAtOnce = 20_000

/** Minutes: a million calls, as fast as they go. */
const watchMemoryMeasure: Measure = {
  id: 'watch-memory',
  run: () =>
    withProxies(async ({ watch: { port, memoryMb } }) => {
      let most = 0
      for (let calls = 0; calls < millionCalls; calls += callsAtOnce) {
        await sendAll(port, signedRequests(benchKey, callsAtOnce), 16)
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

export const watchMeasures: readonly Measure[] = [watchMeasure, watchMemoryMeasure]
