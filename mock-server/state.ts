import { type KeyObject, randomInt } from 'node:crypto'

/**
 * The used nonces, each remembered until a time in ms; bounded, the oldest forgotten first. Two generations instead of one ordered list:
 * the older one is dropped as a whole.
 */
function createNonceMemory(bound: number) {
  const perGeneration = Math.max(Math.floor(bound / 2), 1)
  /** `endMs`: when the last of its nonces may be forgotten. */
  const generation = () => ({ marks: new Map<number, number>(), endMs: 0 })
  let older = generation()
  let newer = generation()
  return {
    /** Whether the nonce was used and is still remembered at `nowMs`. */
    has(nonce: string, nowMs: number): boolean {
      const mark = markOf(nonce)
      return (newer.marks.get(mark) ?? older.marks.get(mark) ?? 0) > nowMs
    },
    add(nonce: string, untilMs: number, nowMs: number): void {
      if (newer.marks.size >= perGeneration || newer.endMs <= nowMs) {
        older = newer
        newer = generation()
      }
      newer.marks.set(markOf(nonce), untilMs)
      newer.endMs = Math.max(newer.endMs, untilMs)
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

/** The caller's kind of authorization; `grant` is manager/auth with a key's credentials. */
export type Means = 'hmac' | 'ecc' | 'basic' | 'grant' | 'token'

export interface ApiKey {
  id: string
  secret: string
  /** `secret` as HMAC key, made once: a new one for every call takes longer than the MAC. */
  macKey: KeyObject
  name: string
  scope: string[]
  /** PEM as given; undefined for a secret-based key. */
  publicKey?: string
  verifyKey?: KeyObject
  createdMs: number
  enabled: boolean
  deleted: boolean
  /** The initial key of the instance. */
  initial: boolean
}

export interface Session {
  /** undefined if a grant without a session counts as one (a profile switch). */
  name: string | undefined
  /** Whose session it is: a key id, or one word for all keys (a profile switch). */
  user: string
  createdMs: number
  lastUsedMs: number
  expiryMs: number
  removed: boolean
}

/** One grant and all pairs that came from it. */
interface Family {
  id: string
  revoked: boolean
}

/** An access token and a refresh token that were issued together. */
export interface TokenPair {
  id: string
  family: Family
  key: ApiKey
  accessToken: string
  refreshToken: string
  /** In force: areas, `apiKey`, `solution:…`. */
  scope: string[]
  /** The `scope` of the answer. */
  scopeEcho: string[]
  /** IPv4 addresses that the pair is bound to; empty: any. */
  addresses: string[]
  session: Session | undefined
  /** From expiresIn:NUMBER. */
  expiresInMs: number | undefined
  issuedMs: number
  /** Enforced; the answer may report something else only under a replaced rule. */
  accessExpiryMs: number
  refreshExpiryMs: number
  accessRevoked: boolean
  refreshRevoked: boolean
  /** 0 for a first grant, then the number of refreshes. */
  generation: number
  /** The id of the pair that was refreshed. */
  parent?: string
  /** When a refresh ended it. */
  revokedMs?: number
}

export type TokenKind = 'access' | 'refresh'
export interface Token {
  kind: TokenKind
  text: string
  pair: TokenPair
}

/** A record as answers show it; times in ms. */
export interface Solution {
  id: string
  created: number
  name: string
}

interface Context {
  id: string
  created: number
  solution: string
  name: string
  description: string
  scope: string
}

/** An installation without a key. @param bounds how many nonces are remembered */
export function createState(bounds: { nonces: number }) {
  return {
    /** In order of creation; a deleted key stays as a record, within the bound. */
    keys: new Map<string, ApiKey>(),
    /** Access and refresh tokens by their text, oldest first. */
    tokens: new Map<string, Token>(),
    /** Live ones by user, in order of creation. */
    sessions: new Map<string, Session[]>(),
    nonces: createNonceMemory(bounds.nonces),
    solutions: new Map<string, Solution>(),
    contexts: new Map<string, Context>(),
    /** Set by the first body that was not JSON. */
    sawMalformed: false,
    /** Pairs of tokens issued so far. */
    issued: 0,
  }
}

export type State = ReturnType<typeof createState>

/**
 * Drops the oldest entries of a full `map`, of those that `mayGo`. A large map loses a hundredth at a time, because finding its oldest entry
 * gets slower with each removal.
 */
export function makeRoom<V>(map: Map<string, V>, bound: number, mayGo: (value: V) => boolean = () => true): void {
  if (map.size < bound) return
  const rest = bound - Math.floor(bound / 100)
  for (const [key, value] of map) {
    if (map.size < rest) break
    if (mayGo(value)) map.delete(key)
  }
}
