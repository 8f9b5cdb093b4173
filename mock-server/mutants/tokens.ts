import type { TokenResult } from '../rules/tokens.ts'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { Token, TokenKind, TokenPair } from '../state.ts'
import type { Mutant } from './mutant.ts'

type Changed = { [Member in keyof TokenResult]?: unknown }

/** Members of a result replaced; undefined leaves one out. */
const granted = (change: (result: TokenResult) => Changed): Partial<Rules> => ({
  grantResult: (result) => ({ ...result, ...change(result) }),
})
const refreshed = (change: (result: TokenResult) => Changed): Partial<Rules> => ({
  refreshResult: (result) => ({ ...result, ...change(result) }),
})
/** Other texts name a token beside its own. */
const alsoNamed = (wanted: TokenKind, fits: (text: string, token: Token) => boolean): Partial<Rules> => ({
  tokenNamed: (text, find, all, use) =>
    find(text) ?? (use === wanted ? all().find((token) => token.kind === use && fits(text, token)) : undefined),
})
/** Members of the results of some grants replaced. */
const grantedTo = (fits: (pair: TokenPair) => boolean, change: Changed): Partial<Rules> => ({
  grantResult: (result, pair) => (fits(pair) ? { ...result, ...change } : result),
})
/** Only some access tokens end by default. */
const endless = (fits: (pair: TokenPair) => boolean): Partial<Rules> => ({
  accessExpired: (pair, nowMs) => (pair.expiresInMs !== undefined || !fits(pair)) && rules.accessExpired(pair, nowMs),
})
const kinds: [name: string, fits: (pair: TokenPair) => boolean][] = [
  ['session', ({ session }) => session !== undefined],
  ['address', ({ addresses }) => addresses.length > 0],
  ['created-key', ({ key }) => !key.initial],
]
const lasting = ({ expiresInMs }: TokenPair) => expiresInMs !== undefined
const seconds = (ms: number) => Math.floor(ms / 1000)

const namedMutants = (kind: TokenKind, breaks: string): Mutant[] => [
  {
    id: `beginning-of-the-${kind}-token-taken`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.length > 8 && token.text.startsWith(text)),
  },
  {
    id: `two-thirds-of-the-${kind}-token-compared`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.length >= 28 && text.slice(0, 28) === token.text.slice(0, 28)),
  },
  {
    id: `first-half-of-the-${kind}-token-compared`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.length > 20 && text.slice(0, 20) === token.text.slice(0, 20)),
  },
  {
    id: `first-character-of-the-${kind}-token-ignored`,
    breaks,
    with: alsoNamed(kind, (text, token) => text.slice(1) === token.text.slice(1)),
  },
]

/** Parts 4.2 and 5.3. */
export const tokenMutants: Mutant[] = [
  {
    id: 'grant-is-the-default-grant-type',
    breaks: 'grants/grant-type',
    with: { grantType: ({ grantType }) => grantType ?? 'api_key_credentials' },
  },
  {
    id: 'beginning-of-a-grant-type-taken',
    breaks: 'grants/grant-type',
    with: {
      grantType: ({ grantType }) =>
        typeof grantType === 'string' && grantType !== '' && 'api_key_credentials'.startsWith(grantType)
          ? 'api_key_credentials'
          : grantType,
    },
  },
  {
    id: 'unknown-grant-type-taken',
    breaks: 'grants/grant-type',
    with: {
      grantType: ({ grantType }) => (grantType === 'refresh_token' ? 'refresh_token' : 'api_key_credentials'),
    },
  },
  {
    id: 'grant-without-scope',
    breaks: 'grants/params',
    with: { paramTaken: (_method, name, value, valid) => valid || (name === 'scope' && value === undefined) },
  },
  {
    id: 'grant-with-a-text-as-scope',
    breaks: 'grants/params',
    with: { paramTaken: (_method, name, value, valid) => valid || (name === 'scope' && typeof value === 'string') },
  },
  {
    id: 'grant-with-numbers-as-scope',
    breaks: 'grants/params',
    with: { paramTaken: (_method, name, value, valid) => valid || (name === 'scope' && Array.isArray(value)) },
  },
  {
    id: 'grant-without-secret',
    breaks: 'grants/params',
    with: {
      paramTaken: (_method, name, value, valid) => valid || (name === 'apiKeySecret' && value === undefined),
      secretMatches: (received, expected, means) =>
        rules.secretMatches(received, expected, means) || (means === 'grant' && received === ''),
    },
  },
  {
    id: 'missing-refresh-token-is-the-newest',
    breaks: 'grants/params',
    with: {
      paramTaken: (_method, name, value, valid) => valid || (name === 'refreshToken' && typeof value !== 'string'),
      tokenNamed: (text, find, all, use) =>
        find(text) ?? (text === '' && use === 'refresh' ? all().findLast(({ kind }) => kind === 'refresh') : undefined),
    },
  },
  { id: 'no-access-token', breaks: 'grants/result-access-token', with: granted(() => ({ accessToken: undefined })) },
  { id: 'access-token-a-number', breaks: 'grants/result-access-token', with: granted(() => ({ accessToken: 7 })) },
  {
    id: 'no-access-token-expiry',
    breaks: 'grants/result-access-token-expiry',
    with: granted(() => ({ accessTokenExpiry: undefined })),
  },
  {
    id: 'access-token-expiry-in-seconds',
    breaks: 'grants/result-access-token-expiry',
    with: granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: seconds(accessTokenExpiry) })),
  },
  {
    id: 'access-token-expiry-a-date',
    breaks: 'grants/result-access-token-expiry',
    with: granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: new Date(accessTokenExpiry).toISOString() })),
  },
  {
    id: 'access-token-expiry-a-duration',
    breaks: 'grants/result-access-token-expiry',
    with: granted(() => ({ accessTokenExpiry: 900_000 })),
  },
  {
    id: 'access-token-expiry-a-fraction',
    breaks: 'grants/result-access-token-expiry',
    with: granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: accessTokenExpiry + 0.5 })),
  },
  { id: 'no-refresh-token', breaks: 'grants/result-refresh-token', with: granted(() => ({ refreshToken: undefined })) },
  { id: 'refresh-token-null', breaks: 'grants/result-refresh-token', with: granted(() => ({ refreshToken: null })) },
  {
    id: 'no-refresh-token-expiry',
    breaks: 'grants/result-refresh-token-expiry',
    with: granted(() => ({ refreshTokenExpiry: undefined })),
  },
  {
    id: 'refresh-token-expiry-in-seconds',
    breaks: 'grants/result-refresh-token-expiry',
    with: granted(({ refreshTokenExpiry }) => ({ refreshTokenExpiry: seconds(refreshTokenExpiry) })),
  },
  {
    id: 'refresh-token-expiry-a-text',
    breaks: 'grants/result-refresh-token-expiry',
    with: granted(({ refreshTokenExpiry }) => ({ refreshTokenExpiry: String(refreshTokenExpiry) })),
  },
  { id: 'no-token-type', breaks: 'grants/result-token-type', with: granted(() => ({ tokenType: undefined })) },
  {
    id: 'token-type-in-lower-case',
    breaks: 'grants/result-token-type',
    with: granted(() => ({ tokenType: 'bearer' })),
  },
  { id: 'no-scope', breaks: 'grants/result-scope', with: granted(() => ({ scope: undefined })) },
  {
    id: 'scope-a-text',
    breaks: 'grants/result-scope',
    with: granted(({ scope }) => ({ scope: scope.join(' ') })),
  },
  {
    id: 'scope-an-array-of-objects',
    breaks: 'grants/result-scope',
    with: granted(({ scope }) => ({ scope: scope.map((name) => ({ name })) })),
  },
  {
    id: 'no-access-token-expiry-for-an-address',
    breaks: 'grants/result-access-token-expiry',
    with: grantedTo(({ addresses }) => addresses.length > 0, { accessTokenExpiry: undefined }),
  },
  {
    id: 'no-refresh-token-expiry-for-a-session',
    breaks: 'grants/result-refresh-token-expiry',
    with: grantedTo(({ session }) => session !== undefined, { refreshTokenExpiry: undefined }),
  },
  {
    id: 'no-scope-for-a-lifetime',
    breaks: 'grants/result-scope',
    with: grantedTo(lasting, { scope: undefined }),
  },
  {
    id: 'no-token-type-for-a-lifetime',
    breaks: 'grants/result-token-type',
    with: grantedTo(lasting, { tokenType: undefined }),
  },
  {
    id: 'token-type-in-lower-case-for-created-keys',
    breaks: 'grants/result-token-type',
    with: grantedTo(({ key }) => !key.initial, { tokenType: 'bearer' }),
  },
  {
    id: 'refresh-token-ends-before-its-access-token',
    breaks: 'grants/expiry-order',
    with: { reportedRefreshExpiry: (pair) => pair.accessExpiryMs - 60_000 },
  },
  {
    id: 'access-token-never-works',
    breaks: 'tokens/authorize',
    with: { issuedTokenWorks: (kind) => kind !== 'access' },
  },
  ...namedMutants('access', 'tokens/authorize'),
  {
    id: 'any-access-token-taken',
    breaks: 'tokens/authorize',
    with: alsoNamed('access', () => true),
  },
  {
    id: 'secret-taken-as-a-token',
    breaks: 'tokens/authorize',
    with: alsoNamed('access', (text, { pair }) => text === pair.key.secret),
  },
  {
    id: 'refused-grant-ends-the-tokens-of-the-key',
    breaks: 'tokens/authorize',
    with: { endedByRefusal: (all, named) => all().filter(({ key }) => key === named) },
  },
  {
    id: 'refused-refresh-ends-the-newest-pair',
    breaks: 'tokens/authorize',
    with: { endedByRefusal: (all, named) => (named ? [] : all().slice(-1)) },
  },
  {
    id: 'refresh-ends-the-other-pairs-of-its-key',
    breaks: 'tokens/authorize',
    with: { endedBesideRefresh: (all, old) => all().filter(({ key }) => key === old.key) },
  },
  {
    id: 'refresh-ends-the-pairs-of-other-keys',
    breaks: 'tokens/authorize',
    with: { endedBesideRefresh: (all, old) => all().filter(({ key }) => key !== old.key) },
  },
  {
    id: 'refresh-token-opens-methods',
    breaks: 'tokens/refresh-is-no-access',
    with: { tokenKindTaken: (kind, use) => kind === use || use === 'access' },
  },
  {
    id: 'access-token-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    with: { tokenKindTaken: (kind, use) => kind === use || use === 'refresh' },
  },
  { id: 'access-token-never-expires', breaks: 'tokens/expire', with: { accessExpired: () => false } },
  {
    id: 'default-expiry-not-enforced',
    breaks: 'tokens/expire-by-default',
    with: { accessExpired: (pair, nowMs) => pair.expiresInMs !== undefined && nowMs >= pair.accessExpiryMs },
  },
  ...kinds.map(
    ([name, fits]): Mutant => ({
      id: `default-expiry-not-enforced-for-${name}-tokens`,
      breaks: 'tokens/expire-by-default',
      with: endless(fits),
    }),
  ),
  {
    id: 'access-token-lives-a-minute-longer',
    breaks: 'tokens/expire',
    with: { accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs + 60_000 },
  },
  {
    id: 'refreshed-access-token-never-expires',
    breaks: 'tokens/expire-by-default',
    with: { accessExpired: (pair, nowMs) => pair.generation === 0 && nowMs >= pair.accessExpiryMs },
  },
  {
    id: 'access-token-ends-a-minute-early',
    breaks: 'tokens/expire-by-default',
    with: {
      accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs - (pair.expiresInMs === undefined ? 60_000 : 0),
    },
  },
  {
    id: 'expiry-beyond-the-enforced-one-reported',
    breaks: 'tokens/expire-by-default',
    with: { reportedAccessExpiry: (pair) => pair.accessExpiryMs + (pair.expiresInMs === undefined ? 3_600_000 : 0) },
  },
  {
    id: 'lifetime-above-an-hour-wraps-around',
    breaks: 'expires-in/reported',
    with: { accessLifeMs: (expiresInMs, profile) => (expiresInMs ?? profile.accessLifeMs) % 3_600_000 },
  },
  {
    id: 'default-expiry-reported-for-expires-in',
    breaks: 'expires-in/reported',
    with: { reportedAccessExpiry: (pair) => pair.issuedMs + 900_000 },
  },
  {
    id: 'expires-in-ignored',
    breaks: 'expires-in/reported',
    with: { accessLifeMs: (_expiresInMs, profile) => profile.accessLifeMs },
  },
  {
    id: 'expires-in-taken-for-seconds',
    breaks: 'expires-in/reported',
    with: {
      accessLifeMs: (expiresInMs, profile) => (expiresInMs === undefined ? profile.accessLifeMs : expiresInMs * 1000),
    },
  },
  {
    id: 'expires-in-reported-and-not-enforced',
    breaks: 'expires-in/enforced',
    with: {
      accessExpired: (pair, nowMs) =>
        nowMs >= (pair.expiresInMs === undefined ? pair.accessExpiryMs : pair.issuedMs + 900_000),
    },
  },
  {
    id: 'expires-in-ends-at-half-time',
    breaks: 'expires-in/enforced',
    with: {
      accessExpired: (pair, nowMs) =>
        nowMs >= (pair.expiresInMs === undefined ? pair.accessExpiryMs : pair.issuedMs + pair.expiresInMs / 2),
    },
  },
  {
    id: 'expires-in-beyond-the-refresh-token',
    breaks: 'expires-in/within-refresh-lifetime',
    with: { expiresInTooLong: () => 'taken' },
  },
]

/** What `refresh.ts` needs of the members of results and the names of tokens. */
export const tokenWords = { refreshed, seconds, namedMutants }
