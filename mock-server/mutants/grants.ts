import { type Rules, rules } from '../rules.ts'
import type { TokenPair } from '../state.ts'
import type { Mutant } from './mutant.ts'
import { type Changed, granted, seconds } from './token-changes.ts'

/** Members of some grants' results replaced. */
const grantedTo = (fits: (pair: TokenPair) => boolean, change: Changed): Partial<Rules> => ({
  grantResult: (result, pair) => (fits(pair) ? { ...result, ...change } : result),
})

const lasting = ({ expiresInMs }: TokenPair) => expiresInMs !== undefined

/** Part 4.2. */
export const grantMutants: Mutant[] = [
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
]
