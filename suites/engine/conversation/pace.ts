/** When a call may be made: how fast, how many at once, and which grants beside each other. */

import type { Random } from '../signer/random.ts'
import type { Clock, WireAnswer } from '../target.ts'
import type { TargetFacts } from './target-facts.ts'

export interface Pace {
  /** Waits until this many more calls may be made. */
  take(clock: Clock, calls: number): Promise<void>
  /** Slows down, because the target throttled the run. */
  slowDown(clock: Clock): void
  /** How long to wait before a throttled call is tried again, where the target does not say. In ms. */
  backOffMs(tries: number): number
}

interface PaceOptions {
  /** Calls a second that the user allows; 0 is no limit. */
  limit: number
  /** Calls a second to begin with on a target that is not disposable; null: as fast as answers come. */
  start: number | null
  /** Where the pace that was found is remembered. */
  facts: Pick<TargetFacts, 'callsPerSecond'>
  random: Random
}

/** The pace of a run at the beginning, away from loopback and without `--disposable`. */
export const gentleStart = 20

const slowerBy = 0.7
const fasterBy = 1.5
/** While all goes well a run becomes faster each second. In ms. */
const calmMs = 1000
/** After the target has throttled, it must have borne the slower pace for so long first; twice as long each time that it throttles again. */
const firstPatienceMs = 15_000
const longestPatienceMs = 120_000
/** Above this pace, waiting spares the target nothing. */
const fastEnough = 500
/** The slowest pace: a target that is still too busy answers with Retry-After, which is waited out. */
const leastCallsPerSecond = 5
/** Refusals of one burst count once. */
const burstMs = 500
/** Older calls are forgotten after this many. */
const longestRecord = 10_000
const firstBackOffMs = 100
const longestBackOffMs = 3000

export function createPace({ limit, start, facts, random }: PaceOptions): Pace {
  const mostOf = (wanted: number | null): number | null => lowest(limit > 0 ? limit : null, wanted)
  let rate = mostOf(facts.callsPerSecond ?? start)
  let patienceMs = firstPatienceMs
  /** How long the target must have borne this pace before the next faster one. */
  let pauseMs = facts.callsPerSecond === undefined ? calmMs : patienceMs
  let freeAtMs = 0
  let slowedAtMs = Number.NEGATIVE_INFINITY
  let steadySinceMs: number | undefined
  /** When calls were made, the last second from `oldest` on. */
  let recent: number[] = []
  let oldest = 0
  const callsOfLastSecond = (nowMs: number): number => {
    while (oldest < recent.length && (recent[oldest] ?? 0) <= nowMs - 1000) oldest += 1
    if (oldest > longestRecord) {
      recent = recent.slice(oldest)
      oldest = 0
    }
    return recent.length - oldest
  }
  const goFaster = (nowMs: number): void => {
    steadySinceMs ??= nowMs
    if (rate === null || nowMs - steadySinceMs < pauseMs) return
    steadySinceMs = nowMs
    pauseMs = calmMs
    // Only what the target has borne is remembered.
    if (facts.callsPerSecond !== undefined) facts.callsPerSecond = rate
    const faster = rate * fasterBy
    rate = mostOf(faster > fastEnough ? null : faster)
  }
  return {
    async take(clock, calls) {
      const nowMs = clock.now()
      goFaster(nowMs)
      callsOfLastSecond(nowMs)
      for (let call = 0; call < calls; call += 1) recent.push(nowMs)
      if (rate === null) return
      // The place is taken before the wait, so that simultaneous calls wait one after another.
      const waitMs = Math.ceil(freeAtMs - nowMs)
      freeAtMs = Math.max(freeAtMs, nowMs) + (1000 / rate) * calls
      if (waitMs > 0) await clock.sleep(waitMs)
    },
    slowDown(clock) {
      const nowMs = clock.now()
      if (nowMs - slowedAtMs < burstMs) return
      if (facts.callsPerSecond !== undefined && pauseMs === calmMs)
        patienceMs = Math.min(2 * patienceMs, longestPatienceMs)
      pauseMs = patienceMs
      slowedAtMs = nowMs
      steadySinceMs = nowMs
      rate = Math.max(leastCallsPerSecond, (rate ?? Math.max(1, callsOfLastSecond(nowMs))) * slowerBy)
      facts.callsPerSecond = rate
    },
    backOffMs(tries) {
      const jitter = 0.75 + random.below(51) / 100
      return Math.min(longestBackOffMs, firstBackOffMs * 2 ** (tries - 1)) * jitter
    },
  }
}

function lowest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}

// How many calls are under way at once: more while the target keeps up, fewer as soon as it answers more slowly or
// not at all.

export interface CallLimit {
  /** How many calls may be under way now. */
  readonly atOnce: number
  /** Makes a call as soon as there is a place for it. @param isUrgent whether it goes before those that wait and are not */
  run<T>(call: () => Promise<T>, isUrgent?: boolean): Promise<T>
  /** How long an ordinary call took, in ms, and its answer. */
  hear(tookMs: number, answer: WireAnswer): void
}

/** The number of calls to begin with, and the maximum, where the user does not set it. */
const first = 4
const most = 16

/** An answer counts as slow if it takes this many times as long as the quickest ones, and this much longer. */
const timesSlower = 1.5
const slowerByMs = 5

/** Fewer answers are too few to compare. */
const fewestAnswers = 8

/** @param fixed the number of calls; null: as many as the target can take */
export function createCallLimit(fixed: number | null, highest = most): CallLimit {
  const lowest = Math.min(first, highest)
  let atOnce = fixed ?? lowest
  let underWay = 0
  const urgent: (() => void)[] = []
  const others: (() => void)[] = []
  let took: number[] = []
  let quickestMs = Number.POSITIVE_INFINITY
  const startNext = (): void => {
    while (underWay < atOnce) {
      const start = urgent.shift() ?? others.shift()
      if (start === undefined) return
      underWay += 1
      start()
    }
  }
  const change = (to: number): void => {
    took = []
    atOnce = Math.min(Math.max(1, to), highest)
    startNext()
  }
  return {
    get atOnce() {
      return atOnce
    },
    async run(call, isUrgent = false) {
      if (underWay < atOnce && urgent.length + others.length === 0) underWay += 1
      else await new Promise<void>((start) => (isUrgent ? urgent : others).push(start))
      try {
        return await call()
      } finally {
        underWay -= 1
        startNext()
      }
    },
    hear(tookMs, answer) {
      if (fixed !== null) return
      if (answer.kind === 'none' || [429, 503].includes(answer.kind === 'answer' ? answer.status : 0)) {
        change(Math.floor(atOnce / 2))
        return
      }
      took.push(tookMs)
      if (took.length < Math.max(fewestAnswers, 2 * atOnce)) return
      const usualMs = lowerQuartile(took)
      quickestMs = Math.min(quickestMs, usualMs)
      const isSlow = usualMs > timesSlower * quickestMs + slowerByMs
      change(
        isSlow
          ? Math.min(atOnce, Math.max(lowest, Math.floor(0.75 * atOnce)))
          : Math.max(atOnce + 2, Math.floor(1.5 * atOnce)),
      )
    },
  }
}

/** Some calls open a connection, carry a large body or meet a busy server: they say nothing about how many calls are under way. */
const lowerQuartile = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 4)] ?? 0

// Which grants may be under way at once. A server may miscount simultaneous grants and keep too many sessions. So
// grants of one user are made one at a time, except in a race and for grants that must be refused.

export type Lane =
  /** `named`: it names a session. `free`: only named grants take places among the sessions, and it has no name. */
  | { kind: 'grant'; user: string; named: boolean; free: boolean }
  | { kind: 'refresh'; free: boolean }
  /** Calls that are deliberately made at once. */
  | { kind: 'race' }

export interface GrantLanes {
  /**
   * Makes a grant as soon as no conflicting grant is under way or waiting before it.
   *
   * @param isUrgent whether it goes before those that wait and are not
   */
  run<T>(lane: Lane, grant: () => Promise<T>, isUrgent?: boolean): Promise<T>
  /** How many grants wait for others to end. */
  readonly waiting: number
  /** Tells this listener whenever a grant has to wait. */
  onWait(listener: () => void): void
}

/** Whether two grants conflict: they must not be under way at once. */
export function lanesConflict(one: Lane, other: Lane): boolean {
  if (one.kind === 'race' || other.kind === 'race') return true
  if (one.free && other.free) return false
  if (one.kind === 'refresh') return !one.free && (other.kind === 'refresh' || other.named)
  if (other.kind === 'refresh') return !other.free && one.named
  return one.user === other.user
}

interface Waiting {
  lane: Lane
  isUrgent: boolean
  start(): void
}

const goesFirst = ({ lane, isUrgent }: Waiting): boolean => isUrgent || (lane.kind === 'grant' && lane.named)

export function createGrantLanes(): GrantLanes {
  const underWay = new Set<Lane>()
  let waiting: Waiting[] = []
  let listener = (): void => {}
  /**
   * Starts grants in their order, but those with sessions and urgent ones first, because most others wait for them. No grant overtakes one
   * that it conflicts with.
   */
  const startNext = (): void => {
    const left: typeof waiting = []
    for (const entry of [...waiting.filter(goesFirst), ...waiting.filter((one) => !goesFirst(one))]) {
      const isBlocked = [...underWay, ...left.map(({ lane }) => lane)].some((other) => lanesConflict(entry.lane, other))
      if (isBlocked) left.push(entry)
      else {
        underWay.add(entry.lane)
        entry.start()
      }
    }
    waiting = left
  }
  return {
    get waiting() {
      return waiting.length
    },
    onWait: (added) => {
      listener = added
    },
    run: async (lane, grant, isUrgent = false) => {
      // A new object, so that equal lanes can be told apart.
      const mine = { ...lane }
      await new Promise<void>((start) => {
        waiting.push({ lane: mine, isUrgent, start })
        startNext()
        if (!underWay.has(mine)) listener()
      })
      try {
        return await grant()
      } finally {
        underWay.delete(mine)
        // The caller that waited for this grant may make another one, which goes first.
        setImmediate(startNext)
      }
    },
  }
}
