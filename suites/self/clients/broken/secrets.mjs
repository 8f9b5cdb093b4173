/** Clients that show a secret to somebody who should not see it: RFC 6750 §5.3. */
import { clientOf, defaultParts } from '../core.mjs'

const notInUrl = (id, about, auth, parts) => clientOf(auth, 'secrets/not-in-url')(id, about, parts)
const notAfterRedirect = clientOf(['hmac', 'token'], 'secrets/not-after-redirect')
const onlyToAuth = clientOf(['token'], 'secrets/refresh-token-only-to-auth')

const withQuery = (query) => ({
  path: (client, request) => `${client.basePath}/api${query(client, request)}`,
})

/** Follows a redirect; `alter` decides what is sent to the new place. */
const follows = (alter, isFollowed = () => true) => ({
  async exchange(client, wire, request) {
    const answer = await defaultParts.exchange(client, wire)
    const { location } = answer.headers
    if (answer.status < 300 || answer.status >= 400 || !location || !isFollowed(request)) return answer
    const url = new URL(location, new URL(wire.path, client.url))
    return defaultParts.exchange(client, { ...alter(wire), url, path: url.pathname + url.search })
  },
})

const withoutAuthorization = ({ headers: { authorization: _, ...headers }, ...wire }) => ({ ...wire, headers })
const asGet = ({ headers: { 'content-length': _, 'content-type': __, ...headers } }) => ({
  httpMethod: 'GET',
  headers,
  body: '',
})

export const secretClients = [
  notInUrl('token-in-query', 'Sends its access token in the query too', ['token'], {
    ...withQuery((_client, { token }) => (token ? `?access_token=${encodeURIComponent(token)}` : '')),
  }),
  notInUrl('secret-in-query', 'Sends the id and the secret of its key in the query too', ['basic', 'hmac'], {
    ...withQuery(({ env }) => `?key=${env.SVC_KEY_ID}&secret=${encodeURIComponent(env.SVC_KEY_SECRET)}`),
  }),
  notInUrl('refresh-token-in-query', 'Sends its refresh token in the query of a refresh', ['token'], {
    ...withQuery((_client, { params }) =>
      params.refreshToken ? `?refreshToken=${encodeURIComponent(params.refreshToken)}` : '',
    ),
  }),
  notInUrl('secret-in-query-of-grant', 'Sends the secret of its key in the query of a grant', ['token'], {
    ...withQuery((_client, { params }) =>
      params.apiKeySecret ? `?apiKeySecret=${encodeURIComponent(params.apiKeySecret)}` : '',
    ),
  }),

  notAfterRedirect('redirect-followed', 'Follows redirects, and sends everything to the new place', {
    ...follows((wire) => wire),
  }),
  notAfterRedirect('redirect-followed-by-get', 'Follows redirects with GET, and sends its Authorization header', {
    ...follows(asGet, ({ purpose }) => purpose === 'call'),
  }),
  clientOf(['token'], 'secrets/not-after-redirect')(
    'redirect-of-auth-followed',
    'Follows redirects of manager/auth, with the credentials in the body',
    { ...follows(withoutAuthorization, ({ purpose }) => purpose !== 'call') },
  ),
  notAfterRedirect('redirect-of-calls-followed', 'Follows redirects of calls, with the Authorization header', {
    ...follows(
      (wire) => wire,
      ({ purpose }) => purpose === 'call',
    ),
  }),

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
  onlyToAuth('refresh-token-in-header', 'Sends its refresh token in a header of every call', {
    furtherHeaders: ({ pair }, { purpose }) =>
      purpose === 'call' && pair ? { 'x-refresh-token': pair.refreshToken } : {},
  }),
  onlyToAuth('refresh-token-in-cookie', 'Sends its tokens in a cookie of every call', {
    furtherHeaders: ({ pair }, { purpose }) =>
      purpose === 'call' && pair ? { cookie: `refresh=${pair.refreshToken}` } : {},
  }),
  onlyToAuth('refresh-token-in-params', 'Sends its refresh token in the params of every call', {
    envelope: ({ id, method, params }, { purpose, refreshToken }) =>
      defaultParts.envelope({ id, method, params: purpose === 'call' ? { ...params, refreshToken } : params }),
    attempt: (client, request) => defaultParts.attempt(client, { ...request, refreshToken: client.pair?.refreshToken }),
  }),
]
