/** Measures how often a race is found: by the scripted races, then by those of the model. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { allItems, type Item } from '../engine/conversation/cases.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { bareSettings, type Target } from '../engine/target.ts'
import { openExploration } from '../explore/explore.ts'
import { type OpenedTarget, openTarget } from '../explore/open.ts'
import { runAll } from '../run/run.ts'
import { bundledSettings, createHandler, lastingTarget, type ServerOptions } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'
import { type UrlTargetOptions, urlTarget } from '../targets/url.ts'
import type { ClusterAddress } from './cluster.ts'

export interface RaceServer {
  readonly id: string
  readonly breaks: string
  /** Starts a fresh server, runs the cases on it and stops it. */
  judge<Result>(use: (target: Target) => Promise<Result>): Promise<Result>
  /** Starts a fresh server, explores it with the model and stops it. */
  explore<Result>(use: (explored: OpenedTarget) => Promise<Result>): Promise<Result>
}

/** Ids of the scripted scenarios that race calls. */
const raceScenarioIds = ['refresh/race', 'sessions/race', 'limits/api-keys']

/** A server in this process: the cases reach it through sockets, the model in memory. */
export const serverInProcess = (
  id: string,
  breaks: string,
  create: () => Omit<ServerOptions, 'clock'>,
): RaceServer => ({
  id,
  breaks,
  judge: async (use) => use(lastingTarget(create(), bundledSettings([]))),
  explore: async (use) => {
    const { handle, context } = createHandler({ clock: 'virtual', ...create() })
    const root = { kind: 'secret', ...context.root } as const
    const settings = bundledSettings([])
    return use({ instance: memoryInstance({ handle, clock: context.clock, root, settings }), loopback: true })
  },
})

/** Of two nodes over one state, one takes longer between its decision and the effect: every second call meets it. */
export const twoNodes = serverInProcess('two-nodes-over-one-state-one-slower', 'refresh/revokes-refresh', () => {
  let calls = 0
  const slow = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3))
  return {
    rules: {
      beforeEffect: () => {
        calls += 1
        return calls % 2 === 0 ? slow() : undefined
      },
    },
  }
})

/** Two nodes in processes of their own over one store (cluster.ts), reached through sockets by cases and model. */
const cluster = (id: string, breaks: string, slowMs: number): RaceServer => ({
  id,
  breaks,
  judge: (use) => withCluster(slowMs, (options) => use(urlTarget(options))),
  explore: (use) =>
    withCluster(slowMs, async (options) => {
      const explored = await openTarget(options)
      return use(explored).finally(explored.instance.close)
    }),
})

export const clusters: readonly RaceServer[] = [
  cluster('two-processes-over-one-store', '', 0),
  cluster('two-processes-over-one-store-one-slower', 'refresh/revokes-refresh', 3),
]

/** Starts the cluster, and ends it whatever happens. */
async function withCluster<Result>(slowMs: number, use: (options: UrlTargetOptions) => Promise<Result>) {
  const store = fork(new URL('cluster.js', import.meta.url), [String(slowMs)])
  try {
    const [{ port, rootKey }] = (await once(store, 'message')) as [ClusterAddress]
    return await use({
      url: `http://127.0.0.1:${port}`,
      root: { kind: 'secret', ...rootKey },
      settings: bareSettings,
      requestTimeoutMs: 10_000,
      disposable: true,
    })
  } finally {
    store.kill()
  }
}

const itemsOf = (corpus: Corpus): Item[] =>
  allItems(corpus).filter(({ key }) => raceScenarioIds.some((id) => key === id || key.startsWith(`${id}/`)))

/** Whether the scripted races fail, or the model that listens to them finds something. */
export async function isFoundByCases(server: RaceServer, corpus: Corpus, seed: number): Promise<boolean> {
  const outcomes = await server.judge((target) =>
    runAll({ target, corpus, items: itemsOf(corpus), seed, listens: true }),
  )
  return outcomes.some(
    ({ verdict, findings = [] }) => verdict === 'failed' || findings.some(({ level }) => level === 'must'),
  )
}

/** Whether the races of the model find the defect. */
export const isFoundByModel = (server: RaceServer, corpus: Corpus, seed: number): Promise<boolean> =>
  server.explore(async (explored) => {
    const exploration = openExploration({
      ...explored,
      allow: { sessions: true, keys: true, limits: true },
      fresh: true,
      seed,
      maxCalls: 6000,
      seconds: 60,
      walks: 0,
      requirements: corpus.requirements,
      only: ['races'],
      say: () => {},
    })
    await exploration.ask()
    const { findings } = await exploration.finish()
    return findings.some(({ level }) => level === 'must')
  })
