/**
 * How often each server that loses a race is found: by the scripted races through sockets, and by those of the model in memory. Servers
 * that decide 2 ms, a turn of the event loop or a few microtasks before the effect, and two nodes of which one is slower, in one process
 * and in processes of their own (there the model too calls through sockets).
 *
 *     npm run races -- [--runs N] [--only PREFIX]
 *
 * Exit code 1: a server is found in fewer than 19 of 20 runs by both together, or one that conforms is accused.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { allItems, type Item } from '../suites/engine/conversation/cases.ts'
import type { Corpus } from '../suites/engine/language/fixture-types.ts'
import { bareSettings, type Target } from '../suites/engine/target.ts'
import { openExploration } from '../suites/explore/explore.ts'
import { openTarget } from '../suites/explore/open.ts'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { runAll } from '../suites/run/run.ts'
import { brokenServers } from '../suites/servers/table.ts'
import { bundledSettings, createHandler, lastingTarget, type ServerOptions } from '../suites/targets/bundled.ts'
import { memoryInstance } from '../suites/targets/in-memory.ts'
import { type UrlTargetOptions, urlTarget } from '../suites/targets/url.ts'
import { readArguments } from './arguments.ts'
import type { ClusterAddress } from './cluster.ts'

interface RaceServer {
  readonly id: string
  readonly breaks: string
  /** Starts a fresh server, runs the cases on it and stops it. */
  judge<Result>(use: (target: Target) => Promise<Result>): Promise<Result>
  /** Starts a fresh server, explores it with the model and stops it. */
  explore<Result>(use: (explored: Awaited<ReturnType<typeof openTarget>>) => Promise<Result>): Promise<Result>
}

/** Ids of the scripted scenarios that race calls. */
const raceScenarioIds = ['refresh/race', 'sessions/race', 'limits/api-keys']

/** A server in this process: the cases reach it through sockets, the model in memory. */
const serverInProcess = (id: string, breaks: string, create: () => Omit<ServerOptions, 'clock'>): RaceServer => ({
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
const twoNodes = serverInProcess('two-nodes-over-one-state-one-slower', 'refresh/revokes-refresh', () => {
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

const clusters: readonly RaceServer[] = [
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
async function isFoundByCases(server: RaceServer, corpus: Corpus, seed: number): Promise<boolean> {
  const outcomes = await server.judge((target) =>
    runAll({ target, corpus, items: itemsOf(corpus), seed, listens: true }),
  )
  return outcomes.some(
    ({ verdict, findings = [] }) => verdict === 'failed' || findings.some(({ level }) => level === 'must'),
  )
}

/** Whether the races of the model find the defect. */
const isFoundByModel = (server: RaceServer, corpus: Corpus, seed: number): Promise<boolean> =>
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

const { values } = readArguments({
  options: { runs: { type: 'string', default: '20' }, only: { type: 'string', default: '' } },
})
const runs = Number(values.runs)
const leastShare = 19 / 20

const corpus = await openCorpus()
const torn = (await brokenServers('others'))
  .filter(({ id }) => /-(before-(revocation|creation))$/.test(id))
  .map(({ id, breaks, create }) => serverInProcess(id, breaks, create))
const reference = serverInProcess('reference', '', () => ({}))
const servers = [reference, ...torn, twoNodes, ...clusters].filter(({ id }) => id.startsWith(values.only))

console.log('| server | by the cases | by the model | by either |\n|---|---|---|---|')
for (const server of servers) {
  const count = { cases: 0, model: 0, either: 0 }
  for (let seed = 1; seed <= runs; seed++) {
    const byCases = await isFoundByCases(server, corpus, seed)
    const byModel = await isFoundByModel(server, corpus, seed)
    count.cases += Number(byCases)
    count.model += Number(byModel)
    count.either += Number(byCases || byModel)
  }
  const isRight = server.breaks === ''
  const wrong = isRight ? count.either > 0 : count.either < leastShare * runs
  if (wrong) process.exitCode = 1
  console.log(`| ${server.id} | ${count.cases} of ${runs} | ${count.model} of ${runs} | ${count.either} of ${runs} |`)
}
