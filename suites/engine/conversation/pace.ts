/** When a call may be made: how fast, how many at once, and which grants beside each other. */

import type { Random } from '../signer/random.ts'
import type { Clock, WireAnswer } from '../target.ts'
import type { TargetFacts } from './target-facts.ts'

export interface Pace {
  /** Waits until this many more calls may be made. */
  take(clock: Clock, calls: number): Promise<void>
  /** An answer came. Slows down where it shows that the calls come too fast. */
  hear(clock: Clock, answer: HeardAnswer): void
  /** How long to wait before a throttled call is tried again, where the target does not say. In ms. */
  backOffMs(tries: number): number
}

interface HeardAnswer {
  isThrottled: boolean
  /** How long the target asks to wait. */
  retryAfterMs?: number
  /** How often the same call was throttled before. */
  tries?: number
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

/** While all goes well a run becomes faster each second. In ms. */
const calmMs = 1000
const fasterBy = 1.5
/** Where the target has a limit, the pace approaches it in smaller steps. */
const nearerBy = 1.2
/** After the target has throttled, it must have borne the slower pace for so long first; twice as long each time that it throttles again. */
const firstPatienceMs = 15_000
const longestPatienceMs = 120_000
/** A run stays this far below what the target was seen to bear in a second. */
const justBelow = 0.9
/** A target that throttles a call now and then, however slow the calls become, has no limit that a slower pace would keep. */
const noLimitBelow = 0.4
/** A pace that is throttled again and again falls by this, even where hardly a call was answered. */
const slowerBy = 0.7
/** Above this pace, waiting spares the target nothing. */
const fastEnough = 500
/** The slowest pace: a target that is still too busy answers with Retry-After, which is waited out. */
const leastCallsPerSecond = 5
/** Refusals of one burst count once. */
const burstMs = 500
/** A target that throttles more of the latest calls is called too fast, even if each of them is accepted when it is made again. */
const rareShare = 0.1
const latestCalls = 50
const firstBackOffMs = 100
const longestBackOffMs = 3000

export function createPace({ limit, start, facts, random }: PaceOptions): Pace {
  const bounded = (wanted: number | null): number | null => lowest(limit > 0 ? limit : null, wanted)
  let rate = bounded(facts.callsPerSecond ?? start)
  let patienceMs = firstPatienceMs
  /** How long the target must have borne this pace before the next faster one. */
  let pauseMs = facts.callsPerSecond === undefined ? calmMs : patienceMs
  let freeAtMs = 0
  let slowedAtMs = Number.NEGATIVE_INFINITY
  let steadySinceMs: number | undefined
  const borne = createLastSecond()
  let mostBorne = 0
  /** How many calls the target bore in a second when it first seemed to have a limit; null: it throttles some calls at any pace. */
  let seemingLimit: number | null = 0
  let throttledShare = 0
  const goFaster = (nowMs: number): void => {
    steadySinceMs ??= nowMs
    if (rate === null || nowMs - steadySinceMs < pauseMs) return
    steadySinceMs = nowMs
    pauseMs = calmMs
    // Only what the target has borne is remembered.
    if (facts.callsPerSecond !== undefined) facts.callsPerSecond = rate
    const faster = rate * (facts.callsPerSecond === undefined ? fasterBy : nearerBy)
    rate = bounded(faster > fastEnough ? null : faster)
  }
  const slowDown = (nowMs: number, count: number): void => {
    if (facts.callsPerSecond !== undefined && pauseMs === calmMs)
      patienceMs = Math.min(2 * patienceMs, longestPatienceMs)
    pauseMs = patienceMs
    slowedAtMs = nowMs
    steadySinceMs = nowMs
    const bearable = justBelow * Math.max(1, count, slowerBy * (rate ?? 0))
    const slower = bounded(Math.max(leastCallsPerSecond, Math.min(rate ?? bearable, bearable))) ?? bearable
    rate = slower
    facts.callsPerSecond = slower
  }
  return {
    async take(clock, calls) {
      const nowMs = clock.now()
      goFaster(nowMs)
      if (rate === null) return
      // The place is taken before the wait, so that simultaneous calls wait one after another. Several at once need a second with room for them.
      const roomMs = calls > 1 ? borne.roomAtMs(nowMs, rate - calls) : nowMs
      const startMs = Math.max(freeAtMs, roomMs)
      freeAtMs = Math.max(startMs, nowMs) + (1000 / rate) * calls
      const waitMs = Math.ceil(startMs - nowMs)
      if (waitMs > 0) await clock.sleep(waitMs)
    },
    hear(clock, { isThrottled, retryAfterMs = 0, tries = 0 }) {
      const nowMs = clock.now()
      throttledShare += (Number(isThrottled) - throttledShare) / latestCalls
      if (!isThrottled) {
        borne.note(nowMs)
        mostBorne = Math.max(mostBorne, borne.count(nowMs))
        return
      }
      const count = borne.count(nowMs)
      // A call that is accepted at once when it is made again did not come too fast. Where the target asks to wait, or is known to have a
      // limit, it matters whether it has borne more calls in a second.
      const hasLimit = seemingLimit !== null && (retryAfterMs > 0 || facts.callsPerSecond !== undefined)
      const isAtLimit = hasLimit && count >= justBelow * Math.min(mostBorne, rate ?? mostBorne)
      if (tries === 0 && throttledShare <= rareShare && !isAtLimit) return
      if (seemingLimit !== null) seemingLimit = Math.max(seemingLimit, count)
      if (tries === 0 && throttledShare <= rareShare && count < noLimitBelow * (seemingLimit ?? 0)) {
        rate = bounded(seemingLimit)
        seemingLimit = null
        pauseMs = calmMs
        delete facts.callsPerSecond
        return
      }
      freeAtMs = Math.max(freeAtMs, nowMs + Math.min(retryAfterMs, longestBackOffMs))
      if (nowMs - slowedAtMs >= burstMs) slowDown(nowMs, count)
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

/** Older entries are forgotten after this many. */
const longestRecord = 10_000

/** What happened within the last second. */
function createLastSecond() {
  let times: number[] = []
  let oldest = 0
  const forget = (nowMs: number): void => {
    while (oldest < times.length && (times[oldest] ?? 0) <= nowMs - 1000) oldest += 1
    if (oldest <= longestRecord) return
    times = times.slice(oldest)
    oldest = 0
  }
  return {
    note: (nowMs: number): void => void times.push(nowMs),
    count(nowMs: number): number {
      forget(nowMs)
      return times.length - oldest
    },
    /** When no more than this many will be left of the last second, or none. In ms since 1970. */
    roomAtMs(nowMs: number, most: number): number {
      forget(nowMs)
      const last = times[times.length - 1 - Math.max(0, Math.floor(most))]
      return last === undefined || last <= nowMs - 1000 ? nowMs : last + 1000
    },
  }
}

/**
 * Lets calls in, in their order but urgent ones first, each as soon as nothing that is under way or waits before it keeps it out. No call
 * overtakes one that keeps it out.
 */
function createGate<Item>(isKeptOut: (item: Item, before: readonly Item[]) => boolean) {
  const inside = new Set<Item>()
  let waiting: { item: Item; isFirst: boolean; start(): void }[] = []
  const startNext = (): void => {
    const left: typeof waiting = []
    for (const one of [...waiting.filter(({ isFirst }) => isFirst), ...waiting.filter(({ isFirst }) => !isFirst)]) {
      if (isKeptOut(one.item, [...inside, ...left.map(({ item }) => item)])) left.push(one)
      else {
        inside.add(one.item)
        one.start()
      }
    }
    waiting = left
  }
  return {
    startNext,
    waiting: (): number => waiting.length,
    underWay: (): number => inside.size,
    /** Resolves when the item may start; true if it had to wait. */
    enter(item: Item, isFirst: boolean): { started: Promise<void>; hasToWait: boolean } {
      const started = new Promise<void>((start) => waiting.push({ item, isFirst, start }))
      startNext()
      return { started, hasToWait: !inside.has(item) }
    },
    leave: (item: Item): void => void inside.delete(item),
  }
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
  const fewest = Math.min(first, highest)
  let atOnce = fixed ?? fewest
  let took: number[] = []
  let quickestMs = Number.POSITIVE_INFINITY
  const gate = createGate<object>((_call, before) => before.length >= atOnce)
  const change = (to: number): void => {
    took = []
    atOnce = Math.min(Math.max(1, to), highest)
    gate.startNext()
  }
  return {
    get atOnce() {
      return atOnce
    },
    async run(call, isUrgent = false) {
      await gate.enter(call, isUrgent).started
      try {
        return await call()
      } finally {
        gate.leave(call)
        gate.startNext()
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
      const fewer = Math.min(atOnce, Math.max(fewest, Math.floor(0.75 * atOnce)))
      change(isSlow ? fewer : Math.max(atOnce + 2, Math.floor(1.5 * atOnce)))
    },
  }
}

/** Some calls open a connection, carry a large body or meet a busy server: they say nothing about how many calls are under way. */
const lowerQuartile = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 4)] ?? 0

// Which grants may be under way at once. A server may miscount simultaneous grants and keep too many sessions. So
// grants of one user are made one at a time, except in a race and for grants that must be refused.

/** The user of grants as long as it is not known whose sessions they are. */
export const anyUser = '*'

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
  if (one.kind === 'refresh') return !one.free && (other.kind === 'refresh' || other.named || isOfAnybody(other))
  if (other.kind === 'refresh') return lanesConflict(other, one)
  return one.user === other.user
}

const isOfAnybody = ({ user, free }: Extract<Lane, { kind: 'grant' }>): boolean => user === anyUser && !free

export function createGrantLanes(): GrantLanes {
  const gate = createGate<Lane>((lane, before) => before.some((other) => lanesConflict(lane, other)))
  let listener = (): void => {}
  return {
    get waiting() {
      return gate.waiting()
    },
    onWait: (added) => {
      listener = added
    },
    run: async (lane, grant, isUrgent = false) => {
      // A new object, so that equal lanes can be told apart.
      const mine = { ...lane }
      // Grants with sessions and urgent ones go first, because most others wait for them.
      const { started, hasToWait } = gate.enter(mine, isUrgent || (lane.kind === 'grant' && lane.named))
      if (hasToWait) listener()
      await started
      try {
        return await grant()
      } finally {
        gate.leave(mine)
        // The caller that waited for this grant may make another one, which goes first.
        setImmediate(gate.startNext)
      }
    },
  }
}
