/** Clients that show a secret to somebody who should not see it: RFC 6750 §5.3. */
import { clientOf, defaultParts } from '../core.mjs'

const onlyToAuth = clientOf(['token'], 'secrets/refresh-token-only-to-auth')

/** The query has what `secretsOf` names of the client and its request. */
const inUrl = (auth) =>
  clientOf(auth, 'secrets/not-in-url', (secretsOf) => ({
    path(client, request) {
      const known = Object.entries(secretsOf(client, request)).filter(([, secret]) => secret)
      return `${client.basePath}/api${known.length > 0 ? `?${new URLSearchParams(known)}` : ''}`
    },
  }))

/** Follows some redirects; a row says what is sent to the new place. */
const redirects = (isFollowed = () => true, auth = ['hmac', 'token']) =>
  clientOf(auth, 'secrets/not-after-redirect', (alter) => ({
    async exchange(client, wire, request) {
      const answer = await defaultParts.exchange(client, wire)
      const { location } = answer.headers
      if (answer.status < 300 || answer.status >= 400 || !location || !isFollowed(request)) return answer
      const url = new URL(location, new URL(wire.path, client.url))
      return defaultParts.exchange(client, { ...alter(wire), url, path: url.pathname + url.search })
    },
  }))
const isCall = ({ purpose }) => purpose === 'call'

const inHeader = clientOf(['token'], 'secrets/refresh-token-only-to-auth', (headersOf) => ({
  furtherHeaders: ({ pair }, request) => (isCall(request) && pair ? headersOf(pair) : {}),
}))
const withoutAuthorization = ({ headers: { authorization: _, ...headers }, ...wire }) => ({ ...wire, headers })
const asGet = ({ headers: { 'content-length': _, 'content-type': __, ...headers } }) => ({
  httpMethod: 'GET',
  headers,
  body: '',
})

export const secretClients = [
  inUrl(['token'])('token-in-query', 'Sends its access token in the query too', (_client, { token }) => ({
    access_token: token,
  })),
  inUrl(['basic', 'hmac'])('secret-in-query', 'Sends the id and the secret of its key in the query too', ({ env }) => ({
    key: env.SVC_KEY_ID,
    secret: env.SVC_KEY_SECRET,
  })),
  inUrl(['token'])('refresh-token-in-query', 'Sends its refresh token in the query of a refresh', (_client, asked) => ({
    refreshToken: asked.params.refreshToken,
  })),
  inUrl(['token'])(
    'secret-in-query-of-grant',
    'Sends the secret of its key in the query of a grant',
    (_client, asked) => ({
      apiKeySecret: asked.params.apiKeySecret,
    }),
  ),

  redirects()('redirect-followed', 'Follows redirects, and sends everything to the new place', (wire) => wire),
  redirects(isCall)(
    'redirect-followed-by-get',
    'Follows redirects with GET, and sends its Authorization header',
    asGet,
  ),
  redirects((request) => !isCall(request), ['token'])(
    'redirect-of-auth-followed',
    'Follows redirects of manager/auth, with the credentials in the body',
    withoutAuthorization,
  ),
  redirects(isCall)(
    'redirect-of-calls-followed',
    'Follows redirects of calls, with the Authorization header',
    (wire) => wire,
  ),

  onlyToAuth('refresh-token-as-access-token', 'Tries its refresh token where an access token was refused', {
    isDue: () => false,
    async tokenFor(client) {
      const { pair } = client
      if (!pair?.isRefused || pair.isTried) return defaultParts.tokenFor(client)
      pair.isTried = true
      return pair.refreshToken
    },
    triesAgain: (client, made) =>
      made.outcome.kind === 'refused' ? made.refusals <= 2 : defaultParts.triesAgain(client, made),
  }),
  inHeader('refresh-token-in-header', 'Sends its refresh token in a header of every call', ({ refreshToken }) => ({
    'x-refresh-token': refreshToken,
  })),
  inHeader('refresh-token-in-cookie', 'Sends its tokens in a cookie of every call', ({ refreshToken }) => ({
    cookie: `refresh=${refreshToken}`,
  })),
  onlyToAuth('refresh-token-in-params', 'Sends its refresh token in the params of every call', {
    envelope: ({ id, method, params }, { purpose, refreshToken }) =>
      defaultParts.envelope({ id, method, params: purpose === 'call' ? { ...params, refreshToken } : params }),
    attempt: (client, request) => defaultParts.attempt(client, { ...request, refreshToken: client.pair?.refreshToken }),
  }),
]
