import { createHmac, type KeyObject, verify } from 'node:crypto'
import { decodeBase64, decodeUtf8, isWeakPoint, readPublicKey, sameText } from './encoding.ts'
import type { MockRequest } from './http-server.ts'
import type { Profile } from './profile.ts'
import type { ApiKey, Means, Session, Token, TokenKind, TokenPair } from './state.ts'

/** What the server decides about a request before it knows who calls. */
const envelopeRules = {
  /** envelope/post-api: a call is a POST to {base_url}/api and nothing else. `path` has no query. */
  isCall: (httpMethod: string, path: string, callPath: string, _body: Buffer): boolean =>
    httpMethod === 'POST' && path === callPath,

  /** envelope/json-body: application/json is accepted; other types are an open question. */
  contentTypeTaken: (contentType: string | undefined, profile: Profile): boolean =>
    profile.contentType === 'ignored' || /^application\/json\s*(;|$)/i.test(contentType ?? ''),

  /** envelope/malformed-answered: the body is JSON. Throws for anything else. */
  parseBody: (text: string): unknown => JSON.parse(text),

  /** envelope/malformed-answered: the result for a body that is not JSON; undefined: it is refused. */
  malformedResult: (): object | undefined => undefined,

  /** envelope/malformed-answered: the server answers after a body that was not JSON. */
  answersAfterMalformed: (): boolean => true,

  /** envelope/request-members: jsonrpc is "2.0". */
  versionMemberTaken: (value: unknown, profile: Profile): boolean => value === '2.0' || !profile.strictEnvelope,

  /** envelope/request-members: id is an integer (whether strings and fractions are taken is an open question). */
  idTaken: (value: unknown, profile: Profile): boolean =>
    profile.idTypes === 'any' ||
    (typeof value === 'number' && (profile.idTypes !== 'integers' || Number.isInteger(value))) ||
    (typeof value === 'string' && profile.idTypes === 'strings-and-numbers'),

  /** envelope/request-members: id is required. */
  missingIdTaken: (profile: Profile): boolean => profile.notifications !== 'refused',

  /** envelope/request-members: method is a string. */
  methodMemberTaken: (value: unknown): value is string => typeof value === 'string',

  /** envelope/request-members, envelope/empty-params: params is an object, {} if the method takes no parameters. */
  paramsTaken: (value: unknown, profile: Profile): boolean =>
    (typeof value === 'object' && value !== null && !Array.isArray(value)) ||
    (!profile.strictEnvelope && (value === undefined || value === null || Array.isArray(value))),

  /** envelope/method-names: the name of the method that a call names. */
  methodName: (name: string): string => name,

  /** envelope/unknown-method: the result for an unknown method; undefined: it is refused. */
  unknownMethodResult: (_name: string): object | undefined => undefined,

  /** envelope/response-jsonrpc: the `jsonrpc` of a successful answer; undefined leaves it out. */
  answerVersion: (): unknown => '2.0',

  /** envelope/id-echo: the `id` of a successful answer; undefined leaves it out. */
  echoedId: (id: unknown): unknown => id,

  /** envelope/result-object: the `result` of a successful answer. */
  resultMember: (_method: string, result: unknown): unknown => result,
}

/** Which calls need authorization, which kinds of it work, and for which keys. */
const authorizationRules = {
  /** authorization/required, keys/create-authorized, grants/no-authorization-header: every method but manager/auth needs authorization. */
  authorizationRequired: (method: string): boolean => method !== 'manager/auth',

  /** authorization/required: credentials come in the Authorization header, and nowhere else. */
  headerOf: ({ headers }: MockRequest): string | undefined => headers.authorization,

  /** keys/create-authorized: every kind of authorization of part 5 works on every method. */
  meansTaken: (_means: Means, _method: string): boolean => true,

  /** authorization/required and every guard of part 5: a caller refused at `stage` (see caller.ts) is not treated as the initial key. */
  forgives: (_stage: string, _method: string): boolean => false,

  /** signatures/scheme, and the words Basic and the token prefix: compared as the profile says. */
  schemeTaken: (word: string, expected: string, profile: Profile): boolean =>
    word === expected || (profile.schemeCase === 'any' && word.toLowerCase() === expected.toLowerCase()),

  /** signatures/key-id, basic/key-id, grants/key-id: the key with exactly this id. */
  keyNamed: (
    id: string,
    find: (id: string) => ApiKey | undefined,
    _all: () => ApiKey[],
    _means: Means,
  ): ApiKey | undefined => find(id),

  /** keys/can-be-disabled: a disabled key and its tokens authorize nothing. */
  disabledKeyWorks: (_key: ApiKey, _means: Means): boolean => false,

  /** keys/can-be-deleted: a deleted key and its tokens authorize nothing. */
  deletedKeyWorks: (_key: ApiKey, _means: Means): boolean => false,

  /** keys/no-time-to-live: a key never expires. */
  keyExpired: (_key: ApiKey, _nowMs: number): boolean => false,

  /** keys/scope-held: the scope of the key applies to Basic and signatures; a token has its own scope. */
  keyScopeHolds: (_means: Means): boolean => true,
}

/** Everything that a signature could cover. */
export interface SignedParts {
  /** As in the header. */
  timestamp: string
  nonce: string
  httpMethod: string
  /** `/api` */
  uri: string
  /** The path and query as received. */
  target: string
  host: string
  body: Buffer
}

/** A text, bytes and a final line feed in one piece. */
function joinText(head: string, body: Buffer): Buffer {
  const headBytes = Buffer.byteLength(head)
  const joined = Buffer.allocUnsafe(headBytes + body.length + 1)
  joined.write(head)
  body.copy(joined, headBytes)
  joined[joined.length - 1] = 0x0a
  return joined
}

/** Part 5.1 of the document. */
const signatureRules = {
  /** signatures/header-fields: the fields are separated by semicolons. */
  headerFields: (credentials: string): string[] => credentials.split(';'),

  /** signatures/header-fields: there are five. */
  fieldCountTaken: (count: number): boolean => count === 5,

  /** signatures/version: the second field is the literal 1. */
  versionTaken: (version: string): boolean => version === '1',

  /** signatures/timestamp: an integer; how far it may be off is an open question. */
  timestampTaken: (timestamp: string, nowMs: number, profile: Profile): boolean =>
    /^[0-9]{1,15}$/.test(timestamp) && Math.abs(Number(timestamp) - nowMs) < profile.timeWindowMs,

  /** Open question signatures/nonce-length: visible characters without semicolon. */
  nonceTaken: (nonce: string, profile: Profile): boolean =>
    nonce.length <= profile.nonceMaxLength && /^[\x21-\x3a\x3c-\x7e]+$/.test(nonce),

  /** Open question signatures/nonce-reuse. */
  usedNonceTaken: (profile: Profile): boolean => profile.nonceReuse === 'accepted',

  /** signatures/request-method: the method in upper case. */
  signedMethod: (httpMethod: string): string => httpMethod.toUpperCase(),

  /**
   * signatures/data-to-sign, request-method, request-uri, request-body, request-line-feeds, timestamp, nonce: the texts of which
   * one must be signed. `<timestamp>;<nonce>;<METHOD>LF<URI>LF<body>LF` and no other.
   */
  dataToSign: (parts: SignedParts): Uint8Array[] => [
    joinText(`${parts.timestamp};${parts.nonce};${parts.httpMethod}\n${parts.uri}\n`, parts.body),
  ],

  /** signatures/key-id: the keys whose secret or public key may verify a signature that names `key`. */
  signingKeys: (key: ApiKey, _all: () => ApiKey[], _kind: 'hmac' | 'ecc'): ApiKey[] => [key],

  /** signatures/public-key-refuses-hmac: an HMAC is accepted only for a key without a public key. */
  hmacTakenFor: (key: ApiKey): boolean => key.publicKey === undefined,

  /** signatures/secret-key-refuses-ecc: an ED25519 signature is accepted only for a key with a public key. */
  eccTakenFor: (key: ApiKey): boolean => key.publicKey !== undefined,

  /** signatures/hmac: HMAC-SHA256 with the secret's UTF-8 bytes as key. */
  mac: (data: Uint8Array, key: ApiKey): Buffer => createHmac('sha256', key.macKey).update(data).digest(),

  /** signatures/hmac, signatures/hmac-length: the first 20 bytes are sent. */
  macBytes: (): number => 20,

  /** signatures/hmac-encoding: the texts that stand for a MAC; BASE64 only. `mac` has all 32 bytes, `bytes` the sent ones. */
  macTexts: (bytes: Buffer, _mac: Buffer, profile: Profile): string[] => {
    const text = bytes.toString('base64')
    return profile.unpaddedSignatures === 'accepted' ? [text, text.replace(/=+$/, '')] : [text]
  },

  /** signatures/hmac, signatures/hmac-length: equal as a whole, in constant time. */
  macTextMatches: (received: string, expected: string): boolean => sameText(received, expected),

  /** signatures/ecc-encoding: the bytes that a received ED25519 signature may stand for; strict BASE64 only. */
  eccSignatures: (received: string, profile: Profile): Buffer[] => {
    const bytes = decodeBase64(received, { unpadded: profile.unpaddedSignatures === 'accepted' })
    return bytes === undefined ? [] : [bytes]
  },

  /** signatures/ecc, signatures/ecc-malleability: pure ED25519 with S below L; small-order points are refused. */
  eccVerifies: (publicKey: KeyObject, data: Uint8Array, signature: Buffer): boolean =>
    signature.length === 64 && !isWeakPoint(signature.subarray(0, 32)) && verify(null, data, publicKey, signature),
}

/** Parts 2, 4.1, 5.2 and 8: Basic credentials, and creating and counting keys. */
const keyRules = {
  /** basic/malformed: strict BASE64 of id, colon and secret; undefined: malformed. */
  basicPair: (encoded: string): { id: string; secret: string } | undefined => {
    const bytes = decodeBase64(encoded)
    const text = bytes && decodeUtf8(bytes)
    const colon = text?.indexOf(':') ?? -1
    return text === undefined || colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) }
  },

  /** basic/credentials, grants/credentials: the secrets that prove `key`; one of them must be presented. */
  secretsOf: (key: ApiKey, _all: () => ApiKey[], _means: 'basic' | 'grant'): string[] => [key.secret],

  /** basic/credentials, grants/credentials: the whole secret, in constant time. */
  secretMatches: (received: string, expected: string, _means: 'basic' | 'grant'): boolean =>
    sameText(received, expected),

  /** basic/public-key-refused, grants/public-key-refused: a secret does not prove a key with a public key. */
  secretTakenFor: (key: ApiKey, _means: 'basic' | 'grant'): boolean => key.publicKey === undefined,

  /** keys/initial-full-access: the initial key has every scope. */
  initialKeyScope: (): string[] => ['apiKey', ...areas, 'solution:*'],

  /** keys/create-params, grants/params: whether a param is taken; `valid` is what the table of the method says. */
  paramTaken: (_method: string, _name: string, _value: unknown, valid: boolean): boolean => valid,

  /** keys/unique-ids: a fresh id each time. */
  keyId: (fresh: string): string => fresh,

  /** keys/unique-secrets: a fresh secret each time. */
  keySecret: (fresh: string): string => fresh,

  /** keys/public-key-material: an ED25519 public key in PEM form; undefined: refused. */
  publicKey: (pem: unknown, profile: Profile): KeyObject | undefined =>
    readPublicKey(pem, { weak: profile.weakPublicKeys === 'accepted' }),

  /** keys/public-key-material: whether a text that is not such a key is stored anyway. */
  badPublicKeyTaken: (_pem: unknown): boolean => false,

  /** keys/created-key-works, keys/public-key: the key as it is stored. */
  storedKey: (key: ApiKey): ApiKey => key,

  /** keys/create-result: the result of manager/createApiKey. */
  createKeyResult: (result: { id: string; secret: string }): object => result,

  /** limits/ten-keys, limits/ten-can-be-made: at most ten, for every kind of authorization of the creator. */
  keyLimit: (_means: Means | undefined): number => 10,

  /** limits/ten-keys: how many places are taken; the initial key counts only where the profile says so. */
  keysCounted: (all: ApiKey[], profile: Profile): number =>
    all.filter((key) => !key.deleted && (!key.initial || profile.initialKeyCounts)).length,

  /** limits/eleventh-refused: what a creation beyond the limit does. */
  beyondKeyLimit: (profile: Profile): 'refused' | 'oldest-removed' | 'created' => profile.eleventhKey,

  /** limits/earlier-keys-kept: keys that stop working because another one was created within the limit. */
  keysLostToNewKey: (_all: ApiKey[], _created: ApiKey): ApiKey[] => [],

  /** limits/earlier-keys-kept: keys that stop working because a creation was refused. */
  keysLostToRefusal: (_all: ApiKey[]): ApiKey[] => [],
}

/** The result of manager/auth. */
export interface TokenResult {
  accessToken: string
  accessTokenExpiry: number
  refreshToken: string
  refreshTokenExpiry: number
  tokenType: string
  scope: string[]
}

/** Parts 3, 4.2 and 5.3, and expiresIn of part 5.4. */
const tokenRules = {
  /** grants/grant-type: the grant that the params name; anything else is refused. */
  grantType: (params: { [name: string]: unknown }): unknown => params.grantType,

  /** grants/result-*: the result of a grant of api_key_credentials. */
  grantResult: (result: TokenResult, _pair: TokenPair): object => result,

  /** refresh/result: the result of a grant of refresh_token. */
  refreshResult: (result: TokenResult, _old: TokenPair): object => result,

  /** tokens/authorize, refresh/token: the token with exactly this text. */
  tokenNamed: (
    text: string,
    find: (text: string) => Token | undefined,
    _all: () => Token[],
    _use: TokenKind,
  ): Token | undefined => find(text),

  /** tokens/refresh-is-no-access, tokens/access-is-no-refresh: a token is used only for its own purpose. */
  tokenKindTaken: (kind: TokenKind, use: TokenKind): boolean => kind === use,

  /** tokens/expire, expires-in/enforced: an access token ends at its expiry. */
  accessExpired: (pair: TokenPair, nowMs: number): boolean => nowMs >= pair.accessExpiryMs,

  /** refresh/own-expiry: a refresh token ends at its expiry. */
  refreshExpired: (pair: TokenPair, nowMs: number): boolean => nowMs >= pair.refreshExpiryMs,

  /** refresh/after-access-expiry: the end of the access token does not matter to a refresh. */
  refreshNeedsLiveAccess: (): boolean => false,

  /** expires-in/reported, expires-in/enforced, tokens/expire: how long an access token lives. */
  accessLifeMs: (expiresInMs: number | undefined, profile: Profile): number => expiresInMs ?? profile.accessLifeMs,

  /** grants/expiry-order, refresh/own-expiry: how long a refresh token lives. */
  refreshLifeMs: (profile: Profile): number => profile.refreshLifeMs,

  /** The expiry itself, or the next full second (open question): what is enforced, and therefore reported. */
  expiry: (ms: number, profile: Profile): number =>
    profile.expiryRounding === 'up-to-second' ? Math.ceil(ms / 1000) * 1000 : ms,

  /** expires-in/reported: what is reported as accessTokenExpiry; `pair` holds what is enforced. */
  reportedAccessExpiry: (pair: TokenPair): number => pair.accessExpiryMs,

  /** grants/result-refresh-token-expiry, refresh/own-expiry: what is reported as refreshTokenExpiry. */
  reportedRefreshExpiry: (pair: TokenPair): number => pair.refreshExpiryMs,

  /** expires-in/within-refresh-lifetime: what happens with an expiresIn above the refresh lifetime. */
  expiresInTooLong: (profile: Profile): 'refused' | 'capped' | 'taken' => profile.expiresInTooLong,

  /** Open question expires-in/forms: the milliseconds of expiresIn:NUMBER, or undefined when it is refused. */
  expiresInMs: (text: string): number | undefined => (/^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined),

  /** refresh/pair-differs, tokens/authorize: the text of a token; `old` is the pair that is refreshed. */
  tokenText: (_kind: TokenKind, fresh: string, _old: TokenPair | undefined): string => fresh,

  /** refresh/revokes-access, refresh/revokes-refresh: what a refresh ends. */
  revokedByRefresh: (): TokenKind[] => ['access', 'refresh'],

  /** refresh/revokes-access, refresh/revokes-refresh: whether a revoked token works anyway. */
  revokedTokenWorks: (_kind: TokenKind, _pair: TokenPair): boolean => false,

  /** tokens/authorize: a refresh ends the old pair, and no other. */
  endedBesideRefresh: (_all: () => TokenPair[], _old: TokenPair): TokenPair[] => [],

  /** tokens/authorize: a grant that is refused for its secret (`key` is the named one) and a refused refresh revoke no pair. */
  endedByRefusal: (_all: () => TokenPair[], _key: ApiKey | undefined): TokenPair[] => [],

  /** refresh/no-scope: a refresh needs no scope. */
  refreshNeedsScope: (): boolean => false,

  /** refresh/new-pair: how often a grant can be refreshed. */
  refreshesAllowed: (): number => Number.POSITIVE_INFINITY,

  /** refresh/new-pair: whether the tokens of a pair work at all once it is issued. */
  issuedTokenWorks: (_kind: TokenKind, _pair: TokenPair): boolean => true,

  /** refresh/scopes-kept: the scopes of the new pair are those of the old. */
  refreshedScope: (old: TokenPair): string[] => old.scope,

  /** refresh/scopes-kept: the reported scopes of the new pair are those of the old. */
  refreshedScopeEcho: (old: TokenPair): string[] => old.scopeEcho,

  /** refresh/address-kept: the addresses of the new pair are those of the old. */
  refreshedAddresses: (old: TokenPair): string[] => old.addresses,

  /** refresh/session-kept: the session of the new pair is that of the old. */
  refreshedSession: (old: TokenPair): Session | undefined => old.session,

  /** Open question refresh/expires-in-kept. */
  refreshedExpiresInMs: (old: TokenPair, profile: Profile): number | undefined =>
    profile.expiresInKept ? old.expiresInMs : undefined,

  /**
   * refresh/revokes-refresh, limits/ten-keys, sessions/at-most-sixteen, envelope/id-echo: a decision and its effect happen together; a
   * promise separates them.
   */
  beforeEffect: (_effect: 'refresh' | 'key' | 'session' | 'listing'): Promise<void> | undefined => undefined,
}

/** The API areas that scopes name. */
export const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream'] as const

/** They, and the management of keys. */
export type Area = 'manager' | (typeof areas)[number]

/** Parts 2 and 5.4: scopes, addresses, sessions. */
const scopeRules = {
  /** scopes/<area>, scopes/area-opens, keys/apikey-scope: whether a scope opens an area. */
  scopeOpens: (scope: string, area: Area): boolean =>
    area === 'manager' ? scope === 'apiKey' : scope === area || (area === 'context' && scope.startsWith('solution:')),

  /** keys/apikey-scope: whether a method needs a scope at all. */
  scopeNeeded: (_method: string, _area: Area): boolean => true,

  /** scopes/solution-id, scopes/solution-any: whether the Contexts of one solution may be managed. */
  solutionReached: (scopes: string[], solution: string): boolean => {
    const named = scopes.filter((scope) => scope.startsWith('solution:'))
    return named.length === 0 || named.includes('solution:*') || named.includes(`solution:${solution}`)
  },

  /** scopes/within-key: whether a key's scope covers a requested one. */
  scopeWithinKey: (scope: string, keyScope: string[], profile: Profile): boolean =>
    keyScope.includes(scope) ||
    (scope.startsWith('solution:') && profile.solutionIdFromAny && keyScope.includes('solution:*')),

  /** scopes/within-key: what happens to scopes beyond the key's. */
  scopeBeyondKey: (): 'refused' | 'left-out' => 'refused',

  /** scopes/<area>, grants/result-scope: the scopes that are granted, of the requested ones that are allowed. */
  grantedScope: (requested: string[], _keyScope: string[]): string[] => requested,

  /** addresses/bound: one of the named addresses, as a whole. */
  addressTaken: (addresses: string[], remoteAddress: string): boolean =>
    addresses.length === 0 || addresses.includes(remoteAddress),

  /** addresses/bound: checked on every call, and not when a token is granted. */
  addressChecked: (during: 'grant' | 'call', _key: ApiKey): boolean => during === 'call',

  /** sessions/created: whether session:NAME makes a session; undefined: nothing is bound to it. */
  sessionCreated: (_name: string): boolean => true,

  /** Open question sessions/user: whose session it is. */
  sessionUser: (key: ApiKey, profile: Profile): string => (profile.sessionUser === 'one-key' ? key.id : 'everyone'),

  /** Open question sessions/counting: the name under which a session is kept; two sessions of one name are one re-used. */
  sessionName: (name: string | undefined): string | undefined => name,

  /** Open question sessions/reused-name: what happens with the name of a live session of the user. */
  reusedSessionName: (profile: Profile): 'replaces' | 'adds' | 'joins' | 'refused' => profile.reusedSessionName,

  /** sessions/sixteen-live, sessions/at-most-sixteen: sixteen at once, for every key. */
  sessionLimit: (_key: ApiKey): number => 16,

  /** sessions/oldest-removed: a grant that is refused creates no session. */
  refusedGrantOpensSession: (): boolean => false,

  /** sessions/oldest-removed: a refresh keeps its session and creates no other. */
  refreshOpensSession: (): boolean => false,

  /** sessions/next-works: what happens with a session beyond the limit. */
  beyondSessionLimit: (): 'oldest-removed' | 'refused' => 'oldest-removed',

  /** sessions/oldest-removed: which of the live sessions (first created first) make room, `surplus` of them. */
  sessionsRemoved: (live: Session[], surplus: number, profile: Profile): Session[] =>
    (profile.oldestSession === 'first-created' ? live : [...live].sort((a, b) => a.lastUsedMs - b.lastUsedMs)).slice(
      0,
      surplus,
    ),

  /** sessions/oldest-removed, sessions/removed-refresh: whether a token of a removed session works. */
  removedSessionWorks: (_use: 'access' | 'refresh', _pair: TokenPair): boolean => false,
}

/**
 * Every decision of the server that a requirement depends on, one small function each. A mutant is this table with an entry
 * replaced; what the document leaves open is in profile.ts instead.
 */
export const rules = {
  ...envelopeRules,
  ...authorizationRules,
  ...signatureRules,
  ...keyRules,
  ...tokenRules,
  ...scopeRules,
}

export type Rules = typeof rules
