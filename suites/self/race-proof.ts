/** How surely a race is found: the scripted races through sockets, then those of the model inside the process. */
import { allItems, type Item } from '../engine/case/cases.ts'
import type { Corpus } from '../engine/fixture/fixture-types.ts'
import { openExploration } from '../explore/explore.ts'
import { openMemoryWire } from '../explore/memory-wire.ts'
import { runAll } from '../run/run.ts'
import { createHandler, lastingTarget, type ServerOptions } from '../targets/bundled.ts'
import { bundledSettings } from '../targets/bundled-settings.ts'

export interface RaceServer {
  readonly id: string
  readonly breaks: string
  create(): Omit<ServerOptions, 'clock'>
}

/** The scenarios in which calls race, with what each of them breaks. */
const scenarios = ['refresh/race', 'sessions/race', 'limits/api-keys']

/** Of two nodes over one state, one takes longer between its decision and the effect: every second call meets it. */
export const clusteredServer: RaceServer = {
  id: 'two-nodes-over-one-state-one-slower',
  breaks: 'refresh/revokes-refresh',
  create: () => {
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
  },
}

const itemsOf = (corpus: Corpus): Item[] =>
  allItems(corpus).filter(({ key }) => scenarios.some((id) => key === id || key.startsWith(`${id}/`)))

/** Whether the scripted races fail, or the model that listens to them finds something. */
export async function isFoundByCases(server: RaceServer, corpus: Corpus, seed: number): Promise<boolean> {
  const target = lastingTarget(server.create(), bundledSettings([]))
  const outcomes = await runAll({ target, corpus, items: itemsOf(corpus), seed, listens: true })
  return outcomes.some(
    ({ verdict, findings = [] }) => verdict === 'failed' || findings.some(({ level }) => level === 'must'),
  )
}

/** Whether the races of the model show it, all calls being made inside the process. */
export async function isFoundByModel(server: RaceServer, corpus: Corpus, seed: number): Promise<boolean> {
  const { handle, context } = createHandler({ clock: 'virtual', ...server.create() })
  const { id, secret } = context.root
  const exploration = openExploration({
    wire: openMemoryWire(handle, context.clock),
    root: { kind: 'secret', id, secret },
    settings: bundledSettings([]),
    allow: { sessions: true, keys: true, limits: true },
    fresh: true,
    loopback: true,
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
}
