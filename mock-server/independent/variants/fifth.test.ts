import { expect, test } from 'vitest'
import { type Answer, startVariantClient, type VariantClient } from '../../test-variant-client.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { fifthVariants } from '../variants.ts'

/** What is asked of a server; the answer of the reference server is another one. */
type Probe = (calls: VariantClient) => Promise<unknown>

const listing = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'solution/listSolutions', params: {} })
const root = (calls: VariantClient) => calls.basic(calls.server.rootKey)
const taken = async (answer: Promise<Answer>) => (await answer).result !== undefined

const refusal: Probe = async (calls) => {
  const { status, text } = await calls.post(listing)
  return [status, text]
}

const date: Probe = async (calls) => (await calls.list(root(calls))).headers.get('date')

const key = { name: 'key', scope: ['solution'] }

const creates = (calls: VariantClient, params = {}) =>
  taken(calls.call('manager/createApiKey', { ...key, ...params }, root(calls)))

const keyForms: Probe = async (calls) => {
  const [{ id, secret }, second] = [await calls.createKey(key), await calls.createKey(key)]
  return [id.includes('@'), id.toLowerCase() === second.id.toLowerCase(), secret.startsWith(id)]
}

const granted = async (calls: VariantClient, ...scope: string[]) =>
  (await calls.grant(calls.server.rootKey, ['solution', ...scope])).result ?? {}

const grants = async (calls: VariantClient, ...scope: string[]) =>
  (await granted(calls, ...scope)).accessToken !== undefined

const signs = (calls: VariantClient, but: { nonce?: string; timestamp?: string }) =>
  taken(calls.list(calls.signed(calls.server.rootKey, but)))

/** How many milliseconds an access token lives. */
const lifeOf = (calls: VariantClient, pair: { accessTokenExpiry?: unknown }) =>
  Number(pair.accessTokenExpiry) - calls.now()

/** The status of a call at another path. */
const statusAt = async (calls: VariantClient, target: string) => {
  const headers = { authorization: root(calls) }
  const { handle } = calls.server
  return (await handle({ method: 'POST', target, headers, body: Buffer.from(listing), remoteAddress: '127.0.0.1' }))
    .status
}

const probes: { [id: string]: Probe } = {
  'refusals-beside-result-false': refusal,
  'refusals-end-in-the-middle-of-their-json': refusal,
  'refusals-are-an-empty-list': refusal,
  'refusals-with-next-id-and-fractions-as-codes': refusal,
  'refusals-with-status-207-list-their-statuses': refusal,
  'listing-with-members-named-like-those-of-answers': async (calls) =>
    Object.keys((await calls.list(root(calls))).result ?? {}),
  'date-header-three-hours-behind': date,
  'date-header-in-obsolete-form': date,

  'repeated-and-unknown-members-refused': async (calls) => [
    await taken(calls.post(listing.replace('"id":5', '"id":5,"id":6'), root(calls))),
    await taken(calls.post(listing.replace('"id":5', '"id":5,"more":6'), root(calls))),
  ],
  'query-taken-and-signed-as-part-of-uri': (calls) => statusAt(calls, '/api?more=1'),
  'byte-order-mark-skipped': async (calls) => {
    const marked = `\ufeff${listing}`
    return [
      await taken(calls.post(marked, root(calls))),
      await taken(calls.post(marked, calls.signed(calls.server.rootKey)(marked))),
    ]
  },
  'nonces-of-12-to-40-letters-and-timestamps-for-ninety-seconds': async (calls) => [
    await signs(calls, { nonce: 'eleven-long' }),
    await signs(calls, { timestamp: String(calls.now() - 90_000) }),
  ],
  'timestamps-up-to-an-hour-old-or-two-seconds-ahead': async (calls) => [
    await signs(calls, { timestamp: String(calls.now() + 2001) }),
    await signs(calls, { timestamp: String(calls.now() - 3_599_999) }),
  ],

  'key-ids-with-slashes-and-at-signs': keyForms,
  'key-ids-differ-in-letter-case-only': keyForms,
  'key-secrets-begin-with-the-id-of-their-key': keyForms,
  'initial-key-and-wrong-public-keys-take-places': async (calls) => {
    await creates(calls, { publicKey: 'no key' })
    for (let count = 1; count <= 8; count++) await calls.createKey(key)
    return creates(calls)
  },
  'disabled-keys-take-no-places': async (calls) => {
    const { id } = await calls.createKey(key)
    await calls.call('manager/updateApiKey', { id, enabled: false }, root(calls))
    for (let count = 2; count <= 10; count++) await calls.createKey(key)
    return creates(calls)
  },
  'restrictions-and-nothing-refused-as-scope-of-key': async (calls) => [
    await creates(calls, { scope: ['solution', 'session:one'] }),
    await creates(calls, { scope: [] }),
  ],

  'tokens-look-like-the-fields-of-a-signature': async (calls) =>
    String((await granted(calls)).accessToken).split(';').length,
  'tokens-begin-with-their-word-and-words-in-any-case': async (calls) =>
    String((await granted(calls)).accessToken).startsWith('Bearer'),
  'refreshed-access-tokens-live-six-times-as-long': async (calls) => {
    const first = await granted(calls)
    const { result } = await calls.refresh(first.refreshToken)
    return [lifeOf(calls, first), lifeOf(calls, result ?? {})]
  },
  'access-ends-at-second-full-hour-of-a-kept-lifetime': async (calls) => {
    calls.server.clock.advance(1000)
    return lifeOf(calls, await granted(calls))
  },
  'several-addresses-must-all-fit': async (calls) =>
    taken(calls.listWith((await granted(calls, 'ipAddr:127.0.0.1', 'ipAddr:198.51.100.9')).accessToken)),
  'mapped-addresses-and-ranges-of-one-host-taken': async (calls) => [
    await grants(calls, 'ipAddr:127.0.0.1/32'),
    await taken(calls.listWith((await granted(calls, 'ipAddr:::ffff:127.0.0.1')).accessToken)),
  ],
  'expires-in-of-other-forms-is-the-default-and-unknown-words-left-out': async (calls) => [
    await grants(calls, 'expiresIn:-1'),
    await grants(calls, 'elsewhere'),
  ],
  'scope-of-result-names-each-scope-twice': async (calls) => (await granted(calls)).scope,
  'empty-scope-refused-and-refresh-narrows-within-a-kept-lifetime': async (calls) =>
    taken(calls.grant(calls.server.rootKey, [])),

  'created-keys-are-one-user-and-names-add': async (calls) => {
    const [first, second] = [await calls.createKey(key), await calls.createKey(key)]
    const { result } = await calls.grant(first, ['solution', 'session:first'])
    for (let at = 1; at <= 16; at++) await calls.grant(second, ['solution', 'session:same'])
    return taken(calls.listWith(result?.accessToken))
  },
  'session-names-without-capitals-and-refused-while-they-live': async (calls) => [
    await grants(calls, 'session:One'),
    await grants(calls, 'session:one'),
    await grants(calls, 'session:one'),
  ],
}

const reference: IndependentVariant = { id: 'reference', questions: ['errors/codes'] }

/** Each probe has a server of its own. */
async function look(variant: IndependentVariant, probe: Probe): Promise<string> {
  const calls = await startVariantClient(variant)
  try {
    return JSON.stringify(await probe(calls)) ?? 'undefined'
  } finally {
    await calls.server.close()
  }
}

test('each variant has a probe', () => {
  expect(Object.keys(probes).sort()).toEqual(fifthVariants.map(({ id }) => id).sort())
})

test.each(fifthVariants.map((variant) => [variant.id, variant] as const))('%s differs', async (id, variant) => {
  const probe = probes[id] ?? refusal
  const expected = await look(reference, probe)
  expect(await look(reference, probe)).toBe(expected)
  expect(await look(variant, probe)).not.toBe(expected)
})

test('there are at least 30, of which 12 answer two questions or more', () => {
  expect(fifthVariants.length).toBeGreaterThanOrEqual(30)
  expect(fifthVariants.filter(({ questions }) => questions.length > 1).length).toBeGreaterThanOrEqual(12)
})
