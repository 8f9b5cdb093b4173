/** Which case may start now: the rules by which cases of one target run at the same time without disturbing each other. */
import type { Claims } from '../../engine/conversation/cases.ts'

/** A case of a run, or the creation of a test key. */
export interface Entry {
  key: string
  isTestKey: boolean
  claims: Claims
  state: 'pending' | 'running' | 'done'
  /** It runs again, alone, because other cases may have disturbed it. */
  isAgain: boolean
  /** Its number among those that have started; 0 until then. */
  startedAs: number
}

export interface Board<E extends Entry = Entry> {
  entries: readonly E[]
  /** Grants without a session take no place among the sessions. */
  unnamedAreFree: boolean
  /** Each key has its own sessions. */
  sessionsPerKey: boolean
  /** Waits move the clock, which moves it for every case. */
  movesClock: boolean
  /** A case with tokens failed while others ran, so from now on they run one at a time. */
  isDoubted: boolean
  /** Cases wait for the grants of others, so one more with grants would only join the queue. */
  grantsQueue: boolean
}

/** The number of sessions of a user; another one removes the oldest (part 8). A server may count every grant of every key. */
const sessionPlaces = 16

/** Returns the most urgent entry that may start now, and of equal ones the first. Call it again after each start. */
export function nextToStart<E extends Entry>(board: Board<E>): E | undefined {
  const left = board.entries.filter(({ state }) => state !== 'done')
  const running = left.filter(({ state }) => state === 'running')
  const testKey = left.find(({ isTestKey }) => isTestKey)
  if (testKey !== undefined) return running.length === 0 ? testKey : undefined
  if (running.some((entry) => isQuiet(entry, board))) return undefined
  const places = sessionRules(board, left)
  const makesKeys = left.find(({ claims }) => claims.makesKeys)
  const fillsNoKeys = left.some(({ claims }) => claims.fills !== 'keys')
  const tokensAreTaken = board.grantsQueue || (board.isDoubted && running.some(takesTokens))
  const mayStart = (entry: E): boolean =>
    entry.state === 'pending' &&
    !(tokensAreTaken && takesTokens(entry)) &&
    (running.length === 0 || !isQuiet(entry, board)) &&
    (!entry.claims.makesKeys || entry === makesKeys) &&
    (entry.claims.fills !== 'keys' || !fillsNoKeys) &&
    places.mayStart(entry)
  return byUrgency(left, board).find(mayStart)
}

/** Whether a case uses tokens, which a server may confuse with those of another case. */
export const takesTokens = ({ claims }: Entry): boolean => claims.grants > 0

function byUrgency<E extends Entry>(entries: readonly E[], board: Board): E[] {
  const levels: E[][] = []
  for (const entry of entries) {
    const level = urgency(entry, board)
    levels[level] ??= []
    levels[level].push(entry)
  }
  return levels.flat()
}

/** Cases that show more about the target start first, then those that wait or must keep an order, then those that block others. */
function urgency({ claims, isAgain }: Entry, { movesClock }: Board): number {
  if (claims.observesCounting) return 0
  // Where the clock is moved, the following order saves no time.
  if (movesClock) return 1
  if (isAgain) return 5
  if (claims.waits || claims.makesKeys || claims.fills === 'sessions' || claims.isLong) return 1
  if (claims.named > 0) return 2
  return claims.grants > 0 ? 3 : 4
}

const isQuiet = ({ claims, isAgain }: Entry, { movesClock }: Board): boolean =>
  claims.races || isAgain || (movesClock && claims.waits)

/**
 * Cases that fill the sessions of a user come last and run alone among cases with sessions; others must not remove each other's sessions.
 */
function sessionRules(board: Board, left: readonly Entry[]): { mayStart(entry: Entry): boolean } {
  const observing = left.find(({ claims }) => claims.observesCounting)
  const withSessions = left.filter(({ claims }) => placesOf(claims, board) > 0)
  const running = withSessions.filter(({ state }) => state === 'running')
  const taken = new Map(running.map((entry) => [entry, placesSince(entry, board)]))
  return {
    mayStart(entry) {
      if (placesOf(entry.claims, board) === 0) return true
      const meets = (other: Entry): boolean => other !== entry && shareSessions(entry.claims, other.claims, board)
      const beside = running.filter(meets)
      if (observing !== undefined) return entry === observing && beside.length === 0
      if (entry.claims.fills === 'sessions')
        return beside.length === 0 && !withSessions.filter(meets).some((other) => comesBefore(other, entry, left))
      return (
        beside.every(({ claims }) => claims.fills !== 'sessions') &&
        beside.every((other) => (taken.get(other) ?? 0) + placesOf(entry.claims, board) <= sessionPlaces)
      )
    },
  }
}

/**
 * Cases that fill the sessions come after all that fill no limit, and keep their order. Only a race need not come before: it runs alone, and
 * waiting until nothing else runs would keep them waiting too.
 */
function comesBefore(one: Entry, filling: Entry, left: readonly Entry[]): boolean {
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
function placesSince(running: Entry, board: Board): number {
  return board.entries
    .filter(({ claims, startedAs }) => startedAs >= running.startedAs && shareSessions(claims, running.claims, board))
    .reduce((sum, { claims }) => sum + placesOf(claims, board), 0)
}
