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

/** A client of one server of a variant, for tests. It knows what a target file for this server would say. */
export class VariantClient {
  readonly server: MockServer
  private readonly scheme: string
  private readonly prefix: string
  private lastId = 0

  private constructor(server: MockServer, { settings = {} }: IndependentVariant) {
    this.server = server
    this.scheme = settings.scheme ?? 'svc-hmac-sha256'
    this.prefix = settings.tokenPrefix ?? 'Bearer'
  }

  static async start(variant: IndependentVariant): Promise<VariantClient> {
    const server = await startMockServer({ clock: 'virtual', ...optionsOf(variant) })
    return new VariantClient(server, variant)
  }

  /** The time of the server in ms. */
  now(): number {
    return this.server.clock.now() + this.server.profile.clockOffsetMs
  }

  basic({ id, secret }: Key): string {
    return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  }

  bearer(token: string): string {
    return this.prefix === '' ? token : `${this.prefix} ${token}`
  }

  /** Signs the body with the secret of a key, or with the private key that matches its public key. */
  signed(key: { id: string; secret?: string; privateKey?: KeyObject }, { nonce = freshNonce(), timestamp = '' } = {}) {
    return (body: string): string => {
      const time = timestamp || String(this.now())
      const data = `${time};${nonce};POST\n/api\n${body}\n`
      const bytes = key.privateKey
        ? sign(null, Buffer.from(data), key.privateKey)
        : createHmac('sha256', key.secret ?? '')
            .update(data)
            .digest()
            .subarray(0, 20)
      return `${this.scheme} ${key.id};1;${time};${nonce};${bytes.toString('base64')}`
    }
  }

  /** Makes a call; a throttled one is repeated with a new signature after the server's clock has moved on. */
  async call(method: string, params: object, authorization?: string | ((body: string) => string)): Promise<Answer> {
    for (let tries = 0; ; tries++) {
      this.lastId += 1
      const body = JSON.stringify({ jsonrpc: '2.0', id: this.lastId, method, params })
      const header = typeof authorization === 'function' ? authorization(body) : authorization
      const answer = await this.post(body, header)
      if ((answer.status !== 429 && answer.status !== 503) || tries === 8) return answer
      this.server.clock.advance(1000)
    }
  }

  /** Makes a call without a socket: there are hundreds of servers, and sockets do not matter to them. */
  async post(body: string, authorization?: string): Promise<Answer> {
    const { url, handle } = this.server
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
    const headers = new Headers(answered.headers)
    const json = parse(text)
    const accepted = status >= 200 && status < 300 && json?.result !== undefined && json.error === undefined
    return {
      status,
      headers,
      text,
      json,
      result: accepted ? (json.result as Answer['result']) : undefined,
    }
  }

  grant(key: Key, scope: string[]): Promise<Answer> {
    const params = { grantType: 'api_key_credentials', apiKeyId: key.id, apiKeySecret: key.secret, scope }
    return this.call('manager/auth', params)
  }

  refresh(refreshToken: unknown): Promise<Answer> {
    return this.call('manager/auth', { grantType: 'refresh_token', refreshToken })
  }

  list(authorization?: string | ((body: string) => string)): Promise<Answer> {
    return this.call('solution/listSolutions', {}, authorization)
  }

  listWith(token: unknown): Promise<Answer> {
    return this.list(this.bearer(String(token)))
  }

  async createKey(params: { name: string; scope: string[]; publicKey?: string }): Promise<Key> {
    const { result, text } = await this.call('manager/createApiKey', params, this.basic(this.server.rootKey))
    if (typeof result?.id !== 'string' || typeof result.secret !== 'string') throw new Error(`No key: ${text}`)
    return { id: result.id, secret: result.secret }
  }
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
