/** Grants of tokens (part 4.2) for probes. */
import { membersOf } from '../engine/json.ts'
import { type Call, type Caller, type Reply, token } from './caller.ts'

export interface Pair {
  access: string
  refresh: string
  accessExpiryMs: number
  refreshExpiryMs: number
  scope: string[]
}

export interface GrantOptions extends Omit<Call, 'method' | 'params'> {
  /** Instead of the id of the root key. */
  id?: string
  /** Instead of the secret of the root key. */
  secret?: string
}

/** Requests a pair with the credentials of the root key, or with others. */
export function requestGrant(
  caller: Caller,
  scope: readonly string[],
  { id = caller.keyId, secret = caller.secret, ...more }: GrantOptions = {},
): Promise<Reply> {
  const params = { grantType: 'api_key_credentials', scope, apiKeyId: id, apiKeySecret: secret }
  return caller.call({ ...more, method: 'manager/auth', params })
}

/** Requests a new pair with a refresh token. @param more further params */
export function requestRefresh(caller: Caller, refreshToken: string, more: object = {}): Promise<Reply> {
  return caller.call({ method: 'manager/auth', params: { grantType: 'refresh_token', refreshToken, ...more } })
}

/** The pair in an accepted answer; null if the answer has none. */
export function pairOf({ result }: Reply): Pair | null {
  const { accessToken, refreshToken, accessTokenExpiry, refreshTokenExpiry, scope } = membersOf(result)
  if (!isToken(accessToken) || !isToken(refreshToken)) return null
  return {
    access: accessToken,
    refresh: refreshToken,
    accessExpiryMs: Number(accessTokenExpiry),
    refreshExpiryMs: Number(refreshTokenExpiry),
    scope: Array.isArray(scope) ? scope.map(String) : [],
  }
}

/** Matches texts that a header can carry. */
const isToken = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

/** A pair, or null if the target grants none. */
export const grant = async (caller: Caller, scope: readonly string[]): Promise<Pair | null> =>
  pairOf(await requestGrant(caller, scope))

/** Whether an access token lists solutions. */
export function works(caller: Caller, access: string, headers: [string, string][] = []): Promise<boolean> {
  return caller.accepts({ auth: token(caller, access), headers })
}
