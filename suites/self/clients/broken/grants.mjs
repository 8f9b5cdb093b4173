/** Clients that call `manager/auth` wrongly: interface.md §4.2. */
import { clientOf, defaultParts } from '../core.mjs'

const auth = ['token']
const noAuthorization = clientOf(auth, 'grants/no-authorization')
const params = clientOf(auth, 'grants/params')
const noScope = clientOf(auth, 'refresh/no-scope')

const refreshWith = (further) => ({
  refreshParams: (client, refreshToken) => ({
    ...defaultParts.refreshParams(client, refreshToken),
    ...further(client),
  }),
})

export const grantClients = [
  noAuthorization('grant-with-basic', 'Sends Basic credentials with manager/auth', {
    authorizationOfAuth: (client) => defaultParts.basic(client),
  }),
  noAuthorization('grant-signed', 'Signs its calls of manager/auth', {
    authorizationOfAuth: (client, _request, wire) => defaultParts.signed(client, wire),
  }),
  noAuthorization('refresh-with-old-token', 'Sends the old access token with a refresh', {
    authorizationOfAuth: (client) => client.pair && defaultParts.bearer(client, client.pair.accessToken),
  }),
  noAuthorization('grant-with-undefined-token', 'Sends "Bearer undefined" with its first grant', {
    authorizationOfAuth: (client) => defaultParts.bearer(client, client.pair?.accessToken),
  }),

  params('grant-type-of-oauth', 'Asks with the grant type client_credentials', {
    grantParams: (client) => ({ ...defaultParts.grantParams(client), grantType: 'client_credentials' }),
  }),
  params('credentials-of-oauth', 'Sends client_id and client_secret', {
    grantParams: (client) => {
      const { apiKeyId, apiKeySecret, ...rest } = defaultParts.grantParams(client)
      return { ...rest, client_id: apiKeyId, client_secret: apiKeySecret }
    },
  }),
  params('scope-as-text', 'Sends the scope as one text with spaces', {
    grantParams: (client) => ({ ...defaultParts.grantParams(client), scope: client.scope.join(' ') }),
  }),
  params('scope-left-out', 'Asks for a token without a scope', {
    grantParams: (client) => {
      const { scope: _, ...rest } = defaultParts.grantParams(client)
      return rest
    },
  }),
  params('grant-type-left-out', 'Leaves grantType out of the first grant', {
    grantParams: (client) => {
      const { grantType: _, ...rest } = defaultParts.grantParams(client)
      return rest
    },
  }),
  params('refresh-token-of-oauth', 'Sends refresh_token in place of refreshToken', {
    refreshParams: (_client, refreshToken) => ({ grantType: 'refresh_token', refresh_token: refreshToken }),
  }),

  noScope(
    'refresh-with-scope',
    'Sends the scope with a refresh too',
    refreshWith(({ scope }) => ({ scope })),
  ),
  noScope(
    'refresh-with-empty-scope',
    'Sends an empty scope with a refresh',
    refreshWith(() => ({ scope: [] })),
  ),
  noScope(
    'refresh-with-null-scope',
    'Sends the scope null with a refresh',
    refreshWith(() => ({ scope: null })),
  ),
  noScope(
    'refresh-with-granted-scope',
    'Sends the granted scope with a refresh',
    refreshWith(({ pair }) => ({ scope: pair.scope })),
  ),
]
