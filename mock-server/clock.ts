import { createHmac, randomBytes } from 'node:crypto'

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

/** Gives `size` fresh bytes. */
export type RandomBytes = (size: number) => Buffer

/** Unpredictable bytes, or with a seed the same sequence each time. Never use a seed outside tests. */
export function createRandom(seed: string | undefined): RandomBytes {
  if (seed === undefined) return fromPool
  let counter = 0
  return (size) => {
    const blocks: Buffer[] = []
    for (let made = 0; made < size; made += 32) {
      counter += 1
      blocks.push(createHmac('sha256', `mock-server seed ${seed}`).update(String(counter)).digest())
    }
    return Buffer.concat(blocks).subarray(0, size)
  }
}

let pool = Buffer.alloc(0)

/** One request to the system serves many servers and tokens, because a large request costs no more than a small one. */
function fromPool(size: number): Buffer {
  if (size > pool.length) pool = randomBytes(Math.max(size, 4096))
  const bytes = pool.subarray(0, size)
  pool = pool.subarray(size)
  return bytes
}
