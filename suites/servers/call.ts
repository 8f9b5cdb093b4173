import { callerAddress } from '../../mock-server/caller.ts'
import type { ServerContext } from '../../mock-server/context.ts'
import type { MockAnswer, MockRequest } from '../../mock-server/http-server.ts'
import type { Rules } from '../../mock-server/rules.ts'
import type { ApiKey, State, TokenPair } from '../../mock-server/state.ts'

/** A call as the rows of broken and conforming servers see it, and what they read in answers. */

/** The members of a JSON object. */
export type Members = { [name: string]: unknown }

/** The body of a request or of an answer, if it is a JSON object. */
export function readMembers(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

export const isAccepted = ({ body }: MockAnswer): boolean => readMembers(body)?.result !== undefined

/** The name in the entry session:NAME of a scope. */
export const sessionIn = (scope: string[]): string | undefined =>
  scope.find((word) => word.startsWith('session:'))?.slice('session:'.length)

export const noRequest: MockRequest = { method: '', target: '', headers: {}, body: Buffer.alloc(0), remoteAddress: '' }

export class Call {
  request: MockRequest
  protected watched: ServerContext | undefined

  constructor(request: MockRequest, context: ServerContext | undefined) {
    this.request = request
    this.watched = context
  }
  get context(): ServerContext {
    if (this.watched === undefined) throw new TypeError('A row looks at a server that has not begun')
    return this.watched
  }
  get state(): State {
    return this.context.state
  }
  /** From where the caller seems to come. */
  get address(): string {
    return callerAddress(this.context, this.request)
  }
  get nowMs(): number {
    return this.context.now()
  }
  get connection(): number | undefined {
    return this.request.connection
  }
  get authorization(): string | undefined {
    return this.request.headers.authorization
  }
  /** Whether it is authorized by a signature. */
  get isSigned(): boolean {
    return this.authorization?.includes(';') === true
  }
  get isBasic(): boolean {
    return this.authorization?.startsWith('Basic ') === true
  }
  /** The JSON-RPC request; empty if the body is something else. */
  get members(): Members {
    return readMembers(this.request.body.toString('utf8')) ?? {}
  }
  get method(): unknown {
    return this.members.method
  }
  is(method: string): boolean {
    return this.method === method
  }
  /** Whether the call creates a key. */
  get creates(): boolean {
    return this.is('manager/createApiKey')
  }
  /** Whether it lists the solutions. */
  get lists(): boolean {
    return this.is('solution/listSolutions')
  }
  /** Empty if the body is something else. */
  get params(): Members {
    const { params } = this.members
    return typeof params === 'object' && params !== null ? (params as Members) : {}
  }
  /** The `scope` of a grant or of a creation. */
  get scope(): string[] {
    const { scope } = this.params
    return Array.isArray(scope) ? scope.filter((word) => typeof word === 'string') : []
  }
  /** Whether it is a grant of api_key_credentials. */
  get isGrant(): boolean {
    return this.is('manager/auth') && this.params.grantType === 'api_key_credentials'
  }
  get isRefresh(): boolean {
    return this.is('manager/auth') && this.params.grantType === 'refresh_token'
  }
  /** Whether the body contains this text, such as the name of a method. */
  bodyHas(text: string): boolean {
    return this.request.body.includes(text)
  }
  get keys(): ApiKey[] {
    return [...this.state.keys.values()]
  }
  /** The id of the key that the request names in a signature, in Basic credentials or in a grant. */
  get keyId(): string | undefined {
    const header = this.authorization ?? ''
    const credentials = header.slice(header.indexOf(' ') + 1)
    if (/^basic /i.test(header)) return Buffer.from(credentials, 'base64').toString('utf8').split(':')[0]
    if (credentials.includes(';')) return credentials.split(';')[0]
    if (credentials !== '') return undefined
    const id = this.params.apiKeyId
    return typeof id === 'string' ? id : undefined
  }
  /** The key with this id. */
  get named(): ApiKey | undefined {
    return this.state.keys.get(this.keyId ?? '')
  }
  /** The text of a Bearer token, or an empty text. */
  get token(): string {
    return /^Bearer (.*)$/.exec(this.authorization ?? '')?.[1] ?? ''
  }
  /** The pair whose access token the request shows. */
  get pair(): TokenPair | undefined {
    const token = this.state.tokens.get(this.authorization?.split(' ').at(-1) ?? '')
    return token?.kind === 'access' ? token.pair : undefined
  }
  /** The same; a header beside a grant does not count. */
  get shownPair(): TokenPair | undefined {
    const token = this.is('manager/auth') ? undefined : this.state.tokens.get(this.token)
    return token?.kind === 'access' ? token.pair : undefined
  }
  /** The pair of the refresh token in the params. */
  get namedPair(): TokenPair | undefined {
    const token = this.state.tokens.get(String(this.params.refreshToken))
    return token?.kind === 'refresh' ? token.pair : undefined
  }
  /** The pair that it wants to renew. */
  get renewed(): TokenPair | undefined {
    return this.isRefresh ? this.namedPair : undefined
  }
  /** The key that makes the call: the one that it names, or that of its token. */
  get caller(): ApiKey | undefined {
    return this.pair?.key ?? this.named
  }
  /** Whether the call names a key with a public key. */
  get byPublicKey(): boolean {
    return this.pair === undefined && this.named?.publicKey !== undefined
  }
  /** The same call with other params; a signature of the old body does not fit any more. */
  withParams(params: Members): MockRequest {
    return this.withBody(Buffer.from(JSON.stringify({ ...this.members, params })))
  }
  /** The same call with another Authorization header. */
  withAuthorization(authorization: string): MockRequest {
    return { ...this.request, headers: { ...this.request.headers, authorization } }
  }
  withBody(body: Buffer): MockRequest {
    return { ...this.request, body }
  }
  /** An answer that another call got, with the id of this one. */
  answered(answer: MockAnswer): MockAnswer {
    const body = JSON.stringify({ ...readMembers(answer.body), id: this.members.id })
    return { ...answer, headers: { ...answer.headers }, body }
  }
}

/** Reads the Authorization header; without one, reads credentials from another place, as a careless framework would. */
export const headerOrElse =
  (other: (call: Call) => string | undefined): Rules['headerOf'] =>
  (request) =>
    request.headers.authorization ?? other(new Call(request, undefined))

/** A header with these credentials; undefined where one of them is missing. */
export const asBasic = (id: unknown, secret: unknown): string | undefined =>
  typeof id === 'string' && typeof secret === 'string' ? `Basic ${btoa(`${id}:${secret}`)}` : undefined

/** A header with this token; an empty text is no token. */
export const asToken = (token: unknown): string | undefined =>
  typeof token === 'string' && token !== '' ? `Bearer ${token}` : undefined

/** Reads `%41` as `A`; a text with a broken escape stays as it is. */
export function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/i.test(word)

export const isOneSolution = (word: string): boolean => /^solution:[^*]/.test(word)

/** The addresses of the entries `ipAddr:ADDR`. */
export const addressesIn = (scope: string[]): string[] =>
  scope.flatMap((word) => (word.startsWith('ipAddr:') ? [word.slice('ipAddr:'.length)] : []))
