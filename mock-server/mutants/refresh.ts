import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { TokenKind, TokenPair } from '../state.ts'
import { type Mutant, race } from './mutant.ts'
import { namedMutants, refreshed, seconds } from './token-changes.ts'

/** True once for every pair. */
function once(): (pair: TokenPair) => boolean {
  const seen = new WeakSet<TokenPair>()
  return (pair) => {
    const first = !seen.has(pair)
    seen.add(pair)
    return first
  }
}
const takenTwice = once()

/** Kinds of pairs by what they are bound to. */
const withSession = ({ session }: TokenPair) => session !== undefined
const withAddress = ({ addresses }: TokenPair) => addresses.length > 0
const withLifetime = ({ expiresInMs }: TokenPair) => expiresInMs !== undefined

/** Accepts a value of another type, or a text, as the refresh token that was issued last. */
const newestFor = (text: string, value: (param: unknown) => boolean): Partial<Rules> => ({
  paramTaken: (_method, name, param, valid) => valid || (name === 'refreshToken' && value(param)),
  tokenNamed: (received, find, all, use) =>
    find(received) ??
    (use === 'refresh' && received === text ? all().findLast(({ kind }) => kind === 'refresh') : undefined),
})
/** Tokens of some pairs are not revoked. */
const lives = (kind: TokenKind, fits: (pair: TokenPair) => boolean): Partial<Rules> => ({
  revokedTokenWorks: (revoked, pair) => revoked === kind && fits(pair),
})
/** Scopes become those of the key. */
const widened = (fits: (pair: TokenPair) => boolean): Partial<Rules> => ({
  refreshedScope: (old) => (fits(old) ? rules.initialKeyScope() : old.scope),
})
/** Repeats the answer to a call that was just answered. */
function answeredAgain(): Partial<Rules> {
  let latest = ''
  let again = false
  return {
    parseBody: (text) => {
      again = text === latest
      latest = text
      return rules.parseBody(text)
    },
    revokedTokenWorks: (kind) => kind === 'refresh' && again,
  }
}

/** Parts 3 and 4.2. */
export const refreshMutants: Mutant[] = [
  { id: 'nothing-can-be-refreshed', breaks: 'refresh/new-pair', with: { refreshesAllowed: () => 0 } },
  { id: 'only-one-refresh-of-a-grant', breaks: 'refresh/new-pair', with: { refreshesAllowed: () => 1 } },
  { id: 'ten-refreshes-of-a-grant', breaks: 'refresh/new-pair', with: { refreshesAllowed: () => 10 } },
  {
    id: 'refreshed-access-token-does-not-work',
    breaks: 'refresh/new-pair',
    with: { issuedTokenWorks: (kind, pair) => kind === 'refresh' || pair.generation === 0 },
  },
  {
    id: 'refreshed-refresh-token-does-not-work',
    breaks: 'refresh/new-pair',
    with: { issuedTokenWorks: (kind, pair) => kind === 'access' || pair.generation === 0 },
  },
  {
    id: 'access-token-kept-over-a-refresh',
    breaks: 'refresh/pair-differs',
    with: { tokenText: (kind, fresh, old) => (old && kind === 'access' ? old.accessToken : fresh) },
  },
  {
    id: 'refresh-token-kept-over-a-refresh',
    breaks: 'refresh/pair-differs',
    with: { tokenText: (kind, fresh, old) => (old && kind === 'refresh' ? old.refreshToken : fresh) },
  },
  {
    id: 'refresh-without-token-type',
    breaks: 'refresh/result',
    with: refreshed(() => ({ tokenType: undefined })),
  },
  { id: 'refresh-without-scope', breaks: 'refresh/result', with: refreshed(() => ({ scope: undefined })) },
  {
    id: 'refresh-without-refresh-token',
    breaks: 'refresh/result',
    with: refreshed(() => ({ refreshToken: undefined, refreshTokenExpiry: undefined })),
  },
  {
    id: 'refresh-with-expiries-in-seconds',
    breaks: 'refresh/result',
    with: refreshed(({ accessTokenExpiry, refreshTokenExpiry }) => ({
      accessTokenExpiry: seconds(accessTokenExpiry),
      refreshTokenExpiry: seconds(refreshTokenExpiry),
    })),
  },
  {
    id: 'second-refresh-without-token-type',
    breaks: 'refresh/result',
    with: {
      refreshResult: (result, old) => (old.generation > 0 ? { ...result, tokenType: undefined } : result),
    },
  },
  {
    id: 'refresh-of-a-session-without-token-type',
    breaks: 'refresh/result',
    with: { refreshResult: (result, old) => (withSession(old) ? { ...result, tokenType: undefined } : result) },
  },
  {
    id: 'refresh-of-a-lifetime-with-its-expiry-in-seconds',
    breaks: 'refresh/result',
    with: {
      refreshResult: (result, old) =>
        withLifetime(old) ? { ...result, accessTokenExpiry: seconds(result.accessTokenExpiry) } : result,
    },
  },
  { id: 'refresh-needs-scope', breaks: 'refresh/no-scope', with: { refreshNeedsScope: () => true } },
  ...namedMutants('refresh', 'refresh/token'),
  {
    id: 'any-refresh-token-taken',
    breaks: 'refresh/token',
    with: { tokenNamed: (text, find, all, use) => find(text) ?? (use === 'refresh' ? all().at(-1) : undefined) },
  },
  { id: 'percent-is-any-refresh-token', breaks: 'refresh/token', with: newestFor('%', () => false) },
  {
    id: 'operator-is-any-refresh-token',
    breaks: 'grants/params',
    with: newestFor('', (param) => typeof param === 'object' && param !== null),
  },
  {
    id: 'old-access-token-lives-on',
    breaks: 'refresh/revokes-access',
    with: { revokedByRefresh: () => ['refresh'] },
  },
  {
    id: 'old-access-token-works-once-more',
    breaks: 'refresh/revokes-access',
    with: { revokedTokenWorks: (kind, pair) => kind === 'access' && takenTwice(pair) },
  },
  {
    id: 'old-refresh-token-lives-on',
    breaks: 'refresh/revokes-refresh',
    with: { revokedByRefresh: () => ['access'] },
  },
  {
    id: 'refresh-token-good-twice',
    breaks: 'refresh/revokes-refresh',
    with: { revokedTokenWorks: (kind, pair) => kind === 'refresh' && takenTwice(pair) },
  },
  {
    id: 'access-token-of-a-refreshed-pair-lives-on',
    breaks: 'refresh/revokes-access',
    with: lives('access', ({ generation }) => generation === 1),
  },
  {
    id: 'refresh-token-of-a-refreshed-pair-lives-on',
    breaks: 'refresh/revokes-refresh',
    with: lives('refresh', ({ generation }) => generation === 1),
  },
  { id: 'access-token-of-an-address-lives-on', breaks: 'refresh/revokes-access', with: lives('access', withAddress) },
  {
    id: 'refresh-token-of-an-address-lives-on',
    breaks: 'refresh/revokes-refresh',
    with: lives('refresh', withAddress),
  },
  {
    id: 'access-token-of-a-created-key-lives-on',
    breaks: 'refresh/revokes-access',
    with: lives('access', ({ key }) => !key.initial),
  },
  {
    id: 'refreshed-session-pair-lives-on',
    breaks: 'refresh/revokes-refresh',
    with: lives('refresh', (pair) => withSession(pair) && pair.generation > 0),
  },
  { id: 'same-refresh-answered-again', breaks: 'refresh/revokes-refresh', with: answeredAgain() },
  { id: 'refreshes-race', breaks: 'refresh/revokes-refresh', with: { beforeEffect: race('refresh') } },
  {
    id: 'refresh-needs-a-live-access-token',
    breaks: 'refresh/after-access-expiry',
    with: { refreshNeedsLiveAccess: () => true },
  },
  { id: 'refresh-token-never-expires', breaks: 'refresh/own-expiry', with: { refreshExpired: () => false } },
  {
    id: 'refresh-token-lives-twice-as-long',
    breaks: 'refresh/own-expiry',
    with: { refreshExpired: (pair, nowMs) => nowMs >= 2 * pair.refreshExpiryMs - pair.issuedMs },
  },
  {
    id: 'refresh-token-ends-early',
    breaks: 'refresh/own-expiry',
    with: { refreshExpired: (pair, nowMs) => nowMs >= pair.refreshExpiryMs - 10_000 },
  },
  { id: 'scopes-lost-by-a-refresh', breaks: 'refresh/scopes-kept', with: { refreshedScope: () => [] } },
  {
    id: 'last-scope-lost-by-a-refresh',
    breaks: 'refresh/scopes-kept',
    with: { refreshedScope: (old) => (old.scope.length > 1 ? old.scope.slice(0, -1) : old.scope) },
  },
  {
    id: 'scopes-widened-by-a-refresh',
    breaks: 'refresh/scopes-kept',
    with: { refreshedScope: () => rules.initialKeyScope() },
  },
  { id: 'scopes-of-a-session-widened-by-a-refresh', breaks: 'refresh/scopes-kept', with: widened(withSession) },
  { id: 'scopes-of-an-address-widened-by-a-refresh', breaks: 'refresh/scopes-kept', with: widened(withAddress) },
  { id: 'scopes-of-a-lifetime-widened-by-a-refresh', breaks: 'refresh/scopes-kept', with: widened(withLifetime) },
  {
    id: 'address-lost-by-a-refresh',
    breaks: 'refresh/address-kept',
    with: { refreshedAddresses: () => [] },
  },
  {
    id: 'address-changed-by-a-refresh',
    breaks: 'refresh/address-kept',
    with: { refreshedAddresses: (old) => (old.addresses.length === 0 ? [] : ['192.0.2.1']) },
  },
  {
    id: 'address-of-a-session-lost-by-a-refresh',
    breaks: 'refresh/address-kept',
    with: { refreshedAddresses: (old) => (withSession(old) ? [] : old.addresses) },
  },
  {
    id: 'address-of-a-lifetime-lost-by-a-refresh',
    breaks: 'refresh/address-kept',
    with: { refreshedAddresses: (old) => (withLifetime(old) ? [] : old.addresses) },
  },
  {
    id: 'address-moved-here-by-a-refresh',
    breaks: 'refresh/address-kept',
    with: { refreshedAddresses: (old) => old.addresses.map(() => '127.0.0.1') },
  },
  {
    id: 'session-of-an-address-lost-by-a-refresh',
    breaks: 'refresh/session-kept',
    with: { refreshedSession: (old) => (withAddress(old) ? undefined : old.session) },
  },
  {
    id: 'session-of-a-lifetime-lost-by-a-refresh',
    breaks: 'refresh/session-kept',
    with: { refreshedSession: (old) => (withLifetime(old) ? undefined : old.session) },
  },
  {
    id: 'session-lost-by-a-refresh',
    breaks: 'refresh/session-kept',
    with: { refreshedSession: () => undefined },
  },
]
