/** Part 5.1: the Authorization header of a signed call, computed again from the bytes that were sent. */
import { fromBase64Strict, fromHex, sameBytes, toBase64, utf8 } from '../signer/bytes.ts'
import { ed25519Verifier, isOrdinaryPoint, withLowS } from '../signer/ed25519.ts'
import { hmacSha256 } from '../signer/hmac.ts'
import { memberOf, no, open, sideOf, unsure, wordsBehind, yes } from './fact.ts'
import { type Span, saidOf } from './sessions.ts'
import { looksOf, looseBytes, slackMs } from './spelling.ts'
import type { Call, Fact, Key, Pair, State } from './state.ts'

/** How far a timestamp may be off is open; a difference below this is never a reason for a refusal. */
const closeMs = 30_000

/** signatures/header-fields, header-exact, version, key-id, then what was signed. */
export function signatureFacts(state: State, call: Call, span: Span, fields: readonly string[]): Fact[] {
  if (fields.length < 5) return [no('signatures/header-fields')]
  if (fields.length > 5) return [no('signatures/header-exact')]
  const [id = '', version = '', timestamp = '', nonce = '', signature = ''] = fields
  if (fields.some((field) => field !== field.trim())) return [no('signatures/header-exact')]
  const key = state.keys.get(id)
  if (version !== '1') return [no('signatures/version')]
  if (key === undefined) return [no('signatures/key-id')]
  return [
    timestampFact(state, timestamp, span),
    nonceFact(state, nonce),
    yes('signatures/request-body', lookOf(call.body)),
    remembered(call, key, () => signatureFact(key, { timestamp, nonce, signature }, state.terms.uri, call)),
  ]
}

/** Caches the check of a signature: it does not change, and an ED25519 check takes a millisecond. */
const checked = new WeakMap<Call, { key: Key; fact: Fact }>()

function remembered(call: Call, key: Key, compute: () => Fact): Fact {
  const known = checked.get(call)
  if (known !== undefined && known.key.id === key.id) return known.fact
  const fact = compute()
  checked.set(call, { key, fact })
  return fact
}

/** Forms in which a server may rewrite the body before it checks the signature. */
function lookOf(body: string): string {
  const looks = [
    [/[\u0080-\uffff]/, 'letters beyond ASCII'],
    [/\\[u/]/, 'escapes'],
    [/\r\n/, 'CR LF'],
    [/^\s|\s$/, 'white space around'],
    [/[[{,:]\s/, 'white space inside'],
  ] as const
  return looks.flatMap(([mark, name]) => (mark.test(body) ? [name] : [])).join(', ') || 'plain'
}

/** How far a timestamp may be off is open (signatures/time-window), and so are other spellings (signatures/timestamp-spelling). */
function timestampFact(state: State, timestamp: string, span: Span): Fact {
  if (!/^\d{13}$/.test(timestamp)) return unsure('signatures/timestamp')
  if (state.signatureClock === null) return unsure('signatures/timestamp')
  const off = Number(timestamp) - state.signatureClock
  const close = off > span.from - closeMs && off < span.to + closeMs
  return close ? yes('signatures/timestamp') : unsure('signatures/timestamp')
}

/** Length, characters and repetition of nonces are open. */
function nonceFact(state: State, nonce: string): Fact {
  if (state.nonces.has(nonce) || !/^[A-Za-z0-9+/_=-]{8,64}$/.test(nonce)) return unsure('signatures/nonce')
  // BASE64 of 16 bytes or more, as in the example.
  if (/^[A-Za-z0-9+/]{22,64}={0,2}$/.test(nonce)) return yes('signatures/nonce')
  return open(state, 'signatures/nonce', `of ${nonce.length} characters`)
}

interface Sent {
  readonly timestamp: string
  readonly nonce: string
  readonly signature: string
}

/** signatures/hmac, signatures/ecc: the signature fits the bytes, or another open spelling of timestamp and nonce, or nothing. */
function signatureFact(key: Key, sent: Sent, uri: string, call: Call): Fact {
  const check = key.publicKey === null ? checkHmac : checkEcc
  const found = check(key, sent, dataToSign(sent, uri, call.body))
  if (found !== null) return found
  for (const other of otherSpellings(sent))
    if ((check(key, sent, dataToSign(other, uri, call.body))?.is ?? 'no') !== 'no') return unsure('signatures/nonce')
  const plain = key.publicKey === null ? 'signatures/hmac' : 'signatures/ecc'
  return no(wrongKind(key, sent.signature) ?? call.breaks ?? plain)
}

/** signatures/data-to-sign: `<timestamp>;<nonce>;POST LF <uri> LF <body> LF`. */
function dataToSign({ timestamp, nonce }: Sent, uri: string, body: string): Uint8Array {
  return utf8(`${timestamp};${nonce};POST\n${uri}\n${body}\n`)
}

/** How much padding a server takes back that the header leaves out. */
const paddings = ['', '=', '==', '===']

/**
 * The padded and the unpadded nonce are open as a pair, and a timestamp with leading zeros is the same number. A server may try each padding,
 * also where BASE64 needs none.
 */
function otherSpellings(sent: Sent): Sent[] {
  const bare = sent.nonce.replace(/=+$/, '')
  const nonces = new Set([sent.nonce, ...paddings.map((padding) => `${bare}${padding}`)])
  const stamps = [...new Set([sent.timestamp, sent.timestamp.replace(/^0+(?=\d)/, '')])]
  return stamps
    .flatMap((timestamp) => [...nonces].map((nonce) => ({ ...sent, timestamp, nonce })))
    .filter(({ timestamp, nonce }) => timestamp !== sent.timestamp || nonce !== sent.nonce)
}

function checkHmac(key: Key, { signature }: Sent, data: Uint8Array): Fact | null {
  const whole = hmacSha256(utf8(key.secret), data)
  const mac = whole.slice(0, 20)
  if (signature === toBase64(mac)) return yes('signatures/hmac', key.origin)
  // Missing padding is open (signatures/base64-padding); other texts that a decoder may accept are not BASE64 of these bytes.
  if (signature === toBase64(mac).replace(/=+$/, '')) return unsure('signatures/hmac-encoding')
  const same = sameBytes(fromHex(signature) ?? empty, mac) || looseBytes(signature) === looseBytes(toBase64(mac))
  if (same) return no('signatures/hmac-encoding')
  return isOtherPart(fromBase64Strict(signature) ?? empty, whole) ? no('signatures/hmac-length') : null
}

/** Fewer bytes are no sign of the right MAC. */
const leastBytes = 8

/** signatures/hmac-length: bytes of the right MAC, but not its first 20. */
function isOtherPart(bytes: Uint8Array, whole: Uint8Array): boolean {
  if (bytes.length < leastBytes) return false
  const same = Math.min(bytes.length, 20)
  return sameBytes(bytes.slice(0, same), whole.slice(0, same)) || sameBytes(bytes, whole.slice(-20))
}

const empty = new Uint8Array(0)
/** R and S, 32 bytes each. */
const eccBytes = 64

const verifiers = new WeakMap<Uint8Array, ReturnType<typeof ed25519Verifier>>()

function verifierOf(publicKey: Uint8Array): ReturnType<typeof ed25519Verifier> {
  const known = verifiers.get(publicKey) ?? ed25519Verifier(publicKey)
  verifiers.set(publicKey, known)
  return known
}

function checkEcc(key: Key, { signature }: Sent, data: Uint8Array): Fact | null {
  const { publicKey } = key
  if (publicKey === null) return null
  const fits = (bytes: Uint8Array): boolean => verifierOf(publicKey)(data, bytes)
  const strict = fromBase64Strict(signature)
  if (strict?.length === eccBytes) {
    // A point of small order is open (signatures/weak-keys).
    if (fits(strict))
      return isOrdinaryPoint(strict.subarray(0, 32)) ? yes('signatures/ecc', key.origin) : unsure('signatures/ecc')
    const low = withLowS(strict)
    return low !== null && fits(low) ? no('signatures/ecc-malleability') : null
  }
  const hex = fromHex(signature)
  if (hex?.length === eccBytes && fits(hex)) return no('signatures/ecc-encoding')
  const loose = Uint8Array.from(looseBytes(signature), (letter) => letter.charCodeAt(0))
  if (loose.length !== eccBytes || !fits(loose)) return null
  return /^[A-Za-z0-9+/]+$/.test(signature) ? unsure('signatures/ecc-encoding') : no('signatures/ecc-encoding')
}

/** The requirement that a signature of the other kind breaks. */
function wrongKind(key: Key, signature: string): string | undefined {
  const length = looseBytes(signature).length
  if (key.publicKey === null) return length === eccBytes ? 'signatures/secret-key-refuses-ecc' : undefined
  return length === 20 || length === 32 ? 'signatures/public-key-refuses-hmac' : undefined
}

/** Parts 3, 5.3 and 5.4: whether a token is valid. */

/**
 * After this many newer tokens of one key, or of all keys, an older one may have ended: how many tokens may live at once is open
 * (limits/live-tokens). Sixteen sessions may live, so the tokens of a session are safe for longer.
 */
const safeNewer = { ofKey: 2, ofKeyInSessions: 15, ofAll: 40 }
/** A session may end before its tokens; within this it never does. */
const safeSessionMs = 10_000
/** The refresh lifetime may differ from grant to grant, so only this part of it is counted on. */
const safeLifetime = 0.9

interface FoundPair {
  readonly pair: Pair
  /** False: another spelling of the token, which may be the same to a server. */
  readonly exact: boolean
}

/** The pair that a text may stand for. */
export function findPair(state: State, text: string, which: 'access' | 'refresh'): FoundPair | undefined {
  const exact = state[which].get(text)
  const pair = exact === undefined ? undefined : state.pairs.get(exact)
  if (pair !== undefined) return { pair, exact: true }
  for (const look of looksOf(text)) {
    const other = state.pairs.get(state.looks.get(`${which} ${look}`) ?? -1)
    if (other !== undefined) return { pair: other, exact: false }
  }
  // Whether a token with something appended works is open, too (tokens/spelling).
  for (const length of state.tokenLengths) {
    if (length < shortestToken || length > text.length) continue
    const longer = state.pairs.get(state[which].get(text.slice(0, length)) ?? -1)
    if (longer !== undefined) return { pair: longer, exact: false }
  }
  return undefined
}

/** Shorter tokens may begin another one by chance. */
const shortestToken = 12

/** Every fact on which an access token rests, the scope apart. */
export function accessFacts(state: State, token: string, from: string, span: Span): Fact[] {
  const found = findPair(state, token, 'access')
  if (found === undefined) {
    const other = findPair(state, token, 'refresh')
    return [no(other === undefined ? 'tokens/authorize' : 'tokens/refresh-is-no-access')]
  }
  const { pair } = found
  return [
    found.exact ? yes('tokens/authorize') : unsure('tokens/exact'),
    ...standingFacts(state, pair, span),
    standingFact(pair, 'refresh/revokes-access'),
    accessExpiryFact(pair, span),
    sessionFact(state, pair, span, 'sessions/oldest-removed'),
    addressFact(pair, from),
  ]
}

/** Every fact on which a refresh rests. */
export function refreshFacts(state: State, token: string, from: string, span: Span): Fact[] {
  const found = findPair(state, token, 'refresh')
  if (found === undefined) {
    const other = findPair(state, token, 'access')
    return [no(other === undefined ? 'refresh/token' : 'tokens/access-is-no-refresh')]
  }
  const { pair } = found
  const addresses = wordsBehind(pair.scope, 'ipAddr:')
  const ended = pair.accessEnds !== null && sideOf(span, pair.accessEnds, slackMs) !== 'before'
  return [
    found.exact ? yes('refresh/new-pair') : unsure('refresh/token'),
    ...standingFacts(state, pair, span),
    standingFact(pair, 'refresh/revokes-refresh'),
    refreshExpiryFact(pair, span),
    sessionFact(state, pair, span, 'sessions/removed-refresh'),
    // Whether a refresh is bound to the address is open.
    ...(addresses.length === 0 || addresses.includes(from) ? [] : [unsure('refresh/address-kept')]),
    ...(ended ? [yes('refresh/after-access-expiry')] : []),
  ]
}

/**
 * Whether the key of the pair works, and whether a limit on live tokens may have ended this one. What becomes of the tokens of a disabled or
 * deleted key is open.
 */
function standingFacts(state: State, pair: Pair, span: Span): Fact[] {
  const key = state.keys.get(pair.key)
  const newer = (state.grants.get(pair.key) ?? 0) - pair.countOfKey
  const newerOfAll = (state.grants.get('') ?? 0) - pair.countOfAll
  const isInSession = wordsBehind(pair.scope, 'session:').length > 0
  const safe = isInSession ? safeNewer.ofKeyInSessions : (state.terms.liveTokens ?? safeNewer.ofKey)
  const crowded = newer > safe || (newerOfAll > safeNewer.ofAll && span.to - pair.made.to > 2000)
  return [
    ...(key === undefined || key.works === 'unknown' || key.ended !== undefined
      ? [unsure('keys/created-key-works')]
      : []),
    ...(crowded ? [unsure('tokens/authorize')] : []),
  ]
}

/** refresh/revokes-access, refresh/revokes-refresh: a refreshed pair is revoked. */
function standingFact(pair: Pair, requirement: string): Fact {
  if (pair.standing === 'dead') return no(requirement)
  if (pair.standing === 'unknown') return unsure('refresh/new-pair')
  return pair.generation === 0 ? yes('tokens/authorize') : yes('refresh/new-pair', `${Math.min(pair.generation, 4)}`)
}

/** tokens/expire, expires-in/enforced. */
function accessExpiryFact(pair: Pair, span: Span): Fact {
  const asked = wordsBehind(pair.scope, 'expiresIn:').length > 0
  const requirement = asked && pair.generation === 0 ? 'expires-in/enforced' : 'tokens/expire'
  if (pair.accessEnds === null) return unsure(requirement)
  const side = sideOf(span, pair.accessEnds, slackMs)
  if (side === 'near') return unsure(requirement)
  return side === 'before' ? yes(requirement) : no(requirement)
}

/** refresh/own-expiry. */
function refreshExpiryFact(pair: Pair, span: Span): Fact {
  const { refreshEnds, made } = pair
  if (refreshEnds === null) return yes('refresh/own-expiry')
  const counted = made.from + (refreshEnds.from - made.from) * safeLifetime
  if (span.to < counted) return yes('refresh/own-expiry')
  return sideOf(span, refreshEnds, slackMs) === 'after' ? no('refresh/own-expiry') : unsure('refresh/own-expiry')
}

/** sessions/…: the facts on which the tables of all readings agree. */
function sessionFact(state: State, pair: Pair, span: Span, requirement: string): Fact {
  const member = memberOf(state, pair)
  const said = saidOf(state.sessions, member)
  const kept = pair.generation > 0 && requirement === 'sessions/oldest-removed' ? 'refresh/session-kept' : requirement
  if (said.size === 1 && said.has('dead')) return no(kept)
  if (said.size !== 1 || said.has('unknown')) return unsure('sessions/sixteen-live')
  if (member.name === null) return yes('tokens/authorize')
  const fresh = span.to - pair.made.from < safeSessionMs
  return fresh ? yes(pair.generation > 0 ? 'refresh/session-kept' : 'sessions/created') : unsure('sessions/created')
}

/** Addresses that no caller has, and those of a documentation network: ours is surely none of them. */
const isOfNobody = (address: string): boolean => /^(203\.0\.113\.\d+|0\.0\.0\.0|255\.255\.255\.255)$/.test(address)

/** addresses/bound; after a refresh refresh/address-kept. @param from the caller's address as the server sees it; empty where that is not known */
function addressFact(pair: Pair, from: string): Fact {
  const addresses = wordsBehind(pair.scope, 'ipAddr:')
  const requirement = pair.generation > 0 ? 'refresh/address-kept' : 'addresses/bound'
  if (addresses.length === 0) return yes('tokens/authorize')
  if (addresses.length > 1 && addresses.includes(from)) return unsure(requirement)
  if (addresses.includes(from)) return yes(requirement)
  if (from === '' && !addresses.every(isOfNobody)) return unsure(requirement)
  return addresses.every((address) => /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(address))
    ? no(requirement)
    : unsure(requirement)
}
