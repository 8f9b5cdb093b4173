/** Which item of a run may start: items on one server run at the same time if they do not disturb each other. Starts nothing itself. */
import { claimsOf, type Item, noClaims } from '../engine/conversation/cases.ts'
import type { Conversation } from '../engine/conversation/conversation.ts'
import type { runCase } from '../engine/conversation/run-case.ts'
import { unnamedAreFree } from '../engine/conversation/target-facts.ts'
import { sessionLimit } from '../engine/document.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'

type RanCase = Awaited<ReturnType<typeof runCase>>

/** The items of a run on one server, from pending to done. @param makesCalls whether an item makes calls; otherwise it claims nothing */
export function createBoard(items: readonly Item[], makesCalls: (item: Item) => boolean) {
  const slots = new Map(items.map((item) => [item.key, createSlot(item, makesCalls(item))]))
  const board = boardOf([...slots.values()])
  return {
    slots,
    /** The next item that may start now; call it again after each start. */
    next: (talk: Conversation): Slot | undefined => nextOf(board, talk),
    begin: (slot: Slot): void => begin(board, slot),
    /**
     * An item has run: it is settled, or runs again. @param mayRepeat false where the run ends
     *
     * @returns the keys of those that run again
     */
    end: (slot: Slot, ran: RanCase, mayRepeat: boolean): string[] => end(board, slot, ran, mayRepeat),
  }
}

/** Settles an item, or prepares it to run again. */
function end(board: Board, slot: Slot, { mayBeOfOthers, ...outcome }: RanCase, mayRepeatAny: boolean): string[] {
  const mayRepeat = mayRepeatAny && mayAskAgain(slot)
  const isShared = mayRepeat && slot.sharedTokens
  const again = isShared && isDoubtful(outcome) && mayBeOfOthers !== 'time' ? doubt(board) : []
  slot.isAgain = mayRepeat && (mayBeOfOthers !== undefined || (slot.sharedTokens && board.isDoubted))
  slot.state = slot.isAgain ? 'pending' : 'done'
  if (slot.isAgain) again.push(slot)
  else if (isShared) slot.held = outcome
  else slot.settle(outcome)
  if (board.entries.every(({ state }) => state === 'done'))
    for (const one of board.entries) if (one.held !== null) one.settle(one.held)
  return again.map(({ key }) => key)
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

// The place of an item in the schedule.

type Claims = ReturnType<typeof claimsOf>

type Slot = ReturnType<typeof createSlot>

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
function begin({ entries }: Board, slot: Slot): void {
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
