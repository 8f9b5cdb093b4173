import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOperator } from './control.ts'
import { createHandler } from './handler.ts'
import { type MockServer, startMockServer } from './start.ts'
import { createTestClient, httpCall, listAt } from './test-client.ts'

interface Operation {
  responses: { [status: string]: { $ref?: string; content?: { 'application/json': { schema: object } } } }
}
const api = JSON.parse(readFileSync(new URL('../spec/control.openapi.json', import.meta.url), 'utf8'))
const paths: { [path: string]: { [verb: string]: Operation } } = api.paths

let server: MockServer
beforeAll(async () => {
  server = await startMockServer({ clock: 'virtual', seed: 'control', control: { token: 'opener' } })
})
afterAll(() => server.close())

const ajv = new Ajv2020({ strict: false, allErrors: true })

/** Calls a route and compares the answer with the file. */
async function call(verb: string, path: string, body?: unknown, described = path.split('?')[0] ?? '') {
  const answer = await httpCall(`${server.control?.url}${path}`, {
    method: verb.toUpperCase(),
    headers: { authorization: 'Bearer opener' },
    body: body === undefined ? '' : JSON.stringify(body),
  })
  const response = paths[described]?.[verb]?.responses[answer.status]
  expect(response, `${verb} ${described} ${answer.status}`).toBeDefined()
  const shared = response?.$ref?.replace('#/components/responses/', '')
  const { content } = (shared === undefined ? response : api.components.responses[shared]) ?? {}
  if (content === undefined) expect(answer.text).toBe('')
  else {
    ajv.validate({ ...content['application/json'].schema, components: api.components }, answer.json)
    expect(ajv.errors).toBe(null)
  }
  return answer
}

test('the file describes the routes of the server, and no others', () => {
  const described = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`),
  )
  const source = readFileSync(new URL('control.ts', import.meta.url), 'utf8')
  const routes = [...source.matchAll(/^ {2}'([A-Z]+ \/\S+)': /gm)].map(([, route]) => route)
  expect(described.sort()).toEqual(routes.sort())
})

test('every route answers as spec/control.openapi.json describes', async () => {
  expect((await call('get', '/clock')).json).toEqual({ nowMs: Date.UTC(2026, 0, 1), frozen: true })
  expect((await call('post', '/clock/advance', { ms: 500 })).json.nowMs).toBe(Date.UTC(2026, 0, 1) + 500)
  expect((await call('post', '/clock/advance', { ms: -1 })).status).toBe(400)
  expect((await call('post', '/clock/advance', {})).status).toBe(400)
  expect((await call('post', '/clock/set', { ms: 1e12 })).json.nowMs).toBe(1e12)
  expect((await call('post', '/clock/freeze', { frozen: true })).json.frozen).toBe(true)
  expect((await call('post', '/clock/freeze', { frozen: 1 })).status).toBe(400)
  expect((await call('get', '/profile')).json).toMatchObject({ tokenPrefix: 'Bearer' })

  const key = (await call('post', '/keys', { name: 'k', scope: ['solution'] })).json
  expect((await call('post', '/keys', { scope: 'x' })).status).toBe(400)
  expect((await call('patch', `/keys/${key.id}`, { enabled: false }, '/keys/{id}')).status).toBe(204)
  expect((await call('patch', `/keys/${key.id}`, {}, '/keys/{id}')).status).toBe(400)
  expect((await call('delete', `/keys/${key.id}`, undefined, '/keys/{id}')).status).toBe(204)
  expect((await call('delete', `/keys/${key.id}`, undefined, '/keys/{id}')).status).toBe(404)

  expect((await call('get', '/scenes')).json.scenes).toHaveLength(5)
  const scene = (await call('post', '/scenes', { scene: 'revoked-pair' })).json
  expect((await call('post', '/scenes', { scene: '__proto__' })).status).toBe(400)
  expect((await call('post', '/tokens/expire', { token: scene.tokens[1].accessToken })).status).toBe(204)
  const nowMs = server.clock.now()
  const { refreshToken } = scene.tokens[1]
  expect((await call('post', '/tokens/expire', { token: refreshToken, inMs: 1000 })).status).toBe(204)
  expect(server.journal.lineage()[1]).toMatchObject({ accessExpiryMs: nowMs, refreshExpiryMs: nowMs + 1000 })
  expect((await call('post', '/tokens/expire', { token: 'x', inMs: 1000 })).status).toBe(404)
  expect((await call('post', '/tokens/expire', { token: 'x', inMs: 'x' })).status).toBe(400)
  expect((await call('get', '/journal/lineage')).json.pairs).toMatchObject([{ parent: null }, { generation: 1 }])

  const fault = (await call('post', '/faults', { fault: 'delay', ms: 5, method: 'manager/auth' })).json
  expect((await call('post', '/faults', { fault: 'fire' })).status).toBe(400)
  expect((await call('get', '/faults')).json.faults).toMatchObject([{ id: fault.id, met: 0 }])
  expect((await call('delete', `/faults/${fault.id}`, undefined, '/faults/{id}')).status).toBe(204)
  expect((await call('delete', `/faults/${fault.id}`, undefined, '/faults/{id}')).status).toBe(404)
  expect((await call('delete', '/faults')).status).toBe(204)

  await listAt(server, { headers: {} })
  expect((await call('get', '/journal?verdict=refused')).json.entries).toMatchObject([{ stage: 'authorization/none' }])
  expect((await call('get', '/journal/count?status=200&method=solution/listSolutions')).json).toEqual({ count: 1 })
  expect((await call('get', '/journal/count?colour=red')).status).toBe(400)
  expect((await call('delete', '/journal')).status).toBe(204)
  expect((await call('post', '/reset')).json.rootKey).toEqual(server.rootKey)
  expect(server.journal.lineage()).toEqual([])
})

test('without its token the control port does nothing, and other paths and bodies are refused', async () => {
  const url = server.control?.url ?? ''
  for (const authorization of ['', 'Bearer ', 'Bearer opener2', 'bearer opener', 'opener']) {
    expect((await httpCall(`${url}/clock/advance`, { headers: { authorization }, body: '{"ms":1}' })).status).toBe(401)
  }
  const headers = { authorization: 'Bearer opener' }
  expect((await httpCall(`${url}/nothing`, { headers, body: '' })).status).toBe(404)
  for (const body of ['[]', '{', 'null']) {
    expect((await httpCall(`${url}/clock/advance`, { headers, body })).status).toBe(400)
  }
})

const isFine = (answer: { json: { result?: unknown } }) => answer.json?.result !== undefined

describe('the journal', () => {
  test('counts what a client did, with its verdict and stage, and no secret', async () => {
    const client = createTestClient()
    const { result } = (await client.grant(['solution'])).json
    await client.list({ token: result.accessToken })
    await client.list({ token: 'altered' })
    await client.list({ hmac: client.root }, { uri: '/' })
    const renewed = (await client.refresh(result.refreshToken)).json.result
    await client.refresh(result.refreshToken)
    const { journal } = client
    expect(journal.count()).toBe(6)
    expect(journal.count({ method: 'manager/auth', grantType: 'refresh_token', verdict: 'accepted' })).toBe(1)
    const refused = journal.entries({ verdict: 'refused' }).map(({ stage }) => stage)
    expect(refused).toEqual(['token/unknown', 'signature/mac', 'token/revoked'])
    const [granted, listed] = journal.entries()
    expect(granted).toMatchObject({ keyId: client.root.id, issued: expect.any(String) })
    expect(listed).toMatchObject({ means: 'token', pair: granted?.issued, keyId: client.root.id })
    const text = JSON.stringify([journal.entries(), journal.lineage()])
    const secrets = [client.root.secret, ...[result, renewed].flatMap((pair) => [pair.accessToken, pair.refreshToken])]
    for (const secret of secrets) expect(text).not.toContain(secret)
  })

  test('shows which grant and which refresh a pair came from', async () => {
    const client = createTestClient()
    const { result } = (await client.grant(['solution', 'session:s'])).json
    client.clock.advance(1000)
    await client.refresh(result.refreshToken)
    const [first, second] = client.journal.lineage()
    const now = client.context.now()
    expect(first).toMatchObject({ parent: null, generation: 0, session: 's', revokedMs: now, issuedMs: now - 1000 })
    expect(second).toMatchObject({ parent: first?.pair, family: first?.family, generation: 1, revokedMs: null })
  })

  test('holds the last calls only', async () => {
    const client = createTestClient({ journal: { size: 3 } })
    await client.statuses(5)
    expect(client.journal.entries().map(({ number }) => number)).toEqual([3, 4, 5])
    expect(client.journal.dropped).toBe(2)
  })

  test('shows what was computed for a refused signature, with --explain only', async () => {
    for (const explain of [true, false]) {
      const client = createTestClient({ explain })
      const answer = await client.list({ hmac: client.root }, { nonce: 'n', body: '{}' })
      expect(answer.headers['x-refused-at']).toBe(explain ? 'signature/mac' : undefined)
      const [entry] = client.journal.entries()
      const body = '{"jsonrpc":"2.0","id":7,"method":"solution/listSolutions","params":{}}'
      const dataToSign = `${client.context.now()};n;POST\n/api\n${body}\n`
      if (explain) expect(entry?.computed).toEqual({ dataToSign, signature: expect.stringMatching(/^.{27}=$/) })
      else expect(entry?.computed).toBeUndefined()
      expect(answer.text).not.toContain('POST')
    }
  })
})

describe('a fault', () => {
  test('drops an answer before or after the call had its effect', async () => {
    const client = createTestClient()
    const { result } = (await client.grant(['solution'])).json
    client.faults.add({ fault: 'drop', when: 'before', grantType: 'refresh_token' })
    expect((await client.refresh(result.refreshToken)).hungUp).toBe(true)
    expect(await client.works({ token: result.accessToken })).toBe(true)
    client.faults.add({ fault: 'drop', when: 'after', grantType: 'refresh_token' })
    expect((await client.refresh(result.refreshToken)).hungUp).toBe(true)
    expect(await client.works({ token: result.accessToken })).toBe(false)
    expect(client.journal.entries({ verdict: 'faulted' })).toMatchObject([{ stage: 'fault/drop', faults: ['drop'] }])
    const renewed = client.journal.entries({ grantType: 'refresh_token', verdict: 'accepted' })
    expect(renewed).toMatchObject([{ faults: ['drop'] }])
    client.faults.add({ fault: 'drop', when: 'before' })
    client.faults.add({ fault: 'malformed' })
    await client.list({ basic: client.root })
    expect(client.journal.entries().at(-1)).toMatchObject({ stage: 'fault/drop', faults: ['drop', 'malformed'] })
  })

  test('throttles, fails, cuts and mislabels, by count and by method', async () => {
    const client = createTestClient()
    client.faults.add({ fault: 'throttle', retryAfterSeconds: 3, times: 2, skip: 1, method: 'solution/listSolutions' })
    const list = () => client.list({ basic: client.root })
    expect((await client.grant(['solution'])).status).toBe(200)
    expect((await list()).status).toBe(200)
    expect(await list()).toMatchObject({ status: 429, headers: { 'retry-after': '3' } })
    expect(await client.statuses(2)).toEqual([429, 200])
    client.faults.add({ fault: 'error' })
    expect((await list()).status).toBe(500)
    client.faults.add({ fault: 'wrong-id' })
    expect((await list()).json.id).toBe(8)
    client.faults.add({ fault: 'malformed' })
    await expect(list()).rejects.toThrow('JSON')
  })

  test('throttles, redirects and refuses before any effect', async () => {
    const client = createTestClient()
    const location = 'http://127.0.0.1:9/api'
    const { result } = (await client.grant(['solution'])).json
    client.faults.add({ fault: 'unavailable', retryAfterSeconds: 2 })
    expect(await client.refresh(result.refreshToken)).toMatchObject({ status: 503, headers: { 'retry-after': '2' } })
    client.faults.add({ fault: 'redirect', status: 307, location })
    expect(await client.refresh(result.refreshToken)).toMatchObject({ status: 307, headers: { location } })
    client.faults.add({ fault: 'refuse', grantType: 'refresh_token' })
    expect((await client.refresh(result.refreshToken)).json).toMatchObject({ id: 7, error: { code: 21 } })
    client.faults.add({ fault: 'refuse', as: 'denied' })
    expect((await client.list({ basic: client.root })).json.error.code).toBe(48)
    client.faults.add({ fault: 'refuse' })
    expect((await client.list({ basic: client.root })).json.error.code).toBe(24879)
    expect(client.journal.count({ stage: 'fault/refuse' })).toBe(3)
    expect(isFine(await client.refresh(result.refreshToken))).toBe(true)
  })

  test('grants less scope and lifetime than requested, and reports that', async () => {
    const client = createTestClient()
    client.faults.add({ fault: 'narrow-grant', scope: ['context'] })
    const narrow = await client.granted('solution', 'context')
    expect(narrow.scope).toEqual(['context'])
    expect((await client.list({ token: narrow.accessToken })).json.error.code).toBe(24878)
    client.faults.add({ fault: 'shorten-lifetime', ms: 1500 })
    const short = await client.granted('solution', 'expiresIn:60000')
    expect(short.accessTokenExpiry).toBe(client.clock.now() + 1500)
    expect(await client.works({ token: short.accessToken })).toBe(true)
    client.clock.advance(1501)
    expect(await client.works({ token: short.accessToken })).toBe(false)
    client.faults.add({ fault: 'narrow-grant', scope: [] })
    expect((await client.refresh('wrong')).json.error.code).toBe(21)
  })

  test('lets one call pass after a number of faults in a row', async () => {
    const client = createTestClient()
    client.faults.add({ fault: 'error', times: null, inARow: 2 })
    expect(await client.statuses(7)).toEqual([500, 500, 200, 500, 500, 200, 500])
  })

  test('delays on the clock, expires the token of a call, and ends when removed', async () => {
    const client = createTestClient()
    const { accessToken } = await client.granted('solution')
    const before = client.clock.now()
    const id = client.faults.add({ fault: 'delay', ms: 2500, times: null })
    await client.statuses(2)
    expect(client.clock.now() - before).toBe(5000)
    expect(client.faults.list()).toMatchObject([{ id, met: 2 }])
    expect([client.faults.remove(id), client.faults.remove(id)]).toEqual([true, false])
    client.faults.add({ fault: 'expire-token' })
    expect(await client.works({ token: accessToken })).toBe(false)
    expect(client.journal.count({ stage: 'token/expired' })).toBe(1)
  })

  test('holds calls at a barrier until all are there', async () => {
    const client = createTestClient()
    client.faults.add({ fault: 'barrier', calls: 3 })
    const order: number[] = []
    const calls = [1, 2, 3].map(async (number) => {
      await client.list({ basic: client.root })
      order.push(number)
    })
    expect(client.journal.count()).toBe(0)
    await Promise.all(calls)
    expect(order).toEqual([1, 2, 3])
  })

  test('applies with a probability, in the same way for the same seed', async () => {
    const run = async (seed: string) => {
      const client = createTestClient({ seed })
      client.faults.add({ fault: 'error', probability: 0.5, times: null })
      return client.statuses(40)
    }
    const first = await run('a')
    expect(await run('a')).toEqual(first)
    expect(await run('b')).not.toEqual(first)
    expect(new Set(first)).toEqual(new Set([200, 500]))
  })

  test.each([
    [{ fault: 'fire' }, 'Cannot use "fire" for "fault", expected one of "delay"'],
    [{ fault: 'delay' }, '"ms" of the fault'],
    [{ fault: 'drop' }, 'one of "before", "after"'],
    [{ fault: 'error', times: -1 }, 'Give the member "times"'],
    [{ fault: 'error', probability: 2 }, 'from 0 to 1'],
    [{ fault: 'error', method: 7 }, 'Give the member "method" of the fault "error" a text, not 7'],
    [{ fault: 'error', inARow: 0 }, '"inARow" of the fault "error" a whole number of 1 or more'],
    [{ fault: 'unavailable' }, '"retryAfterSeconds" of the fault "unavailable" a whole number'],
    [{ fault: 'redirect', status: 200, location: 'http://127.0.0.1' }, '"status" of the fault "redirect" one of 301'],
    [{ fault: 'redirect', status: 307, location: 'there' }, 'a URL'],
    [{ fault: 'refuse', as: 'rudely' }, '"as" of the fault "refuse" one of "parse"'],
    [{ fault: 'narrow-grant', scope: 'solution' }, 'a list of texts'],
    [{ fault: 'shorten-lifetime', ms: -1 }, '"ms" of the fault'],
  ])('that makes no sense is refused: %j', (fault, message) => {
    const { faults } = createHandler()
    expect(() => faults.add(fault as never)).toThrow(message)
  })
})

describe('a scene', () => {
  test('nine keys: one more succeeds, the next is refused', async () => {
    const client = createTestClient()
    const { keys } = await createOperator(client).scene('nine-keys')
    expect(keys).toHaveLength(9)
    for (const basic of keys) expect(await client.works({ basic })).toBe(true)
    expect(isFine(await client.createKey({ name: 'k', scope: [] }))).toBe(true)
    expect((await client.createKey({ name: 'k', scope: [] })).json.error.code).toBe(24877)
  })

  test('fifteen sessions: the second grant from here removes the first of them', async () => {
    const client = createTestClient()
    const { tokens } = await createOperator(client).scene('fifteen-sessions')
    await client.grant(['solution', 'session:a'])
    expect(await client.works({ token: tokens[0]?.accessToken ?? '' })).toBe(true)
    await client.grant(['solution', 'session:b'])
    const living = await Promise.all(tokens.map(({ accessToken }) => client.list({ token: accessToken })))
    expect(living.map(isFine)).toEqual([false, ...Array(14).fill(true)])
  })

  test('a token about to expire works for one second', async () => {
    const client = createTestClient()
    const { tokens } = await createOperator(client).scene('token-about-to-expire')
    const { accessToken = '', accessTokenExpiry = 0, refreshToken = '' } = tokens[0] ?? {}
    expect(accessTokenExpiry).toBe(client.context.now() + 1000)
    client.clock.advance(999)
    expect(await client.works({ token: accessToken })).toBe(true)
    client.clock.advance(1)
    expect(await client.works({ token: accessToken })).toBe(false)
    expect(isFine(await client.refresh(refreshToken))).toBe(true)
  })

  test('a revoked pair, and a disabled key', async () => {
    const client = createTestClient()
    const { tokens } = await createOperator(client).scene('revoked-pair')
    const [old, renewed] = client.journal.lineage()
    expect(renewed).toMatchObject({ parent: old?.pair, generation: 1, revokedMs: null })
    expect(renewed?.pair).not.toBe(old?.pair)
    const lists = await Promise.all(tokens.map(({ accessToken }) => client.list({ token: accessToken })))
    expect(lists.map(isFine)).toEqual([false, true])
    expect(isFine(await client.refresh(tokens[0]?.refreshToken ?? ''))).toBe(false)
    const scene = await createOperator(client).scene('disabled-key')
    const [key = { id: '', secret: '' }] = scene.keys
    expect(await client.works({ basic: key })).toBe(false)
    expect(createOperator(client).enableKey(key.id, true)).toBe(true)
    expect(await client.works({ token: scene.tokens[0]?.accessToken ?? '' })).toBe(true)
  })
})

test('the same seed gives the same ids, secrets, tokens and answers, again after a reset', async () => {
  const run = async (client: ReturnType<typeof createTestClient>) => {
    const listed = await client.list({ basic: client.root })
    const created = await client.createKey({ name: 'k', scope: ['solution'] })
    const granted = await client.grant(['solution', 'session:s'])
    const renewed = await client.refresh(granted.json.result.refreshToken)
    return [listed, created, granted, renewed].map(({ text }) => text)
  }
  const client = createTestClient({ seed: 7 })
  const first = await run(client)
  expect(await run(createTestClient({ seed: 7 }))).toEqual(first)
  client.reset()
  expect(await run(client)).toEqual(first)
  expect(await run(createTestClient({ seed: 8 }))).not.toEqual(first)
})

test('a journal under --explain keeps its bytes within bounds', async () => {
  const client = createTestClient({ explain: true, journal: { bytes: 100_000 } })
  const body = `{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{},"x":"${'y'.repeat(20_000)}"}`
  const authorization = `svc-hmac-sha256 ${client.context.root.id};1;${client.context.now()};nonce;AAAAAAAAAAAAAAAAAAAAAAAAAAA=`
  for (let call = 0; call < 20; call += 1) {
    const headers = { authorization: authorization.replace('nonce', `nonce-${call}`) }
    await client.send({ body: Buffer.from(body), headers })
  }
  const held = client.journal.entries()
  expect(held.at(-1)?.computed?.dataToSign.length).toBeGreaterThan(20_000)
  expect(held.length).toBeLessThan(4)
  expect(client.journal.dropped).toBe(20 - held.length)
})
