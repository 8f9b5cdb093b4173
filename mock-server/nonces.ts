import { createTextMap, type TextMap } from './text-map.ts'

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
