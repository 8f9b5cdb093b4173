/** A map that is never mutated and cheap to grow: a large base that states share, and a small top of their own. */

export interface Layered<K, V> {
  readonly size: number
  get(key: K): V | undefined
  has(key: K): boolean
  keys(): K[]
  /** The map with these entries added. */
  with(entries: Iterable<readonly [K, V]>): Layered<K, V>
}

/** The top is merged into the base when it is this large, so that adding entries costs little on average. */
const largestTop = 128

export function layered<K, V>(entries: Iterable<readonly [K, V]> = []): Layered<K, V> {
  return over(new Map(entries), new Map(), 0)
}

/** @param overlap how many keys of the top are also in the base */
function over<K, V>(base: ReadonlyMap<K, V>, top: ReadonlyMap<K, V>, overlap: number): Layered<K, V> {
  return {
    size: base.size + top.size - overlap,
    get: (key) => top.get(key) ?? base.get(key),
    has: (key) => top.has(key) || base.has(key),
    keys: () => [...base.keys(), ...[...top.keys()].filter((key) => !base.has(key))],
    with: (entries) => {
      const next = new Map(top)
      for (const [key, value] of entries) next.set(key, value)
      if (next.size > largestTop) return over(new Map([...base, ...next]), new Map(), 0)
      let both = 0
      for (const key of next.keys()) if (base.has(key)) both += 1
      return over(base, next, both)
    },
  }
}
