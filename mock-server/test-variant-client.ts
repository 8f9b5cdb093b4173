import { createHmac, type KeyObject, randomBytes, sign } from 'node:crypto'
import { type IndependentVariant, optionsOf } from './independent/independent-variant.ts'
import { type MockServer, startMockServer } from './start.ts'

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** Undefined where the answer is not accepted: HTTP 2xx and a JSON object with `result` and without `error`. */
  result: { [name: string]: unknown } | undefined
  /** The parsed body, where it is JSON. */
  json: { [name: string]: unknown } | undefined
}

interface Key {
  id: string
  secret: string
}

type Authorization = string | ((body: string) => string)

interface SigningKey {
  id: string
  secret?: string
  privateKey?: KeyObject
}

/** A client of one server of a variant, for tests. It knows what a target file for this server would say. */
export type VariantClient = Awaited<ReturnType<typeof startVariantClient>>

/** Longer than most functions, because every kind of call is one entry of the client. */
export async function startVariantClient(variant: IndependentVariant) {
  const server = await startMockServer({ clock: 'virtual', ...optionsOf(variant) })
  const { scheme = 'svc-hmac-sha256', tokenPrefix = 'Bearer' } = variant.settings ?? {}
  let lastId = 0

  /** The time of the server in ms. */
  const now = (): number => server.clock.now() + server.profile.clockOffsetMs

  const basic = ({ id, secret }: Key): string => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

  const bearer = (token: string): string => (tokenPrefix === '' ? token : `${tokenPrefix} ${token}`)

  /** Signs the body with the secret of a key, or with the private key that matches its public key. */
  const signed =
    (key: SigningKey, { nonce = freshNonce(), timestamp = '' } = {}) =>
    (body: string): string => {
      const time = timestamp || String(now())
      const data = `${time};${nonce};POST\n/api\n${body}\n`
      return `${scheme} ${key.id};1;${time};${nonce};${signatureOf(key, data)}`
    }

  /** Makes a call; a throttled one is repeated with a new signature after the server's clock has moved on. */
  const call = async (method: string, params: object, authorization?: Authorization): Promise<Answer> => {
    for (let tries = 0; ; tries++) {
      lastId += 1
      const body = JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params })
      const answer = await post(server, body, typeof authorization === 'function' ? authorization(body) : authorization)
      if ((answer.status !== 429 && answer.status !== 503) || tries === 8) return answer
      server.clock.advance(1000)
    }
  }

  const list = (authorization?: Authorization) => call('solution/listSolutions', {}, authorization)

  return {
    server,
    now,
    basic,
    bearer,
    signed,
    call,
    list,
    post: (body: string, authorization?: string) => post(server, body, authorization),
    listWith: (token: unknown) => list(bearer(String(token))),
    grant: (key: Key, scope: string[]) =>
      call('manager/auth', {
        grantType: 'api_key_credentials',
        apiKeyId: key.id,
        apiKeySecret: key.secret,
        scope,
      }),
    refresh: (refreshToken: unknown) => call('manager/auth', { grantType: 'refresh_token', refreshToken }),
    createKey: async (params: { name: string; scope: string[]; publicKey?: string }): Promise<Key> => {
      const { result, text } = await call('manager/createApiKey', params, basic(server.rootKey))
      if (typeof result?.id !== 'string' || typeof result.secret !== 'string') throw new Error(`No key: ${text}`)
      return { id: result.id, secret: result.secret }
    },
  }
}

/** Makes a call without a socket: there are hundreds of servers, and sockets do not matter to them. */
async function post({ url, handle }: MockServer, body: string, authorization?: string): Promise<Answer> {
  const bytes = Buffer.from(body)
  const answered = await handle({
    method: 'POST',
    target: `${new URL(url).pathname.replace(/\/$/, '')}/api`,
    headers: {
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: bytes,
    remoteAddress: '127.0.0.1',
  })
  if (answered.hangUp) throw new Error('The server hung up')
  const { status, body: text } = answered
  const json = parse(text)
  const accepted = status >= 200 && status < 300 && json?.result !== undefined && json.error === undefined
  return {
    status,
    headers: new Headers(answered.headers),
    text,
    json,
    result: accepted ? (json.result as Answer['result']) : undefined,
  }
}

function signatureOf({ secret = '', privateKey }: SigningKey, data: string): string {
  const bytes =
    privateKey === undefined
      ? createHmac('sha256', secret).update(data).digest().subarray(0, 20)
      : sign(null, Buffer.from(data), privateKey)
  return bytes.toString('base64')
}

const freshNonce = () => randomBytes(18).toString('base64')

function parse(text: string): { [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { [name: string]: unknown })
      : undefined
  } catch {
    return undefined
  }
}
