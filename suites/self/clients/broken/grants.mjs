/** Clients that call `manager/auth` wrongly: interface.md §4.2. */
import { clientOf, defaultParts, part } from '../core.mjs'

const auth = ['token']
const refreshWith = (further) => ({
  refreshParams: (client, refreshToken) => ({
    ...defaultParts.refreshParams(client, refreshToken),
    ...further(client),
  }),
})

const noAuthorization = clientOf(auth, 'grants/no-authorization', part('authorizationOfAuth'))
const params = clientOf(auth, 'grants/params', (change) => ({
  grantParams: (client) => change(defaultParts.grantParams(client), client),
}))
const noScope = clientOf(auth, 'refresh/no-scope', refreshWith)

export const grantClients = [
  noAuthorization('grant-with-basic', 'Sends Basic credentials with manager/auth', (client) =>
    defaultParts.basic(client),
  ),
  noAuthorization('grant-signed', 'Signs its calls of manager/auth', (client, _request, wire) =>
    defaultParts.signed(client, wire),
  ),
  noAuthorization(
    'refresh-with-old-token',
    'Sends the old access token with a refresh',
    (client) => client.pair && defaultParts.bearer(client, client.pair.accessToken),
  ),
  noAuthorization('grant-with-undefined-token', 'Sends "Bearer undefined" with its first grant', (client) =>
    defaultParts.bearer(client, client.pair?.accessToken),
  ),

  params('grant-type-of-oauth', 'Asks with the grant type client_credentials', (right) => ({
    ...right,
    grantType: 'client_credentials',
  })),
  params('credentials-of-oauth', 'Sends client_id and client_secret', ({ apiKeyId, apiKeySecret, ...rest }) => ({
    ...rest,
    client_id: apiKeyId,
    client_secret: apiKeySecret,
  })),
  params('scope-as-text', 'Sends the scope as one text with spaces', (right, { scope }) => ({
    ...right,
    scope: scope.join(' '),
  })),
  params('scope-left-out', 'Asks for a token without a scope', ({ scope: _, ...rest }) => rest),
  params('grant-type-left-out', 'Leaves grantType out of the first grant', ({ grantType: _, ...rest }) => rest),
  clientOf(auth, 'grants/params')('refresh-token-of-oauth', 'Sends refresh_token in place of refreshToken', {
    refreshParams: (_client, refreshToken) => ({ grantType: 'refresh_token', refresh_token: refreshToken }),
  }),

  noScope('refresh-with-scope', 'Sends the scope with a refresh too', ({ scope }) => ({ scope })),
  noScope('refresh-with-empty-scope', 'Sends an empty scope with a refresh', () => ({ scope: [] })),
  noScope('refresh-with-null-scope', 'Sends the scope null with a refresh', () => ({ scope: null })),
  noScope('refresh-with-granted-scope', 'Sends the granted scope with a refresh', ({ pair }) => ({
    scope: pair.scope,
  })),
]
