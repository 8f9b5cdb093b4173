/** Tries a finding again on the target itself: sequences are self-contained, so shorter ones can be tried. */
import { hasDocumentedResult } from '../engine/document.ts'
import { inDocumentOrder } from './calls.ts'
import { scriptOfEndedKeys } from './ended-keys.ts'
import type { Candidate, Entry, Explorer } from './explorer-types.ts'
import {
  afterSessionOfAnother,
  othersWithSessions,
  quietMs,
  withNameAgain,
  withNewerSessions,
  withOtherPairs,
  withOthersNewer,
  withSessionsAround,
} from './other-pairs.ts'
import { type Outcome, type Shown, shows } from './replay.ts'
import { laterOn, needsConnection, runs, simpler } from './simpler-steps.ts'
import { type CallStep, namesIn, type Step } from './step.ts'
import { callsOf, isWhole, madeBy, selfContainedSteps } from './whole-sequence.ts'

/** The shortest sequence that shows a finding, and how often it did. */
export interface Reproduced extends Shown {
  /** It was not seen with each call on a new connection. */
  readonly sharesConnection?: boolean
  readonly failed: number
  readonly tries: number
}

/** How often a finding is run that does not repeat at once. */
const longRuns = 30
/** How many of the earlier steps are tried too; fewer come first. */
const lengths = [60, 400]
/** Calls that may be made for one finding, beyond those of the exploration. */
const callsPerFinding = 6000
/** Pauses in a sequence that are repeated. */
const notableGapMs = 900
const longestWaitMs = 8000
/** How long a key may be locked after wrong calls, as a rule. */
const lockMs = 5000

/** The least number of steps that show the finding again, and how often they do. */
export async function reproduce(x: Explorer, candidate: Candidate): Promise<Reproduced> {
  const entry = x.log[candidate.entry]
  if (entry === undefined) return { steps: [], outcomes: [], failed: 1, tries: 1 }
  const short = closure(x, candidate.entry)
  const seen = outcomesOf(x, short)
  const compared = comparedGrant(x, candidate)
  // Without the other grant it would still be seen, by what the model remembers.
  if (compared !== undefined)
    return x.beyondBudget(callsPerFinding, () =>
      confirmed(x, candidate, { steps: [compared, ...short].map(inDocumentOrder), outcomes: ['accepted', ...seen] }),
    )
  if (isCreation(entry.step) || isOfEndedKey(candidate)) return once(x, withGaps(x, short, candidate.entry))
  const isLate = laterOn(x)
  return x.beyondBudget(callsPerFinding, async () => {
    let sought = 0
    for (const steps of sequences(x, candidate, short)) {
      if (sought > 0 && isLate()) break
      sought += 1
      const shown = await shows(x, candidate, steps)
      if (shown === null) continue
      const short = await shorter(x, candidate, shown)
      const least = await besideOthers(x, candidate, await simpler(x, candidate, short))
      const sharesConnection = await needsConnection(x, candidate, least)
      return { ...(await confirmed(x, candidate, least)), sharesConnection }
    }
    let failed = 0
    let last: Shown = { steps: short, outcomes: seen }
    let tries = 0
    while (tries < longRuns && (tries === 0 || !(isLate() || x.isOver()))) {
      tries += 1
      const shown = await shows(x, candidate, short)
      if (shown === null) continue
      failed += 1
      last = shown
    }
    // A finding that rests on a creation cannot be repeated without another creation.
    if (failed === 0 && (hasCreated(x, candidate.entry) || isAfterCreation(x, candidate)))
      return once(x, withGaps(x, short, candidate.entry))
    return { ...last, failed, tries }
  })
}

/** The grant with which an answer is compared. */
function comparedGrant({ log }: Explorer, { comparedWith, entry }: Candidate): Step | undefined {
  if (comparedWith === undefined) return undefined
  const isMeant = ({ params: { scope } }: CallStep): boolean => Array.isArray(scope) && scope.includes(comparedWith)
  return log.slice(0, entry).findLast(({ step }) => step.do === 'call' && step.as !== undefined && isMeant(step))?.step
}

/** A key ends only once, and another one would take a place. */
const isOfEndedKey = ({ requirement }: Candidate): boolean => requirement.startsWith('keys/can-be-')

/** A finding that was not tried again, with the pauses that were made before it. */
const once = (x: Explorer, steps: readonly Step[]): Reproduced => ({
  steps,
  outcomes: outcomesOf(x, steps),
  failed: 0,
  tries: 0,
})

/** What may show the finding again: that on which it rests, with the time between, then more and more of what went before. */
function* sequences(x: Explorer, { entry, script, kind, requirement }: Candidate, short: Step[]): Generator<Step[]> {
  const used = withGaps(x, closure(x, entry, true).slice(-longestUse), entry)
  // Without the time that passed nothing expires, and on a running clock there is time for few attempts.
  if (kind === 'accepted' && isOfExpiry(requirement) && used.length > short.length) yield used
  yield short
  const crowds =
    kind === 'refused' ? [withSessionsAround] : isOfSession(requirement) ? [withNewerSessions, withNameAgain] : []
  for (const crowd of crowds) {
    const crowded = crowd(short)
    if (crowded.length > short.length) yield crowded
  }
  const timed = withGaps(x, short, entry)
  if (timed.length > short.length) yield timed
  if (used.length > short.length) yield used
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

/**
 * A session may stay because another key has an older one, which a new instance has not: if it goes once all sessions of other keys are newer,
 * such an older one belongs to the sequence.
 */
async function besideOthers(x: Explorer, candidate: Candidate, least: Shown): Promise<Shown> {
  if (candidate.kind !== 'accepted' || !isOfSession(candidate.requirement)) return least
  const granted = x.log.flatMap(({ seen }) =>
    seen.flatMap(({ step, answer }) => (answer.kind === 'accepted' ? step : [])),
  )
  const others = othersWithSessions(granted, least.steps)
  const [first] = others
  const newer = withOthersNewer(least.steps, others)
  if (first === undefined || newer.length === least.steps.length) return least
  if (x.isOver({ calls: newer.length * 2, ms: 0 })) return least
  if ((await shows(x, candidate, newer, true)) !== null) return least
  return (await shows(x, candidate, afterSessionOfAnother(least.steps, first), true)) ?? least
}

/** Whether it says when a token ends. */
const isOfExpiry = (requirement: string): boolean =>
  /^(tokens\/expire|tokens\/expire-by-default|refresh\/own-expiry|expires-in\/enforced)$/.test(requirement)

/** Whether it says what becomes of a session, and of what belongs to it. */
const isOfSession = (requirement: string): boolean => /^sessions\/|^refresh\/session-kept$/.test(requirement)

/**
 * Runs the shortest form a few more times. If a wrong acceptance is not seen then, it may depend on the time of day, and is tried more often;
 * a refusal may be one of a limit.
 */
async function confirmed(x: Explorer, candidate: Candidate, { steps, outcomes }: Shown): Promise<Reproduced> {
  const isLate = laterOn(x)
  const most = candidate.kind === 'accepted' ? longRuns : runs
  let failed = 0
  let tries = 0
  while (tries < runs || (failed === 0 && tries < most && !isLate() && !x.isOver())) {
    tries += 1
    // The longer forms, or the tries before, may have locked the key for a while.
    if (candidate.kind === 'refused' && (tries === 1 || outcomes.slice(0, -1).includes('refused'))) await x.wait(lockMs)
    if ((await shows(x, candidate, steps)) !== null) failed += 1
  }
  return { steps, outcomes, failed, tries }
}

/** Whether a token of the lines that an entry names has created a key before. */
function hasCreated(x: Explorer, at: number): boolean {
  const lines = linesOf(x, at)
  return x.log
    .slice(0, at)
    .some(({ step, seen }) => isCreation(step) && seen[0]?.answer.kind === 'accepted' && namesLine(x, step, lines))
}

/** The calls that belong to a creation: the first ones of its key, and those that show what it changed. */
const callsAfterCreation = 6

/** Whether a wrong call was accepted directly after a creation, or among the first of its key. A refusal may have other reasons. */
function isAfterCreation({ log }: Explorer, { kind, entry }: Candidate): boolean {
  const used = log[entry] === undefined ? [] : namesIn(log[entry].step)
  return (
    kind === 'accepted' &&
    log.slice(0, entry).some(({ step: creation, seen }, at) => {
      if (!isCreation(creation) || seen[0]?.answer.kind !== 'accepted') return false
      const since = log.slice(at + 1, entry)
      const key = madeBy(creation).find((name) => used.includes(name))
      const ofKey = key === undefined ? since : since.filter(({ step }) => namesIn(step).includes(key))
      return ofKey.length < callsAfterCreation
    })
  )
}

function linesOf(x: Explorer, at: number): Set<number> {
  const names = x.log[at] === undefined ? [] : namesIn(x.log[at].step)
  return new Set(names.flatMap((name) => x.lines.get(name) ?? []))
}

const namesLine = (x: Explorer, step: Step, lines: ReadonlySet<number>): boolean =>
  namesIn(step).some((name) => lines.has(x.lines.get(name) ?? -1))

/** A creation that is accepted takes a place, so it is not tried again. */
function isCreation(step: Step): boolean {
  return callsOf(step).some(({ method }) => method === 'manager/createApiKey')
}

/** A creation that was refused, as it must be, may be repeated. */
const takesPlace = ({ step, seen }: Entry): boolean =>
  isCreation(step) && !seen.every(({ verdict, answer }) => verdict.is === 'refused' && answer.kind === 'refused')

/** Steps that name the same pairs. */
const longestUse = 300

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

/** The outcomes of steps in the log. */
function outcomesOf(x: Explorer, steps: readonly Step[]): Outcome[] {
  return steps.map((step) => {
    const kind = x.log.findLast((one) => one.step === step)?.seen[0]?.answer.kind
    return step.do === 'burst' || kind === undefined || kind === 'unread' ? 'accepted' : kind
  })
}

/** The steps in the order of the log, each once, with the time that passed between them. */
function withGaps(x: Explorer, steps: readonly Step[], at: number): Step[] {
  const wanted = new Set(steps)
  const timed = x.log.slice(0, at + 1).filter((one) => wanted.has(one.step))
  let left = longestWaitMs
  return timed.flatMap(({ step, at: when }, index): Step[] => {
    const gap = index === 0 ? 0 : when - (timed[index - 1]?.at ?? when)
    const isWait = step.do === 'wait' || timed[index - 1]?.step.do === 'wait'
    const waited = !isWait && gap > notableGapMs && gap < left ? gap : 0
    left -= waited
    return waited > 0 ? [{ do: 'wait', ms: Math.ceil(waited) }, step] : [step]
  })
}

/** Leaves out one part after another, halves first and single steps last, as long as the rest still shows the finding. */
async function shorter(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let least = shown
  const isLate = laterOn(x)
  for (let size = Math.ceil((least.steps.length - 1) / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let end = least.steps.length - 1; end > 0; end -= size) {
      // A run may end before its last step.
      if (end >= least.steps.length) continue
      if (isLate() || x.isOver({ calls: least.steps.length * (runs + 1), ms: 0 })) return least
      const without = least.steps.filter((_, at) => at < end - size || at >= end)
      if (without.length === least.steps.length || !isWhole(without)) continue
      least = (await shows(x, candidate, without)) ?? least
    }
  return least
}
