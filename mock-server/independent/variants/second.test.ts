import { generateKeyPairSync } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startVariantClient, type VariantClient } from '../../test-variant-client.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { secondVariants } from '../variants.ts'

type Probe = (calls: VariantClient) => Promise<unknown>

const listing = { jsonrpc: '2.0', id: 5, method: 'solution/listSolutions', params: {} }
const root = (calls: VariantClient) => calls.basic(calls.server.rootKey)
const isTaken = async (calls: VariantClient, body: unknown) =>
  (await calls.post(JSON.stringify(body), root(calls))).text
const shape = (text: string) => text.replaceAll(/[0-9a-f]{32}|[0-9]{13}|[\w-]{43}/g, '#')

function pem(): string {
  return generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString().trimEnd()
}

async function sendRaw(calls: VariantClient, method: string, path: string, contentType: string | undefined) {
  const { url, handle } = calls.server
  const answer = await handle({
    method,
    target: `${new URL(url).pathname.replace(/\/$/, '')}${path}`,
    headers: { authorization: root(calls), ...(contentType === undefined ? {} : { 'content-type': contentType }) },
    body: Buffer.from(JSON.stringify(listing)),
    remoteAddress: '127.0.0.1',
  })
  return [answer.status, answer.chunked, Object.entries(answer.headers), shape(answer.body)]
}

const granted = async (calls: VariantClient, ...scope: string[]) =>
  (await calls.grant(calls.server.rootKey, scope)).result as { [name: string]: unknown } | undefined

const created = async (calls: VariantClient, params: object) => {
  const { status, result, text } = await calls.call('manager/createApiKey', params, root(calls))
  return [
    status,
    result === undefined ? shape(text) : Object.keys(result),
    String(result?.secret).length,
    String(result?.id).length,
  ]
}

/** Questions to a server; a variant answers at least one of them in another way than the reference server. */
const probes: { [name: string]: Probe } = {
  answer: (calls) => sendRaw(calls, 'POST', '/api', 'application/json'),
  charset: (calls) => sendRaw(calls, 'POST', '/api', 'application/json; charset=utf-8'),
  get: (calls) => sendRaw(calls, 'GET', '/', undefined),
  refusal: async (calls) => {
    const { status, text } = await calls.list()
    return [status, text.replaceAll(/"id":[0-9]+/g, '')]
  },
  unread: async (calls) => {
    const { status, text } = await calls.post('{')
    return [status, text]
  },
  unknown: async (calls) => (await calls.post(JSON.stringify({ ...listing, method: 'solution/none' }))).text,
  envelopes: async (calls) => [
    await isTaken(calls, [listing]).then(shape),
    await isTaken(calls, { ...listing, more: 1 }).then(shape),
    await isTaken(calls, { ...listing, id: 'five' }).then(shape),
    await isTaken(calls, { ...listing, jsonrpc: '1.0' }).then(shape),
    (await calls.post(JSON.stringify(listing) + ' '.repeat(7000), root(calls))).status,
  ],
  time: async (calls) => {
    const before = calls.server.clock.now()
    const dates = (await calls.post(JSON.stringify(listing), root(calls))).headers.get('date')
    return [calls.server.clock.now() - before, dates !== null, calls.now() - calls.server.clock.now()]
  },
  waiting: (calls) => Promise.race([calls.list().then(() => 'answered'), nextTurn('waiting')]),
  words: async (calls) => {
    const pair = await granted(calls, 'solution')
    const take = async (word: string) => (await calls.list(`${word}${pair?.accessToken}`)).result !== undefined
    return [await take('Bearer '), await take('bearer '), await take('')]
  },
  params: async (calls) => {
    const { id, secret } = calls.server.rootKey
    const params = {
      grantType: 'api_key_credentials',
      apiKeyId: id,
      apiKeySecret: secret,
      scope: ['solution'],
      more: 1,
    }
    return (await calls.call('manager/auth', params)).result === undefined
  },
  rate: async (calls) => {
    const all = await Promise.all(Array.from({ length: 70 }, () => calls.post(JSON.stringify(listing), root(calls))))
    const refused = all.filter(({ status }) => status !== 200)
    calls.server.clock.advance(1000)
    return refused.map(({ status }) => status)
  },
  signatures: async (calls) => {
    const key = calls.server.rootKey
    const takes = async (options: { nonce?: string; timestamp?: string }) =>
      (await calls.list(calls.signed(key, options))).result !== undefined
    const at = (ms: number) => ({ timestamp: String(calls.now() + ms) })
    const nonce = 'a-nonce-of-some-length'
    return [
      await takes({ nonce: 'short' }),
      await takes({ nonce }),
      await takes({ nonce }),
      await takes({ nonce, ...at(1) }),
      await takes(at(-100_000)),
      await takes(at(9000)),
      await takes(at(-3_600_000)),
    ]
  },
  grants: async (calls) => {
    const pair = await granted(calls, 'solution', 'apikey', 'session:one')
    const access = String(pair?.accessToken)
    const now = calls.now()
    return [
      access.length,
      String(pair?.refreshToken).length,
      String(pair?.refreshToken).startsWith(access),
      pair?.scope,
      Number(pair?.accessTokenExpiry) - now,
      Number(pair?.refreshTokenExpiry) - now,
      (await granted(calls)) === undefined,
      (await granted(calls, 'solution', 'expiresIn:7200000')) === undefined,
      (await granted(calls, 'solution', 'session:a name')) === undefined,
      (await granted(calls, 'solution', 'session:one')) === undefined,
      (await calls.listWith(access)).result === undefined,
    ]
  },
  refreshes: async (calls) => {
    const first = await granted(calls, 'solution', 'expiresIn:60000')
    const second = (await calls.refresh(first?.refreshToken)).result
    await calls.refresh(first?.refreshToken)
    return (await calls.listWith(second?.accessToken)).result === undefined
  },
  keys: async (calls) => [
    await created(calls, { name: 'one', scope: ['solution'] }),
    await created(calls, { name: 'one', scope: ['solution'] }),
    await created(calls, { name: 'two', scope: ['solution'], publicKey: pem() }),
    await created(calls, { name: 'three', scope: [] }),
    await created(calls, { name: 'four', scope: ['elsewhere'] }),
    await created(calls, { name: 'five', scope: ['solution'], publicKey: `${pem()}\n\n\n` }),
  ],
  places: async (calls) => {
    const key = await calls.createKey({ name: 'in between', scope: ['solution'] })
    await calls.call('manager/deleteApiKey', { id: key.id }, root(calls))
    const answers: boolean[] = []
    for (let count = 0; count < 10; count++) {
      const params = { name: `place ${count}`, scope: ['solution'] }
      answers.push((await calls.call('manager/createApiKey', params, root(calls))).result !== undefined)
    }
    return answers
  },
  idle: async (calls) => {
    const pair = await granted(calls, 'solution', 'session:idle', 'expiresIn:7000000')
    calls.server.clock.advance(1_800_000)
    return (await calls.refresh(pair?.refreshToken)).result === undefined
  },
}

const reference: IndependentVariant = { id: 'reference', questions: ['errors/codes'] }

/** Each probe has a server of its own. */
async function look(variant: IndependentVariant, probe: Probe): Promise<string> {
  const calls = await startVariantClient(variant)
  try {
    return JSON.stringify(await probe(calls))
  } finally {
    await calls.server.close()
  }
}

test.each(Object.entries(probes))('the reference server answers the probe %s in one way', async (_name, probe) => {
  expect(await look(reference, probe)).toBe(await look(reference, probe))
})

const seen = new Map<string, Promise<string>>()

test.each(secondVariants.map((variant) => [variant.id, variant] as const))('%s differs', async (_id, variant) => {
  for (const [name, probe] of Object.entries(probes)) {
    const expected = seen.get(name) ?? look(reference, probe)
    seen.set(name, expected)
    if ((await look(variant, probe)) !== (await expected)) return
  }
  expect.fail('Every probe is answered as by the reference server')
})

test('there are at least 40, of which 20 answer two questions or more', () => {
  expect(secondVariants.length).toBeGreaterThanOrEqual(40)
  expect(secondVariants.filter(({ questions }) => questions.length > 1).length).toBeGreaterThanOrEqual(20)
})
