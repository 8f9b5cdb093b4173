import type { Caller } from '../../engine/conversation/caller.ts'
import { isUnavailable, noteRepeated, repeatNothing } from '../../engine/conversation/unavailable.ts'
import { unreachableTarget } from '../../engine/conversation/unusable-target.ts'
import { SuiteError } from '../../engine/errors.ts'
import type { Called } from '../../engine/judge/called.ts'
import type { Auth } from '../../engine/language/fixture-types.ts'
import { call, callExpectingRefusal, grant } from './calls.ts'

/** The pause between two tries to reach a target that is still starting. In ms. */
const pauseMs = 250

/**
 * The first call, which carries no authorization.
 *
 * @param patientMs how long to wait for a target that refuses connections, or for which something in front of it answers
 * @throws SuiteError (`unreachable`, exit code 3) if nothing connects, or the target throttles for too long
 */
export async function firstCall(caller: Caller, patientMs: number): Promise<Called> {
  const { clock, baseUrl } = caller.instance
  const untilMs = clock.now() + patientMs
  for (;;) {
    const first = await callExpectingRefusal(caller, 'none')
    const { answer } = first
    // Shorter times have already been waited out.
    if (answer.outcome === 'throttled' && first.throttled === 0) throw throttledFromTheStart(caller, answer)
    if (answer.outcome === 'throttled' && (await throttlesRoot(caller))) throw throttledForGood(caller, answer.status)
    if (answer.outcome !== 'broken') {
      noteRepeated(caller.facts, true)
      return first
    }
    if (answer.status !== null) {
      const isOver = clock.now() >= untilMs || caller.run.stopping.reason !== null
      if (!isUnavailable(answer.status)) return first
      // This call was repeated, and the others need not be.
      repeatNothing(caller.facts)
      if (isOver || (await reachesRoot(caller))) return first
      await clock.sleep(pauseMs)
      continue
    }
    if (!answer.refusedConnection && (await answersRoot(caller))) return first
    if (clock.now() >= untilMs || !answer.refusedConnection || caller.run.stopping.reason !== null) {
      throw unreachableTarget(baseUrl, answer, patientMs)
    }
    await clock.sleep(pauseMs)
  }
}

/** Repeats the call with authorization: a target may throttle only calls without it. */
async function throttlesRoot(caller: Caller): Promise<boolean> {
  return (await call(caller, { key: 'root' })).answer.outcome === 'throttled'
}

function throttledForGood({ instance }: Caller, status: number): SuiteError {
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: it answers every call with HTTP ${status}, however slowly the calls come`,
  )
}

/** Repeats the call with authorization: a target may leave only calls without it unanswered. */
const answersRoot = (caller: Caller): Promise<boolean> => someOfRoot(caller, ({ status }) => status !== null)

/** Repeats the call with authorization: a target may answer only calls without it as a proxy does whose server is away. */
const reachesRoot = (caller: Caller): Promise<boolean> =>
  someOfRoot(caller, ({ outcome, status }) => outcome !== 'broken' || !(status === null || isUnavailable(status)))

/** Whether one of the ways to call with the root key gets such an answer. */
async function someOfRoot(caller: Caller, isWanted: (answer: Called['answer']) => boolean): Promise<boolean> {
  const basic: Auth[] = caller.instance.root.kind === 'secret' ? [{ basic: 'root' }] : []
  for (const auth of [...basic, { key: 'root' }]) if (isWanted((await call(caller, auth)).answer)) return true
  return false
}

function throttledFromTheStart(
  { instance }: Caller,
  { status, retryAfterMs = 0 }: { status: number; retryAfterMs?: number },
): SuiteError {
  const seconds = Math.ceil(retryAfterMs / 1000)
  return new SuiteError(
    'unreachable',
    `Cannot use ${instance.baseUrl}: it answers the first call with HTTP ${status} and asks to wait ${seconds} s, longer than this run waits; "--wait ${seconds}" allows it`,
  )
}

/** Measures how long refused calls take. */
export async function measureRefused(caller: Caller, first: Called, samples: number): Promise<void> {
  if (first.answer.status === null) return
  for (let sample = 0; sample < samples; sample += 1) noteTime(caller, await call(caller, 'none'))
}

/** Measures how long an accepted call takes: a server may refuse fast and accept slowly. */
export async function measureAccepted(caller: Caller): Promise<void> {
  noteTime(caller, await call(caller, { key: 'root' }))
}

/** Measures how long a grant takes. */
export async function measureGrant(caller: Caller): Promise<void> {
  if (caller.instance.root.kind === 'secret') noteTime(caller, await grant(caller, ['solution']))
}

/** The longest call counts, without what it waited for before it was sent; a throttled one says nothing about the latency. */
function noteTime({ facts }: Caller, { throttled, wire, time }: Called): void {
  if (throttled === 0 && wire.kind === 'answer')
    facts.roundTripMs = Math.max(facts.roundTripMs, time.answeredAtMs - time.sentAtMs)
}
