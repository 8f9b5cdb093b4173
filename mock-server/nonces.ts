/** The used nonces, each remembered until a time in ms; bounded, the oldest forgotten first. */
export interface NonceMemory {
  /** Whether the nonce was used and is still remembered at `nowMs`. */
  has(nonce: string, nowMs: number): boolean
  add(nonce: string, untilMs: number, nowMs: number): void
  readonly size: number
  /** How many were forgotten before their time. */
  readonly forgotten: number
}

/** Two generations instead of one ordered list: the older one is dropped as a whole. */
export function createNonceMemory(bound: number): NonceMemory {
  const perGeneration = Math.max(Math.floor(bound / 2), 1)
  let older: TextMap = createTextMap()
  let newer: TextMap = createTextMap()
  let newestEndMs = { older: 0, newer: 0 }
  let forgotten = 0
  return {
    has: (nonce, nowMs) => (newer.get(nonce) ?? older.get(nonce) ?? 0) > nowMs,
    add(nonce, untilMs, nowMs) {
      if (newer.size >= perGeneration || newestEndMs.newer <= nowMs) {
        if (newestEndMs.older > nowMs) for (const endMs of older.values()) if (endMs > nowMs) forgotten += 1
        older = newer
        newer = createTextMap()
        newestEndMs = { older: newestEndMs.newer, newer: 0 }
      }
      newer.set(nonce, untilMs)
      newestEndMs.newer = Math.max(newestEndMs.newer, untilMs)
    },
    get size() {
      return older.size + newer.size
    },
    get forgotten() {
      return forgotten
    },
  }
}

/**
 * A map from many texts to numbers that the garbage collector need not look at: a nonce is a part of a header, which a Map would keep
 * whole, and a hundred thousand of them would be copied and searched again and again while calls wait.
 */
interface TextMap {
  get(text: string): number | undefined
  set(text: string, value: number): void
  /** The numbers, in the order in which their texts came. */
  values(): Iterable<number>
  readonly size: number
}

const fewest = 32
/** Of a nonce. */
const usualLength = 24
/** Places for each entry: with half of them free, a text is found after one or two looks. */
const spread = 2

/**
 * Open addressing: a place holds the number of an entry, from 1, and 0 where it is free. Longer than most functions, because its steps
 * share the arrays.
 */
export function createTextMap(): TextMap {
  const texts = createTexts()
  let size = 0
  let places = new Uint32Array(0)
  let hashes = new Uint32Array(0)
  let numbers = new Float64Array(0)

  /** The place of a text, or the free one where it belongs. */
  function placeOf(text: string, hash: number): number {
    const mask = places.length - 1
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const entry = (places[place] ?? 0) - 1
      if (entry < 0 || (hashes[entry] === hash && texts.isAt(entry, text))) return place
    }
  }

  function grow(): void {
    const entries = Math.max(fewest, 2 * size)
    places = new Uint32Array(spread * entries)
    hashes = longer(hashes, new Uint32Array(entries))
    numbers = longer(numbers, new Float64Array(entries))
    const mask = places.length - 1
    for (let entry = 0; entry < size; entry += 1) {
      let place = (hashes[entry] ?? 0) & mask
      while (places[place] !== 0) place = (place + 1) & mask
      places[place] = entry + 1
    }
  }

  return {
    get(text) {
      if (size === 0) return undefined
      const entry = (places[placeOf(text, hashOf(text))] ?? 0) - 1
      return entry < 0 ? undefined : numbers[entry]
    },
    set(text, value) {
      if (size === hashes.length) grow()
      const hash = hashOf(text)
      const place = placeOf(text, hash)
      const known = (places[place] ?? 0) - 1
      if (known < 0) {
        texts.add(text)
        hashes[size] = hash
        size += 1
        places[place] = size
      }
      numbers[known < 0 ? size - 1 : known] = value
    },
    values: () => numbers.subarray(0, size),
    get size() {
      return size
    },
  }
}

/** Texts one behind another, as code units. */
function createTexts() {
  let count = 0
  /** Where each text starts, and behind the last one where the next will start. */
  let starts = new Uint32Array(fewest)
  let units = new Uint16Array(0)
  return {
    add(text: string): void {
      const start = starts[count] ?? 0
      const end = start + text.length
      if (end > units.length) units = longer(units, new Uint16Array(Math.max(fewest * usualLength, 2 * end)))
      for (let at = 0; at < text.length; at += 1) units[start + at] = text.charCodeAt(at)
      count += 1
      if (count === starts.length) starts = longer(starts, new Uint32Array(2 * count))
      starts[count] = end
    },
    isAt(index: number, text: string): boolean {
      const start = starts[index] ?? 0
      if ((starts[index + 1] ?? 0) - start !== text.length) return false
      for (let at = 0; at < text.length; at += 1) if (units[start + at] !== text.charCodeAt(at)) return false
      return true
    },
  }
}

function longer<A extends Uint16Array | Uint32Array | Float64Array>(old: A, empty: A): A {
  empty.set(old)
  return empty
}

/** FNV-1a over code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
