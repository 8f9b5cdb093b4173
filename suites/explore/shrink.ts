/**
 * Tries a finding again on the target itself, with what came before it and in company, and makes it shorter and simpler: sequences are
 * self-contained.
 */

import { isDocumentedMethod, sessionLimit } from '../engine/document.ts'
import { changesOf } from '../engine/language/deviations.ts'
import { areas } from '../engine/model/judge.ts'
import type { Explorer } from './explorer.ts'
import { isAccepted } from './keyring.ts'
import {
  type BurstStep,
  type CallStep,
  type Candidate,
  callsOf,
  changed,
  grant,
  grantedTo,
  inDocumentOrder,
  isBurst,
  isCall,
  isCreation,
  isCrowd,
  isOfExpiry,
  isOtherSession,
  isWait,
  list,
  madeBy,
  named,
  nameOf,
  namesIn,
  type Outcome,
  pause,
  quietMs,
  refresh,
  refreshedIn,
  type Shown,
  type Step,
  sessionOf,
  token,
  waitMs,
  wayOf,
  whoOf,
  withReferences,
} from './step.ts'
import { describeStep } from './words.ts'

/** The shortest sequence that shows a finding, and how often it did. */
interface Reproduced extends Shown {
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
  // Which sessions are removed follows from many answers, so what seems to contradict them counts only if it is seen again.
  const mayBeToldOnce = !isRefusal(candidate) && !isOfSession(candidate.requirement)
  const isTooLate = (isLongOver(x) || x.hasEnded()) && mayBeToldOnce
  if (creates(entry.step) || isOfEndedKey(candidate) || isTooLate) return once(x, withGaps(x, short, candidate.entry))
  const isLate = laterOn(x)
  return x.beyondBudget(callsPerFinding, async () => {
    let sought = 0
    for (const steps of sequences(x, candidate, short)) {
      if (sought > 0 && isLate()) break
      sought += 1
      const shown = await shows(x, candidate, steps)
      if (shown === null) continue
      // With pauses in it each try takes seconds, so that all of the shortening shares one time.
      const isEnough = laterOn(x)
      const short = await shorter(x, candidate, shown, isEnough)
      const least = await besideOthers(x, candidate, await simpler(x, candidate, short, isEnough))
      const sharesConnection = await needsConnection(x, candidate, least)
      const often = await confirmed(x, candidate, least)
      const isLeast = often.failed === often.tries && (await needsAll(x, candidate, least, isEnough))
      return { ...withoutQuiet(often), sharesConnection, isLeast }
    }
    let failed = 0
    let last: Shown = { steps: short, outcomes: seen }
    let tries = 0
    while (tries < longRuns && (tries === 0 || !(isLate() || hasTooFew(x, 0)))) {
      tries += 1
      const shown = await shows(x, candidate, short)
      // What the end cut off was not tried. A refusal that is not seen again may have met a limit.
      if (shown === null && x.hasEnded() && failed === 0 && mayBeToldOnce)
        return once(x, withGaps(x, short, candidate.entry))
      if (shown === null) continue
      failed += 1
      last = shown
    }
    // A finding that rests on a creation cannot be repeated without another creation.
    if (failed === 0 && (hasCreated(x, candidate.entry) || isAfterCreation(x, candidate)))
      return once(x, withGaps(x, short, candidate.entry))
    const patient = failed === 0 ? await showWithFullPauses(x, candidate, short) : null
    return patient === null ? { ...last, failed, tries } : { ...patient, failed: 1, tries: 1 }
  })
}

/** The longest sum of the pauses when a finding is tried again with the pauses that it first had. In ms. */
const longestFullPausesMs = 20_000

/**
 * Tries the steps once more with the full pauses between them, because a server may forget after ten seconds what it kept for five. Only once,
 * because it takes long.
 */
async function showWithFullPauses(x: Explorer, candidate: Candidate, short: readonly Step[]): Promise<Shown | null> {
  const steps = withGaps(x, short, candidate.entry, longestFullPausesMs)
  const lastsMs = steps.reduce((sum, step) => sum + (isWait(step) ? waitMs(step) : 0), 0)
  const isOfAnswer = candidate.kind === 'accepted' || candidate.kind === 'refused'
  if (!isOfAnswer || lastsMs <= longestGapMs || x.isOver({ calls: steps.length, ms: lastsMs })) return null
  return shows(x, candidate, steps)
}

/** The grant with which an answer is compared. */
function comparedGrant({ log }: Explorer, { comparedWith, entry }: Candidate): Step | undefined {
  if (comparedWith === undefined) return undefined
  const isMeant = ({ params: { scope } }: CallStep): boolean => Array.isArray(scope) && scope.includes(comparedWith)
  return log.slice(0, entry).findLast(({ step }) => isCall(step) && nameOf(step) !== undefined && isMeant(step))?.step
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

/**
 * A session may stay because another key has an older one, which a new instance has not: if it goes once all sessions of other keys are newer,
 * such an older one belongs to the sequence.
 */
async function besideOthers(x: Explorer, candidate: Candidate, least: Shown): Promise<Shown> {
  if (candidate.kind !== 'accepted' || !isOfSession(candidate.requirement)) return least
  const granted = x.log.flatMap(({ seen }) =>
    seen.flatMap(({ step, answer }) => (answer.kind === 'accepted' ? step : [])),
  )
  const session = lastSession(least.steps)
  const others = othersWithSessions(granted, keyOf(session))
  const [first] = others
  if (session === undefined || first === undefined) return least
  const newer = withOthersNewer(least.steps, session, others)
  if (newer === null) return least
  if (hasTooFew(x, newer.length * 2) || newer.length * x.callMs() > longestOthersMs) return least
  if ((await shows(x, candidate, newer, true)) !== null) return least
  return (await shows(x, candidate, afterSessionOfAnother(least.steps, session, first), true)) ?? least
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
  let last: Pick<Shown, 'as' | 'exchange'> = {}
  while (
    tries === 0 ||
    (!isLongOver(x) && tries < runs) ||
    (failed === 0 && tries < most && !isLate() && !hasTooFew(x, 0))
  ) {
    tries += 1
    // The longer forms, or the tries before, may have locked the key for a while.
    const mayBeLocked = candidate.kind === 'refused' && (tries === 1 || outcomes.slice(0, -1).includes('refused'))
    if (mayBeLocked && !(await worksPlainly(x, steps))) await x.wait(lockMs)
    const again = await shows(x, candidate, steps)
    // What the end cut off was not tried.
    if (again === null && x.hasEnded()) {
      tries -= 1
      break
    }
    if (again === null) continue
    failed += 1
    last = { as: again.as, exchange: again.exchange }
  }
  return { steps, outcomes, ...last, failed, tries }
}

/** Whether the keys of the last step are not locked: plain calls with them are accepted. */
async function worksPlainly(x: Explorer, steps: readonly Step[]): Promise<boolean> {
  const plain = steps.slice(-1).flatMap(plainCallsOf)
  return plain.length > 0 && (await areAccepted(x, plain))
}

export const areAccepted = (x: Explorer, calls: readonly { readonly right: CallStep }[]): Promise<boolean> =>
  unreported(x, async () => {
    for (const { right } of calls) if (!(await isAccepted(x, right))) return false
    return true
  })

/** For each key that a step calls with rightly the plainest right call that proves it in the same way. */
export function plainCallsOf(step: Step): { who: string; way: string; right: CallStep }[] {
  return callsOf(step).flatMap((call) => {
    if (call.alter !== undefined) return []
    const user = whoOf(call.auth)
    if (user !== undefined) return [{ who: user, way: wayOf(call.auth), right: list(call.auth, { connection: 'new' }) }]
    const who = grantedTo(call)
    return who === undefined ? [] : [{ who, way: 'grant', right: grant(who, ['solution'], { connection: 'new' }) }]
  })
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
    .some(({ step, seen }) => creates(step) && seen[0]?.answer.kind === 'accepted' && namesLine(x, step, lines))
}

/** The calls that belong to a creation: the first ones of its key, and those that show what it changed. */
const callsAfterCreation = 6

/** Whether a wrong call was accepted directly after a creation, or among the first of its key. A refusal may have other reasons. */
function isAfterCreation({ log }: Explorer, { kind, entry }: Candidate): boolean {
  const used = log[entry] === undefined ? [] : namesIn(log[entry].step)
  return (
    kind === 'accepted' &&
    log.slice(0, entry).some(({ step: creation, seen }, at) => {
      if (!creates(creation) || seen[0]?.answer.kind !== 'accepted') return false
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
    return isBurst(step) || kind === undefined || kind === 'unread' ? 'accepted' : kind
  })
}

/** Fewer steps are left out one by one. */
const fewSteps = 4

/**
 * Leaves out what the last step does not name, then one part after another, halves first and single steps last, as long as the rest still shows
 * the finding. With pauses each try takes seconds.
 */
async function shorter(x: Explorer, candidate: Candidate, shown: Shown, isEnough: () => boolean): Promise<Shown> {
  let least = shown
  const named = restingOn(shown.steps)
  if (named.length < shown.steps.length && shown.steps.length > fewSteps)
    least = (await shows(x, candidate, named)) ?? least
  for (let size = Math.ceil((least.steps.length - 1) / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let end = least.steps.length - 1; end > beginsQuiet(least.steps); end -= size) {
      // A run may end before its last step.
      if (end >= least.steps.length) continue
      if (isEnough() || hasTooFew(x, least.steps.length * (runs + 1))) return least
      const from = Math.max(end - size, beginsQuiet(least.steps))
      const without = least.steps.filter((_, at) => at < from || at >= end)
      if (without.length === least.steps.length || !isWhole(without)) continue
      least = (await shows(x, candidate, without)) ?? least
    }
  return least
}

/** The last step, what makes the names in it, and the pauses. */
export function restingOn(steps: readonly Step[]): Step[] {
  const names = new Set(steps.slice(-1).flatMap(namesIn))
  const kept = steps.toReversed().filter((step, at) => {
    if (at > 0 && !isWait(step) && !madeBy(step).some((name) => names.has(name))) return false
    for (const name of namesIn(step)) names.add(name)
    return true
  })
  return kept.toReversed()
}

/** How often a finding is run in its shortest form. */
const runs = 3
/** The longest time on a running clock for seeing a finding again, for shortening it, and for running its shortest form. */
const longestShrinkMs = 25_000
/** The share of the time left that each of the three may take. */
const shareOfShrink = 1 / 6
/** What each of the three may take near the end of the exploration. In ms. */
const leastShrinkMs = 7000
/** This long before the end, and after it, is near it. In ms. */
const nearEndMs = 15_000

/** The same steps in another form; null if they have no other. */
type Variation = (steps: readonly Step[]) => Step[] | null

/** With fewer refreshes and words of scope, the keys that a reader knows, and plain nonces and params, as far as the finding is still seen. */
async function simpler(x: Explorer, candidate: Candidate, shown: Shown, isEnough: () => boolean): Promise<Shown> {
  /** Makes one simplification after another, as long as the rest shows that the same requirement is broken. */
  const simplified = async (from: Shown, simplifications: readonly Variation[]): Promise<Shown> => {
    let least = from
    for (const simplify of simplifications) {
      const steps = simplify(least.steps)
      if (steps === null) continue
      if (isEnough() || hasTooFew(x, steps.length * (runs + 1))) return least
      least = (await shows(x, candidate, steps, true)) ?? least
    }
    return least
  }
  const single = await oneAtATime(x, candidate, shown)
  const least = await simplified(single, single.steps.map((_, at) => withoutRefresh(at)).toReversed())
  const narrow = await simplified(least, wordsOfGrants(least.steps).map(withoutWord))
  const common = await simplified(narrow, [
    ...withOtherKeys(x, narrow.steps),
    fromSecondAddress,
    withoutNonces,
    ...narrow.steps.map((_, at) => withoutFurtherChange(at)),
  ])
  const ordered = common.steps.map(inDocumentOrder)
  return JSON.stringify(ordered) === JSON.stringify(common.steps)
    ? common
    : ((await shows(x, candidate, ordered)) ?? common)
}

/** One of several calls at once, if its result is wrong when it is made alone, too. */
async function oneAtATime(x: Explorer, candidate: Candidate, shown: Shown): Promise<Shown> {
  const last = shown.steps.at(-1)
  if (candidate.kind !== 'shape' || !isBurst(last)) return shown
  for (const call of callsOf(last)) {
    const alone = await shows(x, candidate, [...shown.steps.slice(0, -1), call], true)
    if (alone !== null) return alone
  }
  return shown
}

/** With the pair that was refreshed in the place of the new one. */
const withoutRefresh =
  (at: number): Variation =>
  (steps) => {
    const step = at === steps.length - 1 ? undefined : steps[at]
    const old = isCall(step) && step.alter === undefined ? refreshedIn(step) : undefined
    const made = isCall(step) ? nameOf(step) : undefined
    if (old === undefined || made === undefined) return null
    const rest = withReferences(steps.slice(at + 1), (name) => (name === made ? old : undefined))
    return [...steps.slice(0, at), ...rest]
  }

/** Calls from the second address in the place of any other, because a target file can name only that. */
function fromSecondAddress(steps: readonly Step[]): Step[] | null {
  const isOther = (step: Step): step is CallStep => isCall(step) && step.from?.endsWith('-address') === false
  return steps.some(isOther) ? steps.map((step) => (isOther(step) ? { ...step, from: 'second-address' } : step)) : null
}

/** What a nonce looks like seldom matters. */
function withoutNonces(steps: readonly Step[]): Step[] | null {
  const plain = steps.map((step): Step => {
    if (!isCall(step)) return step
    const { nonce: _nonce, ...others } = step
    return others
  })
  return JSON.stringify(plain) === JSON.stringify(steps) ? null : plain
}

/** With one change where several were made at once. */
const withoutFurtherChange =
  (at: number): Variation =>
  (steps) => {
    const step = steps[at]
    const [first, ...more] = changesOf(isCall(step) ? step.alter : undefined)
    return isCall(step) && first !== undefined && more.length > 0 ? steps.with(at, changed(step, first)) : null
  }

/** Whether it is no longer seen with each call on a new connection. */
async function needsConnection(x: Explorer, candidate: Candidate, { steps }: Shown): Promise<boolean> {
  const calls = steps.filter(isCall)
  if (calls.length < 2 || hasTooFew(x, steps.length * (runs + 1))) return false
  const apart = steps.map((step): Step => (isCall(step) ? { ...step, connection: 'new' } : step))
  return (await shows(x, candidate, apart, true)) === null && (await shows(x, candidate, steps, true)) !== null
}

/** Whether the exploration ended so long ago that findings are not repeated any more. */
const isLongOver = ({ clock, options: { timeLeftMs } }: Explorer): boolean =>
  !clock.controlled && timeLeftMs() <= -nearEndMs

/** 1 if a sequence begins with a pause, which stays: after it nothing depends on what was done before. */
const beginsQuiet = ([first]: readonly Step[]): number => (isWait(first) ? 1 : 0)

/** More steps are not tried once more, each alone. */
const mostToTry = 12

/** Whether each step and each word of scope is needed: leaves out one at a time. False also where that was not tried. */
async function needsAll(
  x: Explorer,
  candidate: Candidate,
  { steps }: Shown,
  isEnough: () => boolean,
): Promise<boolean> {
  const mine = steps.filter((step) => !isOtherSession(step))
  if (candidate.kind === 'history' || mine.length > mostToTry) return false
  const fewer = [
    ...steps.slice(beginsQuiet(steps), -1).map((_, at) => steps.toSpliced(at + beginsQuiet(steps), 1)),
    ...wordsOfGrants(steps).flatMap((word) => [withoutWord(word)(steps) ?? []]),
  ].filter((one) => one.length > 0 && isWhole(one))
  for (const one of fewer) {
    if (isEnough() || hasTooFew(x, one.length)) return false
    if ((await shows(x, candidate, one, true)) !== null) return false
  }
  return fewer.length > 0 && !x.hasEnded()
}

/** Whether fewer calls are left than these, or the exploration ended long ago. */
const hasTooFew = (x: Explorer, calls: number): boolean => x.isOver({ calls, ms: -nearEndMs })

/**
 * On a running clock, whether one step of the work has taken long enough: other kinds of calls need time, too. A finding of the last seconds
 * may take some more, because one that is not seen again helps nobody.
 */
function laterOn(x: Explorer): () => boolean {
  const { clock } = x
  const { timeLeftMs } = x.options
  const started = clock.now()
  const leftMs = timeLeftMs()
  const leastMs = Math.abs(leftMs) < nearEndMs ? leastShrinkMs : 0
  const longestMs = Math.min(longestShrinkMs, Math.max(shareOfShrink * leftMs, leastMs))
  return () => x.hasEnded() || (!clock.controlled && clock.now() - started > longestMs)
}

/**
 * The scope words of all grants, each with the place of its grant, last first, because the words of areas come last there; without grants of added
 * sessions.
 */
const wordsOfGrants = (steps: readonly Step[]) =>
  steps.flatMap((step, at) => (isOtherSession(step) ? [] : scopeOf(step)).map((word) => ({ at, word })).toReversed())

/** The sequence without one word; null if its grant has no other word, or not this one any more. */
const withoutWord =
  ({ at, word }: ReturnType<typeof wordsOfGrants>[number]): Variation =>
  (steps) => {
    const step = steps[at]
    const scope = step === undefined ? [] : scopeOf(step)
    if (!isCall(step) || scope.length < 2 || !scope.includes(word)) return null
    return steps.with(at, { ...step, params: { ...step.params, scope: scope.filter((one) => one !== word) } })
  }

/** The words of an unchanged grant. */
function scopeOf(step: Step): string[] {
  if (!isCall(step) || step.call !== 'manager/auth' || step.alter !== undefined) return []
  const { scope } = step.params
  return Array.isArray(scope) ? scope.filter((word): word is string => typeof word === 'string') : []
}

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
function* sequences(x: Explorer, { entry, script, kind, requirement }: Candidate, short: Step[]): Generator<Step[]> {
  const used = withGaps(x, closure(x, entry, true).slice(-longestUse), entry)
  // Without the time that passed nothing expires, and on a running clock there is time for few attempts.
  if (kind === 'accepted' && isOfExpiry(requirement) && used.length > short.length) yield used
  yield short
  const granted = lastGrant(short)
  const session = lastSession(short)
  if (kind === 'refused') {
    if (session !== undefined) yield withSessionsAround(short, session)
  } else if (isOfSession(requirement)) {
    if (session !== undefined) {
      yield withNewerSessions(short, session)
      yield withNameAgain(short, session)
    }
    if (isCrowd(short[0])) yield withCrowdUsed(short[0], short)
  }
  if (used.length > short.length) yield used
  const timed = withGaps(x, short, entry)
  if (timed.length > short.length) yield timed
  if (kind === 'accepted' && granted !== undefined) yield withOtherPairs(short, granted)
  const before = x.log.slice(0, entry + 1).filter((one, index) => index === entry || !takesPlace(one))
  const ofScript = before.filter((one) => one.script === script)
  for (const length of lengths) {
    // Earlier activity must be over, or nothing is known about the sessions that are created now.
    const steps = (one: readonly Entry[]): Step[] => [
      pause(quietMs),
      ...withGaps(x, selfContainedSteps([...short, ...one.slice(-length).map(({ step }) => step)]), entry),
    ]
    yield steps(ofScript)
    if (ofScript.length < length) yield steps(before)
    if (ofScript.length <= length && before.length <= length) return
  }
}

/** Whether it says what becomes of a session, and of what belongs to it. */
const isOfSession = (requirement: string): boolean => /^sessions\/|^refresh\/session-kept$/.test(requirement)

function linesOf(x: Explorer, at: number): Set<number> {
  const names = x.log[at] === undefined ? [] : namesIn(x.log[at].step)
  return new Set(names.flatMap((name) => x.lines.get(name) ?? []))
}

const namesLine = (x: Explorer, step: Step, lines: ReadonlySet<number>): boolean =>
  namesIn(step).some((name) => lines.has(x.lines.get(name) ?? -1))

/** A creation that is accepted takes a place, so it is not tried again. */
const creates = (step: Step): boolean => callsOf(step).some(isCreation)

type Entry = Explorer['log'][number]

/** A creation that was refused, as it must be, may be repeated. */
const takesPlace = ({ step, seen }: Entry): boolean =>
  creates(step) && !seen.every(({ verdict, answer }) => verdict.is === 'refused' && answer.kind === 'refused')

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
  !creates(step) && madeBy(step).some((name) => names.includes(name))

/** The call that disabled or deleted one of these keys. */
const endsOneOf = ({ step, script }: Entry, names: readonly string[]): boolean =>
  script === scriptOfEndedKeys &&
  isCall(step) &&
  !isDocumentedMethod(step.call) &&
  namesIn(step).some((name) => name !== 'root' && names.includes(name))

function touches(x: Explorer, entry: Entry, lines: ReadonlySet<number>, uses: boolean): boolean {
  if (takesPlace(entry)) return false
  return callsOf(entry.step).some(
    (call) =>
      (uses || (call.call === 'manager/auth' && call.alter === undefined)) &&
      [nameOf(call) ?? '', ...namesIn(call)].some((name) => lines.has(x.lines.get(name) ?? -1)),
  )
}

/**
 * The steps in the order of the log, each once, with the time that passed between them.
 *
 * @param mostMs the longest sum of all pauses; without it each pause is also limited to `longestGapMs`, and the sum to `longestWaitMs`
 */
function withGaps(x: Explorer, steps: readonly Step[], at: number, mostMs?: number): Step[] {
  const own = new Set(steps)
  const timed = x.log.slice(0, at + 1).filter((one) => own.has(one.step))
  let left = mostMs ?? longestWaitMs
  return timed.flatMap(({ step, at: when }, index): Step[] => {
    const gap = index === 0 ? 0 : when - (timed[index - 1]?.at ?? when)
    const isPause = isWait(step) || isWait(timed[index - 1]?.step)
    // After a shorter pause, too, tokens of a short life have expired.
    const wanted =
      gap > notableGapMs ? Math.min(gap, mostMs ?? longestGapMs) : keepsFineAges(x) && gap >= x.apartMs ? quietMs : 0
    const waited = isPause ? 0 : Math.min(wanted, left)
    left -= waited
    return waited > 0 ? [pause(Math.ceil(waited)), step] : [step]
  })
}

/** Calls that may be made for this, beyond those of the exploration. */
const mostCalls = 200

/** The same finding with one call after another, if it is seen so; otherwise as it is. */
export async function inSequence(x: Explorer, candidate: Candidate): Promise<Candidate> {
  const { kind, entry } = candidate
  const last = x.log[entry]?.step
  // Each creation would take a place.
  if (kind !== 'history' || isRefusal(candidate) || !isBurst(last) || creates(last)) return candidate
  if (isLongOver(x) || hasTooFew(x, 0)) return candidate
  const before = closure(x, entry)
  const isLate = laterOn(x)
  return x.beyondBudget(mostCalls, async () => {
    for (const steps of [before, withGaps(x, before, entry)]) {
      if (isLate()) break
      const single: Candidate = { ...candidate, kind: 'accepted', fact: candidate.requirement }
      const shown = await shows(x, single, [...steps.slice(0, -1), ...callsOf(last)], true)
      const wrong: Step | undefined = shown?.steps.at(-1)
      if (shown !== null && isCall(wrong))
        return { ...single, message: `${describeStep(wrong)} was accepted`, steps: shown.steps }
    }
    return candidate
  })
}

/** After this many pairs a server may have forgotten what it knew of older ones. */
const otherPairs = 24

/** The last grant; undefined if it was a wrong one. */
function lastGrant(steps: readonly Step[]): CallStep | undefined {
  const granted = steps.findLast(
    (step): step is CallStep => isCall(step) && step.params.grantType === 'api_key_credentials',
  )
  return granted?.alter === undefined ? granted : undefined
}

/** The last grant, if it makes a session. */
function lastSession(steps: readonly Step[]): CallStep | undefined {
  const granted = lastGrant(steps)
  return granted !== undefined && sessionOf(granted) !== undefined ? granted : undefined
}

/** Grants of plain sessions, named after a letter and numbered from `first`. */
function sessionsLike({ connection: _kept, ...plain }: CallStep, letter: string, count: number, first = 1): Step[] {
  return Array.from({ length: count }, (_, at): Step => {
    const scope = ['solution', `session:${letter}${at + first}$unique`]
    return withScope(plain, scope, `crowd${at + first}${letter}`)
  })
}

/** The same grant for another scope. */
const withScope = (granted: CallStep, scope: readonly string[], name: string): CallStep =>
  named({ ...granted, params: { ...granted.params, scope } }, name)

/** The same steps; before the last one, the key of a grant gets sixteen sessions more, when all others have been quiet for some time. */
const withNewerSessions = (steps: readonly Step[], granted: CallStep): Step[] =>
  steps.toSpliced(-1, 0, pause(quietMs), ...sessionsLike(granted, 'n', sessionLimit))

/** The same steps; the session of a grant is removed by sixteen newer ones, and its name is used again. */
function withNameAgain(steps: readonly Step[], granted: CallStep): Step[] {
  const scope = ['solution', `session:${sessionOf(granted)}`]
  return withNewerSessions(steps, granted).toSpliced(-1, 0, withScope(granted, scope, 'other0'))
}

/** The same steps after an older session of another key. */
function afterSessionOfAnother(steps: readonly Step[], granted: CallStep, by: string): Step[] {
  return [...withKey(sessionsLike(granted, 'b', 1), { key: keyOf(granted), by }), pause(quietMs), ...steps]
}

/** A server that removes the oldest session of all users may hold more than sixteen of a key, so one round does not replace all of them. */
const roundsOfOthers = 24

/** The same steps; every session of other keys is newer than that of the first grant, and older than those that were put in. */
function withOthersNewer(steps: readonly Step[], granted: CallStep, keys: readonly string[]): Step[] | null {
  const crowd = steps.findIndex(isOtherSession)
  if (crowd < 0) return null
  const ofOthers = Array.from({ length: roundsOfOthers }, (_, round): Step[] => {
    const by = keys[round % keys.length] ?? ''
    return withKey(sessionsLike(granted, 'b', sessionLimit, round * sessionLimit + 1), { key: keyOf(granted), by })
  })
  return [...steps.slice(0, crowd), ...ofOthers.flat(), pause(quietMs), ...steps.slice(crowd)]
}

/** Keys but this one that were granted sessions; first one that is simply created again. */
function othersWithSessions(granted: readonly Step[], own: string): string[] {
  const keys = granted.map((step) => keyOf(lastSession([step]))).filter((key) => key !== '' && key !== own)
  return [...new Set(keys)].sort((one, other) => Number(other === 'by-basic') - Number(one === 'by-basic'))
}

/** The key to which a grant goes. */
const keyOf = (granted: CallStep | undefined): string => (granted === undefined ? '' : (grantedTo(granted) ?? ''))

/** The same steps; the key of a grant has sixteen older sessions, and gets as many newer ones as may exist beside its own. */
function withSessionsAround(steps: readonly Step[], granted: CallStep): Step[] {
  const wait: Step = pause(quietMs)
  const [older, newer] = [sessionsLike(granted, 'o', sessionLimit), sessionsLike(granted, 'n', sessionLimit - 1)]
  return [wait, ...older, wait, ...steps.slice(0, -1), ...newer, ...steps.slice(-1)]
}

/** The same steps; before the last one, the key of a grant is granted other pairs, and refreshes them. */
function withOtherPairs(steps: readonly Step[], { connection: _kept, ...plain }: CallStep): Step[] {
  const more = Array.from({ length: otherPairs }, (_, at): Step[] => {
    const pair = `other${at}`
    return [withScope(plain, ['solution'], pair), refresh(pair, { as: `${pair}-next` })]
  })
  return steps.toSpliced(-1, 0, ...more.flat())
}

/**
 * The same steps, which begin with a crowd: the key has sixteen older sessions, so that its sessions are known, and the token of every grant is
 * used before the last step. Which of the sessions were removed, only all of them together tell.
 */
function withCrowdUsed(crowd: BurstStep, [, ...rest]: readonly Step[]): Step[] {
  const wait: Step = pause(quietMs)
  const older = callsOf(crowd)
    .slice(0, 1)
    .flatMap((first) => sessionsLike(first, 'o', sessionLimit))
  const uses = madeBy(crowd).map((pair) => list(token(pair)))
  return [wait, ...older, wait, crowd, ...uses, ...rest]
}

const root = 'root'
const firstWithPublicKey = 'ecc-a'

/** A key with a secret gives way to the root key, one with a public key to the first of them. */
export function withOtherKeys({ names }: Explorer, steps: readonly Step[]): Variation[] {
  const used = [...new Set(steps.flatMap(namesIn))]
  return used.flatMap((key) => {
    const value = names.get(key)
    if (value?.id === undefined) return []
    const by = [root, firstWithPublicKey].find((one) => {
      const other = names.get(one)
      return one !== key && other?.id !== undefined && (other.seed === undefined) === (value.seed === undefined)
    })
    return by === undefined || key === root ? [] : [(before) => withKey(before, { key, by })]
  })
}

/** The same steps with another key in its place. */
const withKey = (steps: readonly Step[], { key, by }: { readonly key: string; readonly by: string }): Step[] =>
  withReferences([...steps], (name) => (name === key ? by : name === `${key}-own` ? `${by}-own` : undefined))

/** Whether every pair that a step names is made by an earlier one. */
const isWhole = (steps: readonly Step[]): boolean => selfContainedSteps(steps).length === steps.length

/** The steps that name only pairs which earlier ones make: a part of the log may begin after the grant of a pair. */
function selfContainedSteps(steps: readonly Step[]): Step[] {
  const made = new Set<string>()
  return steps.filter((step) => {
    const own = madeBy(step)
    if (namesIn(step).some((name) => isMade(name) && !made.has(name) && !own.includes(name))) return false
    for (const name of own) made.add(name)
    return true
  })
}

/** Names of what a sequence makes, as `freshName` gives them; those of keys are not. */
const isMade = (name: string): boolean => /^(pair|race|crowd|burst|sent|other)\d/.test(name)

// Runs a sequence of steps again, and looks whether it shows the finding again.

/** Which of several facts a refusal breaks depends on what was shown before, so that only the kind need be the same. */
const isSame = (found: Candidate, candidate: Candidate): boolean =>
  found.kind === candidate.kind && (found.kind !== 'shape' || found.requirement === candidate.requirement)

/**
 * Whether two requirements are broken alike: each limits tokens to one API area. Of a scope of several areas the model names the first, but
 * the finding may need only another.
 */
const isAlike = (one: string, other: string): boolean => one === other || (isOfArea(one) && isOfArea(other))
const isOfArea = (requirement: string): boolean => areas.some((area) => requirement === `scopes/${area}`)

/** Whether a right call was refused or not answered. It may have met a limit or a lock, so it counts only if it is seen again. */
export const isRefusal = ({ kind, outcome }: Candidate): boolean => ['refused', 'broken'].includes(outcome ?? kind)

/** After some refusals nothing is expected of a key any more. If no call was ever accepted, each further refusal shows again that it does not work. */
function neverWorked({ log }: Explorer, { kind, requirement, entry }: Candidate): boolean {
  if (kind !== 'refused' || requirement !== 'keys/created-key-works') return false
  const used = log[entry] === undefined ? [] : namesIn(log[entry].step)
  return log.every(
    ({ step, seen }) =>
      !namesIn(step).some((name) => used.includes(name)) || seen.every(({ answer }) => answer.kind === 'refused'),
  )
}

let replays = 0

/**
 * Runs a sequence again, with new names, until a step shows the finding. An earlier step than the last may do so, if it breaks the same
 * requirement: after a contradiction the model may know too little to judge the last one.
 *
 * @param isStrict the last step, too, must break the same requirement
 * @returns the steps up to that one; null if none shows it
 */
async function shows(
  x: Explorer,
  candidate: Candidate,
  steps: readonly Step[],
  isStrict = false,
): Promise<Shown | null> {
  const before = x.report
  const script = x.script
  let shown = false
  let as: Shown['as']
  let exchange: Shown['exchange']
  let isLast = false
  x.report = (found) => {
    const { requirement, fact } = found
    const isMeant = isAlike(requirement, candidate.requirement)
    if (!isSame(found, candidate) || (!isMeant && (!isLast || isStrict))) return
    shown = true
    exchange = x.showLatest()
    as = isMeant && requirement !== candidate.requirement ? { requirement, fact } : undefined
  }
  x.script = 'again'
  // What is told must hold for a target that keeps ages in whole seconds, too.
  const isFine = keepsFineAges(x)
  if (isFine) x.keepsFineAges(false)
  replays += 1
  const mine = new Map(steps.flatMap(madeBy).map((name) => [name, `${name}r${replays}`]))
  const made: Step[] = []
  const outcomes: Outcome[] = []
  const make = async (step: Step, next?: CallStep): Promise<void> => {
    const again = <One extends Step>(one: One): One => renamed(one, mine, `r${replays}`)
    outcomes.push(await run(x, again(step), next && again(next)))
    made.push(step)
  }
  try {
    for (const [index, step] of steps.entries()) {
      isLast = index === steps.length - 1
      if (isLast && isOfExpiry(candidate.requirement) && isCall(step)) {
        const isOpen = x.foresee(renamed(step, mine, `r${replays}`))?.is === 'open'
        if (isOpen) await make(pause(nearExpiryMs))
      }
      await make(step, steps.slice(index).find(isCall))
      if (isLast && neverWorked(x, candidate) && outcomes.at(-1) === 'refused') shown = true
      if (shown) return { steps: made, outcomes, as, exchange }
    }
  } finally {
    x.report = before
    x.script = script
    if (isFine) x.keepsFineAges(true)
  }
  return null
}

/** A replay takes less time than the calls that it repeats, so that it may come before the model is sure that a token has expired. In ms. */
const nearExpiryMs = 1250

/** Whether pauses between sessions are shorter than where ages may be kept in whole seconds. */
const keepsFineAges = ({ apartMs }: Explorer): boolean => apartMs < quietMs / 2

/** @param next the call after a pause */
async function run(x: Explorer, step: Step, next: CallStep | undefined): Promise<Outcome> {
  if ('wait' in step) await waitFor(x, waitMs(step), next)
  else if (isBurst(step)) await x.burst(step)
  else {
    const kind = (await x.call(step))?.answer.kind
    return kind === undefined || kind === 'unread' ? 'broken' : kind
  }
  return 'accepted'
}

/** A kept connection is closed after some seconds without calls. */
const longestQuietMs = 2000

/** Waits; on a running clock, right calls keep the connection of the next call open, because the finding may rest on it. */
async function waitFor(x: Explorer, ms: number, next: CallStep | undefined): Promise<void> {
  const keeps = !x.clock.controlled && next !== undefined && next.connection !== 'new'
  for (let left = ms; left > 0; left -= longestQuietMs) {
    await x.wait(keeps ? Math.min(left, longestQuietMs) : left)
    if (!keeps) return
    const { connection = 0, from } = next
    if (left > longestQuietMs)
      await unreported(x, () => x.call(list(x.byRoot, { connection, ...(from === undefined ? {} : { from }) })))
  }
}

/** Calls of no sequence show no finding. */
export async function unreported<Result>(x: Explorer, make: () => Promise<Result>): Promise<Result> {
  const { report } = x
  x.report = () => {}
  try {
    return await make()
  } finally {
    x.report = report
  }
}

/** @param names what a step makes and uses, by its old name; `mark` is put before `$unique`, and its digits before `$digits`, so that sessions and keys get new names too */
function renamed<S extends Step>(step: S, names: ReadonlyMap<string, string>, mark: string): S {
  if ('wait' in step) return step
  const text = JSON.stringify(step).replace(/\$\{?(unique|digits)\b/g, (whole, name: string) =>
    name === 'unique' ? `${mark}-${whole}` : `${mark.replace(/\D/g, '')}${whole}`,
  )
  const next = withReferences(JSON.parse(text) as Exclude<Step, { wait: string }>, (name) => names.get(name))
  const own = <One extends Pick<CallStep, 'keep' | 'connection'>>(one: One): One => {
    const { connection = 0 } = one
    const name = nameOf(one)
    return {
      ...one,
      ...(typeof connection === 'number' ? { connection: `${connection} ${mark}` } : {}),
      ...(name === undefined ? {} : { keep: { [names.get(name) ?? name]: 'result' } }),
    }
  }
  return { ...own(next), ...(isBurst(next) ? { beside: next.beside.map(own) } : {}) } as S
}
