import fc from 'fast-check'
import { expect, test } from 'vitest'
import { basicOf, createTestClient } from './test-client.ts'

/** Fixed, so that a failure is the same on every machine; fast-check prints it with the counterexample. */
const seed = 20_260_101
const runs = { seed, numRuns: 300 }
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
const names = fc.constantFrom(...inherited, '', 'solution/listSolutions', '\u0000', 'manager/auth')
/** Every character of Unicode. The unit "binary" of fast-check is the same, and first makes a table of a million of them. */
const character = fc.nat({ max: 0x10f7ff }).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800))
const word = fc.oneof(names, fc.string({ unit: character, maxLength: 300 }))
const junk = fc.oneof(word, fc.json(), fc.string({ unit: 'grapheme', maxLength: 100 }))
const right = { json: { result: { list: [{}, {}] } } }

test('any bytes as body get a refusal, and the server goes on', async () => {
  const client = createTestClient()
  const headers = basicOf(client.root)
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    junk.map((text) => Buffer.from(text)),
  )
  await fc.assert(
    fc.asyncProperty(anyBytes, async (bytes) => {
      const { status, json } = await client.send({ body: Buffer.from(bytes), headers })
      expect(status).toBe(200)
      expect(json).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } })
    }),
    runs,
  )
  expect(await client.list({ basic: client.root })).toMatchObject(right)
})

test('any Authorization header but a right one is refused', async () => {
  const client = createTestClient()
  const scheme = fc.constantFrom('svc-hmac-sha256 ', 'Basic ', 'Bearer ', '')
  const field = fc.oneof(word, fc.constantFrom(client.root.id, '1', String(client.context.now()), '=', ';'))
  const credentials = fc.oneof(
    junk,
    fc.array(field, { maxLength: 8 }).map((fields) => fields.join(';')),
    fc.tuple(field, junk).map(([id, secret]) => Buffer.from(`${id}:${secret}`).toString('base64')),
  )
  await fc.assert(
    fc.asyncProperty(scheme, credentials, async (before, rest) => {
      const { json } = await client.list({ header: before + rest })
      expect(json.error.code).toBe(24879)
    }),
    runs,
  )
})

test('any member, param, scope or id gets an answer, and nothing is let in', async () => {
  const client = createTestClient()
  const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), word)
  const grant = fc.record(
    {
      grantType: fc.oneof(fc.constantFrom('api_key_credentials', 'refresh_token'), value),
      apiKeyId: fc.oneof(fc.constant(client.root.id), value),
      apiKeySecret: value,
      refreshToken: value,
      scope: fc.oneof(fc.array(word), value),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(word, fc.oneof(grant, fc.dictionary(word, value), value), value, async (method, params, id) => {
      for (const named of [method, 'manager/auth', 'solution/listSolutions']) {
        const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: named, params }))
        const answer = await client.send({ body })
        expect(answer.status).toBe(200)
        expect(answer.json.error).toBeDefined()
      }
    }),
    runs,
  )
})

test('any params of a method that requires authorization get an answer, and never an HTTP 500', async () => {
  const client = createTestClient({ bounds: { records: 20 } })
  const auth = { basic: client.root }
  const ofKeys = ['create', 'get', 'update', 'delete'].map((verb) => `manager/${verb}ApiKey`)
  const lists = ['context/listContexts', 'thread/listThreads']
  const others = ['solution/getSolution', 'solution/createSolution', 'context/createContext', ...lists]
  const method = fc.constantFrom(...ofKeys, ...others)
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), word, fc.array(word))
  const known = ['id', 'name', 'scope', 'publicKey', 'solution', 'description', 'skip', 'limit', 'enabled']
  const params = fc.dictionary(fc.oneof(fc.constantFrom(...known), names), value)
  await fc.assert(
    fc.asyncProperty(method, params, async (name, given) => {
      const { status, json } = await client.call(name, given, auth)
      expect(status).toBe(200)
      expect('result' in json !== 'error' in json).toBe(true)
    }),
    runs,
  )
  expect(client.context.state.solutions.size).toBeLessThanOrEqual(20)
  expect(await client.list(auth)).toMatchObject(right)
})

test('JSON nested 100,000 deep is refused or answered, also as an id that is echoed', async () => {
  const client = createTestClient({ profile: { idTypes: 'any' } })
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  for (const body of [deep, `{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{"a":${deep}}}`]) {
    expect((await client.send({ body: Buffer.from(body) })).status).toBe(200)
  }
  const echoed = Buffer.from(`{"jsonrpc":"2.0","id":${deep},"method":"solution/listSolutions","params":{}}`)
  expect([200, 500]).toContain((await client.send({ body: echoed })).status)
  expect(await client.list({ basic: client.root })).toMatchObject(right)
})

test('tokens, nonces and records stay within their bounds', async () => {
  const client = createTestClient({ bounds: { tokens: 10, nonces: 10, records: 10, keys: 15 }, journal: { size: 10 } })
  const { accessToken } = await client.granted('solution')
  const signed = async (nonce: string) =>
    (await client.list({ hmac: client.root }, { nonce })).json.result !== undefined
  for (let number = 0; number < 50; number++) {
    await client.grant(['solution'])
    expect(await signed(`nonce-${number}`)).toBe(true)
    await client.call('solution/createSolution', { name: 's' }, { basic: client.root })
    const { result } = (await client.createKey({ name: 'k', scope: [] })).json
    await client.call('manager/deleteApiKey', { id: result.id }, { basic: client.root })
  }
  const { state } = client.context
  expect([state.tokens.size, state.solutions.size]).toEqual([10, 10])
  // The last ten are remembered, and the one before them is not.
  for (const number of [49, 45, 44, 40]) expect(await signed(`nonce-${number}`)).toBe(false)
  expect(await signed('nonce-39')).toBe(true)
  expect(state.keys.size).toBeLessThanOrEqual(15)
  expect(client.journal.entries()).toHaveLength(10)
  expect((await client.list({ token: accessToken })).json.error.code).toBe(24879)
})

test('tells nonces apart that differ in one letter, and those with one 32-bit hash', () => {
  const { nonces: memory } = createTestClient().context.state
  const nonceOf = (index: number) => `${'x'.repeat(index % 90)}${index}${index % 3 ? 'é' : '鍵'}`
  const used = Array.from({ length: 20_000 }, (_, index) => nonceOf(index))
  // A known pair of collisions of 32-bit FNV-1a.
  const unused = [...used.map((nonce) => `${nonce} `), 'liquid', '', '\udc00']
  for (const nonce of [...used, 'costarring', '\ud800']) memory.add(nonce, 2, 1)
  expect(used.every((nonce) => memory.has(nonce, 1))).toBe(true)
  expect(unused.filter((nonce) => memory.has(nonce, 1))).toEqual([])
  expect(memory.has('costarring', 2)).toBe(false)
})
