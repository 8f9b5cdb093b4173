import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { ServerOptions } from './context.ts'
import { createHandler, type MockHandler } from './handler.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import type { MockServer } from './start.ts'

/** For tests: a client that talks to the pure handler, without a socket. */
type Auth = 'none' | { hmac: Secret } | { basic: Secret } | { token: string } | { header: string }

interface Secret {
  id: string
  secret: string
}

/** How a signature differs from a right one. */
interface Signing {
  uri?: string
  body?: string
  nonce?: string
}

/** A signed request's Authorization header, computed as the document says and then as `but` says. */
export function signedHeader(
  key: Secret | { id: string; privateKey: KeyObject },
  body: string,
  timestampMs: number,
  but: Signing = {},
): string {
  const nonce = but.nonce ?? randomBytes(12).toString('base64')
  const data = Buffer.from(`${timestampMs};${nonce};POST\n${but.uri ?? '/api'}\n${but.body ?? body}\n`)
  const bytes =
    'privateKey' in key
      ? sign(null, data, key.privateKey)
      : createHmac('sha256', key.secret).update(data).digest().subarray(0, 20)
  return `svc-hmac-sha256 ${key.id};1;${timestampMs};${nonce};${bytes.toString('base64')}`
}

export function createTestClient(options: ServerOptions = {}) {
  const handler: MockHandler = createHandler({ clock: 'virtual', ...options })
  const { handle, context } = handler
  const root = { id: context.root.id, secret: context.root.secret }

  async function send(request: Partial<MockRequest>) {
    const empty = { headers: {}, body: Buffer.alloc(0) }
    const usual = { method: 'POST', target: '/api', remoteAddress: '127.0.0.1' }
    const answer: MockAnswer = await handle({ ...usual, ...empty, ...request })
    const isJson = !answer.hangUp && answer.headers['content-type']?.startsWith('application/json')
    const json = isJson ? JSON.parse(answer.body) : undefined
    return { status: answer.status, headers: answer.headers, text: answer.body, hungUp: answer.hangUp === true, json }
  }

  function call(method: string, params: unknown = {}, auth: Auth = 'none', but: Signing & { from?: string } = {}) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })
    const address = but.from === undefined ? {} : { remoteAddress: but.from }
    return send({ body: Buffer.from(body), headers: headersFor(auth, body, but), ...address })
  }

  function headersFor(auth: Auth, body: string, but: Signing): { [name: string]: string } {
    if (auth === 'none') return {}
    if ('basic' in auth) return basicOf(auth.basic)
    if ('hmac' in auth) return { authorization: signedHeader(auth.hmac, body, context.now(), but) }
    return { authorization: 'token' in auth ? `Bearer ${auth.token}` : auth.header }
  }

  const key = { apiKeyId: root.id, apiKeySecret: root.secret }
  const grant = (scope: string[]) => call('manager/auth', { grantType: 'api_key_credentials', ...key, scope })
  /** The pair of a grant. */
  const granted = async (...scope: string[]) => (await grant(scope)).json.result
  const refresh = (refreshToken: string) => call('manager/auth', { grantType: 'refresh_token', refreshToken })
  const list = (auth: Auth, but?: Parameters<typeof call>[3]) => call('solution/listSolutions', {}, auth, but)
  /** Whether a listing with this authorization is answered with a result. */
  const works = async (auth: Auth): Promise<boolean> => (await list(auth)).json?.result !== undefined
  /** The HTTP statuses of `count` listings with the root key. */
  async function statuses(count: number): Promise<number[]> {
    const all: number[] = []
    for (let made = 0; made < count; made++) all.push((await list({ basic: root })).status)
    return all
  }
  const createKey = (params: object) => call('manager/createApiKey', params, { basic: root })

  const calls = { send, call, grant, granted, refresh, list, works, statuses, createKey }
  return { ...handler, ...calls, root, clock: context.clock }
}

/** A fresh ED25519 pair: the PEM to register, and the key that signs. */
export function ed25519Pair(): { pem: string; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey }
}

/** Matches an answer with a result. */
export const ok: unknown = expect.objectContaining({ json: expect.objectContaining({ result: expect.anything() }) })

/** Matches an answer with an error of this code. */
export const no = (code: number): unknown =>
  expect.objectContaining({ json: expect.objectContaining({ error: expect.objectContaining({ code }) }) })

export const basicOf = ({ id, secret }: Secret) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

export const listing = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'

/** A listing through the socket of a server; with its root key, unless other headers are given. */
export const listAt = ({ url, rootKey }: MockServer, but: Parameters<typeof httpCall>[1] = {}) =>
  httpCall(`${url}/api`, { headers: basicOf(rootKey), body: listing, ...but })

/** One HTTP request on its own connection. */
export async function httpCall(
  url: string,
  { body = '', ...options }: RequestOptions & { body?: string | Buffer } = {},
) {
  const call = request(url, { method: 'POST', agent: false, ...options }).end(body)
  // A server that has answered may end the connection while the body is still being sent.
  call.on('error', () => undefined)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const text = await textOf(response)
  const isJson = String(response.headers['content-type']).startsWith('application/json')
  const json = isJson ? JSON.parse(text) : undefined
  return { status: response.statusCode ?? 0, headers: response.headers, text, json }
}
