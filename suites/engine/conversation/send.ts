/** Makes calls: waits for their turn, waits out throttling, repeats what did not arrive, and learns from the answers. */

import { cutAnswer } from '../exchange.ts'
import { isStrings, membersOf } from '../json.ts'
import type { Called, Delivered } from '../judge/called.ts'
import { classify } from '../judge/classify.ts'
import { envelopeProblems } from '../judge/envelope.ts'
import type { CallTime } from '../judge/match.ts'
import { type Instance, isOwn, type WireAnswer, type WireRequest } from '../target.ts'
import { type CallSpec, type PreparedCall, prepareCall, prepareRaw, type RawSpec } from './call.ts'
import type { Build, CallContext, Caller } from './conversation.ts'
import type { Lane } from './pace.ts'
import {
  isWorthRepeating,
  jumpMs,
  leastJumpMs,
  narrowOffset,
  noteAccepted,
  noteRepeated,
  noteSession,
  offsetMs,
  offsetUncertaintyMs,
  sightTokenClock,
  signingOffsetMs,
  type TargetFacts,
  tokenClockWitnesses,
  unavailableTries,
  unnamedAreFree,
} from './target-facts.ts'

/** The lane of calls that are made together; undefined for calls that need no lane. */
export function laneOf(specs: readonly CallSpec[], facts: TargetFacts): Lane | undefined {
  const [first] = specs
  if (first === undefined || !specs.some(({ method }) => method === 'manager/auth')) return undefined
  if (specs.length > 1) return { kind: 'race' }
  if (first.mustBeRefused) return undefined
  const params = membersOf(first.params)
  if (params.grantType === 'refresh_token') return { kind: 'refresh', free: unnamedAreFree(facts) }
  const scope: unknown[] = Array.isArray(params.scope) ? params.scope.flat() : []
  const named = scope.some((word) => typeof word === 'string' && word.startsWith('session:'))
  return { kind: 'grant', user: String(params.apiKeyId), named, free: !named && unnamedAreFree(facts) }
}

/** Makes one call, or several at once as a race, and notes every key that is created. */
export async function makeCalls(caller: Caller, specs: CallSpec[]): Promise<Called[]> {
  const lane = laneOf(specs, caller.facts)
  if (lane === undefined) return makeCallsNow(caller, specs)
  return caller.grants.run(lane, () => makeCallsNow(caller, specs), caller.isUrgent)
}

async function makeCallsNow(caller: Caller, specs: CallSpec[]): Promise<Called[]> {
  const prepared = specs.map((spec) => prepareCall(caller, { sharedBy: specs.length, ...spec }))
  for (const spec of specs) if (spec.method === 'manager/createApiKey') caller.createdKeys.intend(keyName(spec))
  caller.calls += specs.length
  const tries = specs.some((spec) => mayBeBeyondLimit(caller, spec)) ? 1 : undefined
  const [only] = prepared
  const delivered =
    prepared.length === 1 && only !== undefined
      ? [await deliver(caller, only.build, tries)]
      : await deliverTogether(
          caller,
          prepared.map(({ build }) => build),
          tries,
        )
  return delivered.map((answered, index) => {
    const spec = specs[index]
    const call = prepared[index]
    if (spec === undefined || call === undefined) throw new Error('an answer without its call')
    // A server that drops calls of a race is overloaded; that does not mean it went away.
    if (specs.length === 1) caller.silence.hear(answered.answer, spec.mayBeRefused)
    return conclude(caller, spec, call, answered)
  })
}

/** Learns from an answer, and combines it with the request. */
function conclude(caller: Caller, spec: CallSpec, { sent }: PreparedCall, answered: Delivered): Called {
  const one = mayBeBeyondLimit(caller, spec) ? withLimitRefused(answered) : answered
  learnAnswer(caller, spec, one)
  noteAccepted(caller, one)
  const requestedLifeMs = requestedLife(spec)
  const tokenExpiryMs = caller.tokenExpiries.get(tokenUsed(spec))
  // The latest expiry that the requested lifetime allows.
  if (requestedLifeMs !== undefined) sent.expiry = one.time.answeredAtMs + requestedLifeMs
  return {
    ...one,
    time: requestedLifeMs === undefined ? one.time : witnessed(caller, one, requestedLifeMs),
    sent,
    departures: envelopeProblems(one.answer, sent.id, spec.method),
    ...(requestedLifeMs === undefined ? {} : { requestedLifeMs }),
    ...(tokenExpiryMs === undefined ? {} : { tokenExpiryMs }),
  }
}

/** The number of created keys that the interface allows (part 8); the initial key may count. */
const leastKeyLimit = 9

/** A target may answer a creation beyond its limit with HTTP 429; waiting does not help then. */
function mayBeBeyondLimit({ createdKeys }: Caller, { method }: CallSpec): boolean {
  return method === 'manager/createApiKey' && createdKeys.keys.length >= leastKeyLimit
}

function withLimitRefused(one: Delivered): Delivered {
  if (one.answer.outcome !== 'throttled') return one
  const { status, headers } = one.answer
  return { ...one, answer: { outcome: 'refused', status, headers, json: undefined, error: undefined } }
}

/** Makes one call, with an access token, key or signature as `auth` says, and notes what the answer shows about the target. */
export async function makeCall(caller: Caller, spec: CallSpec): Promise<Called> {
  const [called] = await makeCalls(caller, [spec])
  if (called === undefined) throw new Error('a call without an answer')
  return called
}

/** Sends raw HTTP; assumes nothing about its answer. */
export async function sendRaw(caller: Caller, spec: RawSpec): Promise<Called> {
  const { build, sent } = prepareRaw(caller, spec)
  caller.calls += 1
  const delivered = await deliver(caller, build)
  caller.silence.hear(delivered.answer, spec.mayBeRefused)
  return { ...delivered, sent, departures: [] }
}

/** How often a throttled call is tried again before it counts as throttled. */
const throttleTries = 8

/**
 * Sends one request. Waits out throttling, and repeats a call whose kept connection was closed or that did not reach the service.
 *
 * @param tries how often a throttled call is tried again
 */
async function deliver(context: CallContext, build: Build, tries = throttleTries): Promise<Delivered> {
  return repeatWhileThrottled(context, build, await sendOnce(context, build), tries)
}

/** Several at once, racing; throttled ones are repeated one by one afterwards. */
async function deliverTogether(context: CallContext, builds: Build[], tries = throttleTries): Promise<Delivered[]> {
  const { instance } = context
  await context.pace.take(instance.clock, builds.length)
  const sentLocalMs = instance.clock.now()
  const requests = builds.map((build) => build(signingNow(context)))
  for (const request of requests) context.emit({ kind: 'exchange-begun', request })
  const wires = await instance.sendTogether(requests)
  const results: Delivered[] = []
  for (const [index, build] of builds.entries()) {
    const request = requests[index]
    const wire = wires[index]
    if (request === undefined || wire === undefined) throw new Error('a race lost a request')
    results.push(await repeatWhileThrottled(context, build, concludeCall(context, request, wire, sentLocalMs), tries))
  }
  return results
}

async function sendOnce(
  context: CallContext,
  build: Build,
  connection: Pick<WireRequest, 'connection'> = {},
): Promise<Delivered> {
  const { instance } = context
  return context.limit.run(async () => {
    await context.pace.take(instance.clock, 1)
    const sentLocalMs = instance.clock.now()
    const request = { ...build(signingNow(context)), ...connection }
    context.emit({ kind: 'exchange-begun', request })
    const wire = await instance.send(request)
    if (request.connection === 'kept') context.limit.hear(instance.clock.now() - sentLocalMs, wire)
    return concludeCall(context, request, wire, sentLocalMs)
  }, context.isUrgent)
}

async function repeatWhileThrottled(
  context: CallContext,
  build: Build,
  first: Delivered,
  tries: number,
): Promise<Delivered> {
  const { clock, settings } = context.instance
  let current = first
  let wasUnavailable = false
  // Another kept connection may be closed as well.
  if (isStale(current)) current = await sendOnce(context, build, { connection: 'fresh' })
  for (let tried = 1; tried <= mostTries(context, current, tries); tried += 1) {
    const isThrottled = current.answer.outcome === 'throttled'
    wasUnavailable ||= !isThrottled
    if (isThrottled) context.pace.slowDown(clock)
    const { retryAfterMs = 0 } = 'retryAfterMs' in current.answer ? current.answer : {}
    if (retryAfterMs > patienceMs(context.instance)) break
    const waitMs = retryAfterMs > 0 ? retryAfterMs : context.pace.backOffMs(tried)
    await clock.sleep(Math.min(waitMs, settings.maxWaitMs))
    // Another connection may lead to another server behind the same proxy.
    const again = await sendOnce(context, build, isThrottled || !isKept(current) ? {} : { connection: 'fresh' })
    current = {
      ...(isStale(again) ? await sendOnce(context, build, { connection: 'fresh' }) : again),
      throttled: tried,
    }
  }
  if (wasUnavailable) noteAvailability(context, current)
  return current
}

/** How often a call with this answer is tried again. */
function mostTries({ facts }: CallContext, { answer, request }: Delivered, tries: number): number {
  if (answer.outcome === 'throttled') return tries
  const { connection } = request
  const changes = connection === 'unused' || connection === 'warm' || isOwn(connection) || request.raw === true
  if (answer.outcome !== 'broken' || !isWorthRepeating(facts, answer.status, changes)) return 0
  return Math.min(tries, unavailableTries)
}

/** Where calls must be repeated more than once, they come too fast, and not only too many at once. */
function noteAvailability({ facts, pace, instance }: CallContext, { answer, throttled }: Delivered): void {
  const helped = answer.outcome !== 'broken'
  noteRepeated(facts, helped)
  if (helped && throttled > 1) pace.slowDown(instance.clock)
}

/** All tries together wait no longer than this, so that a longer Retry-After need not be waited for at all. */
function patienceMs({ clock, settings }: Instance): number {
  if (clock.controlled) return Number.POSITIVE_INFINITY
  return Math.min(throttleTries * settings.maxWaitMs, clock.leftMs?.() ?? Number.POSITIVE_INFINITY)
}

/** A warm connection of a race, or one of its own, may close during its call, and the call may have been made. */
const isStale = ({ wire, request: { connection } }: Delivered): boolean =>
  wire.kind === 'none' && wire.stale && connection !== 'warm' && !isOwn(connection)

const isKept = ({ request }: Delivered): boolean => request.connection === 'kept'

/** A synchronised clock is corrected by less than this; a larger step may mean that another clock wrote the Date header. In ms. */
const mostStepMs = 10_000

function concludeCall(context: CallContext, request: WireRequest, wire: WireAnswer, sentLocalMs: number): Delivered {
  const { facts, instance } = context
  const answeredLocalMs = instance.clock.now()
  context.emit({ kind: 'exchange-made', request, answer: wire, sentAtMs: sentLocalMs, answeredAtMs: answeredLocalMs })
  if (wire.kind === 'answer' && facts.wrongDateMs === undefined) {
    const offset = narrowOffset(facts.offset, wire.headers.date, sentLocalMs, answeredLocalMs)
    const jump = jumpMs(facts.offset, offset)
    if (jump > leastJumpMs) facts.clockJumps += 1
    if (jump > mostStepMs) facts.clockWasSet = true
    if (offset !== undefined) facts.offset = offset
  }
  const ahead = offsetMs(facts.offset)
  return {
    answer: classify(wire, answeredLocalMs + ahead),
    request,
    wire: cutAnswer(wire),
    time: {
      sentAtMs: sentLocalMs + ahead,
      answeredAtMs: answeredLocalMs + ahead,
      uncertaintyMs: offsetUncertaintyMs(facts.offset),
    },
    throttled: 0,
  }
}

/** The server's time, as well as it is known. */
export function serverNow({ instance, facts }: CallContext): number {
  return instance.clock.now() + offsetMs(facts.offset)
}

/** A time that the server's clock has certainly reached. */
function signingNow({ instance, facts }: CallContext): number {
  return instance.clock.now() + signingOffsetMs(facts.offset)
}

// What an answer shows about the target, independent of its case.

/** The time of a grant, with what other grants showed about the clock of expiries. Remembers what this grant shows. */
function witnessed({ facts }: Caller, { answer, time }: Delivered, requestedLifeMs: number): CallTime {
  const witnesses = tokenClockWitnesses(facts, requestedLifeMs)
  if (answer.outcome === 'accepted')
    sightTokenClock(facts, requestedLifeMs, membersOf(answer.result).accessTokenExpiry, time)
  return { ...time, witnesses }
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

/** The name that a created key is given, as reports show it. */
function keyName({ params }: CallSpec): string {
  const { name } = membersOf(params)
  return typeof name === 'string' ? name : '(no name)'
}

/** Tokens of megabytes are not kept for a whole run. */
const longToken = 65_536

/** Remembers created keys, how long a refresh token lives, and every secret that must not appear in a report. */
function learnAnswer(caller: Caller, spec: CallSpec, { answer, time, wire }: Delivered): void {
  const creates = spec.method === 'manager/createApiKey'
  if (answer.outcome !== 'accepted') {
    const wasSent = wire.kind !== 'none' || wire.wasNotSent !== true
    if (creates && (answer.status !== null || !wasSent)) caller.createdKeys.notCreated(keyName(spec))
    return
  }
  noteSession(caller.facts, spec.method, spec.params)
  if (spec.removes !== undefined) caller.createdKeys.removed(spec.removes)
  const result = membersOf(answer.result)
  for (const name of ['secret', 'accessToken', 'refreshToken']) {
    const value = result[name]
    if (typeof value === 'string') caller.redactor.add(value)
  }
  for (const kind of ['access', 'refresh']) {
    const token = result[`${kind}Token`]
    const expiry = result[`${kind}TokenExpiry`]
    // An expiry in the past, or one that is not a time, does not say when the token ends.
    const isToCome = typeof expiry === 'number' && expiry > time.answeredAtMs
    if (typeof token === 'string' && token.length < longToken && isToCome) caller.tokenExpiries.set(token, expiry)
  }
  const { id, secret, refreshTokenExpiry } = result
  if (typeof refreshTokenExpiry === 'number') {
    caller.facts.refreshLifeMs ??= Math.max(0, Math.round(refreshTokenExpiry - time.answeredAtMs))
  }
  if (!creates) return
  const { scope } = membersOf(spec.params)
  caller.createdKeys.created({
    id: typeof id === 'string' ? id : '(no id)',
    name: keyName(spec),
    ...(typeof secret === 'string' ? { secret } : {}),
    ...(spec.privateKey === undefined ? {} : { privateKey: spec.privateKey }),
    ...(spec.member === undefined ? (isStrings(scope) ? { scope } : {}) : { member: spec.member }),
  })
}
