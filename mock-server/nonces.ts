import { randomInt } from 'node:crypto'

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
  let older = new Map<number, number>()
  let newer = new Map<number, number>()
  let newestEndMs = { older: 0, newer: 0 }
  let forgotten = 0
  return {
    has(nonce, nowMs) {
      const mark = markOf(nonce)
      return (newer.get(mark) ?? older.get(mark) ?? 0) > nowMs
    },
    add(nonce, untilMs, nowMs) {
      if (newer.size >= perGeneration || newestEndMs.newer <= nowMs) {
        if (newestEndMs.older > nowMs) for (const endMs of older.values()) if (endMs > nowMs) forgotten += 1
        older = newer
        newer = new Map<number, number>()
        newestEndMs = { older: newestEndMs.newer, newer: 0 }
      }
      newer.set(markOf(nonce), untilMs)
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

const half = 2 ** 32
/** Random, so that nobody can look for two nonces with one mark. */
const seedOfOne = randomInt(half) | 0
const seedOfOther = randomInt(half) | 0

/**
 * 53 bits of hash instead of a text. A nonce is a part of a header, which a Map would keep whole, and a hundred thousand of them would be
 * copied and searched by the garbage collector while calls wait. Among 200,000 marks, one new nonce in 45 thousand million meets an old one.
 */
function markOf(nonce: string): number {
  // A nonce that is looked up is noted next.
  if (nonce !== latest.nonce) latest = { nonce, mark: computedMark(nonce) }
  return latest.mark
}

let latest: { nonce: string | undefined; mark: number } = { nonce: undefined, mark: 0 }

function computedMark(nonce: string): number {
  let one = seedOfOne
  let other = seedOfOther
  for (let at = 0; at < nonce.length; at += 1) {
    const unit = nonce.charCodeAt(at)
    one = Math.imul(one ^ unit, 0x85ebca6b)
    one ^= one >>> 15
    other = Math.imul(other ^ unit, 0xc2b2ae35)
    other ^= other >>> 13
  }
  return (one >>> 0) * 2 ** 21 + (other >>> 11)
}
