/**
 * What the document leaves open about sessions (parts 2, 3 and 5.4), beside what makes one the oldest. The questions are tied to one another.
 */

export interface Reading {
  readonly user: 'one key' | 'all keys' | 'keys of one name' | 'keys of one scope' | 'created keys'
  /** Whether a grant without `session:` counts as a session: none does, each does, or all share one. */
  readonly unnamed: 'none' | 'each' | 'one'
  /** What a name used again does, with the same scope and with another. */
  readonly reusedName: Reuse
  readonly reusedForAnother: Reuse
}

export type Reuse = 'replaces' | 'joins' | 'adds'

/** A server may take a grant of another scope for another session of that name, but not one of the same scope. */
const reuses: readonly (readonly [same: Reuse, another: Reuse])[] = [
  ['replaces', 'replaces'],
  ['joins', 'joins'],
  ['adds', 'adds'],
  ['joins', 'replaces'],
  ['joins', 'adds'],
  ['replaces', 'adds'],
]

/** Every combination. */
export function everyReading(): Reading[] {
  const readings: Reading[] = []
  for (const user of ['one key', 'all keys', 'keys of one name', 'keys of one scope', 'created keys'] as const)
    for (const unnamed of ['none', 'each', 'one'] as const)
      for (const [reusedName, reusedForAnother] of reuses)
        readings.push({ user, unnamed, reusedName, reusedForAnother })
  return readings
}
