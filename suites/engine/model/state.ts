/** The types of the model: the state of a target, calls, and facts about them. Plain values, never mutated. */
import { everySessionTable, type Member, type SessionTable, type Span } from './sessions.ts'

export type Level = 'must' | 'implied'

/** A call as it was sent; the model parses its bytes itself. */
export interface Call {
  /** The value of the Authorization header. */
  readonly authorization: string | undefined
  readonly body: string
  /** The caller's address as the target sees it. */
  readonly from: string
  /** The length of the body is not announced; it arrives in chunks. */
  readonly inChunks?: boolean | undefined
  /** The requirement that a wrong signature breaks, if its maker knows; it names a finding and never judges. */
  readonly breaks?: string | undefined
  /** What was found about the signature when its secret was at hand; a saved call has marks instead of secrets. */
  readonly signature?: Fact | undefined
}

/** An answer, classified as in docs/verdicts.md. `unread`: too long to be read. */
export type Answer =
  | { readonly kind: 'accepted'; readonly result: unknown; readonly jsonrpc: unknown; readonly id: unknown }
  /** `said`: the status and the error, as the target sent them. */
  | { readonly kind: 'refused'; readonly said?: string }
  | { readonly kind: 'broken'; readonly reason: string }
  | { readonly kind: 'unread' }

/** One reason for or against acceptance. */
export interface Fact {
  readonly requirement: string
  readonly is: 'yes' | 'no' | 'unknown'
  /** What distinguishes facts of one requirement, such as the kind of key. */
  readonly about?: string
}

export interface Verdict {
  readonly is: 'accepted' | 'refused' | 'open'
  /** The requirement that a contrary answer breaks. */
  readonly requirement: string
  readonly level: Level
  readonly fact: Fact
}

/** An answer, or a part of one, that no reading of the document allows. */
export interface Problem {
  readonly requirement: string
  readonly level: Level
  readonly message: string
  /** What the document demands of the answer instead, where the language of fixtures can say it. */
  readonly demands?: Matchers
  /** A word of scope: the answer contradicts that to an earlier grant with this word. */
  readonly comparedWith?: string
}

/** Matchers of the language of fixtures, by the path in an answer: `{ 'result.scope': { excludes: 'thread' } }`. */
export type Matchers = { readonly [path: string]: { readonly [matcher: string]: unknown } }

export interface Key {
  readonly id: string
  readonly name: string
  readonly secret: string
  /** The 32 bytes of its ED25519 public key. */
  readonly publicKey: Uint8Array | null
  /** `null`: every scope (the initial key), as far as it is not doubtful. */
  readonly scope: readonly string[] | null
  /** Scope words whose effect is not certain: the creator did not have them, or the key may have been created without them. */
  readonly doubtful: readonly string[]
  /** unknown: an eleventh creation may have removed it, or an answer contradicted the model. */
  readonly works: 'yes' | 'unknown'
  /** The requirement that says that it authorizes nothing, once it was disabled or deleted. */
  readonly ended?: 'keys/can-be-disabled' | 'keys/can-be-deleted'
  /** Who authorized its creation, for names of facts. */
  readonly origin: string
  /** The id of the key whose authorization created it; undefined if that is not known. */
  readonly creator?: string | undefined
}

export interface Pair {
  readonly access: string
  readonly refresh: string
  readonly key: string
  /** The pairs that refreshes made of one grant share a line. */
  readonly line: number
  /** 0: granted, 1: refreshed once, … */
  readonly generation: number
  /** As requested at the grant. */
  readonly scope: readonly string[]
  /** As the result said. */
  readonly granted: readonly string[]
  /** A refresh of its line had further params, such as a scope: what such a refresh leaves of the scope is open (refresh/no-scope). */
  readonly mayBeNarrower?: true
  readonly made: Span
  /** Local time at which it expires; null if that is unknown. */
  readonly accessEnds: Span | null
  readonly refreshEnds: Span | null
  /** dead: refreshed. unknown: it may have been revoked or refreshed. let in: dead, and accepted all the same, so nothing follows from it any more. */
  readonly standing: 'newest' | 'dead' | 'unknown' | 'let in'
  /** Grants by this key, and by all, before this one: how many newer tokens there are. */
  readonly countOfKey: number
  readonly countOfAll: number
}

/**
 * A misuse of a token that costs its holder more than the refused call, because the outcome of a rejected token is open (errors/outcomes): use from
 * another address, outside its scope, as the other kind of token, altered, or a refresh token used again. The last may end every pair of the key.
 */
export type Misuse = 'address' | 'scope' | 'kind' | 'altered' | 'reuse'

export interface Terms {
  /** The scheme word of signatures. */
  readonly scheme: string
  /** The word before an access token, once a call has shown it. */
  readonly tokenPrefix: string | null
  /** What is signed as the URI. */
  readonly uri: string
  /** Further methods that the target declares, with the API area that opens each. */
  readonly probes: ReadonlyMap<string, string>
  /** The method that manages contexts under one solution, and where in its params the id of the solution stands; absent: not declared. */
  readonly contextsOfSolution?: { readonly method: string; readonly path: readonly string[] }
  /** Methods that the target file names for other purposes; whether a call of one is accepted is open. */
  readonly otherMethods?: ReadonlySet<string>
  /** Nobody else uses the target, and nothing was created on it before. */
  readonly fresh: boolean
  /** A token without a session was shown to work after this many newer ones of its key (limits/live-tokens); absent: not known. */
  readonly liveTokens?: number
  /** The misuses after which a token was refused; absent: not known. */
  readonly withdraws?: ReadonlySet<Misuse>
  /** Whether a session name with hyphens and more than eight characters was accepted (sessions/name-rules); absent: not known. */
  readonly longSessionNames?: boolean
  /** A lost race left more sessions than the limit, and a surplus may stay: which sessions are removed later is not known. */
  readonly hasSurplusSessions?: boolean
}

/** A token without a session that worked after newer ones were granted: the counts of its pair, and those of that moment. */
interface OldTokenAlive {
  readonly pair: Pick<Pair, 'key' | 'countOfKey' | 'countOfAll'>
  readonly ofKey: number
  readonly ofAll: number
}

export interface State {
  readonly terms: Terms
  readonly root: string
  readonly keys: ReadonlyMap<string, Key>
  /** How many keys were created, lost answers included. */
  readonly created: number
  /** Names that were offered for keys, refused ones included: whether a name may be used again is open. */
  readonly keyNames: Layered<string, true>
  /** Created keys that were accepted since the last creation (limits/ten-keys). */
  readonly working: ReadonlySet<string>
  readonly pairs: Layered<number, Pair>
  readonly access: Layered<string, number>
  readonly refresh: Layered<string, number>
  /** The lengths of all tokens: a token with something appended begins with one of them. */
  readonly tokenLengths: ReadonlySet<number>
  /** Spellings that a decoder may take for a token; see looksOf. */
  readonly looks: Layered<string, number>
  /** The pairs of each line, by index. */
  readonly lines: Layered<number, readonly number[]>
  readonly grants: ReadonlyMap<string, number>
  /** Old tokens without a session that still worked, the latest last: by then no limit on live tokens had ended a younger one. */
  readonly oldTokensAlive: readonly OldTokenAlive[]
  readonly nonces: ReadonlySet<string>
  /** Names of sessions in lower case: the effect of a repeated name is open. */
  readonly sessionNames: Layered<string, true>
  /** The readings of the open questions about sessions that no answer has contradicted; at first all 216. */
  readonly sessions: readonly SessionTable[]
  /** Server time minus local time, as tokens show it; null until a short lifetime was reported. */
  readonly tokenClock: Span | null
  /** Server time minus local time for signatures: 0 at first; null while it is not known. */
  readonly signatureClock: number | null
  /** The shortest refresh lifetime that was reported, ms. */
  readonly refreshLifetimeMs: number | null
  /** Facts on which an accepted call rested: open until then, musts afterwards. */
  readonly shown: ReadonlySet<string>
  /** The longest accepted body, by kind (see the size facts). */
  readonly sizes: ReadonlyMap<string, number>
  /** Wrong attempts on a key since it was last accepted. */
  readonly wrongTries: ReadonlyMap<string, number>
  /** Expiries by the requested lifetime: a larger NUMBER never gives an earlier one. */
  readonly lifetimes: readonly { readonly asked: number; readonly got: Span; readonly madeAt: number }[]
}

/**
 * The state before the first call.
 *
 * @param root the key that the user gives; it has full access where it is the initial key of the instance
 */
export function initialState(terms: Terms, root: Key): State {
  return {
    terms,
    root: root.id,
    keys: new Map([[root.id, root]]),
    created: 0,
    keyNames: layered(),
    working: new Set(),
    pairs: layered(),
    access: layered(),
    refresh: layered(),
    tokenLengths: new Set(),
    looks: layered(),
    lines: layered(),
    grants: new Map(),
    oldTokensAlive: [],
    nonces: new Set(),
    sessionNames: layered(),
    sessions: everySessionTable(),
    tokenClock: null,
    signatureClock: 0,
    refreshLifetimeMs: null,
    shown: new Set(),
    sizes: new Map(),
    wrongTries: new Map(),
    lifetimes: [],
  }
}

export const wordsBehind = (scope: readonly string[], prefix: string): string[] =>
  scope.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length))

const sessionOf = (scope: readonly string[]): string | null => wordsBehind(scope, 'session:')[0] ?? null

/** The pairs of a line, the first one first. */
export const pairsOfLine = ({ lines, pairs }: State, line: number): Pair[] =>
  (lines.get(line) ?? []).flatMap((index) => pairs.get(index) ?? [])

/** A pair as a member of a session. */
export function memberOf(state: State, pair: Pick<Pair, 'key' | 'line' | 'scope'>): Member {
  const key = state.keys.get(pair.key)
  const keyName = key?.name ?? ''
  const keyScope = key?.scope?.toSorted().join(' ')
  const name = sessionOf(pair.scope)
  // What a name used again does may depend on what else is requested with it.
  const besides =
    name === null
      ? ''
      : pair.scope
          .filter((word) => !word.startsWith('session:'))
          .toSorted()
          .join(' ')
  return { key: pair.key, line: pair.line, name, besides, keyName, keyScope, isRoot: pair.key === state.root }
}

/** `NUMBER` of expiresIn, where exactly one plain one was asked for. */
export function lifetimeOf(scope: readonly string[]): number | null {
  const asked = wordsBehind(scope, 'expiresIn:')
  return asked.length === 1 && /^[1-9]\d*$/.test(asked[0] ?? '') ? Number(asked[0]) : null
}

/** A map that is never mutated and cheap to grow: large layers that states share, and a small top of their own. */
interface Layered<K, V> {
  readonly size: number
  get(key: K): V | undefined
  has(key: K): boolean
  /** In the order in which they were first added. */
  keys(): K[]
  entries(): [K, V][]
  values(): V[]
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
  const whole = (): Map<K, V> => merged([...layers].reverse())
  return {
    size,
    get: (key) => layers.find((layer) => layer.has(key))?.get(key),
    has,
    keys: () => [...whole().keys()],
    entries: () => [...whole()],
    values: () => [...whole().values()],
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
