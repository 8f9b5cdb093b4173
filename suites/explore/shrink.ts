/** Tries a finding again on the target itself: sequences are self-contained, so shorter ones can be tried. */
import { inDocumentOrder } from './calls.ts'
import { closure, isCreation, isOfSession, linesOf, namesLine, sequences, withGaps } from './earlier-steps.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { afterSessionOfAnother, othersWithSessions, withOthersNewer } from './other-pairs.ts'
import { isRefusal, type Outcome, type Shown, shows } from './replay.ts'
import {
  beginsQuiet,
  hasTooFew,
  isLongOver,
  laterOn,
  needsAll,
  needsConnection,
  runs,
  simpler,
} from './simpler-steps.ts'
import { type CallStep, namesIn, type Step } from './step.ts'
import { isWhole, madeBy } from './whole-sequence.ts'

/** The shortest sequence that shows a finding, and how often it did. */
export interface Reproduced extends Shown {
  /** It was not seen with each call on a new connection. */
  readonly sharesConnection?: boolean
  /** Without any one of its steps and words of scope it was not seen. */
  readonly isLeast?: boolean
  readonly failed: number
  readonly tries: number
}

/** How often a finding is run that does not repeat at once. */
const longRuns = 30
/** Calls that may be made for one finding, beyond those of the exploration. */
const callsPerFinding = 6000
/** How long a key may be locked after wrong calls, as a rule. */
const lockMs = 5000

/** The least number of steps that show the finding again, and how often they do. */
export async function reproduce(x: Explorer, candidate: Candidate): Promise<Reproduced> {
  const entry = x.log[candidate.entry]
  if (entry === undefined) return { steps: [], outcomes: [], failed: 1, tries: 1 }
  const short = candidate.steps === undefined ? closure(x, candidate.entry) : [...candidate.steps]
  const seen = outcomesOf(x, short)
  const compared = comparedGrant(x, candidate)
  // Without the other grant it would still be seen, by what the model remembers.
  if (compared !== undefined)
    return x.beyondBudget(callsPerFinding, () =>
      confirmed(x, candidate, { steps: [compared, ...short].map(inDocumentOrder), outcomes: ['accepted', ...seen] }),
    )
  const isTooLate = isLongOver(x) && !isRefusal(candidate)
  if (isCreation(entry.step) || isOfEndedKey(candidate) || isTooLate)
    return once(x, withGaps(x, short, candidate.entry))
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
      const often = await confirmed(x, candidate, least)
      const isLeast = often.failed === often.tries && (await needsAll(x, candidate, least))
      return { ...withoutQuiet(often), sharesConnection, isLeast }
    }
    let failed = 0
    let last: Shown = { steps: short, outcomes: seen }
    let tries = 0
    while (tries < longRuns && (tries === 0 || !(isLate() || hasTooFew(x, 0)))) {
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

/** The longest time for the sessions of other keys: on a server that is far away they would take minutes. */
const longestOthersMs = 5000

/** How long a call takes, by the latest ones. In ms. */
function callMs({ log }: Explorer): number {
  const spans = log.slice(-20).flatMap(({ seen }) => seen.map(({ span }) => span.to - span.from))
  return spans.reduce((sum, ms) => sum + ms, 0) / Math.max(1, spans.length)
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
  if (hasTooFew(x, newer.length * 2) || newer.length * callMs(x) > longestOthersMs) return least
  if ((await shows(x, candidate, newer, true)) !== null) return least
  return (await shows(x, candidate, afterSessionOfAnother(least.steps, first), true)) ?? least
}

/**
 * Runs the shortest form a few more times. If a wrong acceptance is not seen then, it may depend on the time of day, and is tried more often;
 * a refusal may be one of a limit.
 */
async function confirmed(x: Explorer, candidate: Candidate, { steps, outcomes }: Shown): Promise<Reproduced> {
  const isLate = laterOn(x)
  const most = candidate.kind === 'accepted' ? longRuns : runs
  let failed = 0
  let tries = 0
  while (
    tries === 0 ||
    (!isLongOver(x) && tries < runs) ||
    (failed === 0 && tries < most && !isLate() && !hasTooFew(x, 0))
  ) {
    tries += 1
    // The longer forms, or the tries before, may have locked the key for a while.
    if (candidate.kind === 'refused' && (tries === 1 || outcomes.slice(0, -1).includes('refused'))) await x.wait(lockMs)
    if ((await shows(x, candidate, steps)) !== null) failed += 1
  }
  return { steps, outcomes, failed, tries }
}

/** On a new instance no earlier activity need be over. */
function withoutQuiet(often: Reproduced): Reproduced {
  const first = beginsQuiet(often.steps)
  return { ...often, steps: often.steps.slice(first), outcomes: often.outcomes.slice(first) }
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

/** The outcomes of steps in the log. */
function outcomesOf(x: Explorer, steps: readonly Step[]): Outcome[] {
  return steps.map((step) => {
    const kind = x.log.findLast((one) => one.step === step)?.seen[0]?.answer.kind
    return step.do === 'burst' || kind === undefined || kind === 'unread' ? 'accepted' : kind
  })
}

/** Leaves out one part after another, halves first and single steps last, as long as the rest still shows the finding. */
async function shorter(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  let least = shown
  const isLate = laterOn(x)
  for (let size = Math.ceil((least.steps.length - 1) / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let end = least.steps.length - 1; end > beginsQuiet(least.steps); end -= size) {
      // A run may end before its last step.
      if (end >= least.steps.length) continue
      if (isLate() || hasTooFew(x, least.steps.length * (runs + 1))) return least
      const from = Math.max(end - size, beginsQuiet(least.steps))
      const without = least.steps.filter((_, at) => at < from || at >= end)
      if (without.length === least.steps.length || !isWhole(without)) continue
      least = (await shows(x, candidate, without)) ?? least
    }
  return least
}
