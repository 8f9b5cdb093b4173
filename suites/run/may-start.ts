/** Which case may start now: the rules by which cases of one target run beside one another without spoiling what another one sees. */
import type { Claims } from '../engine/case/claims.ts'

/** A case of a run, or the creation of a test key. */
export interface Entry {
  key: string
  isTestKey: boolean
  claims: Claims
  state: 'pending' | 'running' | 'done'
  /** It is asked again because others may have spoilt what it saw: now without them. */
  isAgain: boolean
  /** How many grants had been promised to cases when it started. */
  startedAfterGrants: number
}

export interface Board<E extends Entry = Entry> {
  entries: readonly E[]
  /** How many grants were promised to the cases that started by now. */
  grants: number
  /** The clock is moved instead of waiting, which moves it for every case. */
  movesClock: boolean
}

/** What the rules ask about all entries at once. */
interface Summary {
  running: readonly Entry[]
  testKey: Entry | undefined
  /** The next one in the order of those that create keys. */
  makesKeys: Entry | undefined
  fillsSessions: Entry | undefined
  usesSessions: boolean
  /** Something is left beside what fills the places for keys. */
  fillsNoKeys: boolean
}

/** A user has so many sessions; the oldest goes when another one comes (part 8). A server may count every grant of anybody. */
const sessionPlaces = 16

/** The most urgent one of those that may start now; of equal ones the first. Starting one changes what may start after it. */
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

/** What waits or has to keep an order starts first; then what takes sessions. Where the clock is moved nothing is won by that. */
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

/** What fills the sessions comes last and alone among those that have any; others must not push out one another's. */
function maySession(entry: Entry, { grants }: Board, { running, fillsSessions, usesSessions }: Summary): boolean {
  const { claims } = entry
  if (claims.grants === 0) return true
  const withTokens = running.filter((other) => other.claims.grants > 0)
  if (claims.fills === 'sessions') return entry === fillsSessions && !usesSessions && withTokens.length === 0
  return withTokens.every(
    (other) => other.claims.fills === null && grants + claims.grants - other.startedAfterGrants <= sessionPlaces,
  )
}
