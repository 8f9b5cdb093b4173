/** Makes single calls to a target, waits out throttling, and keeps track of the target's clock. Judges nothing. */
import { createPace, gentleStart, type Pace } from '../engine/conversation/pace.ts'
import {
  type Availability,
  type ClockOffset,
  isWorthRepeating,
  narrowOffset,
  noteRepeated,
  offsetMs,
  signingOffsetMs,
} from '../engine/conversation/target-facts.ts'
import { SuiteError } from '../engine/errors.ts'
import { membersOf, parseJson } from '../engine/json.ts'
import { type Classified, classify } from '../engine/judge/classify.ts'
import { createRedactor, type Redactor } from '../engine/redact.ts'
import { toBase64, utf8 } from '../engine/signer/bytes.ts'
import { seedFromPkcs8 } from '../engine/signer/pem.ts'
import type { Random } from '../engine/signer/random.ts'
import { type SigningKey, sign } from '../engine/signer/sign.ts'
import { type Instance, isLoopback, type WireAnswer } from '../engine/target.ts'

/** Makes the Authorization header for a body; undefined: no header. Called for each try, because a nonce can be used once. */
export type Authorize = (body: Uint8Array) => string | undefined

export interface Call {
  /** `solution/listSolutions` by default. */
  method?: string
  /** `{}` by default. */
  params?: unknown
  auth?: Authorize
  /** Instead of the body that `method` and `params` make. */
  body?: string
  /** In addition to Content-Type and the headers of the target file. */
  headers?: [name: string, value: string][]
}

/** The answer. */
export interface Reply {
  classified: Classified
  outcome: 'accepted' | 'refused' | 'throttled' | 'unread' | 'broken'
  /** null: no answer. */
  status: number | null
  /** The code of the JSON-RPC error. */
  code: number | string | null
  /** Its message, or a body that is not JSON. */
  message: string | null
  result: unknown
  /** The whole body as JSON; undefined where it is not. */
  json: unknown
  headers: { [name: string]: string }
  /** Bytes of the body. */
  bytes: number
}

export interface Caller {
  readonly instance: Instance
  readonly random: Random
  readonly keyId: string
  /** Undefined for a root key with a public key. */
  readonly secret: string | undefined
  readonly key: SigningKey
  /** Makes the names of this measurement differ from those of others. */
  readonly unique: string
  readonly counts: { calls: number; refusals: number; grants: number; throttled: number }
  /** The word before a token, set by the probe of tokens. */
  tokenPrefix: string
  /** Knows the secret of the key and every granted token, which no output may show. */
  readonly redactor: Redactor
  /** The server's clock in ms, according to the Date headers. */
  serverNowMs(): number
  /** The earliest time that the server's clock may show now, in ms: a signature from the future may be refused. */
  signingTimeMs(): number
  /** The server's clock minus ours. */
  clockOffsetMs(): number
  /** @throws SuiteError (`interrupted`, exit code 130) once the measurement was ended from outside; `call` does the same */
  demandToGoOn(): void
  call(what: Call): Promise<Reply>
  /** Whether the target accepts a call. */
  accepts(what: Call): Promise<boolean>
}

/** How a signature differs from an ordinary one. */
export interface SignatureOptions {
  timestampMs?: number
  nonce?: string
  /** The nonce in the header, if it differs from the signed one. */
  headerNonce?: string
  keyId?: string
  secret?: string
  scheme?: string
  /** Changes the finished header. */
  change?: (header: string) => string
}

const contentType: [string, string] = ['content-type', 'application/json']
const mostThrottledTries = 6
const longestPauseMs = 5000
/** 24 characters of base64 without padding. */
const nonceBytes = 18

/**
 * @param random where nonces and names come from
 * @param signal ends the measurement
 */
export function createCaller(instance: Instance, random: Random, signal?: AbortSignal): Caller {
  const { root, settings, clock } = instance
  const state: CallState = { offset: undefined, nextId: 1, unavailableInVain: 0, pace: paceOf(instance, random) }
  const caller: Caller = {
    instance,
    random,
    keyId: root.id,
    secret: root.kind === 'secret' ? root.secret : undefined,
    key: root.kind === 'secret' ? root : { kind: 'ed25519', seed: seedFromPkcs8(root.privateKey) },
    unique: freshWord(random).slice(0, 10),
    counts: { calls: 0, refusals: 0, grants: 0, throttled: 0 },
    tokenPrefix: settings.tokenPrefix ?? 'Bearer',
    redactor: createRedactor(root.kind === 'secret' ? [root.secret] : []),
    serverNowMs: () => clock.now() + offsetMs(state.offset),
    signingTimeMs: () => clock.now() + signingOffsetMs(state.offset),
    clockOffsetMs: () => offsetMs(state.offset),
    demandToGoOn() {
      if (signal?.aborted === true) throw new SuiteError('interrupted', 'Interrupted')
    },
    accepts: async (what) => (await caller.call(what)).outcome === 'accepted',
    call: (what) => callPatiently(caller, state, what),
  }
  return caller
}

/** What changes from call to call. */
interface CallState extends Availability {
  offset: ClockOffset | undefined
  nextId: number
  pace: Pace
}

/** Makes a call, and makes it again while the target throttles it or something in front of the target answers. */
async function callPatiently(caller: Caller, state: CallState, what: Call): Promise<Reply> {
  const { instance, counts } = caller
  const { clock } = instance
  let wasUnavailable = false
  for (let tries = 1; ; tries += 1) {
    caller.demandToGoOn()
    await state.pace.take(clock, 1)
    const { method = 'solution/listSolutions', params = {} } = what
    const body = what.body ?? bodyWith({ id: state.nextId++, method, params })
    const { wire, sentMs } = await send(instance, what, body)
    const headers = wire.kind === 'none' ? {} : wire.headers
    state.offset = narrowOffset(state.offset, headers.date, sentMs, clock.now())
    const answer = classify(wire, clock.now())
    counts.calls += 1
    if (answer.outcome === 'throttled') counts.throttled += 1
    if (answer.outcome === 'refused') counts.refusals += 1
    if (answer.outcome === 'accepted' && what.method === 'manager/auth') noteGrant(caller, answer.result)
    if (tries === mostThrottledTries || !isRepeated(state, answer, what)) {
      if (wasUnavailable) noteRepeated(state, answer.outcome !== 'broken')
      return replyOf(answer, wire)
    }
    wasUnavailable ||= answer.outcome === 'broken'
    state.pace.slowDown(clock)
    const { retryAfterMs = state.pace.backOffMs(tries) } = answer.outcome === 'throttled' ? answer : {}
    await clock.sleep(Math.min(longestPauseMs, retryAfterMs))
  }
}

/** Whether a call with this answer is made again. */
const isRepeated = (state: CallState, { outcome, status }: Classified, what: Call): boolean =>
  outcome === 'throttled' || (outcome === 'broken' && isWorthRepeating(state, status, mayChange(what)))

const mayChange = ({ method, body }: Call): boolean => body !== undefined || method?.startsWith('manager/') === true

function noteGrant({ counts, redactor }: Caller, result: unknown): void {
  counts.grants += 1
  const { accessToken, refreshToken } = membersOf(result)
  for (const text of [accessToken, refreshToken]) if (typeof text === 'string') redactor.add(text)
}

function paceOf({ baseUrl, settings, clock }: Instance, random: Random): Pace {
  const start = isLoopback(baseUrl) || clock.controlled ? null : gentleStart
  return createPace({ limit: settings.rate, start, facts: {}, random })
}

/** The body of a call of `solution/listSolutions`, or one with other members; `undefined` leaves a member out. */
export function bodyWith(members: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 7001, method: 'solution/listSolutions', params: {}, ...members })
}

async function send(
  { settings, clock, send: sendRequest }: Instance,
  { auth, method, headers = [] }: Call,
  text: string,
): Promise<{ wire: WireAnswer; sentMs: number }> {
  const body = utf8(text)
  const once = async (connection: 'kept' | 'fresh') => {
    const header = auth?.(body)
    const named = new Set(headers.map(([name]) => name.toLowerCase()))
    const all = [contentType, ...Object.entries(settings.headers)].filter(([name]) => !named.has(name.toLowerCase()))
    const sentMs = clock.now()
    const wire = await sendRequest({
      method: 'POST',
      path: '/api',
      headers: [...all, ...headers, ...(header === undefined ? [] : [['authorization', header] as [string, string]])],
      body,
      connection,
    })
    return { wire, sentMs }
  }
  const first = await once(method?.startsWith('manager/') === true ? 'fresh' : 'kept')
  return first.wire.kind === 'none' && first.wire.stale ? once('fresh') : first
}

function replyOf(answer: ReturnType<typeof classify>, wire: WireAnswer): Reply {
  const text = wire.kind === 'answer' ? new TextDecoder().decode(wire.body) : ''
  const json = parseJson(text)
  const { code, message } = membersOf(answer.outcome === 'refused' ? answer.error : undefined)
  return {
    classified: answer,
    outcome: answer.outcome,
    status: answer.status,
    code: typeof code === 'number' || typeof code === 'string' ? code : null,
    message: typeof message === 'string' ? message : json === undefined && text !== '' ? text : null,
    result: answer.outcome === 'accepted' ? answer.result : undefined,
    json,
    headers: answer.headers,
    bytes: text.length,
  }
}

/** Makes the signature of a header wrong without changing its length. */
export function withWrongSignature(header: string): string {
  const at = header.lastIndexOf(';') + 3
  return `${header.slice(0, at)}${header[at] === 'A' ? 'B' : 'A'}${header.slice(at + 1)}`
}

export function freshNonce(random: Random): string {
  return toBase64(random.bytes(nonceBytes))
}

/** The same with letters and digits only. */
export function freshWord(random: Random): string {
  return freshNonce(random).replaceAll(/\W/g, 'x')
}

/** Signs with the root key; `options` says what differs from an ordinary signature. */
export function signed(caller: Caller, options: SignatureOptions = {}): Authorize {
  const { settings } = caller.instance
  return (body) => {
    const { nonce = freshNonce(caller.random), headerNonce = nonce } = options
    const timestamp = String(Math.round(options.timestampMs ?? caller.signingTimeMs()))
    const keyId = options.keyId ?? caller.keyId
    const scheme = options.scheme ?? settings.scheme
    const key: SigningKey = options.secret === undefined ? caller.key : { kind: 'secret', secret: options.secret }
    const { signature } = sign({ scheme, keyId, key, method: 'POST', uri: settings.signedUri, body, timestamp, nonce })
    const header = `${scheme} ${keyId};1;${timestamp};${headerNonce};${signature}`
    return options.change?.(header) ?? header
  }
}

/** Basic credentials, by default those of the root key. */
export function basic(
  caller: Caller,
  { id = caller.keyId, secret = caller.secret ?? '', word = 'Basic' } = {},
): Authorize {
  return () => `${word} ${toBase64(utf8(`${id}:${secret}`))}`
}

/** An access token. @param word the prefix before it; empty: none */
export function token(caller: Caller, text: string, word: string = caller.tokenPrefix): Authorize {
  return () => (word === '' ? text : `${word} ${text}`)
}
