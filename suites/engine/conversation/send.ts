/** Makes calls: waits for their turn, waits out throttling, repeats what did not arrive, and records what every answer shows. */

import { defined, isStrings, type JsonObject, membersIn, membersOf } from '../json.ts'
import { type Classified, classify, envelopeProblems } from '../judge/classify.ts'
import { type Called, type Delivered, firstTimestampMs, roundingMs } from '../judge/judge-case.ts'
import type { Auth } from '../language/fixture-types.ts'
import { type Instance, isOwn, type WireAnswer, type WireRequest } from '../target.ts'
import { type CallSpec, prepareCall, prepareRaw, type RawSpec } from './call.ts'
import {
  actor,
  type Build,
  type Conversation,
  type CreatedKey,
  type KeyTries,
  type Lane,
  type Line,
} from './conversation.ts'
import { cutAnswer } from './exchange.ts'
import {
  isUnavailable,
  isWorthRepeating,
  mayBeLost,
  narrowOffset,
  noteLost,
  noteRepeated,
  offsetMs,
  offsetUncertaintyMs,
  requestsSession,
  signingOffsetMs,
  type TargetFacts,
  unnamedAreFree,
  wordOfTokens,
} from './target-facts.ts'

/** Makes one call, with an access token, key or signature as `auth` says, and notes what the answer shows about the target. */
export async function makeCall(talk: Conversation, spec: CallSpec): Promise<Called> {
  const [called] = await makeCalls(talk, [spec])
  if (called === undefined) throw new Error('a call without an answer')
  return called
}

/** An ordinary call: it succeeds unless something is wrong with its authorization. */
export function listSolutions(talk: Conversation, auth: Auth, how: Partial<CallSpec> = {}): Promise<Called> {
  return makeCall(talk, { method: 'solution/listSolutions', params: {}, auth, ...how })
}

/** Makes one call, or several at once as a race, and notes every key that is created. */
export async function makeCalls(talk: Conversation, specs: CallSpec[]): Promise<Called[]> {
  const lane = laneOf(specs, talk.facts)
  if (lane === undefined) return makeCallsNow(talk, specs)
  return talk.grants.run(lane, () => makeCallsNow(talk, specs), talk.isUrgent)
}

/** The lane of calls that are made together; undefined for calls that need no lane. */
export function laneOf(specs: readonly CallSpec[], facts: Conversation['facts']): Lane | undefined {
  const [first] = specs
  if (first === undefined || !specs.some(({ method }) => method === 'manager/auth')) return undefined
  if (specs.length > 1) return { kind: 'race' }
  if (first.mustBeRefused) return undefined
  const params = membersOf(first.params)
  if (params.grantType === 'refresh_token') return { kind: 'refresh', free: unnamedAreFree(facts) }
  const scope: unknown[] = Array.isArray(params.scope) ? params.scope.flat() : []
  const named = scope.some((word) => typeof word === 'string' && word.startsWith('session:'))
  // Until a case has shown that each key has sessions of its own, all keys may be one user.
  const user = facts.sessionsPerKey === true ? String(params.apiKeyId) : undefined
  return { kind: 'grant', user, named, free: !named && unnamedAreFree(facts) }
}

async function makeCallsNow(talk: Conversation, specs: CallSpec[]): Promise<Called[]> {
  talk.calls += specs.length
  const isBeyond = specs.some((spec) => mayBeBeyondLimit(talk, spec))
  const prepared = specs.map((spec) => ({ spec, ...prepareCall(talk, { sharedBy: specs.length, ...spec }) }))
  const deliveries = prepared.map(
    ({ build, spec: { method, params, member, privateKey, mustBeRefused, title } }): Delivery => {
      const { scope } = membersOf(params)
      return {
        build,
        changes: mayChange(talk.instance.settings, method),
        // No answer may be a refusal, and in a race the others may have changed what the call meets.
        atMostOnce: specs.length > 1 || mustBeRefused === true,
        ...(isBeyond ? { tries: 1 } : {}),
        ...(method === createApiKey ? { creates: keyName(params) } : {}),
        key: {
          ...(privateKey === undefined ? {} : { privateKey }),
          ...(title === undefined ? {} : { step: { caseKey: talk.caseKey, title } }),
          // If the creation should have been refused, what its key may do is not known.
          ...(member === undefined ? (isStrings(scope) && mustBeRefused !== true ? { scope } : {}) : { member }),
        },
      }
    },
  )
  const delivered = await deliver(talk, deliveries)
  return prepared.map(({ spec, sent }, index) => conclude(talk, spec, sent, delivered[index] ?? missing()))
}

function missing(): never {
  throw new Error('an answer without its call')
}

/** Whether calls of a method may change the state of the target: those of a target file that end a key have any name. */
export const mayChange = ({ cleanup, probes: { disable } }: Instance['settings'], method: string): boolean =>
  method.startsWith('manager/') || method === cleanup?.method || method === disable?.method

const createApiKey = 'manager/createApiKey'

/** The name that a created key is given, as reports show it. */
function keyName(params: unknown): string {
  const { name } = membersOf(params)
  return typeof name === 'string' ? name : '(no name)'
}

/** Learns from an answer, and combines it with the request. */
function conclude(talk: Conversation, spec: CallSpec, sent: Called['sent'], answered: Delivered): Called {
  const one = mayBeBeyondLimit(talk, spec) ? withLimitRefused(answered) : answered
  const { answer, time } = one
  const { facts, tokenExpiries } = talk
  const requestedLifeMs = requestedLife(spec)
  const tokenExpiryMs = tokenExpiries.get(tokenUsed(spec))
  noteTry(talk, spec, one)
  if (answer.outcome === 'accepted') {
    noteAccepted(facts, spec, membersOf(answer.result), time)
    for (const [token, expiry] of grantedTokens(membersOf(answer.result), time)) tokenExpiries.set(token, expiry)
  }
  const called = {
    ...one,
    sent,
    departures: envelopeProblems(answer, sent.id, spec.method),
    ...defined({ tokenExpiryMs }),
  }
  if (requestedLifeMs === undefined) return called
  // The latest expiry that the requested lifetime allows.
  sent.expiry = time.answeredAtMs + requestedLifeMs
  // The sightings of other lifetimes can confirm an expiry of this one.
  const witnesses = facts.tokenClock.filter((one) => Math.abs(one.requestedMs - requestedLifeMs) >= leastDifferenceMs)
  if (answer.outcome === 'accepted')
    sightTokenClock(facts, requestedLifeMs, membersOf(answer.result).accessTokenExpiry, time)
  return { ...called, time: { ...time, witnesses }, requestedLifeMs }
}

/** How long after a wrong call its lock may begin: right calls may be accepted meanwhile. */
const lateLockMs = 2000

/** Counts the calls with a key that are refused one after another. */
function noteTry({ tries }: Conversation, spec: CallSpec, { answer, request, time }: Delivered): void {
  const key = keyCalledWith(request)
  if (key === undefined || (answer.outcome !== 'accepted' && answer.outcome !== 'refused')) return
  const name = `${key.way} ${key.id}`
  const known = tries.get(name) ?? { ...key, wasAccepted: false, refused: 0 }
  // A wrong call that is accepted does not show that right ones are: their refusal would look like a lock.
  if (answer.outcome === 'accepted' && !isSpoilt(spec))
    tries.set(name, { ...key, wasAccepted: true, refused: 0, ...defined({ wrongAtMs: known.wrongAtMs }) })
  if (answer.outcome === 'accepted') return
  const isRight = isOrdinary(spec)
  const { answeredAtMs } = time
  const isSoonAfterWrong = [...tries.values()].some(
    ({ id, wrongAtMs }) => id === key.id && wrongAtMs !== undefined && answeredAtMs - wrongAtMs < lateLockMs,
  )
  // A creation with the right credentials guesses no secret, and may be refused for the limit of keys: it says nothing about a lock.
  if (spec.method === 'manager/createApiKey' && hasRightCredentials(spec)) return
  const kind = isRight && !isSoonAfterWrong ? 'right' : 'wrong'
  tries.set(name, { ...known, refused: known.refused + 1, ...(isRight ? {} : { wrongAtMs: answeredAtMs }) })
  for (const [other, { firstRefused = kind, ...one }] of tries)
    if (one.id === key.id && (!isRight || one.way === key.way)) tries.set(other, { ...one, firstRefused })
}

/** A call with right credentials that is refused only if something is wrong with the key. */
const isOrdinary = (spec: CallSpec): boolean => spec.method === 'solution/listSolutions' && hasRightCredentials(spec)

const hasRightCredentials = (spec: CallSpec): boolean =>
  typeof spec.auth === 'object' && !('header' in spec.auth) && !isSpoilt(spec)

const isSpoilt = ({ auth, changes = [], mustBeRefused = false }: CallSpec): boolean =>
  mustBeRefused || changes.length > 0 || (typeof auth === 'object' && 'but' in auth)

/** The key whose secret a request proves, and how; undefined for a token or no authorization. */
export function keyCalledWith({ headers, body }: WireRequest): Pick<KeyTries, 'id' | 'way'> | undefined {
  // The Authorization header of a grant may have no effect.
  if (mentions(body, 'grantType')) {
    const { apiKeyId } = paramsIn(body)
    return typeof apiKeyId === 'string' ? { id: apiKeyId, way: 'grant' } : undefined
  }
  const [word = '', credentials = ''] = authorizationIn(headers).split(' ')
  const [id = ''] = credentials.split(';')
  if (credentials.includes(';')) return { id, way: 'signature' }
  if (!/^basic$/i.test(word)) return undefined
  return { id: Buffer.from(credentials, 'base64').toString().split(':')[0] ?? '', way: 'basic' }
}

/** The value of the Authorization header; an empty text without one. */
const authorizationIn = (headers: WireRequest['headers']): string =>
  headers.find(([name]) => name.length === 13 && name.toLowerCase() === 'authorization')?.[1] ?? ''

/** The number of created keys that the interface allows (part 8); the initial key may count. */
const leastKeyLimit = 9

/** A target may answer a creation beyond its limit with HTTP 429; waiting does not help then. */
function mayBeBeyondLimit({ createdKeys }: Conversation, { method }: CallSpec): boolean {
  return method === createApiKey && createdKeys.keys.length >= leastKeyLimit
}

function withLimitRefused(one: Delivered): Delivered {
  if (one.answer.outcome !== 'throttled') return one
  const { status, headers } = one.answer
  return { ...one, answer: { outcome: 'refused', status, headers, json: undefined, error: undefined } }
}

/** The lifetime in ms that a grant requests with `expiresIn:NUMBER`, the longest of several; undefined for other calls. */
function requestedLife({ method, params }: CallSpec): number | undefined {
  const { scope } = membersOf(params)
  if (method !== 'manager/auth' || !Array.isArray(scope)) return undefined
  const lifetimesMs = scope.flatMap((word) => /^expiresIn:(\d+)$/.exec(String(word))?.[1] ?? [])
  return lifetimesMs.length === 0 ? undefined : Math.max(...lifetimesMs.map(Number))
}

/** The access token that authorizes a call, or the refresh token in its params; empty without either. */
function tokenUsed({ auth, params }: CallSpec): string {
  if (typeof auth === 'object' && 'token' in auth) return String(auth.token)
  return String(membersOf(params).refreshToken ?? '')
}

/** Tokens of megabytes are not kept for a whole run. */
const longToken = 65_536

type CallTime = Called['time']

/** The tokens of a grant with their ends, in ms since 1970 on the server's clock. */
function grantedTokens(result: JsonObject, { answeredAtMs }: CallTime): [token: string, expiry: number][] {
  return ['access', 'refresh'].flatMap((kind): [string, number][] => {
    const token = result[`${kind}Token`]
    const expiry = result[`${kind}TokenExpiry`]
    // An expiry in the past, or one that is not a time, does not say when the token ends.
    const isToCome = typeof expiry === 'number' && expiry > answeredAtMs
    return typeof token === 'string' && token.length < longToken && isToCome ? [[token, expiry]] : []
  })
}

/** Sends raw HTTP; assumes nothing about its answer. */
export async function sendRaw(talk: Conversation, spec: RawSpec): Promise<Called> {
  const { build, sent } = prepareRaw(talk, spec)
  talk.calls += 1
  const [delivered = missing()] = await deliver(talk, [{ build, changes: true }])
  return { ...delivered, sent, departures: [] }
}

// What follows sends any request, whoever made it.

export interface Delivery {
  readonly build: Build
  /** How often a throttled call is tried again before it counts as throttled. */
  readonly tries?: number
  /** It may change the state of the target, so it is not sent again where it may have arrived. */
  readonly changes?: boolean
  /** It is not made again because its answer was lost. */
  readonly atMostOnce?: boolean
  /** It is made together with others, and waits for no place among the calls under way. */
  readonly atOnce?: boolean
  /** The name of the key that it creates; seen from the body where it is not given. */
  readonly creates?: string
  /** What is known of that key besides its name and the answer. */
  readonly key?: Partial<CreatedKey>
}

interface Sending extends Delivery {
  readonly record: ReturnType<typeof keyRecord>
}

const throttleTries = 8

/**
 * Sends one request, or several at once as a race. Waits out throttling, and repeats a call whose kept connection was closed or that did not
 * reach the service, one by one.
 */
export async function deliver(line: Line, deliveries: readonly Delivery[]): Promise<Delivered[]> {
  const sendings = deliveries.map((how): Sending => ({ ...how, record: keyRecord(line, how) }))
  const [only, ...others] = sendings
  const isAlone = only !== undefined && others.length === 0
  const firsts = isAlone ? [await sendOnce(line, only)] : await transmit(line, sendings)
  const results: Delivered[] = []
  for (const [index, sending] of sendings.entries())
    results.push(sending.record.end(await repeat(line, sending, firsts[index] ?? missing())))
  return results
}

type Connection = Pick<WireRequest, 'connection'>

async function sendOnce(line: Line, sending: Sending, connection: Connection = {}): Promise<Delivered> {
  const send = () => transmit(line, [sending], connection)
  const [one] = sending.atOnce === true ? await send() : await line.limit.run(send, line.isUrgent)
  return one ?? missing()
}

/** Sends requests, written and signed now, in the same moment. */
async function transmit(line: Line, sendings: readonly Sending[], connection: Connection = {}): Promise<Delivered[]> {
  const { instance, pace, limit, emit } = line
  await pace.take(instance.clock, sendings.length)
  const sentAtMs = instance.clock.now()
  const requests = sendings.map(({ build, record }) => {
    const request = { ...build(signingNow(line)), ...connection }
    record.begin(request)
    rememberSent(line, request)
    emit({ kind: 'exchange-begun', request })
    return request
  })
  const [only, ...others] = requests
  if (only === undefined || others.length > 0) {
    const answeredAtMs: number[] = []
    const wires = await instance.sendTogether(requests, (index) => {
      answeredAtMs[index] = instance.clock.now()
    })
    return requests.map((request, index) =>
      concludeOne(line, request, wires[index] ?? missing(), {
        sentAtMs,
        ...defined({ answeredAtMs: answeredAtMs[index] }),
      }),
    )
  }
  const wire = await instance.send(only)
  if (only.connection === 'kept') limit.hear(instance.clock.now() - sentAtMs, wire)
  return [concludeOne(line, only, wire, { sentAtMs })]
}

async function repeat(line: Line, sending: Sending, first: Delivered): Promise<Delivered> {
  const { facts, pace, instance } = line
  const { clock, settings } = instance
  const unlessStale = async (one: Delivered): Promise<Delivered> =>
    arrived(
      line,
      sending,
      // Another kept connection may be closed as well.
      isStale(one, sending) ? await sendOnce(line, sending, elsewhereThan(one)) : one,
    )
  let current = await unlessStale(first)
  let wasUnavailable = false
  for (let tried = 1; tried <= mostTries(facts, current, sending); tried += 1) {
    const isThrottled = current.answer.outcome === 'throttled'
    wasUnavailable ||= !isThrottled
    const { retryAfterMs } = { retryAfterMs: undefined, ...current.answer }
    const atMs = current.ours.answeredAtMs
    if (isThrottled) pace.hear(clock, { isThrottled, tries: tried - 1, atMs, ...defined({ retryAfterMs }) })
    if ((retryAfterMs ?? 0) > patienceMs(instance)) break
    // A target that asks for no wait may take the next try at once.
    const isFree = retryAfterMs === 0 && tried === 1
    // The time that the target asks for runs from its answer: those of a race wait for it together.
    const askedMs = (retryAfterMs ?? 0) - (clock.now() - current.ours.answeredAtMs)
    const waitMs = isFree ? 0 : retryAfterMs ? Math.max(0, askedMs) : pace.backOffMs(tried)
    await clock.sleep(Math.min(waitMs, settings.maxWaitMs))
    // Another connection may lead to another server behind the same proxy.
    const elsewhere: Connection = isThrottled ? {} : elsewhereThan(current)
    current = { ...(await unlessStale(await sendOnce(line, sending, elsewhere))), throttled: tried }
  }
  if (['accepted', 'refused'].includes(current.answer.outcome)) pace.hear(clock, { isThrottled: false })
  if (wasUnavailable) {
    const helped = current.answer.outcome !== 'broken'
    noteRepeated(facts, helped)
    // Where calls must be repeated more than once, they come too fast, and not only too many at once.
    if (helped && current.throttled > 1) pace.hear(clock, { isThrottled: true, tries: current.throttled - 1 })
  }
  return current
}

/** How often a call with this answer is tried again. */
function mostTries(facts: Line['facts'], { answer }: Delivered, { tries = throttleTries, changes = false }: Delivery) {
  if (answer.outcome === 'throttled') return tries
  if (answer.outcome !== 'broken' || !isWorthRepeating(facts, answer.status, changes)) return 0
  return Math.min(tries, unavailableTries)
}

/** All tries together wait no longer than this, so that a longer Retry-After need not be waited for at all. */
function patienceMs({ clock, settings }: Instance): number {
  if (clock.controlled) return Number.POSITIVE_INFINITY
  return Math.min(throttleTries * settings.maxWaitMs, clock.leftMs?.() ?? Number.POSITIVE_INFINITY)
}

/** A connection that was used before may close during its call, and a call that changes something may have been made. */
const isStale = ({ wire, request: { connection } }: Delivered, { changes = false }: Delivery): boolean =>
  wire.kind === 'none' && wire.stale && (connection === 'kept' || (isOwn(connection) && !changes))

const elsewhereThan = ({ request }: Delivered): Connection =>
  request.connection === 'kept' ? { connection: 'fresh' } : {}

/** Whether a call may have been made although no answer came: a server in memory loses none, and what was never sent is no loss. */
export const isLost = ({ wire }: Pick<Delivered, 'wire'>): boolean =>
  wire.kind === 'none' && !wire.refusedConnection && wire.wasNotSent !== true && wire.isOfEnding !== true

/** Makes a call again whose answer was lost on the way, where that changes nothing. */
async function arrived(line: Line, sending: Sending, first: Delivered): Promise<Delivered> {
  const { facts, instance } = line
  const isHarmless = !sending.changes && !sending.atMostOnce && !sending.atOnce && !instance.clock.controlled
  if (!isLost(first) || !isHarmless || !mayBeLost(facts)) return first
  let again = first
  for (let tried = 1; tried <= lostTries && isLost(again); tried += 1)
    again = await sendOnce(line, sending, elsewhereThan(first))
  noteLost(facts, !isLost(again))
  // With the nonce of a call that was made, a signature may be refused.
  return again.answer.outcome === 'refused' && isSignedAlike(first, again) ? first : again
}

function isSignedAlike({ request: one }: Delivered, { request: other }: Delivered): boolean {
  return keyCalledWith(one)?.way === 'signature' && authorizationIn(one.headers) === authorizationIn(other.headers)
}

function concludeOne(
  line: Line,
  request: WireRequest,
  wire: WireAnswer,
  times: { sentAtMs: number; answeredAtMs?: number },
): Delivered {
  const { facts, instance } = line
  const ours = { answeredAtMs: instance.clock.now(), ...times }
  line.emit({ kind: 'exchange-made', request, answer: wire, ...ours })
  if (wire.kind === 'answer') noteDate(facts, wire.headers.date, ours)
  const ahead = offsetMs(facts.offset)
  const time = {
    sentAtMs: ours.sentAtMs + ahead,
    answeredAtMs: ours.answeredAtMs + ahead,
    uncertaintyMs: offsetUncertaintyMs(facts.offset),
  }
  const answer = classify(wire, time.answeredAtMs)
  rememberGiven(line, answer, wire)
  return { answer, request, wire: cutAnswer(wire), time, ours, throttled: 0 }
}

/** The server's time, as well as it is known. */
export function serverNow({ instance, facts }: Line): number {
  return instance.clock.now() + offsetMs(facts.offset)
}

/** A time that the server's clock has certainly reached. */
function signingNow({ instance, facts }: Line): number {
  return instance.clock.now() + signingOffsetMs(facts.offset)
}

/** What becomes of the key that a call may create, or delete. */
function keyRecord({ createdKeys, instance: { settings } }: Line, { creates, key = {} }: Delivery) {
  let name: string | undefined
  return {
    /** Notes the intent before the call is sent, so a key whose answer was lost is known as a possible one. */
    begin({ body }: WireRequest): void {
      if (name !== undefined) return
      name = creates ?? (mentions(body, 'createApiKey') ? keyName(paramsIn(body)) : undefined)
      if (name !== undefined) createdKeys.note({ intend: name })
    },
    end(delivered: Delivered): Delivered {
      const { answer, request, wire } = delivered
      if (answer.outcome === 'accepted')
        for (const removed of idsRemovedBy(request, settings)) createdKeys.note({ removed })
      if (name === undefined) return delivered
      if (answer.outcome === 'accepted') {
        const { id, secret } = membersOf(answer.result)
        const shown = { id: typeof id === 'string' ? id : '(no id)', name }
        createdKeys.note({ created: { ...shown, ...(typeof secret === 'string' ? { secret } : {}), ...key } })
      } else if (answer.status !== null || (wire.kind === 'none' && wire.wasNotSent === true)) {
        createdKeys.note({ notCreated: name })
      }
      return delivered
    },
  }
}

/** The ids of keys that a call of the method for clean-up names; the target file says which param holds one. */
function idsRemovedBy({ body }: WireRequest, { cleanup }: Instance['settings']): string[] {
  if (cleanup === undefined || !mentions(body, cleanup.method)) return []
  const { method, params } = membersIn(body)
  if (method !== cleanup.method) return []
  const ids = Object.entries(membersOf(cleanup.params)).filter(([, value]) => value === '$id')
  return ids.map(([param]) => membersOf(params)[param]).filter((id) => typeof id === 'string')
}

let lastBody: { readonly body: Uint8Array; readonly text: string } = { body: new Uint8Array(0), text: '' }

/** Whether a body contains a word. Several are looked for in the same body, so its text is kept. */
function mentions(body: Uint8Array, word: string): boolean {
  if (body !== lastBody.body)
    lastBody = { body, text: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString() }
  return lastBody.text.includes(word)
}

/** The params of a body, which may be anything but JSON. */
const paramsIn = (body: Uint8Array): JsonObject => membersOf(membersIn(body).params)

/** Words that cases send in place of credentials, or before them. Treated as secrets, they would be cut out of every header. */
const ordinaryWords = ['Basic', 'Bearer', 'Token', 'undefined']
/** Params that carry a secret, rightly or wrongly. */
const secretParams = ['apiKeySecret', 'refreshToken']

/**
 * A secret that a step altered gives the secret away, and a server may repeat it in its answer. So altered secrets must not appear in a
 * report either.
 */
function rememberSent({ redactor, instance, facts, createdKeys }: Line, { headers, body }: WireRequest): void {
  if (redactor === null) return
  const params = secretParams.some((name) => mentions(body, name)) ? paramsIn(body) : {}
  const inParams = secretParams.map((name) => params[name]).filter((value) => typeof value === 'string')
  const texts = [...credentialsIn(authorizationIn(headers)), ...inParams].filter((text) => !redactor.knows(text))
  if (texts.length === 0) return
  const { settings, root } = instance
  const isId = (text: string): boolean => text === root.id || createdKeys.keys.some(({ id }) => id === text)
  // The prefix in use may be the token type that the server reported. The words of a header are not case-sensitive.
  const prefixes = [settings.scheme, wordOfTokens(settings, facts) ?? '', wordOfTokens({}, facts) ?? '']
  const words = new Set([...ordinaryWords, ...prefixes].map((word) => word.toLowerCase()))
  for (const text of texts) if (!isId(text) && !words.has(text.trim().toLowerCase())) redactor.add(text)
}

function credentialsIn(header: string): string[] {
  const [scheme = '', ...rest] = header.split(' ')
  const credentials = rest.length === 0 ? scheme : rest.join(' ')
  // A signature is valid only for its own request.
  if (credentials.includes(';')) return []
  if (scheme.toLowerCase() !== 'basic') return [credentials]
  const decoded = Buffer.from(credentials, 'base64').toString()
  return [credentials, decoded, decoded.slice(decoded.indexOf(':') + 1)]
}

/** What an answer gives must not appear in a report, also where the answer itself is broken. */
function rememberGiven({ redactor }: Line, answer: Delivered['answer'], wire: WireAnswer): void {
  if (redactor === null || wire.kind !== 'answer') return
  const isBroken = answer.outcome === 'broken' && mentions(wire.body, 'result')
  const inBody = isBroken ? membersIn(wire.body).result : undefined
  const result = membersOf(answer.outcome === 'accepted' ? answer.result : inBody)
  for (const name of ['secret', 'accessToken', 'refreshToken']) {
    const value = result[name]
    if (typeof value === 'string') redactor.add(value)
  }
}

/** A smaller step may be drift. */
const leastJumpMs = 1000
/** A synchronised clock is corrected by less than this; a larger step may mean that another clock wrote the Date header. In ms. */
const mostStepMs = 10_000

/** Learns from the Date header of an answer how far the server's clock is ahead, and whether it was set meanwhile. */
function noteDate(
  facts: TargetFacts,
  date: string | undefined,
  ours: { sentAtMs: number; answeredAtMs: number },
): void {
  if (facts.wrongDateMs !== undefined) return
  const known = facts.offset
  const now = narrowOffset(known, date, ours.sentAtMs, ours.answeredAtMs)
  if (now === known || now === undefined) return
  facts.offset = now
  const jumpMs = known === undefined ? 0 : Math.max(now.earliestMs - known.latestMs, known.earliestMs - now.latestMs)
  if (jumpMs > leastJumpMs) facts.clockJumps += 1
  if (jumpMs > mostStepMs) facts.clockWasSet = true
}

// A second source for the server's clock: the expiries that it reports for requested lifetimes. The `Date` header may
// come from a proxy with another clock.

/** The number of sightings that are kept, one for each requested lifetime. */
const keptSightings = 8

/** Two clocks of one deployment differ by less. Beyond this, the expiry is wrong and not the clock. */
const mostOffMs = 10_000

/** Remembers what a granted lifetime says about the clock of reported expiries. */
function sightTokenClock(facts: TargetFacts, requestedMs: number, expiry: unknown, time: CallTime): void {
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return
  const doubt = roundingMs + time.uncertaintyMs
  const earliestMs = expiry - requestedMs - time.answeredAtMs - doubt
  const latestMs = expiry - requestedMs - time.sentAtMs + doubt
  if (latestMs < -mostOffMs || earliestMs > mostOffMs) return
  const others = facts.tokenClock.filter((sighting) => sighting.requestedMs !== requestedMs)
  facts.tokenClock = [...others, { requestedMs, earliestMs, latestMs }].slice(-keptSightings)
}

/** Lifetimes that differ by less cannot confirm each other, because expiries may be rounded. */
const leastDifferenceMs = 2 * roundingMs

/** How often such a call is repeated. */
const unavailableTries = 6

/** How often a call is made again whose answer was lost on the way. */
const lostTries = 2

/** Learns from an accepted call how long one takes, how many sessions were granted, and how long a refresh token lives. */
function noteAccepted(
  facts: TargetFacts,
  { method, params }: { method: string; params?: unknown },
  { refreshTokenExpiry }: { [member: string]: unknown },
  { sentAtMs, answeredAtMs }: CallTime,
): void {
  facts.slowestAcceptedMs = Math.max(facts.slowestAcceptedMs, answeredAtMs - sentAtMs)
  // Some of the sessions may have been removed since.
  if (method === 'manager/auth' && requestsSession(params)) facts.sessionsGranted = (facts.sessionsGranted ?? 0) + 1
  if (typeof refreshTokenExpiry === 'number')
    facts.refreshLifeMs ??= Math.max(0, Math.round(refreshTokenExpiry - answeredAtMs))
}

/** Nothing answered, or something in front of the target answered for it. */
export const isAway = (answer: Classified): answer is Extract<Classified, { outcome: 'broken' }> =>
  answer.outcome === 'broken' && (answer.status === null || isUnavailable(answer.status))

/** Checks after an unanswered call whether a lasting target is still there; otherwise the run ends. */
export async function noticeGone(talk: Conversation): Promise<void> {
  const { stopping, target } = talk.run
  if (!target.lasting || stopping.reason !== null) return
  // On a new connection: a server that is shutting down may still answer on a kept one. With the root key: a target may hang up on others.
  const { answer } = await listSolutions(talk, { key: actor(talk, 'root') }, { freshConnection: true })
  if (!isAway(answer)) return
  const { refusedConnection, reason } = answer
  const because = refusedConnection
    ? ({ kind: 'refuses-connections' } as const)
    : ({ kind: 'no-answers', reason } as const)
  stopping.stop({ kind: 'gone', target: target.name, because })
}
