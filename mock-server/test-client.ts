import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { request } from 'node:http'
import { expect } from 'vitest'
import type { ServerOptions } from './context.ts'
import { createHandler, type MockHandler } from './handler.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import type { MockServer } from './start.ts'

/** For tests: a client that talks to the pure handler, without a socket. */
type Auth =
  | { none: true }
  | { hmac: { id: string; secret: string } }
  | { ecc: { id: string; privateKey: KeyObject } }
  | { basic: { id: string; secret: string } }
  | { token: string }
  | { header: string }

interface Answer {
  status: number
  headers: { [name: string]: string }
  text: string
  hungUp: boolean
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  json: any
}

/** How a call differs from an ordinary one. */
interface CallOptions extends Signing {
  /** The caller's address. */
  from?: string | undefined
}

interface Signing {
  method?: string
  uri?: string
  body?: string
  timestamp?: number | string
  nonce?: string
  version?: string
  /** The text that is signed, made from the right one. */
  data?: (right: string) => string
  /** The signature that is sent, made from the whole MAC or the ECC signature. */
  encode?: (bytes: Buffer) => string
}

/** A signed request's Authorization header, computed as the document says and then as `but` says. */
export function signedHeader(
  key: { id: string; secret: string } | { id: string; privateKey: KeyObject },
  body: string,
  timestampMs: number,
  but: Signing = {},
): string {
  const timestamp = but.timestamp ?? timestampMs
  const nonce = but.nonce ?? randomBytes(12).toString('base64')
  const right = `${timestamp};${nonce};${but.method ?? 'POST'}\n${but.uri ?? '/api'}\n${but.body ?? body}\n`
  const data = but.data ? but.data(right) : right
  const bytes =
    'privateKey' in key
      ? sign(null, Buffer.from(data), key.privateKey)
      : createHmac('sha256', key.secret).update(data).digest()
  const plain = (all: Buffer) => ('privateKey' in key ? all : all.subarray(0, 20)).toString('base64')
  return `svc-hmac-sha256 ${key.id};${but.version ?? '1'};${timestamp};${nonce};${(but.encode ?? plain)(bytes)}`
}

export function createTestClient(options: ServerOptions = {}) {
  const handler: MockHandler = createHandler({ clock: 'virtual', ...options })
  const { handle, context } = handler
  const root = { id: context.root.id, secret: context.root.secret }

  async function send(request: Partial<MockRequest>): Promise<Answer> {
    const answer: MockAnswer = await handle({
      method: 'POST',
      target: '/api',
      headers: {},
      body: Buffer.alloc(0),
      remoteAddress: '127.0.0.1',
      ...request,
    })
    const isJson = !answer.hangUp && answer.headers['content-type']?.startsWith('application/json')
    const json = isJson ? JSON.parse(answer.body) : undefined
    return { status: answer.status, headers: answer.headers, text: answer.body, hungUp: answer.hangUp === true, json }
  }

  function call(method: string, params: unknown = {}, auth: Auth = { none: true }, but: CallOptions = {}) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })
    return send({
      body: Buffer.from(body),
      headers: headersFor(auth, body, but),
      remoteAddress: but.from ?? '127.0.0.1',
    })
  }

  function headersFor(auth: Auth, body: string, but?: Signing): { [name: string]: string } {
    const now = context.now()
    if ('hmac' in auth) return { authorization: signedHeader(auth.hmac, body, now, but) }
    if ('ecc' in auth) return { authorization: signedHeader(auth.ecc, body, now, but) }
    if ('basic' in auth) return basicOf(auth.basic)
    if ('token' in auth) return { authorization: `Bearer ${auth.token}` }
    return 'header' in auth ? { authorization: auth.header } : {}
  }

  /** A grant for the root key, or another one. */
  const grant = (scope: string[], key = root, but?: CallOptions) =>
    call(
      'manager/auth',
      { grantType: 'api_key_credentials', apiKeyId: key.id, apiKeySecret: key.secret, scope },
      { none: true },
      but,
    )
  const refresh = (refreshToken: string, but?: CallOptions) =>
    call('manager/auth', { grantType: 'refresh_token', refreshToken }, { none: true }, but)
  const list = (auth: Auth, but?: CallOptions) => call('solution/listSolutions', {}, auth, but)
  const createKey = (params: object, auth: Auth = { basic: root }) => call('manager/createApiKey', params, auth)

  return { ...handler, send, call, grant, refresh, list, createKey, headersFor, root, clock: context.clock }
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

export const basicOf = ({ id, secret }: { id: string; secret: string }) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

export const listing = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'

/** A listing through the socket of a server; with its root key, unless other headers are given. */
export const listAt = ({ url, rootKey }: MockServer, but: HttpOptions = {}) =>
  httpCall(`${url}/api`, { headers: basicOf(rootKey), body: listing, ...but })

interface HttpOptions {
  method?: string
  headers?: { [name: string]: string }
  body?: string | Buffer
  from?: string
}

/** One HTTP request on its own connection. */
export function httpCall(
  url: string,
  options: HttpOptions = {},
): Promise<{
  status: number
  headers: { [name: string]: string | string[] | undefined }
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  json: any
}> {
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: options.method ?? 'POST',
        headers: options.headers ?? {},
        agent: false,
        ...(options.from ? { localAddress: options.from } : {}),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const json = String(response.headers['content-type']).startsWith('application/json')
            ? JSON.parse(text)
            : undefined
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
        })
      },
    )
    call.on('error', reject)
    call.end(options.body ?? '')
  })
}
