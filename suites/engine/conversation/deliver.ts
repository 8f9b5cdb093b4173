import type { Delivered } from '../judge/called.ts'
import { classify } from '../judge/classify.ts'
import { type Instance, isOwn, type WireAnswer, type WireRequest } from '../target.ts'
import type { CallLimit } from './call-limit.ts'
import { jumpMs, leastJumpMs, narrowOffset, offsetMs, offsetUncertaintyMs, signingOffsetMs } from './clock-offset.ts'
import { cutAnswer } from './cut-evidence.ts'
import type { RunListener } from './events.ts'
import type { Pace } from './pace.ts'
import type { TargetFacts } from './target-facts.ts'
import { isWorthRepeating, noteRepeated, unavailableTries } from './unavailable.ts'

/** Builds the request, signed with a time in ms on the server's clock. Called again for every try, because each needs a fresh signature. */
export type Build = (signedAtMs: number) => WireRequest

/** What every delivery of a run shares. */
export interface CallContext {
  instance: Instance
  facts: TargetFacts
  pace: Pace
  limit: CallLimit
  /** Other cases wait until the one that makes these calls has ended. */
  isUrgent: boolean
  emit: RunListener
}

/** How often a throttled call is tried again before it counts as throttled. */
const throttleTries = 8

/**
 * Sends one request. Waits out throttling, and repeats a call whose kept connection was closed or that did not reach the service.
 *
 * @param tries how often a throttled call is tried again
 */
export async function deliver(context: CallContext, build: Build, tries = throttleTries): Promise<Delivered> {
  return repeatWhileThrottled(context, build, await sendOnce(context, build), tries)
}

/** Several at once, racing; throttled ones are repeated one by one afterwards. */
export async function deliverTogether(
  context: CallContext,
  builds: Build[],
  tries = throttleTries,
): Promise<Delivered[]> {
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
