import type { Profile } from '../profile.ts'
import type { ApiKey, Session, Token, TokenKind, TokenPair } from '../state.ts'

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
export const tokenRules = {
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
