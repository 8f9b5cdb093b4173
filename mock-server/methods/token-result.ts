import type { ServerContext } from '../context.ts'
import type { TokenResult } from '../rules/tokens.ts'
import type { TokenPair } from '../state.ts'

/** The six members of the result. */
export function tokenResult({ rules }: ServerContext, pair: TokenPair): TokenResult {
  return {
    accessToken: pair.accessToken,
    accessTokenExpiry: rules.reportedAccessExpiry(pair),
    refreshToken: pair.refreshToken,
    refreshTokenExpiry: rules.reportedRefreshExpiry(pair),
    tokenType: 'Bearer',
    scope: pair.scopeEcho,
  }
}
