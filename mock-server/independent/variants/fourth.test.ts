import type { VariantClient } from '../../test-variant-client.ts'
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
import { fourthVariants } from '../variants.ts'

const hour = 3_600_000

const listed: Probe = async (calls) => Object.keys((await calls.list(root(calls))).result ?? {})

const grantsTo = (calls: VariantClient, key: { id: string; secret: string }, ...scope: string[]) =>
  isTaken(calls.grant(key, ['solution', ...scope]))

const keyForms: Probe = async (calls) => {
  const [first, second] = [await created(calls), await created(calls)]
  return [second.id.startsWith(first.id), /[A-Z~]/.test(first.id), first.secret.includes(';')]
}

const tokenForms: Probe = async (calls) => {
  const { accessToken, refreshToken } = await granted(calls, 'solution')
  const [access, refresh] = [String(accessToken), String(refreshToken)]
  return [access.split('.').length, refresh.includes('"'), access.slice(0, -1) === refresh.slice(0, -1)]
}

const probes: { [id: string]: Probe } = {
  'error-data-holds-a-result': refusal,
  'refusals-in-json-rpc-1-1': refusal,
  'refusals-without-content-type': refusal,
  'refusals-say-ok': refusal,
  'refusal-is-a-list-of-one-error': refusal,
  'status-of-refusal-tells-the-way-to-authorize': refusal,
  'listing-with-null-for-a-list': listed,
  'listing-with-members-named-like-those-of-tokens': listed,
  'eleventh-key-gets-507-and-a-time-to-wait': async (calls) => {
    for (let count = 1; count <= 10; count++) await created(calls)
    return (await calls.call('manager/createApiKey', { name: 'more', scope: ['solution'] }, root(calls))).status
  },
  'header-names-in-capitals-and-bodies-in-chunks': async (calls) => {
    const { handle } = calls.server
    const answer = await handle({
      method: 'POST',
      target: '/api',
      headers: {},
      body: Buffer.from(JSON.stringify(listing)),
      remoteAddress: '127.0.0.1',
    })
    return [answer.chunked, Object.keys(answer.headers)]
  },
  'bucket-of-sixty-calls-filled-with-thirty-a-second': async (calls) => {
    const lists = () => calls.post(JSON.stringify(listing), root(calls))
    for (let count = 1; count <= 60; count++) await lists()
    const { status } = await lists()
    calls.server.clock.advance(40)
    return [status, (await lists()).status]
  },
  'fifteen-wrong-tokens-lock-token-callers-out': async (calls) => {
    const right = calls.bearer(String((await granted(calls, 'solution')).accessToken))
    for (let count = 1; count <= 15; count++) await calls.post(JSON.stringify(listing), calls.bearer('wrong'))
    const { status } = await calls.post(JSON.stringify(listing), right)
    calls.server.clock.advance(3000)
    return [status, (await calls.post(JSON.stringify(listing), right)).status]
  },

  'each-key-id-begins-with-the-one-before': keyForms,
  'key-ids-in-capitals-behind-a-word': keyForms,
  'key-secrets-with-semicolons-and-percent-signs': keyForms,
  'public-keys-share-a-placeholder-and-results-repeat-params': async (calls) => {
    const [first, second] = [await created(calls, { publicKey: pem() }), await created(calls, { publicKey: pem() })]
    return first.secret === second.secret
  },
  'known-words-weak-keys-and-nine-places': async (calls) => {
    const unknown = await creates(calls, { scope: ['elsewhere'] })
    for (let count = 1; count <= 9; count++) await created(calls)
    return [unknown, await creates(calls, {})]
  },
  'key-names-without-blanks-at-the-ends-and-scopes-not-empty': async (calls) => [
    await creates(calls, { name: ' key' }),
    await creates(calls, { scope: [] }),
  ],
  'public-key-once-and-scope-of-creator-at-most': async (calls) => {
    const publicKey = pem()
    const narrow = await created(calls, { scope: ['apikey'] })
    return [
      await creates(calls, { publicKey }),
      await creates(calls, { publicKey }),
      await creates(calls, {}, calls.basic(narrow)),
    ]
  },
  'nonces-of-48-letters-two-minutes-and-a-clock-ahead': (calls) =>
    isTaken(calls.list(calls.signed(calls.server.rootKey, { nonce: 'n'.repeat(49) }))),
  'nonce-not-burnt-padding-as-in-sample-and-a-day-to-come': (calls) =>
    isTaken(calls.list(calls.signed(calls.server.rootKey, { timestamp: String(calls.now() + 12 * hour) }))),
  'api-token-word-and-words-in-any-case': (calls) => isTaken(calls.list(root(calls).replace('Basic', 'basic'))),

  'access-tokens-of-five-parts': tokenForms,
  'tokens-with-dots-and-tildes-at-the-ends': tokenForms,
  'tokens-of-pair-differ-in-last-letter-only': tokenForms,
  'refresh-tokens-with-accents-quotes-and-spaces': tokenForms,
  'refresh-narrows-at-its-own-address-and-reuse-ends-family': async (calls) => {
    const first = await granted(calls, 'solution')
    const second = (await calls.refresh(first.refreshToken)).result
    await calls.refresh(first.refreshToken)
    return listsWith(calls, second ?? {})
  },
  'scope-of-result-lists-restrictions-first': async (calls) =>
    (await granted(calls, 'solution', 'expiresIn:50000')).scope,
  'empty-scope-is-whole-key-and-apikey-has-one-spelling': async (calls) => [
    (await granted(calls)).scope,
    (await granted(calls, 'apiKey')).scope,
  ],
  'access-for-45-seconds-within-90-of-the-grant': async (calls) => {
    const { accessTokenExpiry, refreshTokenExpiry } = await granted(calls, 'solution')
    return [Number(accessTokenExpiry) - calls.now(), Number(refreshTokenExpiry) - calls.now()]
  },
  'expires-in-above-ten-minutes-refused-unknown-words-left-out': async (calls) => [
    (await granted(calls, 'solution', 'expiresIn:600000', 'elsewhere')).scope,
    (await granted(calls, 'solution', 'expiresIn:600001')).scope,
  ],

  'session-name-of-any-key-refused-while-it-lives': async (calls) => {
    const key = await created(calls)
    await granted(calls, 'solution', 'session:one')
    return grantsTo(calls, key, 'session:one')
  },
  'sessions-of-everyone-join-unnamed-count-unused-first': async (calls) => {
    const first = await granted(calls, 'solution')
    await openSessions(calls, 16)
    return listsWith(calls, first)
  },
  'keys-of-the-same-creator-are-one-user': async (calls) => {
    const [first, second] = [await created(calls), await created(calls)]
    const { result } = await calls.grant(first, ['solution', 'session:first'])
    for (let at = 1; at <= 16; at++) await grantsTo(calls, second, `session:name-${at}`)
    return listsWith(calls, result ?? {})
  },
  'session-names-add-unused-first-and-have-40-letters-at-most': async (calls) => [
    await grantsTo(calls, calls.server.rootKey, `session:${'n'.repeat(40)}`),
    await grantsTo(calls, calls.server.rootKey, `session:${'n'.repeat(41)}`),
  ],
  'sessions-join-and-end-a-day-after-they-began': async (calls) => {
    const [one, none] = [await granted(calls, 'solution', 'session:one'), await granted(calls, 'solution')]
    calls.server.clock.advance(24 * hour)
    return [await isTaken(calls.refresh(one.refreshToken)), await isTaken(calls.refresh(none.refreshToken))]
  },

  'shop-with-loose-types': refusal,
  'shop-with-a-framework-for-beans': refusal,
  'shop-with-plain-errors-and-long-tokens': refusal,
  'shop-that-validates-with-422': refusal,
  'shop-that-adds-members-and-wants-no-header-at-grants': listed,
  'shop-behind-two-proxies': async (calls) => (await calls.list(root(calls))).headers.get('via'),
  'shop-with-a-security-office': async (calls) =>
    Number((await granted(calls, 'solution')).accessTokenExpiry) - calls.now(),
  'shop-where-everyone-is-one-user': async (calls) => (await granted(calls, 'SOLUTION', 'elsewhere')).scope,
  'shop-with-slow-answers-and-a-clock-behind': async (calls) => calls.now() - calls.server.clock.now(),
}

testVariantsOneByOne(fourthVariants, probes, { all: 40, combined: 15 })
