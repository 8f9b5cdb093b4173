/** Which case may start now: the rules by which cases of one target run at the same time without disturbing each other. */
import type { Claims } from '../engine/case/claims.ts'

/** A case of a run, or the creation of a test key. */
export interface Entry {
  key: string
  isTestKey: boolean
  claims: Claims
  state: 'pending' | 'running' | 'done'
  /** It is asked again, alone, because other cases may have disturbed it. */
  isAgain: boolean
  /** How many grants the cases before it could make. */
  startedAfterGrants: number
}

export interface Board<E extends Entry = Entry> {
  entries: readonly E[]
  /** How many grants the cases that have started may make. */
  grants: number
  /** Waits move the clock, which moves it for every case. */
  movesClock: boolean
}

/** What the rules need to know about all entries. */
interface Summary {
  running: readonly Entry[]
  testKey: Entry | undefined
  /** The next one among those that create keys. */
  makesKeys: Entry | undefined
  fillsSessions: Entry | undefined
  usesSessions: boolean
  /** Cases are left that do not fill the places for keys. */
  fillsNoKeys: boolean
}

/** The number of sessions of a user; another one removes the oldest (part 8). A server may count every grant of every key. */
const sessionPlaces = 16

/** Returns the most urgent entry that may start now, and of equal ones the first. Call it again after each start. */
export function nextToStart<E extends Entry>(board: Board<E>): E | undefined {
  const left = board.entries.filter(({ state }) => state !== 'done')
  const summary = summarize(left)
  const free = left.filter((entry) => entry.state === 'pending' && mayStart(entry, board, summary))
  return free.reduce<E | undefined>(
    (best, entry) => (best === undefined || urgency(entry, board) < urgency(best, board) ? entry : best),
    undefined,
  )
}

function summarize(left: readonly Entry[]): Summary {
  return {
    running: left.filter(({ state }) => state === 'running'),
    testKey: left.find(({ isTestKey }) => isTestKey),
    makesKeys: left.find(({ claims }) => claims.makesKeys),
    fillsSessions: left.find(({ claims }) => claims.fills === 'sessions'),
    usesSessions: left.some(({ claims }) => claims.grants > 0 && claims.fills === null),
    fillsNoKeys: left.some(({ claims }) => claims.fills !== 'keys'),
  }
}

/** Cases that wait or must keep an order start first, then those that take sessions. Where the clock is moved, that gains nothing. */
function urgency({ claims, isAgain }: Entry, { movesClock }: Board): number {
  if (movesClock) return 0
  if (isAgain) return 3
  if (claims.waits || claims.makesKeys) return 0
  return claims.grants > 0 ? 1 : 2
}

function mayStart(entry: Entry, board: Board, summary: Summary): boolean {
  const { running } = summary
  const { claims } = entry
  if (summary.testKey !== undefined) return entry === summary.testKey && running.length === 0
  if (running.some((other) => isQuiet(other, board)) || (isQuiet(entry, board) && running.length > 0)) return false
  if (claims.makesKeys && entry !== summary.makesKeys) return false
  if (claims.fills === 'keys' && summary.fillsNoKeys) return false
  return maySession(entry, board, summary)
}

const isQuiet = ({ claims, isAgain }: Entry, { movesClock }: Board): boolean =>
  claims.quiet !== null || isAgain || (movesClock && claims.waits)

/** Cases that fill the sessions come last and run alone among cases with sessions; others must not remove each other's sessions. */
function maySession(entry: Entry, { grants }: Board, { running, fillsSessions, usesSessions }: Summary): boolean {
  const { claims } = entry
  if (claims.grants === 0) return true
  const withTokens = running.filter((other) => other.claims.grants > 0)
  if (claims.fills === 'sessions') return entry === fillsSessions && !usesSessions && withTokens.length === 0
  return withTokens.every(
    (other) => other.claims.fills === null && grants + claims.grants - other.startedAfterGrants <= sessionPlaces,
  )
}
