import { createHash } from 'node:crypto'

/** Randomness as a parameter: seeded where a run is to be repeatable, the machine's where keys for a real server are made. */
export interface Random {
  bytes(count: number): Uint8Array
  /** 0 to below `limit`. */
  below(limit: number): number
}

/** mulberry32: small, fast and repeatable; never for keys on a real server. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => next() >>> 24),
    below: (limit) => next() % limit,
  }
}

/** What the machine's generator made and nobody has used; asking it for a few bytes takes as long as for many. */
let pool = new Uint8Array(0)
const poolBytes = 4096

function fromPool(count: number): Uint8Array {
  if (count > poolBytes) return globalThis.crypto.getRandomValues(new Uint8Array(count))
  if (count > pool.length) pool = globalThis.crypto.getRandomValues(new Uint8Array(poolBytes))
  const taken = pool.slice(0, count)
  pool = pool.subarray(count)
  return taken
}

/** Backed by the machine's own generator. */
export const systemRandom: Random = {
  bytes: fromPool,
  below: (limit) => (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % limit,
}

/** A new array in random order. */
export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const result = [...items]
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1)
    const [a, b] = [result[index], result[other]]
    if (a !== undefined && b !== undefined) [result[index], result[other]] = [b, a]
  }
  return result
}

/** Which session names a server takes is open (sessions/name-rules), so ours are short and plain. In characters. */
const shortNameLength = 8

/**
 * `$unique` leaves three of the eight characters of a session name for what the scenario says. Names of keys, whose length is open as well
 * (keys/name-rules), have at most twelve.
 */
export const uniqueLength = 5

/** The place of `a` among the digits of base 36. */
const firstLetter = 10

/** @returns small letters and digits, a letter first, always the same for the same text */
export const shortName = (text: string, length = shortNameLength): string =>
  Array.from(createHash('sha256').update(text).digest().subarray(0, length), (byte, at) =>
    (at === 0 ? firstLetter + (byte % (36 - firstLetter)) : byte % 36).toString(36),
  ).join('')
