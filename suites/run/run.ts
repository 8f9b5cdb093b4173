/** The one place where a run is put together: in the threads of the command, and in tests and programs with a target of their own. */
import { allItems, type Item, looksBack, orderItems, skipItem, unjudged } from '../engine/conversation/cases.ts'
import {
  type Conversation,
  type CreatedKey,
  closeConversation,
  endRun,
  openConversation,
  type Run,
  type RunEvent,
  type RunListener,
  standInOf,
  startRun,
} from '../engine/conversation/conversation.ts'
import { createTestKey, ensureTestKeys, fewPlacesForKeys } from '../engine/conversation/create-test-keys.ts'
import { runCase } from '../engine/conversation/run-case.ts'
import { listSolutions } from '../engine/conversation/send.ts'
import { noFacts, type TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { type Random, seededRandom, systemRandom } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import type { listenToCases } from '../explore/listen.ts'
import { signatureHint } from '../lab/signature-hint.ts'
import { applyKnown } from '../report/build.ts'
import type { KnownEntry } from '../report/report.ts'
import type { UrlTargetOptions } from '../targets/url.ts'
import { type Capabilities, safetyClasses, testKeysMade, whyNotRun } from './capabilities.ts'
import { type Ending, endedTarget } from './ending.ts'
import { type recordKeys, removeKeys } from './keys.ts'
import { preflight } from './preflight.ts'
import { createBoard } from './schedule.ts'

interface RunSetup
  extends Pick<Run, 'target' | 'corpus' | 'unique'>,
    Partial<Pick<Run, 'trace' | 'keptTestKeys' | 'earlierKeys'>> {
  items: readonly Item[]
  /** Which lasting effects are allowed. */
  allow: readonly SafetyClass[]
  /** Decides the order of the items. */
  seed: number
  /** For keys and nonces: the system's randomness for a real server. */
  random: Random
  /** What the preflight found, if it already ran; otherwise the run starts with it. */
  facts?: TargetFacts | null
  /** Ends the run after this many failures that the baseline does not list; `met`: those of all threads, in one Int32 that they share. */
  bail?: { failures: number; met: SharedArrayBuffer; known: readonly KnownEntry[] } | null
  /** Ends the run from outside. */
  ending?: Ending
  listener?: RunListener
  /** The model judges every exchange of the cases, if they share a target. */
  listens?: boolean
}

/** What a run needs to make calls. */
type EngineSetup = Omit<RunSetup, 'items' | 'seed'>

type OpenRun = Awaited<ReturnType<typeof openRun>>

/**
 * A run after its preflight. Items on one server may run before they are requested, at the same time.
 *
 * @throws SuiteError (`unreachable`, exit code 3) when the target cannot be used at all
 */
export async function openRun(setup: RunSetup) {
  const facts = setup.facts ?? (await runPreflight(setup))
  const listeners: RunListener[] = setup.listener === undefined ? [] : [setup.listener]
  const listener: RunListener = (event) => {
    for (const listen of listeners) listen(event)
  }
  let listening: Listening | null = null
  const judgeRefusal: Run['judgeRefusal'] = (refused) => listening?.judgeRefusal(refused)
  const run = { ...engineRun({ ...setup, listener }, facts), judgeRefusal }
  const talk = await openConversation(run)
  const { instance } = talk
  await closeConversation(talk)
  const { lasting, fresh } = setup.target
  const { settings, root } = instance
  const { testKeys } = setup.corpus
  const capabilities: Capabilities = {
    allow: setup.allow,
    lasting,
    fresh,
    clockControlled: instance.clock.controlled,
    settings,
    root,
    testKeys,
    kept: setup.keptTestKeys ?? [],
    facts,
  }
  const items = orderItems(setup.items, lasting, seededRandom(setup.seed), standInOf(testKeys, root))
  const runner = createRunner(run, items, capabilities)
  listeners.push(runner.listener, failureCounter(setup, run))
  listening = setup.listens === true && lasting ? await listen(setup, instance, facts) : null
  if (listening !== null) listeners.push(listening.listener)
  return {
    items,
    facts,
    async runItem(item: Item): Promise<CaseOutcome> {
      const outcome = await runner.runItem(item)
      const findings = listening?.take() ?? []
      return findings.length === 0 ? outcome : { ...outcome, findings }
    },
    stopReason: () => run.stopping.reason,
    end: () => endRun(run),
  }
}

// Items run one after another, or on one server at the same time.

type RanCase = Awaited<ReturnType<typeof runCase>>

/** Runs each item once. On one server, all items start with the first one that is requested. */
interface Runner {
  runItem(item: Item): Promise<CaseOutcome>
  /** Listens to the run: an item that waits does not keep others from running. */
  listener(event: RunEvent): void
}

/** The run hears when an item really starts, perhaps long before it is requested, and when it has ended. */
export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities): Runner {
  const makesCalls = (item: Item): boolean => whyNotRun(item, capabilities) === undefined
  const start = async (item: Item): Promise<RanCase> => {
    const reason = whyNotRun(item, capabilities)
    return reason === undefined ? runItem(run, item) : skipItem(item, reason)
  }
  const watched = async (item: Item): Promise<CaseOutcome> => {
    run.emit({ kind: 'case-started', key: item.key })
    const { mayBeOfOthers: _, ...outcome } = await start(item)
    run.emit({ kind: 'case-ended', outcome })
    return outcome
  }
  if (!run.target.lasting) return { runItem: watched, listener: () => {} }
  const board = createBoard(items, makesCalls)
  return runTogether(run, board, start, items.filter(makesCalls))
}

/** @param testKeyItems the items whose test keys are created first */
function runTogether(
  run: Run,
  board: ReturnType<typeof createBoard>,
  start: (item: Item) => Promise<RanCase>,
  testKeyItems: readonly Item[],
): Runner {
  const { slots } = board
  const open = once(async () => {
    const talk = await openConversation(run)
    talk.grants.onWait(goOn)
    return talk
  })
  // Test keys are created before cases fill the places for keys, and before two cases need the same key.
  const makeTestKeys = once(async () => createTestKeys(await open(), testKeyItems))
  const startMore = async (): Promise<void> => {
    const talk = await open()
    for (let next = board.next(talk); next !== undefined; next = board.next(talk)) {
      const slot = next
      if (!slot.isTestKey) await makeTestKeys()
      if (!slot.isAgain) run.emit({ kind: 'case-started', key: slot.key })
      board.begin(slot)
      start(slot.item).then((ran) => {
        const { mayBeOfOthers: _, ...outcome } = ran
        for (const key of board.end(slot, ran, run.stopping.reason === null)) run.emit({ kind: 'case-requeued', key })
        if (!slot.isAgain) run.emit({ kind: 'case-ended', outcome })
        goOn()
      }, giveUp)
    }
  }
  const giveUp = (error: unknown): void => {
    for (const slot of slots.values()) slot.fail(error)
  }
  let turn: Promise<void> = Promise.resolve()
  const goOn = (): void => {
    turn = turn.then(startMore).catch(giveUp)
  }
  const setOut = once(async () => goOn())
  return {
    runItem: async (item) => {
      await setOut()
      const slot = slots.get(item.key)
      if (slot === undefined) throw new Error(`"${item.key}" is not of this run`)
      return slot.outcome
    },
    listener: (event) => {
      const slot = event.kind === 'wait-started' || event.kind === 'wait-ended' ? slots.get(event.key) : undefined
      if (slot === undefined) return
      slot.isWaiting = event.kind === 'wait-started'
      if (slot.isWaiting) goOn()
    },
  }
}

/** Runs one item. capabilities.ts has already decided whether it can run; this decides only what the run itself shows. */
async function runItem(run: Run, item: Item): Promise<RanCase> {
  if (item.kind === 'test-key') return createTestKey(run, item)
  const { scenario, testCase } = item
  const talk = run.shared
  const makesKeys = scenario.needs.includes('keys') && !looksBack(scenario)
  if (talk !== null && makesKeys && !scenario.needs.includes('limits')) {
    const problem = fewPlacesForKeys(talk)
    if (problem !== undefined) return unjudged(scenario, testCase, 'not-testable', problem)
  }
  const before = new Set(talk?.createdKeys.keys)
  const outcome = await runCase(run, scenario, testCase)
  if (talk !== null && makesKeys)
    await removeKeys(
      talk,
      [...talk.createdKeys.keys].filter((key) => !before.has(key)),
    )
  return outcome
}

/** Creates the test keys before the cases that use them, each only once. */
async function createTestKeys(talk: Conversation, items: readonly Item[]): Promise<void> {
  const { testKeys } = talk.run.corpus
  const cases = items.filter(({ kind }) => kind === 'case')
  if (talk.run.stopping.reason !== null) return
  // Every case that needs a missing test key reports it.
  for (const name of testKeysMade(cases, { testKeys, kept: [], root: talk.instance.root }))
    await ensureTestKeys(talk, [name])
}

/** Returns the same result to everybody who asks. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** The request of the main thread to the threads that run the cases. Plain data. */
export interface WorkerRequest
  extends Omit<RunSetup, 'target' | 'items' | 'random' | 'ending' | 'listener' | 'listens'> {
  /** null: the bundled server. */
  url: UrlTargetOptions | null
  /** Keys of items. */
  items: string[]
  /** The record of created keys, so that the main thread can remove them even if the thread crashes; null if nothing is recorded. */
  keyRecord?: Parameters<typeof recordKeys>[0] | null
  /** How many items all threads have taken, in one Int32 that they share. */
  taken?: SharedArrayBuffer
  /** When the run must end, on the monotonic clock; null: no limit. */
  endsAtMs?: number | null
}

/** What came of a part of the cases, besides their outcomes. */
export interface RanCases {
  /** What the suite itself could not do: never a defect of the target. */
  defects: string[]
  /** Why the run ended before its last case; null if it did not. */
  stopped: StopReason | null
}

type Listened = Required<Pick<RunSetup, 'ending' | 'listener'>>

/**
 * Runs the cases that the main thread asks for, or those of them that no other thread has taken: in a thread of its own, or in the main one.
 *
 * @param listened the listener hears of the end of each case once, with an outcome that counts
 */
export async function runRequested(request: WorkerRequest, { ending, listener }: Listened): Promise<RanCases> {
  const run = await openRequested(request, {
    ending,
    listener: (event) => {
      if (event.kind !== 'case-ended') listener(event)
    },
  })
  const defects: string[] = []
  const tellItem = async (item: Item): Promise<void> => {
    try {
      listener({ kind: 'case-ended', outcome: await run.runItem(item) })
    } catch (error) {
      defects.push(`${item.key}: ${(error as Error).message}`)
    }
  }
  /** @param taken how many items all threads have taken. A faster thread takes more, so that all end at about the same time */
  const tellUntaken = async (taken: Int32Array): Promise<void> => {
    while (run.stopReason() === null) {
      const item = run.items[Atomics.add(taken, 0, 1)]
      if (item === undefined) return
      await tellItem(item)
    }
  }
  const taken = new Int32Array(request.taken ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  try {
    // The run schedules the cases of one server, so one thread takes all of them. If it dies, no other thread repeats what it did there.
    if (request.url !== null) await Promise.all(run.items.slice(Atomics.add(taken, 0, run.items.length)).map(tellItem))
    // While one of the two waits for an answer, the other goes on.
    else await Promise.all([tellUntaken(taken), tellUntaken(taken)])
  } finally {
    await run.end()
  }
  return { defects, stopped: run.stopReason() }
}

async function openRequested(request: WorkerRequest, listened: Listened): Promise<OpenRun> {
  const { url, corpus, seed } = request
  const itemOf = new Map(allItems(corpus).map((item) => [item.key, item]))
  // Only one of the two is needed, and loading the other takes time.
  const target =
    url === null
      ? (await import('../targets/bundled.ts')).bundledTarget()
      : (await import('../targets/url.ts')).urlTarget(url)
  try {
    return await openRun({
      ...request,
      target,
      items: request.items.map((key) => itemOf.get(key) as Item),
      random: url === null ? seededRandom(seed) : systemRandom,
      // The model has judged every exchange with the bundled server: suites/explore/third-witness.long.test.ts.
      listens: url !== null,
      ...listened,
    })
  } catch (error) {
    await target.close?.()
    throw error
  }
}

type Listening = ReturnType<typeof listenToCases>

/** The model is loaded only where it listens. */
async function listen(setup: RunSetup, instance: Instance, facts: TargetFacts): Promise<Listening> {
  const { listenToCases } = await import('../explore/listen.ts')
  return listenToCases(setup, instance, facts)
}

function failureCounter({ bail }: RunSetup, { stopping }: Run): RunListener {
  if (!bail) return () => {}
  const met = new Int32Array(bail.met)
  return (event) => {
    if (event.kind !== 'case-ended') return
    const { outcome } = event
    if (outcome.verdict === 'failed' && applyKnown(outcome, bail.known).verdict !== 'known') Atomics.add(met, 0, 1)
    // Another thread may have met the last one.
    if (Atomics.load(met, 0) >= bail.failures) stopping.stop({ kind: 'bail', failures: bail.failures })
  }
}

/**
 * Makes the first calls of a run, and returns what they show about the target.
 *
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3)
 */
export async function runPreflight(setup: EngineSetup, patientMs = 0): Promise<TargetFacts> {
  const run = engineRun(setup, noFacts())
  const talk = await openConversation(run)
  try {
    return await preflight(talk, setup.allow, patientMs)
  } finally {
    await talk.instance.close()
  }
}

/** Checks which kept test keys still exist. Keys whose scope does not allow the checking call are assumed to exist. */
export async function stillValidKeys(
  setup: EngineSetup & { facts: TargetFacts },
  kept: readonly CreatedKey[],
): Promise<CreatedKey[]> {
  if (kept.length === 0) return []
  const earlierKeys = kept.map((created) => ({ created }))
  const talk = await openConversation(engineRun({ ...setup, keptTestKeys: kept, earlierKeys }, setup.facts))
  const valid: CreatedKey[] = []
  try {
    for (const key of kept) {
      const scope = setup.corpus.testKeys.find(({ name }) => name === key.member)?.scope ?? []
      const works = async (): Promise<boolean> =>
        (await listSolutions(talk, { key: key.member ?? '' })).answer.outcome === 'accepted'
      if (!scope.includes('solution') || (await works())) valid.push(key)
    }
  } finally {
    await talk.instance.close()
  }
  return valid
}

/** The pauses between checks of whether keys work, in ms: a server may lock them for some seconds after wrong calls. */
const pausesOfLock = [2000, 4000, 8000]

/** After many wrong calls: waits until root and the kept test keys work, no longer than most locks last. */
export async function waitForKeys(setup: EngineSetup & { facts: TargetFacts }): Promise<void> {
  const { keptTestKeys = [] } = setup
  const talk = await openConversation(engineRun(setup, setup.facts))
  const worksAsRoot = async (): Promise<boolean> =>
    (await listSolutions(talk, { key: 'root' })).answer.outcome === 'accepted'
  try {
    for (const ms of pausesOfLock) {
      const valid = await stillValidKeys(setup, keptTestKeys)
      if (valid.length === keptTestKeys.length && (await worksAsRoot())) return
      await talk.instance.clock.sleep(ms)
      if (talk.run.stopping.reason !== null) return
    }
  } finally {
    await talk.instance.close()
  }
}

export interface RunAllOptions extends Pick<RunSetup, 'target' | 'corpus' | 'listener' | 'listens' | 'trace'> {
  /** Everything, unless given. */
  items?: readonly Item[]
  allow?: readonly SafetyClass[]
  seed?: number
  /** From the seed, unless given. */
  random?: Random
  /** Whether the run ends after this outcome. */
  isLast?: (outcome: CaseOutcome) => boolean
}

/** Runs every item in this thread: for self-tests and for programs with their own target. */
export async function runAll(options: RunAllOptions): Promise<CaseOutcome[]> {
  const { target, corpus, items = allItems(options.corpus), seed = 1 } = options
  const run = await openRun({
    ...options,
    target,
    corpus,
    items,
    seed,
    allow: options.allow ?? safetyClasses,
    random: options.random ?? seededRandom(seed),
    unique: seed.toString(36),
  })
  return runInTurn(run, options.isLast)
}

/** Runs the items one after another, and ends the run. */
export async function runInTurn(run: OpenRun, isLast?: (outcome: CaseOutcome) => boolean): Promise<CaseOutcome[]> {
  try {
    const outcomes: CaseOutcome[] = []
    for (const item of run.items) {
      const outcome = await run.runItem(item)
      outcomes.push(outcome)
      if (isLast?.(outcome)) break
    }
    return outcomes
  } finally {
    await run.end()
  }
}

/** Creates the state that the calls of a run share, and lets it be ended from outside. */
export function engineRun({ target, ending, listener = () => {}, ...setup }: EngineSetup, facts: TargetFacts): Run {
  const run = startRun({
    ...setup,
    target: ending === undefined ? target : endedTarget(target, ending),
    facts,
    emit: listener,
    diagnose: signatureHint,
  })
  ending?.onEnd((reason) => run.stopping.stop(reason))
  return run
}
