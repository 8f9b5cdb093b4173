import { setImmediate as nextTurn } from 'node:timers/promises'
import type { VariantClient } from '../../test-variant-client.ts'
import {
  created,
  creates,
  granted,
  isTaken,
  listing,
  listsWith,
  type Probe,
  pem,
  root,
  testVariantSet,
} from '../../test-variant-probes.ts'
import { secondVariants } from '../variants.ts'

const textOf = async (calls: VariantClient, body: unknown) => (await calls.post(JSON.stringify(body), root(calls))).text

const shape = (text: string) => text.replaceAll(/[0-9a-f]{32}|[0-9]{13}|[\w-]{43}/g, '#')

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

const grants = (calls: VariantClient, ...scope: string[]) => isTaken(calls.grant(calls.server.rootKey, scope))

/** The answer to `manager/createApiKey` without what differs from key to key. */
const formOfKey = async (calls: VariantClient, params: object) => {
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
    await textOf(calls, [listing]).then(shape),
    await textOf(calls, { ...listing, more: 1 }).then(shape),
    await textOf(calls, { ...listing, id: 'five' }).then(shape),
    await textOf(calls, { ...listing, jsonrpc: '1.0' }).then(shape),
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
    const take = async (word: string) => isTaken(calls.list(`${word}${pair.accessToken}`))
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
    return isTaken(calls.call('manager/auth', params))
  },
  rate: async (calls) => {
    const all = await Promise.all(Array.from({ length: 70 }, () => calls.post(JSON.stringify(listing), root(calls))))
    const refused = all.filter(({ status }) => status !== 200)
    calls.server.clock.advance(1000)
    return refused.map(({ status }) => status)
  },
  signatures: async (calls) => {
    const key = calls.server.rootKey
    const takes = (options: { nonce?: string; timestamp?: string }) => isTaken(calls.list(calls.signed(key, options)))
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
    const access = String(pair.accessToken)
    const now = calls.now()
    return [
      access.length,
      String(pair.refreshToken).length,
      String(pair.refreshToken).startsWith(access),
      pair.scope,
      Number(pair.accessTokenExpiry) - now,
      Number(pair.refreshTokenExpiry) - now,
      await grants(calls),
      await grants(calls, 'solution', 'expiresIn:7200000'),
      await grants(calls, 'solution', 'session:a name'),
      await grants(calls, 'solution', 'session:one'),
      await listsWith(calls, pair),
    ]
  },
  refreshes: async (calls) => {
    const first = await granted(calls, 'solution', 'expiresIn:60000')
    const second = (await calls.refresh(first.refreshToken)).result
    await calls.refresh(first.refreshToken)
    return listsWith(calls, second ?? {})
  },
  keys: async (calls) => [
    await formOfKey(calls, { name: 'one', scope: ['solution'] }),
    await formOfKey(calls, { name: 'one', scope: ['solution'] }),
    await formOfKey(calls, { name: 'two', scope: ['solution'], publicKey: pem() }),
    await formOfKey(calls, { name: 'three', scope: [] }),
    await formOfKey(calls, { name: 'four', scope: ['elsewhere'] }),
    await formOfKey(calls, { name: 'five', scope: ['solution'], publicKey: `${pem()}\n\n\n` }),
  ],
  places: async (calls) => {
    const key = await created(calls, { name: 'in between' })
    await calls.call('manager/deleteApiKey', { id: key.id }, root(calls))
    const answers: boolean[] = []
    for (let count = 0; count < 10; count++) {
      answers.push(await creates(calls, { name: `place ${count}` }))
    }
    return answers
  },
  idle: async (calls) => {
    const pair = await granted(calls, 'solution', 'session:idle', 'expiresIn:7000000')
    calls.server.clock.advance(1_800_000)
    return isTaken(calls.refresh(pair.refreshToken))
  },
}

testVariantSet(secondVariants, () => Object.values(probes), { all: 40, combined: 20 })
