/** Runs the items of a run. Items on one server run at the same time if they do not disturb each other. */
import { claimsOf, type Item, looksBack, noClaims, skipItem, unjudged } from '../engine/conversation/cases.ts'
import { type Conversation, openConversation, type Run, type RunEvent } from '../engine/conversation/conversation.ts'
import { createTestKey, ensureTestKeys, fewPlacesForKeys } from '../engine/conversation/create-test-keys.ts'
import { runCase } from '../engine/conversation/run-case.ts'
import { unnamedAreFree } from '../engine/conversation/target-facts.ts'
import { sessionLimit } from '../engine/document.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { type Capabilities, testKeysMade, whyNotRun } from './capabilities.ts'
import { removeKeys } from './keys.ts'

type RanCase = Awaited<ReturnType<typeof runCase>>

/** Runs each item once. On one server, all items start with the first one that is requested. */
interface Runner {
  runItem(item: Item): Promise<CaseOutcome>
  /** Listens to the run: an item that waits does not keep others from running. */
  listener(event: RunEvent): void
}

/** Learns when an item really starts, perhaps long before it is requested, and when it has ended. */
interface Watch {
  started(item: Item): void
  /** The item will run again, from its beginning. */
  requeued(item: Item): void
  ended(outcome: CaseOutcome): void
}

export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities, watch: Watch): Runner {
  const start = async (item: Item): Promise<RanCase> => {
    const reason = whyNotRun(item, capabilities)
    return reason === undefined ? runItem(run, item) : skipItem(item, reason)
  }
  const watched = async (item: Item): Promise<CaseOutcome> => {
    watch.started(item)
    const { mayBeOfOthers: _, ...outcome } = await start(item)
    watch.ended(outcome)
    return outcome
  }
  if (!run.target.lasting) return { runItem: watched, listener: () => {} }
  return createSchedule(run, items, { start, watch, makesCalls: (item) => whyNotRun(item, capabilities) === undefined })
}

function createSchedule(
  run: Run,
  items: readonly Item[],
  { start, makesCalls, watch }: { start(item: Item): Promise<RanCase>; makesCalls(item: Item): boolean; watch: Watch },
): Runner {
  const slots = new Map(items.map((item) => [item.key, createSlot(item, makesCalls(item))]))
  const board = boardOf([...slots.values()])
  const open = once(async () => {
    const talk = await openConversation(run)
    talk.grants.onWait(goOn)
    return talk
  })
  // Test keys are created before cases fill the places for keys, and before two cases need the same key.
  const makeTestKeys = once(async () => createTestKeys(await open(), items.filter(makesCalls)))
  const startMore = async (): Promise<void> => {
    const talk = await open()
    for (let next = nextOf(board, talk); next !== undefined; next = nextOf(board, talk)) {
      if (!next.isTestKey) await makeTestKeys()
      if (!next.isAgain) watch.started(next.item)
      const slot = begin(board, next)
      start(slot.item).then((outcome) => end(slot, outcome), giveUp)
    }
  }
  const end = (slot: Slot, { mayBeOfOthers, ...outcome }: RanCase): void => {
    const mayRepeat = mayAskAgain(slot) && run.stopping.reason === null
    if (mayRepeat && slot.sharedTokens && isDoubtful(outcome) && mayBeOfOthers !== 'time')
      for (const one of doubt(board)) watch.requeued(one.item)
    slot.isAgain = mayRepeat && (mayBeOfOthers !== undefined || (slot.sharedTokens && board.isDoubted))
    slot.state = slot.isAgain ? 'pending' : 'done'
    if (slot.isAgain) watch.requeued(slot.item)
    else {
      watch.ended(outcome)
      if (mayRepeat && slot.sharedTokens) slot.held = outcome
      else slot.settle(outcome)
    }
    if (board.entries.every(({ state }) => state === 'done'))
      for (const one of board.entries) if (one.held !== null) one.settle(one.held)
    goOn()
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

const isDoubtful = ({ verdict }: CaseOutcome): boolean => ['failed', 'warned', 'blocked'].includes(verdict)

/**
 * If cases with tokens run at the same time, only a pass of all of them counts: a server that confuses tokens may pass one case because of
 * another. As soon as one does not pass, each of them runs again alone, and that result counts.
 *
 * @returns those that run again
 */
function doubt(board: Board): Slot[] {
  board.isDoubted = true
  const held = board.entries.filter((slot) => slot.held !== null)
  for (const slot of held) Object.assign(slot, { held: null, isAgain: true, state: 'pending' })
  return held
}

/** Returns the same result to everybody who asks. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** Grants queue if this part of the calls that may be under way at once wait: a few may wait for another user than the next case. */
const queueShare = 1 / 4

/** The next item that may start while the others run; items that wait for a time, or for the grants of others, do not count. */
function nextOf(board: Board, { limit, facts, instance, grants }: Conversation): Slot | undefined {
  const busy = board.entries.filter(({ state, isWaiting }) => state === 'running' && !isWaiting).length
  if (busy - grants.waiting >= limit.atOnce) return undefined
  board.grantsQueue = busy >= limit.atOnce && grants.waiting >= limit.atOnce * queueShare
  // What the cases have shown about which of them may run at the same time.
  board.movesClock = instance.clock.controlled
  board.unnamedAreFree = unnamedAreFree(facts)
  board.sessionsPerKey = facts.sessionsPerKey === true
  return nextToStart(board)
}

/** Runs an item again only once, and alone. Created keys stay, so items that create keys or fill a limit are not repeated. */
const mayAskAgain = ({ hadCompany, isAgain, claims }: Slot): boolean =>
  hadCompany && !isAgain && !claims.makesKeys && claims.fills === null

/** Creates the test keys before the cases that use them, each only once. */
async function createTestKeys(talk: Conversation, items: readonly Item[]): Promise<void> {
  const { testKeys } = talk.run.corpus
  const cases = items.filter(({ kind }) => kind === 'case')
  if (talk.run.stopping.reason !== null) return
  // Every case that needs a missing test key reports it.
  for (const name of testKeysMade(cases, { testKeys, kept: [], root: talk.instance.root }))
    await ensureTestKeys(talk, [name])
}

// One item.

/** Runs one item of a run. capabilities.ts has already decided whether it can run; this decides only what the run itself shows. */
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

// The place of an item in the schedule.

type Claims = ReturnType<typeof claimsOf>

type Slot = ReturnType<typeof createSlot>

/** @param makesCalls whether the item makes calls; otherwise it claims nothing */
function createSlot(item: Item, makesCalls: boolean) {
  let settle: (outcome: CaseOutcome) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const outcome = new Promise<CaseOutcome>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // The caller of `runItem` gets the error; until then it is unhandled.
  outcome.catch(() => {})
  return {
    key: item.key,
    isTestKey: item.kind === 'test-key',
    claims: makesCalls ? claimsOf(item) : noClaims,
    state: 'pending' as 'pending' | 'running' | 'done',
    /** It runs again, alone, because other cases may have disturbed it. */
    isAgain: false,
    /** Its number among those that have started; 0 until then. */
    startedAs: 0,
    item,
    /** Other items ran at the same time. */
    hadCompany: false,
    /** It used tokens while other cases did: a server that confuses tokens may have changed its result. */
    sharedTokens: false,
    /** It passed while other cases used tokens; it counts if every one of them is certain. */
    held: null as CaseOutcome | null,
    isWaiting: false,
    outcome,
    settle,
    fail,
  }
}

/** Records that an item starts while others run. */
function begin({ entries }: Board, slot: Slot): Slot {
  slot.sharedTokens = false
  for (const other of entries) {
    if (other.state !== 'running') continue
    other.hadCompany = true
    slot.hadCompany = true
    if (!takesTokens(slot) || !takesTokens(other)) continue
    other.sharedTokens = true
    slot.sharedTokens = true
  }
  slot.state = 'running'
  slot.startedAs = 1 + Math.max(...entries.map(({ startedAs }) => startedAs))
  return slot
}

// The rules by which cases of one target run at the same time without disturbing each other.

type Board = ReturnType<typeof boardOf>

/** Until a case shows which grants count as sessions, and whose, every grant counts for every user. */
const boardOf = (entries: readonly Slot[]) => ({
  entries,
  /** Grants without a session take no place among the sessions. */
  unnamedAreFree: false,
  /** Each key has its own sessions. */
  sessionsPerKey: false,
  /** Waits move the clock, which moves it for every case. */
  movesClock: false,
  /** A case with tokens failed while others ran, so from now on they run one at a time. */
  isDoubted: false,
  /** Cases wait for the grants of others, so one more with grants would only join the queue. */
  grantsQueue: false,
})

/** Returns the most urgent entry that may start now, and of equal ones the first. Call it again after each start. */
export function nextToStart(board: Board): Slot | undefined {
  const left = board.entries.filter(({ state }) => state !== 'done')
  const running = left.filter(({ state }) => state === 'running')
  const testKey = left.find(({ isTestKey }) => isTestKey)
  if (testKey !== undefined) return running.length === 0 ? testKey : undefined
  if (running.some((entry) => isQuiet(entry, board))) return undefined
  const places = sessionRules(board, left)
  const makesKeys = left.find(({ claims }) => claims.makesKeys)
  const fillsNoKeys = left.some(({ claims }) => claims.fills !== 'keys')
  const areSessionsCounted = !left.some(({ claims }) => countsSessions(claims))
  const tokensAreTaken = board.grantsQueue || (board.isDoubted && running.some(takesTokens))
  const mayStart = (entry: Slot): boolean =>
    entry.state === 'pending' &&
    !(tokensAreTaken && takesTokens(entry)) &&
    (running.length === 0 || !isQuiet(entry, board)) &&
    (!entry.claims.racesGrants || areSessionsCounted) &&
    (!entry.claims.makesKeys || entry === makesKeys) &&
    (entry.claims.fills !== 'keys' || !fillsNoKeys) &&
    places.mayStart(entry)
  return byUrgency(left, board).find(mayStart)
}

/** Whether a case rests on how many sessions there are. What a lost race leaves on the target would spoil it, so races come later. */
const countsSessions = ({ fills, named, racesGrants, observesCounting }: Claims): boolean =>
  !racesGrants && fills !== 'keys' && (fills === 'sessions' || named > 0 || observesCounting)

/** Whether a case uses tokens, which a server may confuse with those of another case. */
const takesTokens = ({ claims }: Slot): boolean => claims.grants > 0

function byUrgency(entries: readonly Slot[], board: Board): Slot[] {
  const levels: Slot[][] = []
  for (const entry of entries) {
    const level = urgency(entry, board)
    levels[level] ??= []
    levels[level].push(entry)
  }
  return levels.flat()
}

/** A case that makes more calls one after another starts early: if it came last, the run would wait for it. */
const manyTurns = 10
/** Most cases make no more than these. */
const someTurns = 3

/**
 * Cases that show more about the target start first, then those that wait or must keep an order, then those that block others, then long ones.
 */
function urgency({ claims, isAgain }: Slot, { movesClock }: Board): number {
  if (claims.observesCounting) return 0
  // Where the clock is moved, the following order saves no time.
  if (movesClock) return 1
  if (isAgain) return 6
  if (claims.waits || claims.makesKeys || claims.fills === 'sessions') return 1
  // A race waits until nothing else runs, so it cannot start early.
  if (claims.turns > manyTurns && !claims.races) return 1
  if (claims.named > 0) return 2
  if (claims.grants > 0) return 3
  return claims.turns > someTurns ? 4 : 5
}

const isQuiet = ({ claims, isAgain }: Slot, { movesClock }: Board): boolean =>
  claims.races || isAgain || (movesClock && claims.waits)

/**
 * Cases that fill the sessions of a user come last and run alone among cases with sessions; others must not remove each other's sessions.
 */
function sessionRules(board: Board, left: readonly Slot[]): { mayStart(entry: Slot): boolean } {
  const observing = left.find(({ claims }) => claims.observesCounting)
  const withSessions = left.filter(({ claims }) => placesOf(claims, board) > 0)
  const running = withSessions.filter(({ state }) => state === 'running')
  const taken = new Map(running.map((entry) => [entry, placesSince(entry, board)]))
  return {
    mayStart(entry) {
      if (placesOf(entry.claims, board) === 0) return true
      const meets = (other: Slot): boolean => other !== entry && shareSessions(entry.claims, other.claims, board)
      const beside = running.filter(meets)
      if (observing !== undefined) return entry === observing && beside.length === 0
      if (entry.claims.fills === 'sessions')
        return beside.length === 0 && !withSessions.filter(meets).some((other) => comesBefore(other, entry, left))
      return (
        beside.every(({ claims }) => claims.fills !== 'sessions') &&
        beside.every((other) => (taken.get(other) ?? 0) + placesOf(entry.claims, board) <= sessionLimit)
      )
    },
  }
}

/**
 * Cases that fill the sessions come after all that fill no limit, and keep their order. Only a race need not come before: it runs alone, and
 * waiting until nothing else runs would keep them waiting too.
 */
function comesBefore(one: Slot, filling: Slot, left: readonly Slot[]): boolean {
  if (one.claims.fills === null) return !one.claims.races
  return one.claims.fills === 'sessions' && left.indexOf(one) < left.indexOf(filling)
}

/** How many sessions a case may take. */
function placesOf({ grants, named }: Claims, { unnamedAreFree }: Board): number {
  return unnamedAreFree ? named : grants
}

function shareSessions({ users: some }: Claims, { users: others }: Claims, { sessionsPerKey }: Board): boolean {
  if (!sessionsPerKey || some.includes('*') || others.includes('*')) return true
  return some.some((user) => others.includes(user))
}

/** How many sessions that count for a running case, its own among them, may have come since it started. */
function placesSince(running: Slot, board: Board): number {
  return board.entries
    .filter(({ claims, startedAs }) => startedAs >= running.startedAs && shareSessions(claims, running.claims, board))
    .reduce((sum, { claims }) => sum + placesOf(claims, board), 0)
}
