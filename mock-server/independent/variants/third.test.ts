import type { Answer, VariantClient } from '../../test-variant-client.ts'
import {
  created,
  creates,
  granted,
  isTaken,
  listing,
  listsWith,
  openSessions,
  type Probe,
  pem,
  refusal,
  root,
  testVariantsOneByOne,
} from '../../test-variant-probes.ts'
import { thirdVariants } from '../variants.ts'

/** What becomes of a key beyond the tenth. */
const eleventh: Probe = async (calls) => {
  for (let count = 1; count <= 10; count++) await calls.createKey({ name: `key ${count}`, scope: ['solution'] })
  const answer = await calls
    .call('manager/createApiKey', { name: 'more', scope: ['solution'] }, root(calls))
    .catch(() => undefined)
  return answer?.status
}

const refreshed = async (calls: VariantClient, refreshToken: unknown) =>
  (await calls.refresh(refreshToken)).result ?? {}

/** The result of a grant or a refresh that comes from another address. */
async function sendFrom(calls: VariantClient, remoteAddress: string, params: object): Promise<Answer['result']> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'manager/auth', params })
  const answer = await calls.server.handle({
    method: 'POST',
    target: '/api',
    headers: {},
    body: Buffer.from(body),
    remoteAddress,
  })
  return JSON.parse(answer.body).result
}

const opened = async (calls: VariantClient, remoteAddress: string, name: string) =>
  (await sendFrom(calls, remoteAddress, {
    grantType: 'api_key_credentials',
    apiKeyId: calls.server.rootKey.id,
    apiKeySecret: calls.server.rootKey.secret,
    scope: ['solution', `session:${name}`],
  })) ?? {}

const probes: { [id: string]: Probe } = {
  'refusals-are-json-null': refusal,
  'refusals-are-xml-documents': refusal,
  'refused-callers-are-sent-to-a-login-page': refusal,
  'error-is-a-list-of-causes': refusal,
  'further-members-in-every-answer': async (calls) =>
    Object.keys((await calls.post(JSON.stringify(listing), root(calls))).json ?? {}),
  'eleventh-key-is-a-conflict-without-body': eleventh,
  'eleventh-key-gets-no-answer': eleventh,
  'unknown-methods-are-not-implemented': async (calls) => [
    (await calls.call('solution/none', {})).text.includes('Method not found'),
    (await calls.call('solution/none', {}, root(calls))).status,
  ],
  'refusals-repeat-the-id-as-text': refusal,
  'thirty-calls-a-second-and-then-a-json-rpc-error': async (calls) => {
    const answers = await Promise.all(
      Array.from({ length: 31 }, () => calls.post(JSON.stringify(listing), root(calls))),
    )
    return answers.at(-1)?.json?.error
  },
  'first-call-after-a-pause-takes-300-ms': async (calls) => {
    const before = calls.server.clock.now()
    await calls.list(root(calls))
    await calls.list(root(calls))
    return calls.server.clock.now() - before
  },

  'key-ids-of-padded-base64': async (calls) => /[+/].*=$/.test((await created(calls)).id),
  'key-secrets-with-quotes-and-spaces': async (calls) => /".* /.test((await created(calls)).secret),
  'key-secrets-of-512-letters': async (calls) => (await created(calls)).secret.length,
  'key-ids-and-secrets-are-short': async (calls) => (await created(calls)).secret.length,
  'key-names-of-40-letters-and-initial-key-counted': (calls) => creates(calls, { name: 'n'.repeat(41) }),
  'key-places-never-freed-and-scopes-of-creator-only': async (calls) => {
    const publicKey = pem()
    return [await creates(calls, { publicKey }), await creates(calls, { publicKey })]
  },
  'timestamps-not-far-behind-the-last-of-their-key': async (calls) => {
    const list = (ms: number) =>
      isTaken(calls.list(calls.signed(calls.server.rootKey, { timestamp: String(calls.now() + ms) })))
    return [await list(-6000), await list(0), await list(-5000), await list(-5001)]
  },
  'padding-optional-and-words-in-any-case': (calls) => isTaken(calls.list(root(calls).replace('Basic', 'BASIC'))),
  'signatures-for-a-minute-with-long-nonces': (calls) =>
    isTaken(calls.list(calls.signed(calls.server.rootKey, { nonce: 'n'.repeat(1000) }))),

  'access-tokens-signed-and-refresh-tokens-uuids': async (calls) => {
    const { accessToken, refreshToken } = await granted(calls, 'solution')
    return [
      String(accessToken).split('.').length,
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(refreshToken)),
    ]
  },
  'refresh-tokens-of-8000-letters': async (calls) => String((await granted(calls, 'solution')).refreshToken).length,
  'refresh-token-lives-ten-times-as-long-as-asked-for-access': async (calls) => {
    const lives = async (...scope: string[]) =>
      Number((await granted(calls, 'solution', ...scope)).refreshTokenExpiry) - calls.now()
    return [await lives(), await lives('expiresIn:7200000'), await lives('expiresIn:9000000000')]
  },
  'scope-of-result-tells-the-lifetime': async (calls) => {
    const { scope, refreshToken } = await granted(calls, 'solution')
    return [scope, (await refreshed(calls, refreshToken)).scope]
  },
  'one-address-that-also-refreshes': async (calls) => {
    const { refreshToken } = await granted(calls, 'solution', 'ipAddr:127.0.0.1')
    const away = await sendFrom(calls, '198.51.100.9', { grantType: 'refresh_token', refreshToken })
    const two = await calls.grant(calls.server.rootKey, ['solution', 'ipAddr:127.0.0.1', 'ipAddr:127.0.0.2'])
    return [away === undefined, two.result === undefined]
  },
  'empty-scope-refused-unknown-left-out-header-judged': async (calls) => [
    await isTaken(calls.grant(calls.server.rootKey, [])),
    (await granted(calls, 'solution', 'elsewhere')).scope,
  ],
  'token-without-word-and-expires-in-for-one-token': async (calls) =>
    isTaken(calls.list(String((await granted(calls, 'solution')).accessToken))),
  'scope-of-result-in-another-order-after-refresh': async (calls) => {
    const { refreshToken } = await granted(calls, 'solution', 'context')
    return (await refreshed(calls, refreshToken)).scope
  },
  'refresh-takes-further-params-but-no-secret': async (calls) => {
    const refresh = async (more: object) => {
      const { refreshToken } = await granted(calls, 'solution')
      return isTaken(calls.call('manager/auth', { grantType: 'refresh_token', refreshToken, ...more }))
    }
    return [await refresh({ more: 1 }), await refresh({ apiKeySecret: 'secret' })]
  },

  'session-names-trimmed-composed-and-joined': async (calls) => {
    const first = await granted(calls, 'solution', 'session:name-1')
    for (let count = 2; count <= 16; count++) await granted(calls, 'solution', `session:name-${count}`)
    await granted(calls, 'solution', 'session: name-16 ')
    return listsWith(calls, first)
  },
  'sessions-belong-to-an-address': async (calls) => {
    const first = await opened(calls, '198.51.100.9', 'first')
    await openSessions(calls, 16)
    return listsWith(calls, first)
  },
  'sessions-belong-to-an-address-and-unused-ones-leave': async (calls) => {
    const first = await opened(calls, '198.51.100.9', 'first')
    await openSessions(calls, 16)
    return listsWith(calls, first)
  },
  'session-opened-again-keeps-its-age': async (calls) => {
    await openSessions(calls, 16)
    const again = await granted(calls, 'solution', 'session:name-1')
    await granted(calls, 'solution', 'session:name-17')
    return listsWith(calls, again)
  },
  'session-names-add-and-sessions-end-after-two-hours': async (calls) => {
    const { refreshToken, refreshTokenExpiry } = await granted(calls, 'solution', 'session:one')
    const lives = Number(refreshTokenExpiry) - calls.now()
    calls.server.clock.advance(2 * 3_600_000)
    return [lives, await isTaken(calls.refresh(refreshToken))]
  },

  'team-with-a-strict-reader': refusal,
  'team-with-a-loose-reader-and-xml-refusals': refusal,
  'team-with-words-of-its-own-at-a-path': async (calls) =>
    String((await granted(calls, 'solution')).accessToken).length,
  'team-with-a-slow-clock-and-short-lives': async (calls) => calls.now() - calls.server.clock.now(),
  'team-that-answers-statuses-in-json': refusal,
  'team-with-one-session-name-and-narrow-keys': async (calls) => {
    const first = await granted(calls, 'solution', 'session:one')
    await granted(calls, 'solution', 'session:one')
    return listsWith(calls, first)
  },
  'team-that-closes-connections-and-tells-little': refusal,
}

testVariantsOneByOne(thirdVariants, probes, { all: 30, combined: 10 })
