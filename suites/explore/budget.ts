/** How much of each sequence a budget of calls allows, so that every kind gets its share. */

const everyLength: readonly number[] = [1100, 2100, 4200, 8300, 16_500, 20_000, 33_000, 66_000]

/** For each size the value with fewer than 9,000 calls, fewer than 18,000, and more. Worlds name others (fixtures/worlds/README.md). */
const table = {
  /** Operations that are tried on each part of a call before anything else. */
  firstTurns: [2, 12, 8],
  /** Session storms. */
  storms: [0, 1, 2],
  /** How many newer tokens of its key a token is shown to outlive. */
  otherTokens: [5, 15, 15],
  /** The number of keys that the sequences use. */
  users: [1, 3, 5],
  /** How many revoked tokens are tried again. */
  revokedTries: [30, 40, 150],
  /** Sizes of long bodies, bytes. */
  longBodies: [[8300, 20_000], [20_000, 66_000], everyLength],
  /** Calls of the matrix before the rest of the table, and calls that are kept for walks. */
  matrixCalls: [100, 300, 300],
  walkCalls: [100, 120, 300],
  /** Calls that the last stages need; nothing of a very small budget, because the sequences before show more. */
  reserved: [450, 500, 950] as readonly [number, number, number],
} as const

type Column = 0 | 1 | 2
type OfTable = { readonly [name in keyof typeof table]: (typeof table)[name][Column] }

export type Sizes = ReturnType<typeof sizesFor>

/** What an exploration may spend. */
interface Budget {
  readonly maxCalls: number
  readonly made: number
  /** How long the last calls took on average. */
  readonly callMs: number
  readonly timeLeftMs: number
  /** Pauses take time, because nobody moves the clock. */
  readonly waits: boolean
}

/** For each size, how long the pauses of the session tests take, and how many calls the sequences after them make. */
const pausesMs = [16_000, 31_000, 40_000] as const
const sequenceCalls = [4500, 6500, 9500] as const
const leastReservedMs = 2500
/** Fewer calls than these are not reserved for the last stages. */
const leastReserving = 2500

/** The largest sizes whose calls and pauses fit into the budget. */
export function sizesFor(budget: Budget) {
  const { callMs, timeLeftMs, waits } = budget
  const calls = likelyCalls(budget)
  // The first calls are short.
  const likelyMs = 1.5 * callMs
  const fits = (column: Column): boolean =>
    (waits ? pausesMs[column] : 0) + sequenceCalls[column] * likelyMs <= timeLeftMs
  const column: Column = calls >= 18_000 && fits(2) ? 2 : calls >= 9000 && fits(1) ? 1 : 0
  const sizes = Object.fromEntries(Object.entries(table).map(([name, values]) => [name, values[column]])) as OfTable
  const reserved = calls < leastReserving ? 0 : sizes.reserved
  return {
    ...sizes,
    /** Which of three values a size has. */
    column,
    reserved,
    /** How many calls the sequences make that follow the session tests. */
    sequenceCalls: sequenceCalls[column],
    /** How long the last stages take at most. */
    reservedMs: Math.min(timeLeftMs / 5, Math.max(leastReservedMs, reserved * callMs)),
    /** How long the sequences take; of a short exploration half of its time. */
    sequencesMs: Math.min(timeLeftMs / 2, sequenceCalls[column] * likelyMs),
  }
}

/** The first calls take longer than later ones, so the time allows more calls than they suggest. */
const headroom = 1.3
const leastCallMs = 0.1

/** How many calls an exploration will make: its budget, or fewer if the time allows fewer. */
function likelyCalls({ maxCalls, made, callMs, timeLeftMs }: Budget): number {
  return Math.min(maxCalls, Math.round(made + (headroom * timeLeftMs) / Math.max(leastCallMs, callMs)))
}
