import type { Caller } from '../../engine/conversation/caller.ts'
import { offsetMs } from '../../engine/conversation/clock-offset.ts'
import { membersOf } from '../../engine/json.ts'
import { firstTimestampMs, roundingMs } from '../../engine/judge/margins.ts'
import { call, grant } from './calls.ts'
import { notableMs } from './check-date.ts'

/** Both are requested where no Date header confirms what one expiry says. In ms. */
const lifetimesMs = [5000, 12_000] as const

/** How far the clock of the target may be ahead of ours. In ms. */
interface Ahead {
  earliestMs: number
  latestMs: number
}

/**
 * A proxy may write the Date header by another clock than the target's. The expiry of a requested lifetime shows another clock too; but it may
 * simply be wrong. It is taken for the target's clock if it agrees with ours, or if the signatures that the target accepts show that clock too.
 * Where no answer carries a Date header, the expiries of two lifetimes must show the same clock.
 */
export async function checkExpiry(caller: Caller): Promise<void> {
  const { facts } = caller
  if (caller.instance.root.kind !== 'secret') return
  const { offset } = facts
  const seen = offset === undefined ? await commonClock(caller) : await clockOfExpiries(caller, lifetimesMs[0])
  const ofDateMs = offsetMs(offset)
  if (seen === undefined || (offset !== undefined && isNear(seen, ofDateMs))) return
  if (!(isNear(seen, 0) ? await isAccepted(caller, 0) : await isClockOfSignatures(caller, seen))) return
  if (offset !== undefined) facts.wrongDateMs = ofDateMs - offsetMs(seen)
  facts.offset = seen
}

/** Two clocks of one deployment differ by less. */
const isNear = ({ earliestMs, latestMs }: Ahead, aheadMs: number): boolean =>
  earliestMs < aheadMs + notableMs && latestMs > aheadMs - notableMs

/** The clock that the expiries of both lifetimes show; undefined if they contradict each other. */
async function commonClock(caller: Caller): Promise<Ahead | undefined> {
  const [one, other] = [await clockOfExpiries(caller, lifetimesMs[0]), await clockOfExpiries(caller, lifetimesMs[1])]
  if (one === undefined || other === undefined) return undefined
  const earliestMs = Math.max(one.earliestMs, other.earliestMs)
  const latestMs = Math.min(one.latestMs, other.latestMs)
  return earliestMs <= latestMs ? { earliestMs, latestMs } : undefined
}

async function clockOfExpiries(caller: Caller, lifeMs: number): Promise<Ahead | undefined> {
  const { clock } = caller.instance
  const sentMs = clock.now()
  const { answer } = await grant(caller, ['solution', `expiresIn:${lifeMs}`])
  const expiry = answer.outcome === 'accepted' ? membersOf(answer.result).accessTokenExpiry : undefined
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return undefined
  return { earliestMs: expiry - lifeMs - clock.now() - roundingMs, latestMs: expiry - lifeMs - sentMs + roundingMs }
}

/** Whether the target accepts a signature with a time that is so far ahead of ours. */
async function isAccepted(caller: Caller, aheadMs: number): Promise<boolean> {
  const offset = { earliestMs: aheadMs, latestMs: aheadMs }
  const signing = { ...caller, facts: { ...caller.facts, offset, wrongDateMs: 0 } }
  return (await call(signing, { hmac: 'root' })).answer.outcome === 'accepted'
}

/** The widest window that is looked for, and the first step. In ms. */
const widestMs = 86_400_000
const firstStepMs = 15_000

/**
 * Whether the times that the target accepts in signatures lie around this clock, and not around that of the Date header. A target that accepts
 * every time shows no clock.
 */
async function isClockOfSignatures(caller: Caller, seen: Ahead): Promise<boolean> {
  const middleMs = offsetMs(seen)
  if (!(await isAccepted(caller, middleMs))) return false
  const ofDateMs = offsetMs(caller.facts.offset)
  if (!(await isAccepted(caller, ofDateMs))) return true
  const latestMs = await edgeOf(caller, middleMs, 1)
  const earliestMs = latestMs === undefined ? undefined : await edgeOf(caller, middleMs, -1)
  if (latestMs === undefined || earliestMs === undefined) return false
  const centreMs = (latestMs + earliestMs) / 2
  return Math.abs(centreMs - middleMs) < Math.abs(centreMs - ofDateMs) / 3
}

/** The last time in this direction that is accepted, as precisely as this needs; undefined where there is none. */
async function edgeOf(caller: Caller, fromMs: number, direction: 1 | -1): Promise<number | undefined> {
  const precisionMs = notableMs / 4
  let insideMs = 0
  let outsideMs = firstStepMs
  for (; await isAccepted(caller, fromMs + direction * outsideMs); outsideMs *= 2) {
    if (outsideMs > widestMs) return undefined
    insideMs = outsideMs
  }
  while (outsideMs - insideMs > precisionMs) {
    const betweenMs = (insideMs + outsideMs) / 2
    if (await isAccepted(caller, fromMs + direction * betweenMs)) insideMs = betweenMs
    else outsideMs = betweenMs
  }
  return fromMs + direction * insideMs
}
