import type { VariantClient } from './test-variant-client.ts'
import {
  created,
  granted,
  isTaken,
  listing,
  listsWith,
  openSessions,
  type Probe,
  root,
  signs,
} from './test-variant-probes.ts'

type Pair = { accessToken?: unknown; refreshToken?: unknown }

/** The status and the error code of a call that is sent once, without waiting where it is throttled. */
export async function once(calls: VariantClient, method: string, params: object, authorization?: string) {
  const { status, json } = await calls.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), authorization)
  return [status, (json?.error as { code?: unknown } | undefined)?.code]
}

export const listOnce = (calls: VariantClient, authorization?: string) =>
  once(calls, 'solution/listSolutions', {}, authorization)

export const grantOnce = (calls: VariantClient, ...scope: string[]) =>
  once(calls, 'manager/auth', {
    grantType: 'api_key_credentials',
    apiKeyId: calls.server.rootKey.id,
    apiKeySecret: calls.server.rootKey.secret,
    scope,
  })

export const createOnce = (calls: VariantClient, authorization?: string) =>
  once(calls, 'manager/createApiKey', { name: 'key', scope: ['solution'] }, authorization)

/** The status and the error code of a listing from an address that is not ours, if the call was refused. */
async function listsFrom(calls: VariantClient, remoteAddress: string, authorization: string, more = {}) {
  const headers = { 'content-type': 'application/json', authorization }
  const body = Buffer.from(JSON.stringify({ ...listing, ...more }))
  const answer = await calls.server.handle({ method: 'POST', target: '/api', headers, body, remoteAddress })
  return [answer.status, (JSON.parse(answer.body) as { error?: { code?: unknown } }).error?.code]
}

export const bearerOf = (calls: VariantClient, { accessToken }: Pair) => calls.bearer(String(accessToken))

export const wrongRoot = (calls: VariantClient) => calls.basic({ id: calls.server.rootKey.id, secret: 'wrong' })

/** The results of a call that is sent `count` times at one moment. */
export async function repeated<Result>(count: number, call: (at: number) => Promise<Result>): Promise<Result[]> {
  const answers: Result[] = []
  for (let at = 0; at < count; at++) answers.push(await call(at))
  return answers
}

/** What to try with each variant of the eleventh set, by its id. */
export const eleventhProbes: { [id: string]: Probe } = {
  'refusals-have-another-form-each-time': (calls) =>
    repeated(7, () =>
      listOnce(calls).then(
        ([status]) => status,
        () => 'closed',
      ),
    ),
  'header-is-judged-before-the-body-is-read': async (calls) => [
    (await calls.post('{', wrongRoot(calls))).status,
    (await calls.post('{', root(calls))).status,
    (await calls.post('{')).status,
  ],

  'ids-secrets-and-tokens-look-like-variables-of-templates': async (calls) => {
    const key = await created(calls)
    const { accessToken, refreshToken } = (await calls.grant(key, ['solution'])).result ?? {}
    const texts = [key.id, key.secret, accessToken, refreshToken].map((text) => String(text).replace(/[\w{}-]/g, ''))
    return [...texts, await isTaken(calls.list(calls.signed(key)))]
  },
  'addresses-in-the-scope-of-a-key-are-in-force': async (calls) => {
    const key = await created(calls, { scope: ['solution', 'ipAddr:127.0.0.2'] })
    const pair = (await calls.grant(key, ['solution'])).result ?? {}
    const answers = [await listOnce(calls, calls.basic(key)), await listOnce(calls, bearerOf(calls, pair))]
    answers.push(await listsFrom(calls, '127.0.0.2', calls.basic(key)))
    answers.push(await listsFrom(calls, '127.0.0.2', bearerOf(calls, pair)))
    return [...answers, await isTaken(calls.grant(key, ['solution', 'ipAddr:127.0.0.1']))]
  },
  'disabling-a-key-ends-its-tokens-and-sessions-for-good': async (calls) => {
    const key = await created(calls)
    const pair = (await calls.grant(key, ['solution', 'session:one'])).result ?? {}
    for (const enabled of [false, true]) await calls.call('manager/updateApiKey', { id: key.id, enabled }, root(calls))
    return [
      await isTaken(calls.list(calls.basic(key))),
      await listsWith(calls, pair),
      await isTaken(calls.refresh(pair.refreshToken)),
    ]
  },
  'places-of-deleted-keys-are-free-three-seconds-later': async (calls) => {
    const [first] = await repeated(9, () => created(calls))
    const answers = [await createOnce(calls, root(calls))]
    await calls.call('manager/deleteApiKey', { id: first?.id }, root(calls))
    answers.push(await createOnce(calls, root(calls)))
    calls.server.clock.advance(3000)
    return [...answers, await createOnce(calls, root(calls))]
  },
  'full-list-of-keys-is-told-before-anything-else': async (calls) => {
    const before = await createOnce(calls)
    await repeated(10, () => created(calls))
    return [before, await createOnce(calls), await once(calls, 'manager/createApiKey', {}, wrongRoot(calls))]
  },
  'timestamps-from-before-their-key-are-refused': async (calls) => {
    const key = await created(calls)
    calls.server.clock.advance(1000)
    const ago = (ms: number) => ({ timestamp: String(calls.now() - ms) })
    const takes = (ms: number) => isTaken(calls.list(calls.signed(key, ago(ms))))
    return [await takes(2000), await takes(4000), await signs(calls, ago(4000))]
  },
  'last-twenty-nonces-of-each-address-are-remembered': async (calls) => {
    const nonce = 'nonce-one'
    const answers = [await signs(calls, { nonce }), await signs(calls, { nonce })]
    const signed = calls.signed(calls.server.rootKey, { nonce })(JSON.stringify({ ...listing, id: 9 }))
    answers.push((await listsFrom(calls, '127.0.0.2', signed, { id: 9 }))[1] === undefined)
    await repeated(20, (at) => signs(calls, { nonce: `other-${at}` }))
    return [...answers, await signs(calls, { nonce })]
  },

  'tokens-begin-with-their-line-and-its-number': async (calls) => {
    const first = await granted(calls, 'solution')
    const second = (await calls.refresh(first.refreshToken)).result ?? {}
    const partsOf = (text: unknown) => String(text).split('.')
    return ['accessToken', 'refreshToken'].map((name) => {
      const [old, fresh] = [partsOf(first[name]), partsOf(second[name])]
      return [old[0] === fresh[0], old[1], fresh[1]]
    })
  },
  'ended-tokens-are-not-found-after-two-seconds': async (calls) => {
    const pair = await granted(calls, 'solution')
    await calls.refresh(pair.refreshToken)
    const answers = [await listOnce(calls, bearerOf(calls, pair))]
    calls.server.clock.advance(2000)
    return [...answers, await listOnce(calls, bearerOf(calls, pair))]
  },
  'young-tokens-must-come-again-a-moment-later': async (calls) => {
    const pair = await granted(calls, 'solution')
    const brief = await granted(calls, 'solution', 'expiresIn:5000')
    const answers = [await listOnce(calls, bearerOf(calls, pair)), await listOnce(calls, bearerOf(calls, brief))]
    calls.server.clock.advance(300)
    return [...answers, await listOnce(calls, bearerOf(calls, pair))]
  },
  'gateway-remembers-refused-tokens-for-two-seconds': async (calls) => {
    const pair = await granted(calls, 'solution', 'ipAddr:127.0.0.1')
    const answers = [await listsFrom(calls, '127.0.0.2', bearerOf(calls, pair))]
    answers.push(await listOnce(calls, bearerOf(calls, pair)))
    calls.server.clock.advance(2000)
    return [...answers, await listOnce(calls, bearerOf(calls, pair))]
  },
  'word-for-one-solution-opens-the-listing-too': async (calls) => {
    const key = await created(calls, { scope: ['solution:one', 'context'] })
    const lists = async (word: string) => listsWith(calls, (await calls.grant(key, [word])).result ?? {})
    return [await lists('solution:one'), await lists('context')]
  },
  'scope-of-result-adds-words-for-reading-and-writing': async (calls) =>
    (await granted(calls, 'solution', 'solution:*')).scope,

  'uses-of-sessions-are-noted-in-steps-of-ten-seconds': async (calls) => {
    const first = await granted(calls, 'solution', 'session:first')
    await openSessions(calls, 14)
    calls.server.clock.advance(10_000)
    await listsWith(calls, first)
    const second = await granted(calls, 'solution', 'session:second')
    calls.server.clock.advance(5000)
    await granted(calls, 'solution', 'session:third')
    const answers = [await listsWith(calls, first), await listsWith(calls, second)]
    for (let at = 1; at <= 14; at++) await granted(calls, 'solution', `session:more-${at}`)
    return [...answers, await listsWith(calls, first), await listsWith(calls, second)]
  },
  'name-of-a-removed-session-rests-for-two-seconds': async (calls) => {
    await openSessions(calls, 17)
    const answers = [
      await grantOnce(calls, 'solution', 'session:name-1'),
      await grantOnce(calls, 'solution', 'session:name-9'),
    ]
    calls.server.clock.advance(2000)
    return [...answers, await grantOnce(calls, 'solution', 'session:name-1')]
  },
  'session-names-are-decoded-like-urls': async (calls) => {
    const pair = await granted(calls, 'solution', 'session:a-b')
    const other = await granted(calls, 'solution', 'session:a%2Db')
    await openSessions(calls, 15)
    return [other.scope, await listsWith(calls, pair)]
  },
  'clock-set-back-a-quarter-second-every-five-seconds': async (calls) => {
    const { clock } = calls.server
    clock.advance(5000 - (clock.now() % 5000))
    const brief = await granted(calls, 'solution', 'expiresIn:5200')
    clock.advance(4990)
    const before = await granted(calls, 'solution')
    const answers = [await listsWith(calls, brief)]
    clock.advance(20)
    const after = await granted(calls, 'solution')
    answers.push(await listsWith(calls, brief))
    return [...answers, Number(after.accessTokenExpiry) - Number(before.accessTokenExpiry)]
  },

  'five-refusals-of-one-kind-in-two-seconds': async (calls) => {
    const refused = await repeated(6, () => listOnce(calls, wrongRoot(calls)))
    const answers = [...refused.slice(-2), await once(calls, 'manager/unknown', {}), await listOnce(calls, root(calls))]
    calls.server.clock.advance(2000)
    return [...answers, await listOnce(calls)]
  },
  'refused-call-sent-again-unchanged-must-wait': async (calls) => {
    const answers = await repeated(2, () => listOnce(calls))
    answers.push(await createOnce(calls))
    calls.server.clock.advance(1000)
    return [...answers, await listOnce(calls)]
  },
  'bytes-of-bodies-are-limited-and-not-calls': async (calls) => {
    const pad = ' '.repeat(2000)
    const post = async () => (await calls.post(`${JSON.stringify(listing)}${pad}`, root(calls))).status
    const answers = await repeated(3, post)
    calls.server.clock.advance(2000)
    return [...answers, await post(), (await calls.post(pad.repeat(9))).status]
  },
  'an-address-works-for-three-keys-in-two-seconds': async (calls) => {
    const lists = (at: number) => listOnce(calls, calls.basic({ id: `key-${at}`, secret: 'x' }))
    const answers = [...(await repeated(4, lists)), await lists(0)]
    calls.server.clock.advance(2000)
    return [...answers, await listOnce(calls, root(calls))]
  },
  'writes-of-one-key-in-flight-together-conflict': async (calls) => {
    const grant = () => grantOnce(calls, 'solution')
    return [...(await Promise.all([grant(), grant(), createOnce(calls, root(calls)), listOnce(calls, root(calls))]))]
  },
}
