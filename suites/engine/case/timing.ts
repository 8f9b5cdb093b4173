import type { CallStep, SendStep } from '../fixture/model.ts'
import { judgedMarginMs } from '../judge/outcome.ts'
import type { Called } from './call.ts'
import type { Client } from './client.ts'
import { type Names, resolve } from './references.ts'
import { isClockKnown, type Wait, waitMs, whyLifeTooLong } from './wait.ts'

/** Why no moment can be judged in this step; undefined where none needs to be, or the clock of the server is known. */
export function whyClockUnknown(client: Client, step: CallStep | SendStep): string | undefined {
  return needsClock(step) && !isClockKnown(client) ? unknownClock : undefined
}

const unknownClock =
  'the answers of the target carry no Date header, so its clock is not known and no moment can be judged by it'

/** Steps that judge by a moment of the server's clock. */
function needsClock(step: CallStep | SendStep): boolean {
  if (step.before !== undefined) return true
  const where = typeof step.expect === 'object' && 'where' in step.expect ? (step.expect.where ?? {}) : {}
  return Object.values(where).some((matcher) => typeof matcher === 'object' && matcher !== null && 'in' in matcher)
}

/** Milliseconds since 1970, from 2001 to 2286. */
const thirteenDigits = [1e12, 1e13] as const

/** Why a moment that the server reported is none that could be waited for or judged by, whatever its sentence says of it elsewhere. */
function whyUnusableExpiry(moment: number): string | undefined {
  const [first, end] = thirteenDigits
  if (moment >= first && moment < end) return undefined
  const digits = Math.trunc(Math.abs(moment)).toFixed().length
  return `the reported expiry is no 13-digit timestamp in milliseconds, it has ${digits} digits, so that nothing can be judged by it`
}

/** Waits, or says why that cannot be done. */
export async function waitStep(
  client: Client,
  wait: Wait,
): Promise<{ kind: 'blocked' | 'not-testable'; message: string } | undefined> {
  if (typeof wait === 'object' && !isClockKnown(client)) return { kind: 'not-testable', message: unknownClock }
  const moment = typeof wait === 'string' ? undefined : 'past' in wait ? wait.past : wait.until
  const wrong = typeof moment === 'number' ? whyUnusableExpiry(moment) : undefined
  // What waits for a moment long past would not wait, and what then lives on would be called a failure.
  if (wrong !== undefined) return { kind: 'blocked', message: wrong }
  const ms = waitMs(client, wait)
  if (typeof ms === 'string') return { kind: 'blocked', message: ms }
  const { clock, settings } = client.instance
  if (!clock.controlled && ms > settings.maxWaitMs) {
    const seconds = Math.ceil(ms / 1000)
    return { kind: 'not-testable', message: `this takes ${seconds} s of waiting; --wait ${seconds} allows it` }
  }
  await clock.sleep(ms)
  return undefined
}

/** A judgement about a moment holds only if the answer was here a good second before it. */
export function tooLate(
  step: CallStep | SendStep,
  calls: Called[],
  names: Names,
): { kind: 'blocked' | 'too-late'; message: string } | undefined {
  if (step.before === undefined) return undefined
  const moment = resolve(step.before, names)
  if (typeof moment !== 'number') {
    return { kind: 'blocked', message: `the moment of "before" is no number: ${JSON.stringify(moment)}` }
  }
  const wrong = whyUnusableExpiry(moment)
  if (wrong !== undefined) return { kind: 'blocked', message: wrong }
  const late = calls.some(
    ({ moment: { answeredAtMs, uncertaintyMs } }) => answeredAtMs + uncertaintyMs > moment - judgedMarginMs,
  )
  const message = 'the answer came too late to be judged: less than a second before the moment'
  return late ? { kind: 'too-late', message } : undefined
}

/** Why what a call broke is no defect: it asked for a longer lifetime than a refresh token has here. */
export function askedTooMuch(client: Client, step: CallStep | SendStep, { lifeAskedMs }: Called): string | undefined {
  const { expect } = step
  // Who asks what happens then gets the answer judged.
  if (lifeAskedMs === undefined || expect === undefined || expect === 'refused') return undefined
  if (typeof expect === 'object' && 'refused-or' in expect) return undefined
  return whyLifeTooLong(client, lifeAskedMs)
}

/** Why a refusal of what should have been accepted shows nothing: the token was at its end, or nearly, when it was used. */
export function atItsEnd(step: CallStep | SendStep, calls: Called[]): string | undefined {
  const wantsAcceptance = step.expect === undefined ? step.tally?.accepted !== undefined : step.expect !== 'refused'
  if (!wantsAcceptance) return undefined
  const ended = calls.some(
    ({ answer, tokenExpiryMs, moment: { answeredAtMs, uncertaintyMs } }) =>
      answer.outcome === 'refused' &&
      tokenExpiryMs !== undefined &&
      answeredAtMs + uncertaintyMs > tokenExpiryMs - judgedMarginMs,
  )
  return ended ? 'a token had come to its end, or nearly, when it was used, so its refusal cannot be judged' : undefined
}
