import type { Profile } from './profile.ts'
import { type Rules, rules } from './rules.ts'

/** A conforming server that differs from the reference only where the document is silent. */
export interface Variant {
  id: string
  /** The open questions that it answers otherwise. */
  questions: readonly string[]
  profile: Partial<Profile>
  /** Decisions that no switch covers, for example how ids, secrets and tokens look. */
  rules?: Partial<Rules>
  /** Not combined with others: one more reading of a switch that many have would take many more servers. */
  alone?: true
  /** What a target file for such a server would say. */
  settings?: { scheme: string }
}

const minute = 60_000
const day = 24 * 60 * minute

const variant = (
  id: string,
  profile: Partial<Profile>,
  questions: readonly string[],
  settings?: Variant['settings'],
): Variant => ({ id, questions, profile, ...(settings === undefined ? {} : { settings }) })

const ruled = (id: string, questions: readonly string[], replaced: Partial<Rules>): Variant => ({
  id,
  questions,
  profile: {},
  rules: replaced,
})

const alone = (variant: Variant): Variant => ({ ...variant, alone: true })

const asUuid = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
const asDigits = (hex: string) => BigInt(`0x${hex}`).toString()
/** With `+` and `/` and, for a length that needs it, `=`. */
const asBase64 = (hex: string) => Buffer.from(`fbef${hex}ff`, 'hex').toString('base64')
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const plainName = /^[A-Za-z0-9-]+$/

/** No variant may fail; a warning has a reason (suites/self/variant-warnings.yaml). */
export const variants: readonly Variant[] = [
  variant('http-statuses', { refusalStatus: 'http' }, ['errors/http-status']),
  variant('refusals-as-text', { errorBody: 'text' }, ['errors/shape', 'errors/http-status']),
  variant('refusals-without-body', { errorBody: 'none' }, ['errors/shape', 'errors/http-status']),
  variant('error-ids-null', { errorId: 'null' }, ['errors/id']),
  variant('error-ids-left-out', { errorId: 'none' }, ['errors/id']),

  variant('nonces-reusable', { nonceReuse: 'accepted' }, ['signatures/nonce-reuse']),
  variant('nonces-kept-by-bad-signatures', { nonceBurntByBadSignature: false }, ['signatures/nonce-burnt']),
  variant('sample-padding-taken', { noncePadding: 'accepted' }, ['signatures/nonce-padding']),
  variant('unpadded-signatures-taken', { unpaddedSignatures: 'accepted' }, ['signatures/base64-padding']),
  variant('nonces-of-24-characters-at-most', { nonceMaxLength: 24 }, ['signatures/nonce-length']),
  variant('long-nonces-taken', { nonceMaxLength: 1024 }, ['signatures/nonce-length']),
  variant('narrow-time-window', { timeWindowMs: 30_000 }, ['signatures/time-window']),
  variant('wide-time-window', { timeWindowMs: day }, ['signatures/time-window']),
  variant('scheme-of-its-own', { scheme: 'x-svc-hmac' }, [], { scheme: 'x-svc-hmac' }),
  variant('scheme-words-in-any-case', { schemeCase: 'any' }, ['signatures/scheme-case']),
  variant('weak-public-keys-taken', { weakPublicKeys: 'accepted' }, ['keys/small-order']),

  variant('clock-ahead', { clockOffsetMs: 7 * minute }, ['signatures/time-window']),
  variant('clock-behind', { clockOffsetMs: -7 * minute }, ['signatures/time-window']),
  variant('clock-hours-ahead', { clockOffsetMs: 190 * minute }, ['signatures/time-window']),
  variant('slow', { delayMs: 80 }, ['limits/rate']),
  variant('connections-closed', { closeConnections: true }, []),
  variant('rate-limited', { callsPerSecond: 20 }, ['limits/rate']),
  variant('base-url-with-a-path', { basePath: '/service/v1' }, ['envelope/other-path']),
  variant('forwarding-header-trusted', { trustProxy: true }, ['addresses/forwarded']),
  variant('bodies-up-to-16-kib', { maxBodyBytes: 16 * 1024 }, ['limits/request-size', 'signatures/large-body']),

  variant('lenient-envelope', { strictEnvelope: false, idTypes: 'any', notifications: 'answered', batch: 'answered' }, [
    'envelope/jsonrpc-version',
    'envelope/params-type',
    'envelope/id-types',
    'envelope/missing-id',
    'envelope/batch',
  ]),
  variant('integer-ids-only', { idTypes: 'integers', notifications: 'no-body' }, [
    'envelope/id-types',
    'envelope/missing-id',
  ]),
  variant('json-type-only', { contentType: 'json-only' }, ['envelope/content-type']),
  variant('further-members-refused', { extraMembers: 'refused' }, ['envelope/extra-members']),
  variant('authorization-before-the-method', { methodCheckedFirst: false }, ['envelope/method-not-found']),
  variant('further-params-ignored', { extraParams: 'ignored' }, ['grants/extra-params']),
  variant('further-members-in-results', { extraResultMembers: true }, ['keys/create-result-extras']),
  variant('solutions-member', { listShape: 'solutions' }, ['solutions/list-result']),
  variant('counted-listing', { listShape: 'counted' }, ['solutions/list-result']),

  variant('initial-key-counts', { initialKeyCounts: true }, ['keys/limit-counts-initial']),
  variant('eleventh-key-removes-the-oldest', { eleventhKey: 'oldest-removed' }, ['keys/limit-exceeded']),
  variant('unknown-scopes-of-keys-refused', { unknownKeyScopes: 'refused' }, ['keys/unknown-scopes']),
  variant('few-words-in-keys', { unknownKeyScopes: 'all-but-shown-refused' }, ['keys/unknown-scopes']),
  // The spelling alone, and unknown words alone, are others: only together is a list with both spellings refused.
  alone(
    variant('one-spelling-in-keys', { unknownKeyScopes: 'refused', apikeySpelling: 'apiKey', scopeCase: 'sensitive' }, [
      'keys/unknown-scopes',
      'scopes/apikey-spelling',
    ]),
  ),
  variant('no-more-scope-than-the-creator', { keyScopeAboveCreator: 'refused' }, ['keys/scope-above-creator']),
  variant('public-keys-once-only', { repeatedPublicKeys: 'refused' }, ['keys/public-key-repeated']),

  variant('scope-names-in-any-case', { scopeCase: 'any' }, ['scopes/case']),
  variant('apikey-in-lower-case', { apikeySpelling: 'apikey' }, ['scopes/apikey-spelling']),
  variant('apikey-in-camel-case', { apikeySpelling: 'apiKey' }, ['scopes/apikey-spelling']),
  variant('unknown-scopes-left-out', { unknownScopes: 'left-out' }, ['grants/unknown-scope']),
  variant('empty-scope-is-the-whole-key', { emptyScope: 'whole-key' }, ['grants/empty-scope']),
  variant('empty-scope-refused', { emptyScope: 'refused' }, ['grants/empty-scope']),
  variant('scopes-echoed-as-requested', { scopeEcho: 'as-requested' }, ['grants/scope-echo']),
  variant('scopes-echoed-sorted', { scopeEcho: 'sorted' }, ['grants/scope-echo']),
  variant('no-solution-id-from-any', { solutionIdFromAny: false }, ['scopes/solution-id-from-any']),

  variant('header-on-a-grant-judged', { authHeaderOnGrant: 'judged' }, ['grants/authorization-header']),
  variant('header-on-a-grant-refused', { authHeaderOnGrant: 'refused' }, ['grants/authorization-header']),
  variant('scope-on-a-refresh-ignored', { scopeOnRefresh: 'ignored' }, ['grants/scope-with-refresh']),
  variant('scope-on-a-refresh-narrows', { scopeOnRefresh: 'narrows' }, ['grants/scope-with-refresh']),
  variant('token-word', { tokenPrefix: 'Token' }, ['tokens/prefix']),
  variant('no-token-word', { tokenPrefix: '' }, ['tokens/prefix']),
  variant('long-tokens', { tokenLength: 400 }, ['tokens/format']),
  variant('short-access-lifetime', { accessLifeMs: 30_000 }, ['limits/token-lifetimes']),
  variant('long-access-lifetime', { accessLifeMs: day }, ['limits/token-lifetimes']),
  variant('short-refresh-lifetime', { refreshLifeMs: minute }, ['limits/token-lifetimes', 'sessions/lifetime']),
  variant('long-refresh-lifetime', { refreshLifeMs: 365 * day }, ['limits/token-lifetimes', 'sessions/lifetime']),
  variant('expires-in-cut', { expiresInTooLong: 'capped' }, ['expires-in/too-long']),
  variant('expiries-rounded-up', { expiryRounding: 'up-to-second' }, ['limits/token-lifetimes']),
  variant('expires-in-for-one-token', { expiresInKept: false }, ['refresh/expires-in-kept']),
  variant('family-revoked', { reuseRevokesFamily: true }, ['refresh/family']),
  variant('refresh-from-the-bound-address-only', { refreshChecksAddress: true }, ['refresh/foreign-address']),
  variant('refresh-lifetime-kept', { refreshLifetime: 'kept' }, ['refresh/lifetime-renewed']),

  ruled('ids-as-uuids', ['keys/record'], { keyId: asUuid }),
  ruled('ids-as-numbers', ['keys/record'], { keyId: asDigits }),
  ruled('secrets-in-base64', ['keys/record'], { keySecret: asBase64 }),
  ruled('secrets-in-upper-case', ['keys/record'], { keySecret: (fresh) => fresh.toUpperCase() }),
  ruled('secrets-of-digits-and-a-colon', ['keys/record'], { keySecret: (fresh) => `12:${asDigits(fresh)}` }),
  ruled('plain-key-names-only', ['keys/name-rules'], {
    paramTaken: (method, name, value, valid) =>
      valid && (method !== 'manager/createApiKey' || name !== 'name' || plainName.test(String(value))),
  }),
  ruled('pem-as-documented-only', ['keys/pem-variants'], {
    publicKey: (pem, profile) =>
      /^-----B[^\r]*[^\r\n]$/s.test(String(pem)) ? rules.publicKey(pem, profile) : undefined,
  }),
  ruled('further-header-fields-ignored', [], { fieldCountTaken: (count) => count >= 5 }),
  alone(
    ruled('tokens-decoded-first', ['tokens/format', 'tokens/spelling'], {
      tokenText: (_kind, fresh) => Buffer.from(fresh, 'base64url').toString('hex'),
      // Buffer takes hex in any case and ignores what is no whole byte.
      tokenNamed: (text, find) => find(Buffer.from(text, 'hex').toString('hex')),
    }),
  ),
  alone(
    ruled('tokens-in-any-case', ['tokens/spelling'], {
      tokenNamed: (text, find, all) =>
        find(text) ?? all().find((token) => token.text.toLowerCase() === text.toLowerCase()),
    }),
  ),
  alone(
    ruled('anything-behind-a-token', ['tokens/spelling'], {
      tokenNamed: (text, find, all) => find(text) ?? all().find((token) => text.startsWith(token.text)),
    }),
  ),
  alone(
    ruled('timestamps-as-numbers', ['signatures/timestamp-spelling'], {
      dataToSign: (parts) => rules.dataToSign({ ...parts, timestamp: String(Number(parts.timestamp)) }),
    }),
  ),
  ruled('tokens-in-three-parts', ['tokens/format'], {
    tokenText: (kind, fresh) => `${part({ alg: 'HS256', typ: kind })}.${part({ sub: fresh.slice(0, 8) })}.${fresh}`,
  }),
  ruled('tokens-of-one-beginning', ['tokens/format'], {
    tokenText: (kind, fresh) => `svc_${kind === 'access' ? 'at' : 'rt'}_${fresh}`,
  }),
  ruled('eight-live-tokens', ['limits/token-lifetimes'], {
    tokenNamed: (text, find, all) => {
      const found = find(text)
      if (!found || found.pair.session) return found
      const live = all().filter(({ kind, pair }) => kind === found.kind && pair.key === found.pair.key && !pair.session)
      return live.slice(-8).includes(found) ? found : undefined
    },
  }),
  ruled('expiries-rounded-down', ['limits/token-lifetimes'], { expiry: (ms) => Math.floor(ms / 1000) * 1000 }),
  ruled('one-lifetime-for-both-tokens', ['limits/token-lifetimes'], {
    accessLifeMs: (expiresInMs, profile) => expiresInMs ?? rules.refreshLifeMs(profile),
  }),

  variant('every-grant-a-session', { unnamedCountAsSessions: true }, ['sessions/counting']),
  variant('session-names-add', { reusedSessionName: 'adds' }, ['sessions/reused-name']),
  variant('session-names-join', { reusedSessionName: 'joins' }, ['sessions/reused-name']),
  variant('one-user-for-all-keys', { sessionUser: 'all-keys' }, ['sessions/user']),
  variant('longest-unused-session-removed', { oldestSession: 'longest-unused' }, ['sessions/age']),

  // A proxy on the same machine: whichever of our addresses we call from, the server sees the proxy's.
  ruled('behind-a-local-proxy', [], {
    addressTaken: (addresses) => rules.addressTaken(addresses, '127.0.0.1'),
  }),
  alone(
    variant('refresh-lifetime-of-20-seconds', { refreshLifeMs: 20_000, expiresInTooLong: 'refused' }, [
      'limits/token-lifetimes',
      'sessions/lifetime',
    ]),
  ),
  // The clock is read once for each of the two expiries.
  {
    ...variant('access-expiry-a-moment-later', { expiresInTooLong: 'capped' }, ['expires-in/too-long']),
    rules: { reportedAccessExpiry: (pair) => pair.accessExpiryMs + 1 },
  },
  ruled('timestamps-of-the-future-refused', ['signatures/time-window'], {
    timestampTaken: (timestamp, nowMs, profile) =>
      rules.timestampTaken(timestamp, nowMs, profile) && Number(timestamp) <= nowMs,
  }),
]
