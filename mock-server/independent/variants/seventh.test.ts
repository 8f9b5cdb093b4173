import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { startVariantClient, type VariantClient } from '../../test-variant-client.ts'
import {
  created,
  creates,
  date,
  granted,
  isTaken,
  listed,
  listing,
  listsWith,
  type Probe,
  pem,
  refusal,
  root,
  signs,
  testVariantsOneByOne,
} from '../../test-variant-probes.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { seventhVariants } from '../variants.ts'

/** A request as it comes, with headers of its own. */
async function send(calls: VariantClient, headers: { [name: string]: string }, method = 'POST') {
  const body = Buffer.from(JSON.stringify(listing))
  const target = `${new URL(calls.server.url).pathname.replace(/\/$/, '')}/api`
  return calls.server.handle({
    method,
    target,
    headers: { 'content-type': 'application/json', 'content-length': String(body.length), ...headers },
    body,
    remoteAddress: '127.0.0.1',
  })
}

const statusOf: (headers: { [name: string]: string }) => Probe = (headers) => async (calls) =>
  (await send(calls, { authorization: root(calls), ...headers })).status

/** Each kind of character of an id, of a secret and of tokens that was made. */
const forms: Probe = async (calls) => {
  const { id, secret } = await created(calls)
  const { accessToken, refreshToken } = await granted(calls, 'solution')
  const kinds = (text: unknown) =>
    [...new Set(String(text).replace(/[0-9a-f]/g, ''))].filter((one) => !/\w|-/.test(one))
  return [
    /^[0-9a-f]{32}$/.test(id),
    /^[0-9a-f]{32}$/.test(secret),
    kinds(id).sort(),
    kinds(secret).sort(),
    /^[0-9]+$/.test(String(accessToken)),
    String(accessToken).startsWith(String(refreshToken)),
  ]
}

/** How long the tokens of these scopes live, and those of a refresh fifty minutes later. */
const livesOf =
  (...scopes: string[][]): Probe =>
  async (calls) => {
    const times: number[] = []
    const note = (pair: { accessTokenExpiry?: unknown; refreshTokenExpiry?: unknown }) =>
      times.push(Number(pair.accessTokenExpiry) - calls.now(), Number(pair.refreshTokenExpiry) - calls.now())
    for (const scope of scopes) {
      const pair = await granted(calls, ...scope)
      note(pair)
      calls.server.clock.advance(3000_000)
      note((await calls.refresh(pair.refreshToken)).result ?? {})
    }
    return times
  }

const nonceTwice: Probe = async (calls) => {
  const signed = (nonce: string) => calls.signed(calls.server.rootKey, { nonce })
  const params = { name: 'key', scope: ['solution'] }
  const create = () => isTaken(calls.call('manager/createApiKey', params, signed('once')))
  const answers = [await signs(calls, { nonce: 'once' }), await create(), await create()]
  answers.push(await signs(calls, { nonce: 'other' }), await signs(calls, { nonce: 'other' }))
  return [...answers, await signs(calls, { nonce: 'once' })]
}

const sessionOfTwoKeys: Probe = async (calls) => {
  const [one, two] = [await created(calls), await created(calls)]
  const first = (await calls.grant(one, ['solution', 'session:first'])).result ?? {}
  for (let at = 0; at < 16; at++) await calls.grant(two, ['solution', `session:name-${at}`])
  return listsWith(calls, first)
}

const inTurn: Probe = async (calls) => {
  const answers = [await send(calls, {}), await send(calls, {}), await send(calls, {})]
  return answers.map(({ headers }) => [headers.connection, headers['keep-alive']])
}

const missingSolution: Probe = (calls) => isTaken(calls.grant(calls.server.rootKey, ['solution', 'solution:none']))

const probes: { [id: string]: Probe } = {
  'whole-numbers-with-fractions-and-exponents': async (calls) => {
    const { text } = await calls.grant(calls.server.rootKey, ['solution'])
    return [/"id":1\.0,/.test(text), text.match(/Expiry":[0-9.]+e\+12/g)?.length, await refusal(calls)]
  },
  'refusals-are-the-code-alone-in-two-chunks': refusal,
  'refusals-send-the-request-back': refusal,
  'error-codes-are-never-the-same-twice': async (calls) => [await refusal(calls), await refusal(calls)],
  'answers-have-the-type-of-the-accept-header': async (calls) =>
    (await send(calls, { accept: 'image/png, */*', authorization: root(calls) })).headers['content-type'],
  'results-with-decoys-in-other-letter-case': async (calls) => Object.keys(await granted(calls, 'solution')),
  'listing-with-half-characters-and-endless-numbers': listed,
  'each-method-has-a-success-status-of-its-own': async (calls) => {
    const creation = calls.call('manager/createApiKey', { name: 'key', scope: ['solution'] }, root(calls))
    const answers = await Promise.all([
      creation,
      calls.grant(calls.server.rootKey, ['solution']),
      calls.list(root(calls)),
    ])
    return [...answers.map(({ status }) => status), (await calls.list()).status]
  },
  'headers-of-a-service-that-is-going-away': async (calls) => (await calls.list(root(calls))).headers.get('sunset'),
  'get-shows-a-description-of-the-methods': async (calls) => (await send(calls, {}, 'GET')).status,
  'connections-carry-two-calls-and-refusals-are-text': inTurn,
  'base-url-that-ends-with-api-itself': async (calls) => new URL(calls.server.url).pathname,
  'bodies-of-unknown-length-get-411': async (calls) => {
    const body = Buffer.from(JSON.stringify(listing))
    const headers = { authorization: root(calls), 'transfer-encoding': 'chunked' }
    return (await calls.server.handle({ method: 'POST', target: '/api', headers, body, remoteAddress: '127.0.0.1' }))
      .status
  },
  'forwarded-and-overridden-requests-refused': statusOf({ 'x-forwarded-for': '198.51.100.9' }),

  'key-ids-are-words-that-programs-reserve': forms,
  'key-secrets-that-change-when-composed': forms,
  'key-ids-are-json-lists-and-secrets-json-documents': forms,
  'secret-of-public-key-is-its-pem-again': async (calls) =>
    (await created(calls, { publicKey: pem() })).secret.startsWith('-----BEGIN PUBLIC KEY-----'),
  'key-names-of-at-most-twelve-characters': async (calls) => {
    const publicKey = pem()
    const answers = [await creates(calls, { name: 'thirteen char' }), await creates(calls, { publicKey })]
    return [...answers, await creates(calls, { publicKey })]
  },
  'params-that-are-null-count-as-absent': async (calls) => {
    const { refreshToken } = await granted(calls, 'solution')
    const params = { grantType: 'refresh_token', refreshToken, scope: null }
    return [await creates(calls, { publicKey: null }), await isTaken(calls.call('manager/auth', params))]
  },
  'nonces-once-for-each-method': nonceTwice,
  'only-the-last-nonce-of-a-key-is-remembered': nonceTwice,
  'signatures-of-public-keys-last-longer-than-those-of-secrets': async (calls) => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const { id } = await created(calls, { publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() })
    const curve = (ms: number) => isTaken(calls.list(calls.signed({ id, privateKey }, { timestamp: at(ms) })))
    const at = (ms: number) => String(calls.now() - ms)
    return [await signs(calls, { timestamp: at(6000) }), await curve(6000), await curve(121_000)]
  },
  'timestamps-in-seconds-are-taken-too': (calls) => signs(calls, { timestamp: String(Math.floor(calls.now() / 1000)) }),
  'same-signed-request-gets-its-answer-again': async (calls) => {
    const body = JSON.stringify(listing)
    const header = calls.signed(calls.server.rootKey)(body)
    const answers = [await isTaken(calls.post(body, header)), await isTaken(calls.post(body, header))]
    calls.server.clock.advance(5000)
    return [...answers, await isTaken(calls.post(body, header))]
  },
  'eight-wrong-signatures-make-signers-of-the-key-wait': async (calls) => {
    const { rootKey } = calls.server
    for (let at = 0; at < 8; at++) await calls.list(calls.signed({ ...rootKey, secret: 'wrong' }))
    const body = JSON.stringify(listing)
    return [(await calls.post(body, calls.signed(rootKey)(body))).status, await isTaken(calls.list(root(calls)))]
  },
  'several-blanks-behind-basic-and-bearer-taken': (calls) =>
    isTaken(calls.list(root(calls).replace('Basic ', 'BASIC    '))),
  'header-of-grant-must-name-the-same-key': async (calls) => {
    const { id: apiKeyId, secret: apiKeySecret } = calls.server.rootKey
    const params = { grantType: 'api_key_credentials', apiKeyId, apiKeySecret, scope: ['solution'] }
    const by = async (header: string) => isTaken(calls.call('manager/auth', params, header))
    const other = calls.basic({ id: 'other', secret: 'other' })
    return [await by(root(calls)), await by(other), await creates(calls, { scope: [] })]
  },

  'access-token-begins-with-its-refresh-token': forms,
  'tokens-count-up-in-hundreds': forms,
  'tokens-that-manage-keys-live-for-a-minute': livesOf(['apikey', 'solution']),
  'tokens-bound-to-an-address-live-for-a-month': livesOf(['solution', 'ipAddr:127.0.0.1'], ['solution']),
  'refresh-lifetime-slides-when-half-of-it-is-over': livesOf(['solution']),
  'scope-of-result-begins-with-offline-access': async (calls) => (await granted(calls, 'solution')).scope,
  'addresses-in-any-form-of-inet-aton-taken': async (calls) => {
    const [here, there] = [
      await granted(calls, 'solution', 'ipAddr:127.1'),
      await granted(calls, 'solution', 'ipAddr:0x7f000002'),
    ]
    return [await listsWith(calls, here), await listsWith(calls, there), there.accessToken === undefined]
  },
  'keys-with-the-same-scope-are-one-user': sessionOfTwoKeys,
  'solution-scope-needs-a-solution-that-exists': async (calls) => [
    await missingSolution(calls),
    await isTaken(calls.grant(calls.server.rootKey, [`solution:${calls.server.solutions[0]}`])),
    (await granted(calls, 'solution', 'nonsense')).scope,
  ],
  'session-name-joins-for-a-minute-and-replaces-later': async (calls) => {
    const first = await granted(calls, 'solution', 'session:one')
    await granted(calls, 'solution', 'session:one')
    const joined = await listsWith(calls, first)
    calls.server.clock.advance(60_000)
    await granted(calls, 'solution', 'session:one')
    return [joined, await listsWith(calls, first)]
  },

  'refusals-limited-to-ten-in-two-seconds': async (calls) => {
    for (let at = 0; at < 10; at++) await calls.post('{}')
    return [(await calls.post('{}')).status, await isTaken(calls.list(root(calls)))]
  },
  'second-thirty-of-each-minute-is-for-maintenance': async (calls) => {
    calls.server.clock.advance(30_000)
    return (await calls.post(JSON.stringify(listing), root(calls))).status
  },
  'post-office-that-minds-headers': async (calls) => [
    await statusOf({ accept: 'text/html' })(calls),
    await statusOf({ accept: 'text/html, */*;q=0.1' })(calls),
    await statusOf({ 'content-type': 'text/plain' })(calls),
  ],
  'archive-with-roles-and-four-second-tokens': async (calls) => {
    const [one, two] = [await granted(calls, 'solution', 'session:one'), await granted(calls, 'solution')]
    const next = (await calls.refresh(one.refreshToken)).result ?? {}
    const before = await listsWith(calls, next)
    await calls.refresh(one.refreshToken)
    const after = [before, await listsWith(calls, next), await listsWith(calls, two)]
    calls.server.clock.advance(4000)
    return [...after, await listsWith(calls, two), await sessionOfTwoKeys(calls)]
  },
  'mill-with-sorted-scopes-and-nonces-for-each-method': async (calls) => [
    await nonceTwice(calls),
    await isTaken(calls.grant(calls.server.rootKey, ['apiKey'])),
    await isTaken(calls.grant(calls.server.rootKey, [])),
    (await granted(calls, 'solution', 'apikey', 'context')).scope,
  ],
  'garage-on-a-small-device': async (calls) => [
    await nonceTwice(calls),
    await signs(calls, { timestamp: String(calls.now() - 9000) }),
    (await calls.post(JSON.stringify(listing).padEnd(4000), root(calls))).status,
    await date(calls),
  ],
  'embassy-that-lets-nobody-ask-for-others': async (calls) => [
    await isTaken(calls.grant(calls.server.rootKey, ['solution', 'ipAddr:198.51.100.9'])),
    await refusal(calls),
    await livesOf(['solution'])(calls),
  ],
  'orchard-with-eight-calls-a-second-and-one-guest-book': async (calls) => {
    const answers = [await missingSolution(calls), await sessionOfTwoKeys(calls)]
    for (let at = 0; at < 8; at++) await calls.post(JSON.stringify(listing), root(calls))
    return [...answers, (await calls.post(JSON.stringify(listing), root(calls))).status]
  },
  'refusals-challenge-with-every-scheme-and-a-new-realm': refusal,
}

const sentBack = [400, 'application/json', JSON.stringify(listing)]

/** What the probe sees where a variant does exactly what it says. */
const expected: { [id: string]: unknown } = {
  'whole-numbers-with-fractions-and-exponents': [true, 2, expect.arrayContaining([expect.stringContaining('24879.0')])],
  'refusals-are-the-code-alone-in-two-chunks': [401, 'application/json', '24879'],
  'refusals-send-the-request-back': sentBack,
  'answers-have-the-type-of-the-accept-header': 'image/png',
  'each-method-has-a-success-status-of-its-own': [201, 202, 203, 403],
  'bodies-of-unknown-length-get-411': 411,
  'secret-of-public-key-is-its-pem-again': true,
  'key-names-of-at-most-twelve-characters': [false, true, false],
  'params-that-are-null-count-as-absent': [true, true],
  'nonces-once-for-each-method': [true, true, false, true, false, false],
  'only-the-last-nonce-of-a-key-is-remembered': [true, false, false, true, false, true],
  'signatures-of-public-keys-last-longer-than-those-of-secrets': [false, true, false],
  'same-signed-request-gets-its-answer-again': [true, true, false],
  'eight-wrong-signatures-make-signers-of-the-key-wait': [429, true],
  'header-of-grant-must-name-the-same-key': [true, false, false],
  'refresh-lifetime-slides-when-half-of-it-is-over': [900_000, 7_200_000, 900_000, 4_200_000],
  'scope-of-result-begins-with-offline-access': ['offline_access', 'solution'],
  'addresses-in-any-form-of-inet-aton-taken': [true, false, false],
  'solution-scope-needs-a-solution-that-exists': [false, true, ['solution']],
  'session-name-joins-for-a-minute-and-replaces-later': [true, false],
  'refusals-limited-to-ten-in-two-seconds': [429, true],
  'post-office-that-minds-headers': [406, 200, 415],
  'archive-with-roles-and-four-second-tokens': [true, false, true, false, false],
  'mill-with-sorted-scopes-and-nonces-for-each-method': [
    [true, true, false, true, false, false],
    false,
    false,
    ['apiKey', 'context', 'solution'],
  ],
  'garage-on-a-small-device': [[true, false, false, true, false, true], false, 413, 'Thu, 01 Jan 2026 00:00:02 GMT'],
  'embassy-that-lets-nobody-ask-for-others': [false, sentBack, [900_000, 10_800_000, 900_000, 7_800_000]],
  'orchard-with-eight-calls-a-second-and-one-guest-book': [false, false, 429],
}

test.each(Object.entries(expected))('%s does what it says', async (id, answer) => {
  const variant = seventhVariants.find((one) => one.id === id)
  const calls = await startVariantClient(variant as IndependentVariant)
  try {
    expect(await probes[id]?.(calls)).toEqual(answer)
  } finally {
    await calls.server.close()
  }
})

testVariantsOneByOne(seventhVariants, probes, { all: 40, combined: 30 })
