/** How many calls are under way at once: more while the target keeps up, fewer as soon as it answers more slowly or not at all. */
import type { WireAnswer } from '../target.ts'

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
