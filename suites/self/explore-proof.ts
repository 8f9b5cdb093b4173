/**
 * What finds a server that was broken, or accuses one that conforms: the scripted cases, the model after them, and the model alone.
 * The servers' clocks are moved, so that nothing waits.
 */
import { allItems, fillsPlaces, type Item } from '../engine/conversation/cases.ts'
import type { CreatedKey, CreatedKeysEntry } from '../engine/conversation/conversation.ts'
import { openCreatedKeys } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { Instance, Target, TargetSettings } from '../engine/target.ts'
import { afterCases } from '../run/explore/explore-after-cases.ts'
import { openRun } from '../run/run.ts'
import { bundledSettings, createHandler, lastingTarget, type ServerOptions } from '../targets/bundled.ts'
import type { Handle } from '../targets/in-memory.ts'
import { tryFixture } from './found-fixtures.ts'
import { type Context, isCatch, openModel, type ProofFinding } from './proof-model.ts'
import { unmovedTarget } from './unmoved.ts'

/** `run`: the cases, then the model with the keys that they left, as `run --disposable` does; `explore`: the model on a fresh server. */
export type Way = 'run' | 'explore'

export interface ProofServer {
  readonly id: string
  /** The requirement that it breaks; empty for a conforming one. */
  readonly breaks: string
  readonly settings: Partial<TargetSettings>
  create(): Omit<ServerOptions, 'clock'>
}

export interface ProofLine {
  readonly way: Way
  readonly id: string
  readonly breaks: string
  readonly seed: number
  readonly calls: number
  readonly ms: number
  readonly found: readonly ProofFinding[]
}

interface ProofOptions {
  readonly corpus: Corpus
  readonly seed: number
  /** The maximum number of calls of the model. */
  readonly calls: number
  readonly walks: number
  /** Ends at the first finding. */
  readonly stopAtFirst: boolean
  /** Leaves the scripted cases out if they ran before. */
  readonly casesOnly?: boolean
  /** Nobody moves the clock, as at a URL. */
  readonly unmoved?: boolean
  /** Servers that the scenarios of findings must not accuse. */
  readonly conforming?: readonly ProofServer[]
}

export async function prove(server: ProofServer, way: Way, options: ProofOptions): Promise<ProofLine> {
  const started = performance.now()
  const { calls, found } = way === 'run' ? await casesAndModel(server, options) : await modelAlone(server, options)
  const { id, breaks } = server
  return { way, id, breaks, seed: options.seed, calls, ms: Math.round(performance.now() - started), found }
}

type Told = Pick<ProofLine, 'calls' | 'found'>

/** As `run --disposable` does: the cases, the model, the cases that fill the places for keys, and last what may lock a key. */
async function casesAndModel(server: ProofServer, options: ProofOptions): Promise<Told> {
  const { corpus, stopAtFirst, calls, casesOnly = false, unmoved = false } = options
  const { built, context } = watched(server.create())
  const lasting = lastingTarget(built, server.settings)
  const target = oneInstance(unmoved ? unmovedTarget(lasting) : lasting)
  const items = allItems(corpus)
  const before = items.filter((item) => !fillsPlaces(item))
  const first = await askCases(target, { ...options, items: before, entries: [], facts: null })
  const isEnough = (found: readonly ProofFinding[]): boolean =>
    casesOnly || (stopAtFirst && found.some((one) => isCatch(server.breaks, one)))
  const told = { calls: first.calls, found: [...first.found] }
  const entries = [...first.entries]
  const model =
    isEnough(told.found) || context.current === undefined
      ? null
      : openModel(context.current, {
          settings: { ...bundledSettings(solutionsOf(context.current.server)), ...server.settings },
          ...afterCases({
            allow: ['sessions', 'keys', 'limits'],
            calls,
            entries,
            testKeys: testKeysOf(entries),
            hasPlaces: true,
            only: null,
          }),
          createdKeys: openCreatedKeys((entry) => void ('created' in entry && entries.push(entry))),
          seconds: 600,
          breaks: server.breaks,
          corpus,
          stopAtFirst,
          unmoved,
          onlyRepeated: true,
        })
  await model?.ask()
  if (casesOnly || !isEnough([...told.found, ...(model?.found ?? [])])) {
    const last = await askCases(target, { ...options, items: items.filter(fillsPlaces), entries, facts: first.facts })
    told.calls += last.calls
    told.found.push(...last.found)
    model?.giveWay()
  }
  await model?.finish()
  await target.end()
  return { calls: told.calls + (model?.calls() ?? 0), found: [...told.found, ...(model?.found ?? [])] }
}

const testKeysOf = (entries: readonly CreatedKeysEntry[]): CreatedKey[] =>
  entries.flatMap((entry) => ('created' in entry && entry.created.member !== undefined ? [entry.created] : []))

interface AskedCases extends Pick<ProofOptions, 'corpus' | 'seed'> {
  readonly items: readonly Item[]
  readonly entries: readonly CreatedKeysEntry[]
  /** As the first part of the run found them; null: this is the first part. */
  readonly facts: TargetFacts | null
}

async function askCases(
  target: Target,
  { corpus, seed, items, entries, facts }: AskedCases,
): Promise<Told & { entries: CreatedKeysEntry[]; facts: TargetFacts }> {
  const noted: CreatedKeysEntry[] = []
  const random = seededRandom(seed + entries.length)
  const run = await openRun({
    target,
    corpus,
    items,
    seed,
    random,
    allow: ['sessions', 'keys', 'limits'],
    unique: seed.toString(36),
    keptTestKeys: testKeysOf(entries),
    earlierKeys: entries,
    facts,
    listens: true,
    listener: (event) => void (event.kind === 'key-noted' && noted.push(event.entry)),
  })
  const outcomes: CaseOutcome[] = []
  for (const item of run.items) outcomes.push(await run.runItem(item))
  await run.end()
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0)
  return { calls, found: outcomes.flatMap(noticedIn), entries: noted, facts: run.facts }
}

function noticedIn({ requirements, key, problem, findings = [] }: CaseOutcome): ProofFinding[] {
  const byListening = findings.map(
    ({ id, requirement, level, message }): ProofFinding => ({
      by: 'listening',
      requirement,
      level,
      id,
      message: `${key}: ${message}`,
      again: '0/0',
      steps: 0,
      fixture: null,
    }),
  )
  const byCase = Object.entries(requirements).flatMap(([requirement, verdict]): ProofFinding[] => {
    if (verdict !== 'failed' && verdict !== 'warned') return []
    const level = verdict === 'failed' ? 'must' : 'implied'
    return [
      {
        by: 'case',
        requirement,
        level,
        id: key,
        message: problem?.kind ?? '',
        again: '1/1',
        steps: 0,
        fixture: null,
      },
    ]
  })
  return [...byCase, ...byListening]
}

/** The same server in every run. */
function oneInstance(target: Target): Target & { end(): Promise<void> } {
  let instance: Promise<Instance> | undefined
  return {
    ...target,
    open: async () => {
      instance ??= target.open()
      return { ...(await instance), close: async () => {} }
    },
    close: async () => {},
    end: async () => {
      await (await instance)?.close()
      await target.close?.()
    },
  }
}

async function modelAlone(server: ProofServer, options: ProofOptions): Promise<Told> {
  const { context, handle } = createHandler({ clock: 'virtual', ...server.create() })
  const model = openModel(
    { handle, server: context },
    {
      settings: { ...bundledSettings(solutionsOf(context)), ...server.settings },
      allow: { sessions: true, keys: true, limits: true },
      fresh: true,
      seed: options.seed,
      maxCalls: options.calls,
      seconds: 600,
      walks: options.walks,
      corpus: options.corpus,
      breaks: server.breaks,
      stopAtFirst: options.stopAtFirst,
      unmoved: options.unmoved ?? false,
      onlyRepeated: false,
    },
  )
  await model.ask()
  await model.finish()
  const found: ProofFinding[] = []
  for (const one of model.found) {
    const fixture = await outcomeOfFixture(one, server, options)
    const { fixture: scenario } = one
    found.push({ ...one, fixture, ...(fixture === null || fixture === 'works' ? {} : { scenario }) })
  }
  return { calls: model.calls(), found }
}

/** What became of the scenario of a finding; null where there is none. */
async function outcomeOfFixture(
  { fixture, requirement }: ProofFinding,
  server: ProofServer,
  { corpus, conforming = [] }: ProofOptions,
): Promise<string | null> {
  if (fixture === null || server.breaks === '') return null
  return tryFixture(fixture, requirement, server, { corpus, conforming })
}

/** The ids of the two solutions that exist from the start. */
const solutionsOf = ({ state }: Context): string[] => [...state.solutions.keys()].slice(0, 2)

/** The same server, with a wire for the model in memory. */
function watched(server: Omit<ServerOptions, 'clock'>): {
  built: Omit<ServerOptions, 'clock'>
  context: { current: { handle: Handle; server: Context } | undefined }
} {
  const context: { current: { handle: Handle; server: Context } | undefined } = { current: undefined }
  const around: NonNullable<ServerOptions['around']> = (inner, of) => {
    const handle = server.around === undefined ? inner : server.around(inner, of)
    context.current = { handle, server: of }
    return handle
  }
  return { built: { ...server, around }, context }
}
