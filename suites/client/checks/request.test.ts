import { expect, test } from 'vitest'
import { type Entry, grant, journal, judged } from '../../self/made-up-journal.ts'

const one = (more: Partial<Entry>): string => judged('request/post-json', journal([{ at: 0, ...more }]))

test('request/post-json', () => {
  expect(one({})).toBe('passed')
  expect(one({ contentType: 'Application/JSON; charset=utf-8' })).toBe('passed')
  expect(judged('request/post-json', journal([]))).toBe('not exercised')
  expect(one({ httpMethod: 'OPTIONS' })).toBe('not exercised')
  // Neither a call nor a mistake: the client checks whether the server is up, or reads its Date.
  expect(one({ httpMethod: 'HEAD', target: '/', body: '' })).toBe('not exercised')
  expect(one({ httpMethod: 'GET', body: '' })).toBe('not exercised')
  expect(one({ httpMethod: 'GET', body: '', authorization: 'Basic eDp5' })).toContain('The HTTP method is GET')
  expect(one({ httpMethod: 'GET', body: '', target: '/api?method=a/b' })).toContain('The HTTP method is GET')
  expect(one({ httpMethod: 'GET' })).toContain('The HTTP method is GET')
  expect(one({ httpMethod: 'PUT' })).toContain('The HTTP method is PUT')
  expect(one({ target: '/api/' })).toContain('goes to "/api/"')
  expect(one({ target: '/api?a=1' })).toContain('goes to "/api?a=1"')
  expect(one({ contentType: 'text/json' })).toContain('Send application/json')
  expect(one({ contentType: 'application/jsonp' })).toContain('Send application/json')
  expect(one({ body: '{' })).toBe('The body is not JSON')
})

test('request/envelope', () => {
  const body = (text: string): string => judged('request/envelope', journal([{ at: 0, body: text }]))
  const right = { jsonrpc: '2.0', id: 1, method: 'solution/listSolutions', params: {} }
  expect(body(JSON.stringify(right))).toBe('passed')
  expect(body(' { "params" : { } , "method":"a/b", "id": -3, "jsonrpc":"2.0", "more": 1 } ')).toBe('passed')
  expect(body(JSON.stringify({ ...right, id: 1 }).replace('1', '1.0'))).toBe('passed')
  expect(body('{')).toBe('not exercised')
  expect(body(JSON.stringify({ ...right, jsonrpc: undefined }))).toContain('jsonrpc is missing')
  expect(body(JSON.stringify({ ...right, jsonrpc: 2 }))).toContain('jsonrpc is 2')
  expect(body(JSON.stringify({ ...right, id: '1' }))).toContain('id is "1"')
  expect(body(JSON.stringify({ ...right, id: 1.5 }))).toContain('id is 1.5')
  expect(body(JSON.stringify({ ...right, method: 'listSolutions' }))).toContain('method is "listSolutions"')
  expect(body(JSON.stringify({ ...right, params: [] }))).toContain('params is []')
  expect(body(JSON.stringify({ ...right, params: undefined }))).toContain('params is missing')
  expect(body(`[${JSON.stringify(right)}]`)).toContain('not a JSON object')
})

test('keys/public-key-signs-only', () => {
  const keys = [{ kind: 'public', id: 'key-1', publicKey: new Uint8Array(32) }] as const
  const basic = `Basic ${Buffer.from('key-1:x').toString('base64')}`
  const id = 'keys/public-key-signs-only'
  expect(judged(id, journal([{ at: 0, authorization: basic }], { auth: 'ecc' }, { keys }))).toContain('Basic')
  expect(judged(id, journal([grant(0, 'a')], {}, { keys }))).toContain('A token is requested')
  expect(judged(id, journal([{ at: 0, authorization: basic }, grant(9, 'a')]))).toBe('not exercised')
})

test('grants/no-authorization', () => {
  const id = 'grants/no-authorization'
  expect(judged(id, journal([grant(0, 'a')]))).toBe('passed')
  expect(judged(id, journal([{ at: 0 }]))).toBe('not exercised')
  expect(judged(id, journal([grant(0, 'a', { authorization: 'Basic eDp5' })]))).toContain('Leave it out')
})

test('grants/params', () => {
  const id = 'grants/params'
  const params = (value: object): string => judged(id, journal([{ at: 0, method: 'manager/auth', params: value }]))
  const right = { grantType: 'api_key_credentials', scope: [], apiKeyId: 'a', apiKeySecret: 'b' }
  expect(params(right)).toBe('passed')
  expect(params({ ...right, more: 1 })).toBe('passed')
  expect(params({ grantType: 'refresh_token', refreshToken: 'x' })).toBe('passed')
  expect(params({ ...right, scope: 'solution' })).toContain('scope is not an array of strings')
  expect(params({ ...right, apiKeyId: 7 })).toContain('apiKeyId')
  expect(params({ ...right, grantType: 'password' })).toContain('grantType')
  expect(params({ grantType: 'refresh_token' })).toContain('refreshToken')
})
