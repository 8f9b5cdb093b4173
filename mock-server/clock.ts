/** The time of one server: milliseconds since 1970-01-01T00:00:00Z. */
export interface MockClock {
  now(): number
  /** Moves the clock forward by `ms`. A negative value is a RangeError: expired things would come back to life. */
  advance(ms: number): void
  /** Sets the clock to the time `ms`, also backwards. */
  set(ms: number): void
  /** Stops the clock, or lets it run again from its current time. */
  freeze(frozen?: boolean): void
  /** True while only `advance` and `set` move the clock. */
  readonly frozen: boolean
}

/**
 * A clock that starts at `startMs`. A frozen one stands still until moved; a running one follows `source`.
 * Without `startMs` it starts at the source's time.
 */
export function createClock(options: { startMs?: number; frozen?: boolean; source?: () => number } = {}): MockClock {
  const source = options.source ?? Date.now
  let frozen = options.frozen ?? false
  let standing = options.startMs ?? source()
  let offset = standing - source()
  const now = () => (frozen ? standing : source() + offset)
  const set = (ms: number) => {
    if (!Number.isFinite(ms)) throw new RangeError(`Give the clock a finite number of milliseconds, not ${ms}`)
    standing = ms
    offset = ms - source()
  }
  return {
    now,
    set,
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`Advance the clock by 0 ms or more, not ${ms}`)
      set(now() + ms)
    },
    freeze(next = true) {
      set(now())
      frozen = next
    },
    get frozen() {
      return frozen
    },
  }
}
