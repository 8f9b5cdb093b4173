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

/** Backed by the machine's own generator. */
export const systemRandom: Random = {
  bytes: (count) => globalThis.crypto.getRandomValues(new Uint8Array(count)),
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
