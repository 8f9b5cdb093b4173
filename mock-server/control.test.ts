import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlRoutes } from './control.ts'
import { type MockServer, startMockServer } from './start.ts'
import { httpCall } from './test-http.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  properties?: { [name: string]: Schema }
  required?: string[]
  additionalProperties?: boolean
  items?: Schema
}
interface Operation {
  responses: { [status: string]: { $ref?: string; content?: { 'application/json': { schema: Schema } } } }
}
const api = JSON.parse(readFileSync(new URL('../spec/control.openapi.json', import.meta.url), 'utf8'))
const paths: { [path: string]: { [verb: string]: Operation } } = api.paths

let server: MockServer
beforeAll(async () => {
  server = await startMockServer({ clock: 'virtual', seed: 'control', control: { token: 'opener' } })
})
afterAll(() => server.close())

function resolve<T extends object>(node: T & { $ref?: string }): T {
  if (node.$ref === undefined) return node
  return node.$ref
    .slice(2)
    .split('/')
    .reduce((at, step) => at[step], api)
}

/** Where a value departs from a schema of the OpenAPI file; the few keywords that the file uses. */
function misfits(ref: Schema, value: unknown, at = '$'): string[] {
  const schema = resolve(ref)
  if (schema.enum && !schema.enum.includes(value)) return [`${at} is not one of ${schema.enum.join()}`]
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  const types = [schema.type ?? type].flat()
  if (!types.includes(type) && !(types.includes('integer') && Number.isInteger(value))) return [`${at} is ${type}`]
  if (Array.isArray(value)) return value.flatMap((item, index) => misfits(schema.items ?? {}, item, `${at}[${index}]`))
  if (typeof value !== 'object' || value === null) return []
  const missing = (schema.required ?? []).filter((name) => !(name in value)).map((name) => `${at}.${name} is missing`)
  const departing = Object.entries(value).flatMap(([name, member]) => {
    const known = schema.properties?.[name]
    if (known) return misfits(known, member, `${at}.${name}`)
    return schema.additionalProperties === false ? [`${at}.${name} is not described`] : []
  })
  return [...missing, ...departing]
}

/** Calls a route and compares the answer with the file. */
async function call(verb: string, path: string, body?: unknown, described = path.split('?')[0] ?? '') {
  const answer = await httpCall(`${server.control?.url}${path}`, {
    method: verb.toUpperCase(),
    headers: { authorization: 'Bearer opener' },
    body: body === undefined ? '' : JSON.stringify(body),
  })
  const response = paths[described]?.[verb]?.responses[answer.status]
  expect(response, `${verb} ${described} ${answer.status}`).toBeDefined()
  const content = response && resolve(response).content
  if (content) expect(misfits(content['application/json'].schema, answer.json)).toEqual([])
  else expect(answer.text).toBe('')
  return answer
}

test('the file describes the routes of the server, and no others', () => {
  const described = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`),
  )
  expect(described.sort()).toEqual([...controlRoutes.keys()].sort())
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

  await httpCall(`${server.url}/api`, {
    body: '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}',
  })
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

test('it is closed by default, and generates its token', async () => {
  const closed = await startMockServer({ clock: 'virtual' })
  const open = await startMockServer({ clock: 'virtual', control: true })
  expect(closed.control).toBeUndefined()
  expect(open.control?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(open.control?.token).toMatch(/^[0-9a-f]{32}$/)
  await Promise.all([closed.close(), open.close()])
})
