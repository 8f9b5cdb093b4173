/**
 * What finds a server that was broken, or accuses one that conforms: the scripted cases, the model after them, and the model alone.
 * The servers' clocks are moved, so that nothing waits.
 */

import { allItems, fillsPlaces, type Item } from '../engine/conversation/cases.ts'
import { type CreatedKey, type CreatedKeysEntry, openCreatedKeys } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { levelOf } from '../engine/model/judge.ts'
import { seededRandom } from '../engine/signer/random.ts'
import { bareSettings, type Instance, type Target, type TargetSettings } from '../engine/target.ts'
import { type ExploreOptions, openExploration } from '../explore/explore.ts'
import { listeningFindings } from '../explore/listen.ts'
import { isShownAgain } from '../report/report.ts'
import { afterCases, isBroken, tryScenario } from '../run/explore.ts'
import { openRun } from '../run/run.ts'
import { bundledSettings, createHandler, lastingTarget, type ServerOptions } from '../targets/bundled.ts'
import { memoryInstance } from '../targets/in-memory.ts'

/** `run`: the cases, then the model with the keys that they left, as `run --disposable` does; `explore`: the model on a fresh server. */
export type Way = 'cases' | 'run' | 'explore'

export interface ProofServer {
  readonly id: string
  /** The requirement that it breaks; empty for a conforming one. */
  readonly breaks: string
  readonly settings: Partial<TargetSettings>
  create(): Made
}

type Made = Omit<ServerOptions, 'clock'>

export interface ProofLine {
  readonly way: Way
  readonly id: string
  readonly breaks: string
  readonly seed: number
  readonly calls: number
  readonly ms: number
  readonly cpuMs: number
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
  /** Nobody moves the clock, as at a URL. */
  readonly unmoved?: boolean
  /** Servers that the scenarios of findings must not accuse. */
  readonly conforming?: readonly ProofServer[]
}

export async function prove(server: ProofServer, way: Way, options: ProofOptions): Promise<ProofLine> {
  const started = performance.now()
  const cpuBefore = process.cpuUsage()
  const told =
    way === 'explore' ? await modelAlone(server, options) : await casesAndModel(server, options, way === 'cases')
  const { user, system } = process.cpuUsage(cpuBefore)
  const { id, breaks } = server
  const ms = Math.round(performance.now() - started)
  return { way, id, breaks, seed: options.seed, ms, cpuMs: Math.round((user + system) / 1000), ...told }
}

type Told = Pick<ProofLine, 'calls' | 'found'>

/** As `run --disposable` does: the cases, the model, the cases that fill the places for keys, and last what may lock a key. */
async function casesAndModel(server: ProofServer, options: ProofOptions, casesOnly: boolean): Promise<Told> {
  const { corpus, stopAtFirst, calls, unmoved = false } = options
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
  return { calls, found: noticedIn(outcomes), entries: noted, facts: run.facts }
}

/** What the cases showed, and what the model heard beside it, as a run tells it. */
function noticedIn(outcomes: readonly CaseOutcome[]): ProofFinding[] {
  const byListening = listeningFindings(outcomes, []).map((one): ProofFinding => {
    const told = { requirement: one.requirement, level: one.level, id: one.id, message: `${one.case}: ${one.message}` }
    return { by: 'listening', again: '0/0', steps: 0, fixture: null, ...told }
  })
  const byCase = outcomes.flatMap(({ requirements, key, problem }) =>
    Object.entries(requirements).flatMap(([requirement, verdict]): ProofFinding[] => {
      if (verdict !== 'failed' && verdict !== 'warned') return []
      const told = { requirement, level: verdict === 'failed' ? 'must' : 'implied', message: problem?.kind ?? '' }
      return [{ by: 'case', id: key, again: '1/1', steps: 0, fixture: null, ...told }]
    }),
  )
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
    const { fixture: scenario, requirement } = one
    const isTried = scenario !== null && server.breaks !== ''
    const fixture = isTried ? await tryFixture(scenario, requirement, server, options) : null
    found.push({ ...one, fixture, ...(fixture === null || fixture === 'works' ? {} : { scenario }) })
  }
  return { calls: model.calls(), found }
}

/** The ids of the two solutions that exist from the start. */
const solutionsOf = ({ state }: Context): string[] => [...state.solutions.keys()].slice(0, 2)

/** What the model in memory calls. */
interface Wire {
  readonly handle: Parameters<typeof memoryInstance>[0]['handle']
  readonly server: Context
}

/** The same server, with a wire for the model in memory. */
function watched(server: Made): { built: Made; context: { current: Wire | undefined } } {
  const context: { current: Wire | undefined } = { current: undefined }
  const around: NonNullable<ServerOptions['around']> = (inner, of) => {
    const handle = server.around === undefined ? inner : server.around(inner, of)
    context.current = { handle, server: of }
    return handle
  }
  return { built: { ...server, around }, context }
}

/** The model in memory, as the proofs ask it: it may end at its first finding. */

export interface ProofFinding {
  readonly by: 'case' | 'listening' | 'model'
  readonly requirement: string
  readonly level: string
  /** The case, or the id of the finding. */
  readonly id: string
  readonly message: string
  /** How often the shortest form failed again. */
  readonly again: string
  readonly steps: number
  /** The scenario that it was written as, or null, or what became of that scenario. */
  readonly fixture: string | null
  /** The text of one that does not work. */
  readonly scenario?: string | null
}

/** As a failure, or at the requirement itself, or as a warning where the broken requirement is only implied. */
export const isCatch = (breaks: string, { requirement, level }: ProofFinding): boolean =>
  requirement === breaks || level === 'must' || levelOf(breaks) === 'implied'

/** Whether anything that was found shows the defect of the server. */
export const isCaught = ({ breaks, found }: ProofLine): boolean =>
  breaks !== '' && found.some((one) => isCatch(breaks, one))

/** Ends an exploration at its first finding. */
class Enough extends Error {}

type Context = ReturnType<typeof createHandler>['context']

interface Asked extends Omit<ExploreOptions, 'instance' | 'loopback' | 'requirements' | 'say' | 'onFinding'> {
  readonly settings: TargetSettings
  readonly corpus: Corpus
  readonly breaks: string
  readonly stopAtFirst: boolean
  readonly unmoved: boolean
  /** A run does not report a finding that never came again; `explore` does. */
  readonly onlyRepeated: boolean
}

interface ProofModel {
  readonly found: readonly ProofFinding[]
  calls(): number
  ask(): Promise<void>
  giveWay(): void
  finish(): Promise<void>
}

function openModel({ handle, server }: Wire, asked: Asked): ProofModel {
  const { clock, root, profile } = server
  const { settings, corpus, stopAtFirst, onlyRepeated, breaks, unmoved, ...options } = asked
  let calls = 0
  let isOver = false
  const secret = { kind: 'secret', id: root.id, secret: root.secret } as const
  const moved = memoryInstance({ handle, clock, root: secret, settings, basePath: profile.basePath })
  const found: ProofFinding[] = []
  const model = openExploration({
    ...options,
    instance: unmoved ? unmovedInstance(moved, clock) : moved,
    onCall: (made) => {
      calls = made
    },
    loopback: true,
    requirements: corpus.requirements,
    say: () => {},
    onFinding: (finding) => {
      if (onlyRepeated && !isShownAgain(finding)) return
      const { requirement, level, id, message, reproduced, steps, fixture } = finding
      const again = `${reproduced.failed}/${reproduced.tries}`
      const one: ProofFinding = { by: 'model', requirement, level, id, message, again, steps: steps.length, fixture }
      found.push(one)
      if (stopAtFirst && isCatch(breaks, one)) throw new Enough()
    },
  })
  const unlessEnough = async (run: () => Promise<unknown>): Promise<void> => {
    try {
      if (!isOver) await run()
    } catch (error) {
      if (!(error instanceof Enough)) throw error
      isOver = true
    }
  }
  return {
    found,
    calls: () => calls,
    ask: () => unlessEnough(model.ask),
    giveWay: model.giveWay,
    finish: () => unlessEnough(model.finish),
  }
}

// Whether the scenarios that `explore` writes show what it found: each must fail on the broken server and pass on the reference server.

/** `works`, or what is wrong with a scenario. */
type FixtureOutcome =
  | 'works'
  | `accuses ${string}`
  | `passes there (${string})`
  | `not passed on the reference server (${string})`
  | `not read: ${string}`

/** Runs the text of a scenario on a new instance of the broken server, of the reference server and of others that conform. */
async function tryFixture(
  text: string,
  requirement: string,
  broken: ProofServer,
  { corpus, conforming = [] }: ProofOptions,
): Promise<FixtureOutcome> {
  try {
    const here = await tryScenario(text, requirement, corpus)
    if (here !== 'passed') return `not passed on the reference server (${here})`
    const there = await tryScenario(text, requirement, corpus, broken)
    if (!isBroken(there)) return `passes there (${there})`
    for (const server of conforming)
      if (isBroken(await tryScenario(text, requirement, corpus, server))) return `accuses ${server.id}`
    return 'works'
  } catch (error) {
    return `not read: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Servers in memory whose clock nobody moves, as at a URL; but waiting takes no time. */

/** How long a call takes. */
const callMs = 1

const unmovedTarget = (target: Target): Target => ({
  ...target,
  open: async () => {
    const instance = await target.open()
    const { clock, settings } = instance
    return {
      ...instance,
      clock: { ...clock, controlled: false },
      settings: { ...settings, maxWaitMs: bareSettings.maxWaitMs },
    }
  },
})

const unmovedInstance = (instance: Instance, clock: { advance(ms: number): void }): Instance => ({
  ...instance,
  clock: { ...instance.clock, controlled: false },
  send: async (request) => {
    const answer = await instance.send(request)
    clock.advance(callMs)
    return answer
  },
})
