/** Judges one call by the document: `facts` lists all that its acceptance depends on, and the verdict follows from these facts. */

import { isDocumentedMethod } from '../document.ts'
import { isObject, isStrings, type JsonObject } from '../json.ts'
import { fromBase64Strict, fromHex, sameBytes, toBase64, toHex, utf8 } from '../signer/bytes.ts'
import { ed25519Verifier, signatureBytes, withLowS } from '../signer/ed25519.ts'
import { hmacSha256, ofFewKeys } from '../signer/hmac.ts'
import { publicKeyFromPem, publicKeyToPem } from '../signer/pem.ts'
import { findPair, looseBytes, type ReadCall, readCall, unpadded } from './read-call.ts'
import { type Span, saidOf, slackMs } from './sessions.ts'
import {
  type Answer,
  type Call,
  type Fact,
  type Key,
  type Level,
  lifetimeOf,
  memberOf,
  type Pair,
  type State,
  type Verdict,
  wordsBehind,
} from './state.ts'

type ReadBody = ReadCall['body']

const make =
  (is: Fact['is']) =>
  (requirement: string, about?: string): Fact =>
    about === undefined ? { requirement, is } : { requirement, is, about }

const yes = make('yes')
const no = make('no')
/** Unknown for this call only: an accepted call says nothing about others of its kind. */
const unsure = make('unknown')
/** The document promises it where this holds, and leaves it open where not. */
const sure = (holds: boolean, requirement: string, about?: string): Fact =>
  holds ? yes(requirement, about) : unsure(requirement, about)

/** The facts that apply. */
const only = (...maybe: readonly (Fact | readonly Fact[] | false | undefined)[]): Fact[] =>
  maybe.flatMap((one) => one || [])

/** The name of a fact, as `shown` remembers it. */
export const nameOf = ({ requirement, about }: Fact): string =>
  about === undefined ? requirement : `${requirement} (${about})`

/** Open until an accepted call has shown how this target reads it. */
function open(state: State, requirement: string, about: string): Fact {
  const fact = unsure(requirement, about)
  return state.shown.has(nameOf(fact)) ? yes(requirement, about) : fact
}

/** The implied ones of the requirements that the model cites; all others are a must. A test compares them with spec/requirements.yaml. */
const implied = new Set([
  'envelope/request-members',
  'envelope/unknown-method',
  'envelope/malformed-answered',
  'keys/scope-held',
  'keys/create-params',
  'keys/public-key-material',
  'keys/unique-ids',
  'keys/unique-secrets',
  'keys/apikey-scope',
  'signatures/hmac-encoding',
  'signatures/ecc-encoding',
  'signatures/ecc-malleability',
  'signatures/header-exact',
  'signatures/scheme',
  'basic/malformed',
  'grants/params',
  'grants/grant-type',
  'grants/expiry-order',
  'tokens/exact',
  'tokens/refresh-is-no-access',
  'tokens/access-is-no-refresh',
  'refresh/scopes-kept',
  'refresh/address-kept',
  'refresh/session-kept',
  'scopes/area-opens',
  'scopes/within-key',
  'sessions/removed-refresh',
  'limits/ten-can-be-made',
  'limits/eleventh-refused',
  'limits/earlier-keys-kept',
])

export const levelOf = (requirement: string): Level => (implied.has(requirement) ? 'implied' : 'must')

/**
 * One *no* beats every *unknown*; all *yes* must be accepted; the rest is open. A wrong acceptance has the highest level among the
 * *no* facts, a wrong refusal the lowest among those that no accepted call has shown yet.
 */
export function judge(state: State, known: readonly Fact[]): Verdict {
  const against = known.filter(({ is }) => is === 'no')
  if (against.length > 0) return verdict('refused', against.find(isMust) ?? (against[0] as Fact))
  const unknown = known.find(({ is }) => is === 'unknown')
  if (unknown !== undefined) return verdict('open', unknown)
  const newest = known.filter((fact) => !state.shown.has(nameOf(fact)))
  const lowest = newest.findLast((fact) => !isMust(fact)) ?? newest.at(-1) ?? known.at(-1)
  const fact = lowest ?? { requirement: 'envelope/method-names', is: 'yes' }
  const level = newest.includes(fact) ? levelOf(fact.requirement) : 'must'
  return { ...verdict('accepted', fact), level: level as Level }
}

/** Whether an answer contradicts the verdict. A call that must be refused and gets a broken answer was not accepted. */
export function contradicts(verdict: Verdict, answer: Answer): boolean {
  if (answer.kind === 'unread') return false
  if (verdict.is === 'refused') return answer.kind === 'accepted'
  return verdict.is === 'accepted' && answer.kind !== 'accepted'
}

const isMust = ({ requirement }: Fact): boolean => levelOf(requirement) === 'must'

function verdict(is: Verdict['is'], fact: Fact): Verdict {
  return { is, requirement: fact.requirement, level: levelOf(fact.requirement), fact }
}

/** What the document says about a call, given the state of the target as far as calls and answers show it. Pure. */
export function facts(state: State, call: Call, span: Span): Fact[] {
  const read = readCall(state, call)
  const { body, params } = read
  const isGrant = body.method === 'manager/auth'
  // Only its body makes a call a grant. If a member is written twice there, it is open which one counts, and so is the whole grant.
  if (body.isTwofold && /manager\\?\/auth/.test(call.body)) return [unsure('envelope/request-members')]
  const envelope = only(
    envelopeFacts(state, body),
    // Whether a body in chunks is accepted is open, until one was.
    call.inChunks === true && open(state, 'signatures/request-body', 'in chunks'),
  )
  if (params === undefined || envelope.some(({ is }) => is === 'no'))
    return isGrant ? envelope : [...envelope, ...callerFacts(state, read, span)]
  if (isGrant) return [...envelope, ...grantFacts(state, read, params, span)]
  return only(envelope, callerFacts(state, read, span), paramsFacts(state, body, params))
}

function paramsFacts(state: State, { method, form }: ReadBody, params: JsonObject): Fact[] {
  if (method === 'manager/createApiKey') return createFacts(state, params)
  const isPlain = Object.keys(params).length === 0 || state.terms.probes.has(String(method))
  return only(!isPlain && open(state, 'envelope/empty-params', form))
}

/** Whether the caller may make this call. */
function callerFacts(state: State, read: ReadCall, span: Span): Fact[] {
  return only(
    authorizationFacts(state, read, span),
    // Whether a key may create one with more scope than its own is open (keys/scope-above-creator).
    isBeyondCreator(read) && unsure('keys/create-authorized'),
    solutionFact(state, read),
  )
}

function isBeyondCreator({ body, params, scope }: ReadCall): boolean {
  if (body.method !== 'manager/createApiKey' || !isStrings(params?.scope)) return false
  return beyondCreator(params.scope, scope).length > 0
}

/** Words of a new key's scope that its creator has not. */
export function beyondCreator(words: readonly string[], creator: readonly string[] | null): string[] {
  if (creator === null) return []
  const has = new Set(creator.map((word) => word.toLowerCase()))
  return words.filter((word) => !has.has(word.toLowerCase()))
}

// Part 1: the envelope.

/** Every server accepts bodies up to this; beyond it, only if one of this kind and size was accepted (signatures/large-body). */
const safeBytes = 1024

function envelopeFacts(state: State, body: ReadBody): Fact[] {
  if (!body.json) return [no('envelope/malformed-answered')]
  const { members, method, params, id } = body
  if (members === null) return [unsure('envelope/request-members')]
  if (body.isTwofold && !isKnownMethod(state, method)) return [unsure('envelope/unknown-method')]
  if (typeof method !== 'string') return [no('envelope/request-members')]
  const { jsonrpc, method: _method, params: _params, id: _id, ...extra } = members
  const noParams = params === undefined || params === null || Array.isArray(params)
  if (!noParams && !isObject(params))
    return [body.isTwofold ? unsure('envelope/request-members') : no('envelope/request-members')]
  const isPlain = jsonrpc === '2.0' && Number.isSafeInteger(id) && !noParams && !body.isOdd && isEmpty(extra)
  const taken = Math.max(safeBytes, state.sizes.get(kindOfBody(body)) ?? 0)
  return only(
    methodFact(state, method),
    !isPlain && oddFact(state, body),
    sure(body.bytes <= taken, 'signatures/request-body'),
  )
}

const isEmpty = (members: object): boolean => Object.keys(members).length === 0

/** A server that accepts an odd body once must accept it again. Bodies with secrets in them are not remembered. */
function oddFact(state: State, { method, form }: ReadBody): Fact {
  return method === 'solution/listSolutions'
    ? open(state, 'envelope/request-members', form)
    : unsure('envelope/request-members')
}

/** envelope/unknown-method; names that another method of the service may have are open. */
function methodFact(state: State, method: string): Fact {
  if (isKnownMethod(state, method)) return yes('envelope/method-names', method)
  if (state.terms.otherMethods?.has(method) === true) return unsure('envelope/unknown-method')
  // A reader may skip white space around a name; another letter makes another name.
  const near = isDocumentedMethod(method.trim())
  const plausible = /^\w+\/(list|get|create|update|delete|add|remove|set|enable|disable|auth)[A-Z]\w*$/.test(method)
  return near || plausible ? unsure('envelope/unknown-method') : no('envelope/unknown-method')
}

/** The document describes the method, or the user names it. */
export const isKnownMethod = ({ terms }: Pick<State, 'terms'>, method: unknown): boolean =>
  typeof method === 'string' && (isDocumentedMethod(method) || terms.probes.has(method))

/** The kind and size of a body: an accepted body shows that others like it are accepted. */
export function kindOfBody(body: ReadBody): string {
  const compact = JSON.stringify(body.members).length
  return `${String(body.method)}, ${compact * 2 < body.bytes ? 'white space' : 'text'}`
}

// Part 5: who calls, in one of three ways, and what this caller may do.

function authorizationFacts(state: State, read: ReadCall, span: Span): Fact[] {
  const { auth, found, key, call } = read
  const method = String(read.body.method)
  // Which method a forgiving reader finds where the document sees none is open, and so is what it needs. A method of an area needs that area, shown or not.
  const isMethodRead = isKnownMethod(state, method) || areas.includes(groupOf(method))
  const ofKey =
    key === undefined ? [] : only(keyWorksFact(state, key), isMethodRead && keyScopeFact(state, key, method))
  const header = call.authorization ?? ''
  switch (auth.kind) {
    case 'none': {
      // Whether valid credentials work from another place is open (tokens/other-places).
      const mayBeRight = (!isMethodRead && /auth/i.test(call.body)) || mayComeFromBody(state, read, span)
      return [mayBeRight ? unsure('authorization/required') : no('authorization/required')]
    }
    case 'other-scheme':
      return [no(/;.*;/.test(header) ? 'signatures/scheme' : 'authorization/required')]
    case 'malformed-basic':
      return [no('basic/malformed')]
    case 'token':
      return only(
        !auth.plain && open(state, 'tokens/authorize', `prefix ${header.split(' ')[0]?.slice(0, 16)}`),
        accessFacts(state, read, auth.token, span),
        found && isMethodRead && pairScopeFact(state, found.pair, state.keys.get(found.pair.key), method),
      )
    case 'basic':
      return only(
        !auth.plain && unsure('basic/malformed'),
        !read.isKeyExact && unsure('basic/key-id'),
        secretFact(key, auth.secret, 'basic'),
        ofKey,
      )
    case 'signature':
      return only(
        !auth.plain && unsure('signatures/scheme'),
        !read.isKeyExact && unsure('signatures/key-id'),
        signatureFacts(state, read, auth.fields, span),
        ofKey,
      )
  }
}

/** Whether the body has credentials that would authorize the call from the header. */
function mayComeFromBody(state: State, { call, body }: ReadCall, span: Span): boolean {
  const texts = textsIn(body.members)
  const headers = texts.flatMap((text) => [
    ...(findPair(state, text.split(' ').at(-1), 'access') === undefined
      ? []
      : [`${state.terms.tokenPrefix ?? 'Bearer'} ${text.split(' ').at(-1)}`]),
    ...[...state.keys.values()]
      .filter(({ id, secret }) => secret !== '' && text === secret && texts.includes(id))
      .map(({ id, secret }) => `Basic ${toBase64(utf8(`${id}:${secret}`))}`),
  ])
  return headers.some((authorization) =>
    authorizationFacts(state, readCall(state, { ...call, authorization }), span).every(({ is }) => is !== 'no'),
  )
}

/** Every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/**
 * basic/credentials and grants/credentials: a key's own whole secret; basic/public-key-refused and grants/public-key-refused: never for a key
 * with a public key.
 */
function secretFact(key: Key | undefined, secret: string, way: 'basic' | 'grants'): Fact {
  if (key === undefined) return no(`${way}/key-id`)
  if (key.publicKey !== null) return no(`${way}/public-key-refused`)
  return key.secret === secret ? yes(`${way}/credentials`, key.origin) : no(`${way}/credentials`)
}

/** A key may be locked for a while after this many wrong attempts in a row. */
const safeTries = 3

/**
 * keys/can-be-disabled, keys/can-be-deleted: such a key authorizes nothing. Whether another may have been removed for a later one or locked for a
 * while, the document does not show.
 */
function keyWorksFact(state: State, key: Key): Fact | false {
  if (key.ended !== undefined) return no(key.ended)
  const tries = state.wrongTries.get(key.id) ?? 0
  return (key.works === 'unknown' || tries > safeTries) && unsure('keys/created-key-works')
}

// Part 4.2: grants.

function grantFacts(state: State, read: ReadCall, params: JsonObject, span: Span): Fact[] {
  const { grantType, apiKeyId: id, apiKeySecret: secret, refreshToken: token } = params
  // Whether an Authorization header matters here is open (grants/authorization-header).
  const { call } = read
  const header = sure(call.authorization === undefined, 'grants/no-authorization-header')
  if (grantType === 'refresh_token')
    return only(header, refreshParamsFacts(params), typeof token === 'string' && refreshFacts(state, read, token, span))
  if (grantType !== 'api_key_credentials') return [header, no('grants/grant-type')]
  const { key } = read
  const own = credentialParamsFacts(state, params, key, call.from)
  if (typeof id !== 'string' || typeof secret !== 'string') return [header, ...own]
  return only(
    header,
    own,
    !read.isKeyExact && unsure('grants/key-id'),
    secretFact(key, secret, 'grants'),
    key && keyWorksFact(state, key),
  )
}

/** The params of the grant api_key_credentials, the credentials themselves apart. */
function credentialParamsFacts(state: State, params: JsonObject, key: Key | undefined, from: string): Fact[] {
  const { grantType, apiKeyId, apiKeySecret, scope, ...extra } = params
  if (typeof apiKeyId !== 'string' || typeof apiKeySecret !== 'string' || !isStrings(scope))
    return [no('grants/params')]
  return only(
    yes('grants/params'),
    // What an empty scope list grants is open, and so is a list that repeats a word.
    (!isEmpty(extra) || scope.every(isRestriction) || new Set(scope).size < scope.length) && unsure('grants/params'),
    scope.map((word) => wordFact(state, word, { key, from, scope })),
  )
}

/** The longest lifetime that every server must keep exactly; a maximum is open. */
export const longestKeptMs = 15_000

/** Part 5.4: whether a scope word is granted. */
function wordFact(
  state: State,
  word: string,
  { key, from, scope }: { key: Key | undefined; from: string; scope: readonly string[] },
): Fact {
  const behind = word.slice(word.indexOf(':') + 1)
  const alone = scope.filter((other) => other.split(':')[0] === word.split(':')[0]).length === 1
  // What happens with a session name that any key used before is open, also when its session is gone (sessions/reused-name).
  const isNew = !state.sessionNames.has(behind.toLowerCase())
  if (word.startsWith('session:')) return sure(alone && isPlainSession(state, behind) && isNew, 'sessions/created')
  if (word.startsWith('ipAddr:')) return sure(alone && behind !== '' && behind === from, 'addresses/bound', 'granted')
  if (word.startsWith('expiresIn:')) return sure(isSafeLifetime(state, scope), 'expires-in/reported')
  const has = key?.doubtful.includes(word) === false && (key.scope === null || key.scope.includes(word))
  if (!has) return unsure('scopes/within-key')
  if (surelyGranted.includes(word)) return yes('grants/credentials', word)
  const about = inCompany(word, scope, surelyGranted)
  return isArea(word) || isApikeyWord(word) ? open(state, 'grants/credentials', about) : unsure('grants/credentials')
}

/** Words that every server grants to a key that has them, and takes in the scope of a new key: those of the examples of each method. */
const surelyGranted = ['solution', 'context']
const surelyCreated = ['apikey', ...surelyGranted]

/**
 * A server may leave out a word that it does not know, and refuse a scope in which no other is left. So what an accepted call shows of a word
 * holds beside a sure one, and without one for the same words alone.
 */
const inCompany = (word: string, scope: readonly string[], sure: readonly string[]): string =>
  scope.some((other) => sure.includes(other))
    ? word
    : `${scope.filter((other) => !isRestriction(other)).join(' ')} alone`

/** A lifetime of 1 to 15 seconds is accepted; a maximum, and other forms of NUMBER, are open. */
function isSafeLifetime({ refreshLifetimeMs }: State, scope: readonly string[]): boolean {
  const asked = lifetimeOf(scope)
  return asked !== null && asked >= 1000 && asked <= Math.min(longestKeptMs, 0.9 * (refreshLifetimeMs ?? longestKeptMs))
}

/** The params of the grant refresh_token, the token itself apart. */
export function refreshParamsFacts({ grantType, refreshToken, ...extra }: JsonObject): Fact[] {
  if (typeof refreshToken !== 'string') return [no('grants/params')]
  return only(!isEmpty(extra) && unsure('refresh/no-scope'))
}

// Part 4.1: the params of manager/createApiKey.

function createFacts(state: State, params: JsonObject): Fact[] {
  const { name, scope, publicKey, ...extra } = params
  if (typeof name !== 'string' || !isStrings(scope)) return [no('keys/create-params')]
  const isPlain = isEmpty(extra) && scope.length > 0 && new Set(scope).size === scope.length
  return only(
    sure(isPlain && isPlainKeyName(state, name), 'keys/create-params'),
    scope.map((word) => keyWordFact(state, word, scope)),
    publicKey !== undefined && publicKeyFact(state, publicKey),
    // limits/ten-can-be-made: a fresh instance has room for at least nine created keys; how the eleventh creation is answered is open.
    state.terms.fresh && state.created < 9 ? yes('limits/ten-can-be-made') : unsure('limits/eleventh-refused'),
  )
}

/** Which names are accepted, such as those with capitals or with two hyphens in a row, is open. */
const isPlainName = (name: string): boolean => name.length <= 64 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)

/** keys/name-rules: open for long names, until one as long was accepted, and for names that were offered before, as a refused one may stay taken. */
const isPlainKeyName = ({ keys, keyNames }: State, name: string): boolean =>
  isPlainName(name) &&
  !keyNames.has(name) &&
  (name.length <= 12 || [...keys.values()].some((key) => key.name.length >= name.length))

/** Which names of sessions are accepted is open: other names than short ones may be refused, until a long one with hyphens inside was accepted. */
const isPlainSession = ({ terms }: State, name: string): boolean =>
  /^[a-z0-9]{1,8}$/.test(name) || (terms.longSessionNames === true && name.length <= 32 && isPlainName(name))

/** A word in a new key's scope is sure, or as open as this target has left it. */
const keyWordFact = (state: State, word: string, scope: readonly string[]): Fact =>
  surelyCreated.includes(word)
    ? yes('keys/create-authorized', `scope ${word}`)
    : open(state, 'keys/create-authorized', `scope ${inCompany(word, scope, surelyCreated)}`)

/** keys/public-key-material; weak points, CRLF and other white space are open, and whether two keys may have one public key. */
function publicKeyFact(state: State, publicKey: unknown): Fact {
  // A server may take null for a parameter that is not there.
  if (publicKey === null) return unsure('keys/public-key-material')
  if (typeof publicKey !== 'string') return no('keys/public-key-material')
  try {
    const bytes = publicKeyFromPem(publicKey)
    const written = publicKeyToPem(bytes) === publicKey
    const isNew = [...state.keys.values()].every((key) => key.publicKey === null || !sameBytes(key.publicKey, bytes))
    return written && isNew ? yes('keys/public-key') : unsure('keys/public-key-material')
  } catch {
    return looksLikePem(publicKey) ? unsure('keys/public-key-material') : no('keys/public-key-material')
  }
}

/** A lenient reader may still find a key if it has text around it, or if letters are missing. */
function looksLikePem(text: string): boolean {
  const body = text.replace(/-+(BEGIN|END) PUBLIC KEY-+/gi, '').replace(/[^A-Za-z0-9+/]/g, '')
  return /PUBLIC KEY/i.test(text) && body.length >= 59 && body.includes(ed25519Prefix) && !/PRIVATE/.test(text)
}

/** The beginning of the SubjectPublicKeyInfo of every ED25519 key. */
const ed25519Prefix = toBase64(Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70))

// Part 5.1: the Authorization header of a signed call, computed again from the bytes that were sent.

/** How far a timestamp may be off is open; a difference below this is never a reason for a refusal. */
const closeMs = 30_000

/** signatures/header-fields, header-exact, version, key-id, then what was signed. */
function signatureFacts(state: State, { call, key }: ReadCall, fields: readonly string[], span: Span): Fact[] {
  if (fields.length < 5) return [no('signatures/header-fields')]
  if (fields.length > 5) return [no('signatures/header-exact')]
  const [, version = '', timestamp = '', nonce = '', signature = ''] = fields
  // White space around the id of a key may belong to its spelling.
  if (fields.slice(1).some((field) => field !== field.trim())) return [no('signatures/header-exact')]
  if (version !== '1') return [no('signatures/version')]
  if (key === undefined) return [no('signatures/key-id')]
  return [
    timestampFact(state, timestamp, span),
    nonceFact(state, nonce),
    yes('signatures/request-body', lookOf(call.body)),
    call.signature ??
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
function timestampFact({ signatureClock }: State, timestamp: string, span: Span): Fact {
  const off = Number(timestamp) - (signatureClock ?? Number.NaN)
  const close = off > span.from - closeMs && off < span.to + closeMs
  return sure(/^\d{13}$/.test(timestamp) && close, 'signatures/timestamp')
}

/** Length, characters and repetition of nonces are open. */
function nonceFact(state: State, nonce: string): Fact {
  if (state.nonces.has(nonce) || !/^[A-Za-z0-9+/_=-]{8,64}$/.test(nonce)) return unsure('signatures/nonce')
  // BASE64 of 16 bytes or more, as in the example.
  if (/^[A-Za-z0-9+/]{22,64}={0,2}$/.test(nonce)) return yes('signatures/nonce')
  return open(state, 'signatures/nonce', `of ${nonce.length} characters`)
}

type Sent = { readonly [field in 'timestamp' | 'nonce' | 'signature']: string }

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
  const bare = unpadded(sent.nonce)
  const nonces = new Set([sent.nonce, ...paddings.map((padding) => `${bare}${padding}`)])
  const stamps = [...new Set([sent.timestamp, sent.timestamp.replace(/^0+(?=\d)/, '')])]
  return stamps
    .flatMap((timestamp) => [...nonces].map((nonce) => ({ ...sent, timestamp, nonce })))
    .filter(({ timestamp, nonce }) => timestamp !== sent.timestamp || nonce !== sent.nonce)
}

const empty = new Uint8Array(0)

function checkHmac(key: Key, { signature }: Sent, data: Uint8Array): Fact | null {
  const whole = hmacSha256(utf8(key.secret), data)
  const mac = whole.slice(0, 20)
  if (signature === toBase64(mac)) return yes('signatures/hmac', key.origin)
  // How much padding there is, is open (signatures/base64-padding); other texts that a decoder may accept are not BASE64 of these bytes.
  if (unpadded(signature) === unpadded(toBase64(mac))) return unsure('signatures/hmac-encoding')
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

const verifierOf = ofFewKeys(toHex, ed25519Verifier)

function checkEcc(key: Key, { signature }: Sent, data: Uint8Array): Fact | null {
  const { publicKey } = key
  if (publicKey === null) return null
  const verify = (bytes: Uint8Array) => verifierOf(publicKey)(data, bytes)
  const fits = (bytes: Uint8Array): boolean => verify(bytes) !== 'wrong'
  const strict = fromBase64Strict(signature)
  if (strict?.length === signatureBytes) {
    const found = verify(strict)
    if (found === 'right') return yes('signatures/ecc', key.origin)
    // A point of small order is open (signatures/weak-keys).
    if (found === 'weak') return unsure('signatures/ecc')
    const low = withLowS(strict)
    return low !== null && fits(low) ? no('signatures/ecc-malleability') : null
  }
  const hex = fromHex(signature)
  if (hex?.length === signatureBytes && fits(hex)) return no('signatures/ecc-encoding')
  const loose = Uint8Array.from(looseBytes(signature), (letter) => letter.charCodeAt(0))
  if (loose.length !== signatureBytes || !fits(loose)) return null
  const isPaddingAlone = unpadded(signature) === unpadded(toBase64(loose))
  return isPaddingAlone ? unsure('signatures/ecc-encoding') : no('signatures/ecc-encoding')
}

/** The requirement that a signature of the other kind breaks. */
function wrongKind(key: Key, signature: string): string | undefined {
  const length = looseBytes(signature).length
  if (key.publicKey === null) return length === signatureBytes ? 'signatures/secret-key-refuses-ecc' : undefined
  return length === 20 || length === 32 ? 'signatures/public-key-refuses-hmac' : undefined
}

// Parts 3, 5.3 and 5.4: whether a token is valid.

/**
 * After this many newer tokens of one key, or of all keys, an older one may have ended: how many tokens may live at once is open
 * (limits/live-tokens). Sixteen sessions may live, so the tokens of a session are safe for longer.
 */
export const safeNewer = { ofKey: 2, ofKeyInSessions: 15, ofAll: 40 }
/** A session may end before its tokens; within this it never does. */
const safeSessionMs = 10_000
/** The refresh lifetime may differ from grant to grant, so only this part of it is counted on. */
const safeLifetime = 0.9

/** Every fact on which an access token rests, the scope apart. */
function accessFacts(state: State, { call, found }: ReadCall, token: string, span: Span): Fact[] {
  if (found === undefined)
    return [no(findPair(state, token, 'refresh') ? 'tokens/refresh-is-no-access' : 'tokens/authorize')]
  const { pair } = found
  return only(
    found.exact ? yes('tokens/authorize') : unsure('tokens/exact'),
    lifeFacts(state, pair, span),
    standingFact(pair, 'refresh/revokes-access'),
    accessExpiryFact(pair, span),
    sessionFact(state, pair, span, 'sessions/oldest-removed'),
    addressFact(pair, call.from),
  )
}

/** Every fact on which a refresh rests. */
function refreshFacts(state: State, { call, found }: ReadCall, token: string, span: Span): Fact[] {
  if (found === undefined)
    return [no(findPair(state, token, 'access') ? 'tokens/access-is-no-refresh' : 'refresh/token')]
  const { pair } = found
  const addresses = wordsBehind(pair.scope, 'ipAddr:')
  return only(
    found.exact ? yes('refresh/new-pair') : unsure('refresh/token'),
    lifeFacts(state, pair, span),
    standingFact(pair, 'refresh/revokes-refresh'),
    refreshExpiryFact(pair, span),
    sessionFact(state, pair, span, 'sessions/removed-refresh'),
    // Whether a refresh is bound to the address is open.
    addresses.length > 0 && !addresses.includes(call.from) && unsure('refresh/address-kept'),
    pair.accessEnds !== null && sideOf(span, pair.accessEnds) !== 'before' && yes('refresh/after-access-expiry'),
  )
}

/**
 * Whether the key of the pair works, and whether a limit on live tokens may have ended this one. What becomes of the tokens of a disabled or
 * deleted key is open.
 */
function lifeFacts(state: State, pair: Pair, span: Span): Fact[] {
  const key = state.keys.get(pair.key)
  const since = lastKnownAlive(state, pair)
  const newer = (state.grants.get(pair.key) ?? 0) - since.ofKey
  const newerOfAll = (state.grants.get('') ?? 0) - since.ofAll
  const isInSession = wordsBehind(pair.scope, 'session:').length > 0
  const safe = isInSession ? safeNewer.ofKeyInSessions : (state.terms.liveTokens ?? safeNewer.ofKey)
  const isCrowded = newer > safe || (newerOfAll > safeNewer.ofAll && span.to - pair.made.to > 2000)
  return only(
    (key === undefined || key.works === 'unknown' || key.ended !== undefined) && unsure('keys/created-key-works'),
    isCrowded && unsure('tokens/authorize'),
  )
}

/**
 * How many pairs there were, of its key and of all, when an older token still worked: no limit on live tokens had ended this one by then. A server
 * on which few tokens of a key work beside newer ones may end them for other reasons than their number, so nothing follows there.
 */
function lastKnownAlive({ oldTokensAlive, terms }: State, pair: Pair) {
  let { countOfKey: ofKey, countOfAll: ofAll } = pair
  if ((terms.liveTokens ?? 0) <= safeNewer.ofKey) return { ofKey, ofAll }
  for (const seen of oldTokensAlive) {
    if (seen.pair.countOfAll > pair.countOfAll) continue
    ofAll = Math.max(ofAll, seen.ofAll)
    if (seen.pair.key === pair.key) ofKey = Math.max(ofKey, seen.ofKey)
  }
  return { ofKey, ofAll }
}

/** refresh/revokes-access, refresh/revokes-refresh: a refreshed pair is revoked. */
function standingFact(pair: Pair, requirement: string): Fact {
  if (pair.standing === 'dead') return no(requirement)
  if (pair.standing !== 'newest') return unsure('refresh/new-pair')
  return pair.generation === 0 ? yes('tokens/authorize') : yes('refresh/new-pair', `${Math.min(pair.generation, 4)}`)
}

/** tokens/expire, expires-in/enforced. */
function accessExpiryFact({ scope, generation, accessEnds }: Pair, span: Span): Fact {
  const asked = wordsBehind(scope, 'expiresIn:').length > 0
  const requirement = asked && generation === 0 ? 'expires-in/enforced' : 'tokens/expire'
  const side = accessEnds === null ? 'near' : sideOf(span, accessEnds)
  return side === 'after' ? no(requirement) : sure(side === 'before', requirement)
}

/** refresh/own-expiry. */
function refreshExpiryFact({ refreshEnds, made }: Pair, span: Span): Fact {
  const counted =
    refreshEnds === null ? Number.POSITIVE_INFINITY : made.from + (refreshEnds.from - made.from) * safeLifetime
  if (span.to < counted) return yes('refresh/own-expiry')
  const isOver = refreshEnds !== null && sideOf(span, refreshEnds) === 'after'
  return isOver ? no('refresh/own-expiry') : unsure('refresh/own-expiry')
}

/** sessions/…: the facts on which the tables of all readings agree. */
function sessionFact(state: State, pair: Pair, span: Span, requirement: string): Fact {
  const member = memberOf(state, pair)
  const said = saidOf(state.sessions, member)
  const kept = pair.generation > 0 && requirement === 'sessions/oldest-removed' ? 'refresh/session-kept' : requirement
  const isGone = said.size === 1 && said.has('dead')
  if (isGone && state.terms.hasSurplusSessions !== true) return no(kept)
  if (isGone || said.size !== 1 || said.has('unknown')) return unsure('sessions/sixteen-live')
  if (member.name === null) return yes('tokens/authorize')
  const fresh = span.to - pair.made.from < safeSessionMs
  return fresh ? yes(pair.generation > 0 ? 'refresh/session-kept' : 'sessions/created') : unsure('sessions/created')
}

/** No caller has one of these addresses. An address of a documentation network may be our own, if something on the way translates addresses. */
const isOfNobody = (address: string): boolean => /^(0\.0\.0\.0|255\.255\.255\.255)$/.test(address)

/** addresses/bound; after a refresh refresh/address-kept. @param from the caller's address as the server sees it; empty if that is not known */
function addressFact(pair: Pair, from: string): Fact {
  const addresses = wordsBehind(pair.scope, 'ipAddr:')
  const requirement = pair.generation > 0 ? 'refresh/address-kept' : 'addresses/bound'
  if (addresses.length === 0) return yes('tokens/authorize')
  if (addresses.includes(from)) return sure(addresses.length === 1, requirement)
  // A fact of its own: if such a call is accepted, or such a token granted, that does not show that a token works from its own address.
  const isElsewhere = unsure(requirement, 'another address')
  if (from === '' && !addresses.every(isOfNobody)) return isElsewhere
  return addresses.every((address) => /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(address))
    ? no(requirement)
    : isElsewhere
}

// Parts 2 and 5.4: which methods a scope opens.

/** API areas, part 1. */
export const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

const isArea = (word: string): boolean => areas.includes(word)
export const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/.test(word)
export const isSolutionId = (word: string): boolean => word.startsWith('solution:')
/** The word for one solution, or for all, opens contexts under it; whether it opens the listing, too, is not shown. */
const mayOpenBySolution = (scope: readonly string[], opener: string): boolean =>
  (opener === 'solution' || opener === 'context') && scope.some(isSolutionId)
const isApikeyWord = (word: string): boolean => word.toLowerCase() === 'apikey'
/** Whether the effect of a word is unknown: it is not in the document, or written in another case. */
const isForeign = (word: string): boolean =>
  !isArea(word) && !isRestriction(word) && !isApikeyWord(word) && !isSolutionId(word)

/** The word that opens a method: an area, or `apikey` for manager/createApiKey. */
function openerOf(state: State, method: string): string {
  if (method === 'manager/createApiKey') return 'apikey'
  return state.terms.probes.get(method) ?? groupOf(method)
}

const groupOf = (method: string): string => method.split('/')[0] ?? ''

/** keys/scope-held, keys/apikey-scope, keys/initial-full-access: whether a key's own scope covers a method. */
function keyScopeFact(state: State, { scope, doubtful }: Key, method: string): Fact {
  const opener = openerOf(state, method)
  if (scope === null)
    return doubtful.includes(opener) ? unsure('keys/scope-held') : yes('keys/initial-full-access', method)
  if (opener === 'apikey') {
    if (!scope.some(isApikeyWord))
      return scope.some(isArea) && !scope.some(isForeign) ? no('keys/apikey-scope') : unsure('keys/apikey-scope')
    return doubtful.some(isApikeyWord) ? unsure('keys/apikey-scope') : apikeyFact(state, scope)
  }
  if (doubtful.includes(opener)) return unsure('keys/scope-held')
  if (scope.includes(opener)) return openedFact(state, opener, 'keys/created-key-works')
  const mayCover = scope.length === 0 || scope.some(isForeign) || mayOpenBySolution(scope, opener)
  return mayCover ? unsure('keys/scope-held') : no('keys/scope-held')
}

/** scopes/…: whether a token's scope, within its key's, covers a method. */
function pairScopeFact(state: State, pair: Pair, key: Key | undefined, method: string): Fact {
  const opener = openerOf(state, method)
  const { scope } = pair
  const has = opener === 'apikey' ? scope.some(isApikeyWord) : scope.includes(opener)
  if (!has) return closedFact(state, pair, key, method)
  if (pair.mayBeNarrower) return unsure('refresh/no-scope')
  if (opener === 'apikey') {
    if (key?.scope?.some(isApikeyWord) === false) return no('scopes/within-key')
    return key?.doubtful.some(isApikeyWord) === true ? unsure('keys/apikey-scope') : apikeyFact(state, scope)
  }
  if (key?.scope !== null && key?.scope.includes(opener) !== true)
    return key?.scope.some(isForeign) === false ? no('scopes/within-key') : unsure('scopes/within-key')
  return key?.doubtful.includes(opener) === true
    ? unsure('scopes/area-opens')
    : openedFact(state, opener, 'tokens/authorize')
}

/** scopes/solution, scopes/context, …: a token is limited to the API areas of its scope. */
function closedFact(state: State, pair: Pair, key: Key | undefined, method: string): Fact {
  const limits = pair.scope.filter((word) => !isRestriction(word))
  const opener = openerOf(state, method)
  if (limits.length === 0 || limits.some(isForeign)) {
    const isBeyondKey = key !== undefined && keyScopeFact(state, key, method).is === 'no'
    return isBeyondKey ? no('scopes/within-key') : unsure('scopes/area-opens')
  }
  const area = limits.find(isArea)
  // That a token is limited to areas is said only of those that name one.
  if (area === undefined || mayOpenBySolution(limits, opener)) return unsure('scopes/solution-id')
  return no(isSaidToOpen(pair, opener) ? 'refresh/scopes-kept' : `scopes/${area}`)
}

/**
 * scopes/solution-id, where the target declares a method for the contexts of a solution: a token for one solution manages contexts under no
 * other. What it may do under its own, and beside solution:*, is open.
 */
function solutionFact({ terms }: State, { body, auth, found }: ReadCall): Fact | false {
  const declared = terms.contextsOfSolution
  if (declared === undefined || body.method !== declared.method || auth.kind !== 'token' || !found) return false
  const solution = declared.path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), body.params)
  if (typeof solution !== 'string') return false
  const { scope, granted, generation } = found.pair
  const words = scope.filter(isSolutionId)
  const isLimited = words.length > 0 && !words.includes('solution:*') && words.every((word) => granted.includes(word))
  if (!isLimited || words.includes(`solution:${solution}`)) return unsure('scopes/solution-id')
  return no(generation > 0 ? 'refresh/scopes-kept' : 'scopes/solution-id')
}

/** Whether the result of a refresh names the area, though the first grant did not: that a refresh adds none is only implied. */
const isSaidToOpen = ({ generation, granted }: Pair, opener: string): boolean =>
  generation > 0 && (opener === 'apikey' ? granted.some(isApikeyWord) : granted.includes(opener))

/** Which spelling of apikey opens manager/createApiKey is open (scopes/apikey-spelling). */
function apikeyFact(state: State, scope: readonly string[]): Fact {
  const spellings = scope.filter(isApikeyWord)
  const known = spellings.find((word) => open(state, 'keys/create-authorized', word).is === 'yes')
  if (known !== undefined) return yes('keys/create-authorized', known)
  const both = ['apikey', 'apiKey'].every((word) => spellings.includes(word))
  if (both) return yes('keys/create-authorized', 'apikey and apiKey')
  return unsure('keys/create-authorized', spellings[0])
}

function openedFact(state: State, opener: string, requirement: string): Fact {
  // The examples of the document list solutions; that other areas have methods is only implied.
  return opener === 'solution' ? yes(requirement, opener) : open(state, 'scopes/area-opens', opener)
}

/** Whether a span of time is before a point in time, after it, or too near to tell. */
function sideOf(span: Span, end: Span): 'before' | 'after' | 'near' {
  if (span.to < end.from - slackMs) return 'before'
  return span.from > end.to + slackMs ? 'after' : 'near'
}
