import { rules } from '../rules.ts'
import type { TokenPair } from '../state.ts'
import { type Mutant, race } from './mutant.ts'
import { tokenWords } from './tokens.ts'

const { refreshed, seconds, namedMutants } = tokenWords

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

/** Parts 3 and 4.2. */
export const refreshMutants: Mutant[] = [
  { id: 'nothing-can-be-refreshed', breaks: 'refresh/new-pair', with: { refreshesAllowed: () => 0 } },
  { id: 'only-one-refresh-of-a-grant', breaks: 'refresh/new-pair', with: { refreshesAllowed: () => 1 } },
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
  { id: 'refresh-needs-scope', breaks: 'refresh/no-scope', with: { refreshNeedsScope: () => true } },
  ...namedMutants('refresh', 'refresh/token'),
  {
    id: 'any-refresh-token-taken',
    breaks: 'refresh/token',
    with: { tokenNamed: (text, find, all, use) => find(text) ?? (use === 'refresh' ? all().at(-1) : undefined) },
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
    id: 'session-lost-by-a-refresh',
    breaks: 'refresh/session-kept',
    with: { refreshedSession: () => undefined },
  },
]
