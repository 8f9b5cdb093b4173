/** A map that is never mutated and cheap to grow: large layers that states share, and a small top of their own. */

export interface Layered<K, V> {
  readonly size: number
  get(key: K): V | undefined
  has(key: K): boolean
  /** In the order in which they were first added. */
  keys(): K[]
  /** The map with these entries added. */
  with(entries: Iterable<readonly [K, V]>): Layered<K, V>
}

/** The top is merged into the layer below when it is larger than this, and each layer when it is this many times larger than the one above. */
const largestTop = 16
const growth = 8

export function layered<K, V>(entries: Iterable<readonly [K, V]> = []): Layered<K, V> {
  const base = new Map(entries)
  return over([new Map(), base], base.size)
}

/** @param layers the top first: a layer hides those after it */
function over<K, V>(layers: readonly ReadonlyMap<K, V>[], size: number): Layered<K, V> {
  const has = (key: K): boolean => layers.some((layer) => layer.has(key))
  return {
    size,
    get: (key) => {
      for (const layer of layers) {
        const value = layer.get(key)
        if (value !== undefined) return value
      }
      return undefined
    },
    has,
    keys: () => [...merged([...layers].reverse()).keys()],
    with: (entries) => {
      const top = new Map(layers[0])
      let added = 0
      for (const [key, value] of entries) {
        if (!top.has(key) && !has(key)) added += 1
        top.set(key, value)
      }
      return over(settled([top, ...layers.slice(1)]), size + added)
    },
  }
}

/** The same entries, with no layer larger than its place allows. */
function settled<K, V>(layers: readonly ReadonlyMap<K, V>[]): ReadonlyMap<K, V>[] {
  const next = [...layers]
  let largest = largestTop
  for (let at = 0; at < next.length && (next[at]?.size ?? 0) > largest; at += 1) {
    next[at + 1] = merged([next[at + 1] ?? new Map(), next[at] ?? new Map()])
    next[at] = new Map()
    largest *= growth
  }
  return next
}

/** One map of several; a later one wins, and a key keeps its first place. */
function merged<K, V>(layers: readonly ReadonlyMap<K, V>[]): Map<K, V> {
  const all = new Map<K, V>()
  for (const layer of layers) for (const [key, value] of layer) all.set(key, value)
  return all
}
