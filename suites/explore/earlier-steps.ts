/** The steps before a finding on which it may rest. */
import { hasDocumentedResult } from '../engine/document.ts'
import { withCrowdUsed } from './crowd.ts'
import type { Candidate, Entry, Explorer } from './explorer-types.ts'
import { quietMs, withNameAgain, withNewerSessions, withOtherPairs, withSessionsAround } from './other-pairs.ts'
import { namesIn, type Step } from './step.ts'
import { callsOf, madeBy, selfContainedSteps } from './whole-sequence.ts'

/** How many of the earlier steps are tried too; fewer come first. */
const lengths = [60, 400]
/** The world in which keys are disabled and deleted. */
const scriptOfEndedKeys = 'ended-keys'
/** Pauses in a sequence that are repeated. */
const notableGapMs = 900
const longestGapMs = 5000
const longestWaitMs = 8000

/** Steps that name the same pairs. */
const longestUse = 300

/** What may show the finding again: that on which it rests, with the time between, then more and more of what went before. */
export function* sequences(
  x: Explorer,
  { entry, script, kind, requirement }: Candidate,
  short: Step[],
): Generator<Step[]> {
  const used = withGaps(x, closure(x, entry, true).slice(-longestUse), entry)
  // Without the time that passed nothing expires, and on a running clock there is time for few attempts.
  if (kind === 'accepted' && isOfExpiry(requirement) && used.length > short.length) yield used
  yield short
  const crowds =
    kind === 'refused'
      ? [withSessionsAround]
      : isOfSession(requirement)
        ? [withNewerSessions, withNameAgain, withCrowdUsed]
        : []
  for (const crowd of crowds) {
    const crowded = crowd(short)
    if (crowded.length > short.length) yield crowded
  }
  if (used.length > short.length) yield used
  const timed = withGaps(x, short, entry)
  if (timed.length > short.length) yield timed
  const crowded = withOtherPairs(short)
  if (kind === 'accepted' && crowded.length > short.length) yield crowded
  const before = x.log.slice(0, entry + 1).filter((one, index) => index === entry || !takesPlace(one))
  const ofScript = before.filter((one) => one.script === script)
  for (const length of lengths) {
    // Earlier activity must be over, or nothing is known about the sessions that are created now.
    const steps = (one: readonly Entry[]): Step[] => [
      { do: 'wait', ms: quietMs },
      ...withGaps(x, selfContainedSteps([...short, ...one.slice(-length).map(({ step }) => step)]), entry),
    ]
    yield steps(ofScript)
    if (ofScript.length < length) yield steps(before)
    if (ofScript.length <= length && before.length <= length) return
  }
}

/** Whether it says when a token ends. */
const isOfExpiry = (requirement: string): boolean =>
  /^(tokens\/expire|tokens\/expire-by-default|refresh\/own-expiry|expires-in\/enforced)$/.test(requirement)

/** Whether it says what becomes of a session, and of what belongs to it. */
export const isOfSession = (requirement: string): boolean => /^sessions\/|^refresh\/session-kept$/.test(requirement)

export function linesOf(x: Explorer, at: number): Set<number> {
  const names = x.log[at] === undefined ? [] : namesIn(x.log[at].step)
  return new Set(names.flatMap((name) => x.lines.get(name) ?? []))
}

export const namesLine = (x: Explorer, step: Step, lines: ReadonlySet<number>): boolean =>
  namesIn(step).some((name) => lines.has(x.lines.get(name) ?? -1))

/** A creation that is accepted takes a place, so it is not tried again. */
export function isCreation(step: Step): boolean {
  return callsOf(step).some(({ method }) => method === 'manager/createApiKey')
}

/** A creation that was refused, as it must be, may be repeated. */
const takesPlace = ({ step, seen }: Entry): boolean =>
  isCreation(step) && !seen.every(({ verdict, answer }) => verdict.is === 'refused' && answer.kind === 'refused')

/**
 * Every step on which one rests: the grants and refreshes of the lines that it names. Keys stay as they are.
 *
 * @param uses every other use of these lines too
 */
export function closure(x: Explorer, at: number, uses = false): Step[] {
  const entry = x.log[at]
  if (entry === undefined) return []
  const lines = linesOf(x, at)
  const names = namesIn(entry.step)
  const before = x.log
    .slice(0, at)
    .filter(
      (one) =>
        endsOneOf(one, names) ||
        sendsFirst(one, names) ||
        (touches(x, one, lines, uses) && (uses || one.seen.some((seen) => seen.answer.kind === 'accepted'))),
    )
  return [...before.map(({ step }) => step), entry.step]
}

/** The call whose header or signature a later one sends again. */
const sendsFirst = ({ step }: Entry, names: readonly string[]): boolean =>
  !isCreation(step) && madeBy(step).some((name) => names.includes(name))

/** The call that disabled or deleted one of these keys. */
const endsOneOf = ({ step, script }: Entry, names: readonly string[]): boolean =>
  script === scriptOfEndedKeys &&
  step.do === 'call' &&
  !hasDocumentedResult(step.method) &&
  namesIn(step).some((name) => name !== 'root' && names.includes(name))

function touches(x: Explorer, entry: Entry, lines: ReadonlySet<number>, uses: boolean): boolean {
  if (takesPlace(entry)) return false
  return callsOf(entry.step).some(
    (call) =>
      (uses || (call.method === 'manager/auth' && call.change === undefined)) &&
      [call.as ?? '', ...namesIn(call)].some((name) => lines.has(x.lines.get(name) ?? -1)),
  )
}

/** The steps in the order of the log, each once, with the time that passed between them. */
export function withGaps(x: Explorer, steps: readonly Step[], at: number): Step[] {
  const wanted = new Set(steps)
  const timed = x.log.slice(0, at + 1).filter((one) => wanted.has(one.step))
  let left = longestWaitMs
  return timed.flatMap(({ step, at: when }, index): Step[] => {
    const gap = index === 0 ? 0 : when - (timed[index - 1]?.at ?? when)
    const isWait = step.do === 'wait' || timed[index - 1]?.step.do === 'wait'
    // After a shorter pause, too, tokens of a short life have expired.
    const waited = !isWait && gap > notableGapMs ? Math.min(gap, longestGapMs, left) : 0
    left -= waited
    return waited > 0 ? [{ do: 'wait', ms: Math.ceil(waited) }, step] : [step]
  })
}
