/** Runs one case, as often as what happened meanwhile makes worthwhile, and returns its outcome. */

import { SuiteError } from '../errors.ts'
import { type JsonObject, membersIn, membersOf } from '../json.ts'
import { showJson, summarizeAnswer } from '../judge/classify.ts'
import {
  type Attempt,
  type Called,
  type CaseStop,
  endOfTimestampsMs,
  expiryProblem,
  judgeStep,
  readable,
  roundingMs,
  stepEnd,
  stopsOf,
  type TakenStep,
  takenStep,
} from '../judge/judge-case.ts'
import type { CaseOutcome, Effect, Obstacle, ProblemFacts } from '../judge/problem.ts'
import type { CallStep, Case, Scenario, SendStep, Step } from '../language/fixture-types.ts'
import {
  caseKey,
  judgementOf,
  type Names,
  parseDuration,
  referencesIn,
  resolve,
  UnresolvedReference,
  valueAt,
  withCase,
} from '../language/resolve.ts'
import { claimsOf, hasRace, limitOf, provesOf, testKeysUsed, unjudged } from './cases.ts'
import {
  type Conversation,
  type CreatedKey,
  closeConversation,
  isMustIn,
  isSendable,
  openConversation,
  type Run,
  standInOf,
  UnsendableCredentials,
  UnusableValue,
} from './conversation.ts'
import { ensureTestKeys } from './create-test-keys.ts'
import { observationOf } from './observed.ts'
import { recordCase } from './outcome.ts'
import { isAway, listSolutions, makeCall, makeCalls, sendRaw, serverNow } from './send.ts'
import { causeByOthers, explainRefusal, findSpoiler } from './spoilers.ts'
import { builtInNames, callSpec, hasRounds, rawSpec, roundsOf } from './step-calls.ts'
import {
  mayBeLost,
  noteLost,
  noteSilence,
  offsetUncertaintyMs,
  patienceForRefusalMs,
  type TargetFacts,
} from './target-facts.ts'

/** How often a case is tried when the server's clock jumps, a call is throttled, an answer comes too late or a preparation no longer holds. */
const mostTries = 3

/** What a case showed, and whether the cases that ran at the same time may be the reason. */
interface RanCase extends CaseOutcome {
  /** `time`: they only made its calls late. */
  mayBeOfOthers?: NonNullable<ReturnType<typeof causeByOthers>>
}

/** Runs one case and returns its outcome. Never throws because of the target's behaviour. */
export async function runCase(run: Run, scenario: Scenario, testCase: Case): Promise<RanCase> {
  const startedMs = performance.now()
  let calls = 0
  for (let number = 1; ; number += 1) {
    const shared = await openConversation(run)
    // Cases on one server share a conversation, so each counts its own calls.
    const talk = {
      ...shared,
      calls: 0,
      skipsSessionWaits: number === 1 && maySkipSessionWaits(shared, scenario),
      caseKey: caseKey(scenario, testCase),
      isUrgent: run.target.lasting && isWaitedFor(claimsOf({ scenario, testCase })),
    }
    try {
      const outcome = await tryCase(talk, scenario, testCase, number)
      calls += talk.calls
      if (outcome !== 'again') {
        noteSpoilt(run, scenario, outcome)
        return { ...outcome, calls, durationMs: Math.round((performance.now() - startedMs) * 10) / 10 }
      }
    } finally {
      await closeConversation(talk)
    }
  }
}

/**
 * Whether other cases wait for the end of this one: those that create keys or fill a limit run one after another, and those that fill the
 * sessions come after all that name one. How long they take decides how long a run takes.
 */
const isWaitedFor = ({ makesKeys, fills, named }: ReturnType<typeof claimsOf>): boolean =>
  makesKeys || fills !== null || named > 0

/**
 * A case waits a second before it creates younger sessions, because a server may store the time of a session in seconds. Most servers need
 * no wait: the case first runs without it, and only if it does not pass, again with it.
 */
function maySkipSessionWaits({ facts, instance }: Conversation, scenario: Scenario): boolean {
  if (instance.clock.controlled || facts.needsSessionWaits === true) return false
  return limitOf(scenario) === 'sessions' && scenario.proves.length > 0
}

/** One try: makes sure that the test keys exist, runs the steps, and records the result unless something spoilt it. */
async function tryCase(
  talk: Conversation,
  scenario: Scenario,
  testCase: Case,
  number: number,
): Promise<RanCase | 'again'> {
  const { facts, createdKeys } = talk
  const obstacle = obstacleBefore(talk, scenario, testCase)
  if (obstacle !== undefined) return unjudged(scenario, testCase, 'blocked', obstacle)
  const testKeys = testKeysOfCase(talk, scenario, testCase)
  const missing = await ensureTestKeys(talk, testKeys)
  if (missing !== undefined) return unjudged(scenario, testCase, missing.verdict, missing.problem)
  const jumpsBefore = facts.clockJumps
  const perhapsCounted = createdKeys.perhapsCounted + createdKeys.unanswered.length
  const attempt = await attemptCase(talk, { scenario, testCase, testKeys, number })
  const stops = stopsOf(attempt)
  const jumped = facts.clockJumps > jumpsBefore && stops.length > 0
  if (talk.skipsSessionWaits && stops.some(({ kind }) => kind === 'broke')) {
    facts.needsSessionWaits = true
    return 'again'
  }
  if (number < mostTries && (jumped || deservesAnotherTry(scenario, attempt, stops))) return 'again'
  const lost = stops.some(isLostOnTheWay)
  if (number === 1 && lost && mayRepeatLost(talk, scenario)) return 'again'
  if (number > 1) noteLost(facts, !lost)
  if (jumped) return unjudged(scenario, testCase, 'blocked', { kind: 'clock-jumped' })
  const suspect = { talk, scenario, testCase, stops, perhapsCounted }
  const spoilt = await findSpoiler(suspect)
  if (spoilt?.hasEnded && number < mostTries) return 'again'
  if (spoilt !== undefined) return unjudged(scenario, testCase, spoilt.verdict, spoilt.problem)
  const outcome = recordCase({ talk, scenario, testCase, attempt }, await explainRefusal(suspect, attempt.taken))
  const cause = outcome.verdict === 'passed' ? undefined : causeByOthers(stops)
  return cause === undefined ? outcome : { ...outcome, mayBeOfOthers: cause }
}

/** The test keys that a case uses, with the stand-in for a root key without a secret. */
function testKeysOfCase(talk: Conversation, scenario: Scenario, testCase: Case): Set<string> {
  const { testKeys } = talk.run.corpus
  const names = testKeys.map(({ name }) => name)
  const used = testKeysUsed(scenario, testCase, names)
  if (used.has('root')) used.add(standInOf(testKeys, talk.instance.root))
  return used
}

function deservesAnotherTry(scenario: Scenario, { taken }: Attempt, stops: readonly CaseStop[]): boolean {
  const isTimed = [...scenario.given, ...scenario.steps].some((step) => 'wait' in step || step.before !== undefined)
  const cameTooLate = stops.some(({ kind }) => kind === 'too-late' || kind === 'preparation-lost')
  const wasThrottled = taken.some(({ calls }) => calls.some(({ throttled }) => throttled > 0))
  // Keys are removed only after the case has ended, so a case that creates keys is repeated only for reasons of time.
  return (isTimed && wasThrottled) || (cameTooLate && (isTimed || !scenario.needs.includes('keys')))
}

/** A call with an effect is not made again when its answer is lost, and a target may lose one: only a second loss is a failure. */
const isLostOnTheWay = ({ kind, inPreparation, called }: CaseStop): boolean =>
  (kind === 'broke' || inPreparation === true) && called.some(({ answer }) => isAway(answer))

/** A case that fills the places for keys would find none the second time. */
const mayRepeatLost = ({ facts, instance }: Conversation, scenario: Scenario): boolean =>
  !instance.clock.controlled && mayBeLost(facts) && limitOf(scenario) !== 'keys'

/** Returns why a case cannot even begin, because of what the run has shown so far; undefined if it can. */
function obstacleBefore({ run, facts }: Conversation, scenario: Scenario, testCase: Case): Obstacle | undefined {
  if (run.stopping.reason !== null) return { kind: 'not-run', because: run.stopping.reason }
  const limit = limitOf(scenario)
  const by = limit === undefined ? undefined : run.spoilt.get(limit)
  // More keys than the limit allows spoil only how many there are, which the case leaves out.
  const isSpoilt = limit === 'sessions' || scenario.proves.length === 0
  if (limit !== undefined && by !== undefined && run.target.lasting && isSpoilt)
    return { kind: 'limit-spoilt', what: limit, by }
  if (facts.tokenWord === undefined) return undefined
  // If no token prefix is known to work, cases that send tokens would fail for that reason alone.
  const sends = (steps: Step[]): boolean => steps.some((step) => sendsToken(withCase(step, testCase.values)))
  const prepares = sends(scenario.given)
  if (!prepares && !sends(scenario.steps)) return undefined
  const judgesIt = !prepares && (testCase.proves ?? scenario.proves).every((id) => id === tokensWork)
  // A prefix that the user gives must work in its cases.
  return facts.tokenWord.kind === 'not-accepted' && judgesIt
    ? undefined
    : { kind: 'no-token-word', because: facts.tokenWord }
}

function sendsToken(step: Step): boolean {
  if ('wait' in step) return false
  const auth = 'call' in step ? step.auth : step.send.auth
  return typeof auth === 'object' && 'token' in auth
}

/** Remembers a limit that a case broke: it leaves the target beyond it, which spoils later cases about the limit. */
function noteSpoilt(run: Run, scenario: Scenario, { key, verdict }: Pick<CaseOutcome, 'key' | 'verdict'>): void {
  const limit = limitOf(scenario)
  if (limit !== undefined && hasRace(scenario) && verdict === 'failed' && !run.spoilt.has(limit))
    run.spoilt.set(limit, key)
}

// One try: its steps in order until one ends it, each with its calls or its wait, and each judged.

type PlacedStep = Attempt['left'][number]

type Trying = Parameters<typeof builtInNames>[1]

interface CaseContext {
  talk: Conversation
  names: Names
  /** Names that have no value because a `refused-or` step was refused; later steps that use them are skipped. */
  notGiven: Set<string>
  /** Names of times that the case requested. Judging by them needs no knowledge of the server's clock. */
  requestedTimes: Set<string>
  /** The case that left more keys than the limit allows, so that counting them says nothing. */
  spoilt: string | undefined
}

/** Runs the given steps and then the others, in order, until one ends the case. */
async function attemptCase(talk: Conversation, trying: Trying): Promise<Attempt> {
  const { scenario, testCase } = trying
  const names = builtInNames(talk, trying)
  const spoilt = talk.run.target.lasting && limitOf(scenario) === 'keys' ? talk.run.spoilt.get('keys') : undefined
  const context = { talk, names, notGiven: new Set<string>(), requestedTimes: new Set<string>(), spoilt }
  const isMust = isMustIn(talk.run.corpus)
  const steps = placeSteps(scenario, testCase)
  const taken: TakenStep[] = []
  const left: PlacedStep[] = []
  // A count is no preparation: what later steps say of other requirements is judged, whatever was counted.
  let counted: PlacedStep | undefined
  for (const [index, placed] of steps.entries()) {
    if (counted?.proves.some((id) => placed.proves.includes(id))) {
      left.push(placed)
      continue
    }
    const one = await takeStep(context, placed)
    taken.push(one)
    const { kind } = one.verdict
    // A warning ends nothing: the steps after it can still be judged.
    const ends = kind === 'broke' ? one.proves.some(isMust) : kind !== 'held' && kind !== 'nothing-expected'
    if (!ends) continue
    const unjudged = placed.proves.filter((id) => !one.proves.includes(id))
    if (unjudged.length > 0) left.push({ ...placed, proves: unjudged })
    const isCount = isUpperBound(placed) && (spoilt !== undefined || (kind === 'broke' && hasRace(scenario)))
    if (!isCount || counted !== undefined) return { taken, left: [...left, ...steps.slice(index + 1)] }
    counted = placed
  }
  return { taken, left }
}

/** Whether a step checks that at most a number of credentials work. */
const isUpperBound = ({ step, given }: PlacedStep): boolean =>
  !given && 'tally' in step && String(step.tally?.accepted).startsWith('at-most')

function placeSteps(scenario: Scenario, testCase: Case): PlacedStep[] {
  const everything = provesOf({ scenario, testCase })
  const own = testCase.proves ?? scenario.proves
  const place =
    (given: boolean) =>
    (raw: Step): PlacedStep => {
      const step = withCase(raw, testCase.values)
      return { step, given, proves: given ? everything : (step.proves ?? own) }
    }
  return [...scenario.given.map(place(true)), ...scenario.steps.map(place(false))]
}

/** Runs one step and has it judged. */
async function takeStep(context: CaseContext, placed: PlacedStep): Promise<TakenStep> {
  const { talk, names, spoilt } = context
  const { step } = placed
  const { reason } = talk.run.stopping
  if (reason !== null) return takenStep(placed, stepEnd('blocked', { kind: 'not-run', because: reason }))
  if (spoilt !== undefined && isUpperBound(placed))
    return takenStep(placed, stepEnd('blocked', { kind: 'limit-spoilt', what: 'keys', by: spoilt }))
  try {
    if ('wait' in step) {
      const wait = resolve(step.wait, names) as Wait
      const end = await waitStep(talk, wait, isRequestedTime(step.wait, context))
      return takenStep(placed, end ?? { kind: 'nothing-expected' })
    }
    return await takeCalls(context, { ...placed, step })
  } catch (error) {
    return takenStep(placed, judgeNotCalled(error, placed, context))
  }
}

type Calling = PlacedStep & { step: Exclude<Step, { wait: unknown }> }

async function takeCalls(context: CaseContext, placed: Calling): Promise<TakenStep> {
  const { talk, names, notGiven } = context
  const { step, given, proves } = placed
  const { unless } = step as Partial<CallStep>
  if (unless !== undefined && names[unless.slice(1)] !== undefined)
    return takenStep(placed, { kind: 'nothing-expected' })
  const calls = await perform(talk, step, names)
  const kept = Object.entries(step.keep ?? {})
  for (const [name, path] of kept) {
    const values = calls.map((called) => valueAt(readable(called), path)).filter((value) => value !== undefined)
    names[name] = hasRounds(step) ? values : values[0]
    if (path === requestedTime) context.requestedTimes.add(name)
  }
  if (calls.length === 0) {
    const isEmpty = judgementOf(step) !== undefined
    const end = stepEnd('not-testable', { kind: 'empty-list', list: String(step.for) })
    return takenStep(placed, isEmpty ? end : { kind: 'nothing-expected' })
  }
  noteSessionFacts(talk.facts, step, calls)
  const observed = observationOf(step, calls, names)
  if (observed !== undefined) return takenStep(placed, { kind: 'nothing-expected' }, calls, observed)
  const judgesByOwnTime = isRequestedTime(step.before, context)
  const verdict = judgeStep(step, calls, names, {
    given,
    proves,
    schemas: talk.run.corpus.schemas,
    clockIsKnown: isClockKnown(talk) || judgesByOwnTime,
    tokenClockAheadMs: judgesByOwnTime ? 0 : tokenClockDoubt(talk.facts).aheadMs,
    refreshLifeMs: talk.facts.refreshLifeMs,
    judgeRefusal: talk.run.judgeRefusal,
  })
  if (verdict.kind === 'held') {
    const isOptional = typeof step.expect === 'object' && 'refused-or' in step.expect
    if (isOptional && verdict.sides.includes('refused')) for (const [name] of kept) notGiven.add(name)
  }
  return takenStep(placed, verdict, calls)
}

/** The path of a time that follows from the request alone, not from anything the server reported. */
const requestedTime = 'sent.expiry'

const isRequestedTime = (wait: unknown, { requestedTimes }: CaseContext): boolean =>
  referencesIn(wait).some(({ reference }) => requestedTimes.has(reference))

/** The verdict on a step whose call could not be made. */
function judgeNotCalled(
  error: unknown,
  { step, given, proves }: PlacedStep,
  { notGiven }: CaseContext,
): TakenStep['verdict'] {
  if (error instanceof UnresolvedReference) {
    const [name = ''] = error.reference.slice(1).split('.')
    if (!notGiven.has(name)) return stepEnd('blocked', { kind: 'value-missing', reference: error.reference })
    // The values that this step would have kept are missing too.
    for (const kept of Object.keys(('keep' in step && step.keep) || {})) notGiven.add(kept)
    return { kind: 'nothing-expected' }
  }
  if (error instanceof UnusableValue) {
    return stepEnd('blocked', { kind: 'value-unusable', wanted: error.wanted, got: error.got })
  }
  if (error instanceof UnsendableCredentials && error.isToken && !('wait' in step) && step.expect !== 'refused') {
    return stepEnd(!given && proves.includes(tokensWork) ? 'broke' : 'blocked', { kind: 'token-unsendable' })
  }
  // The mistake changes nothing at this target: its scheme word may already be in capitals.
  if (error instanceof SuiteError && error.code === 'fixture') {
    return stepEnd('not-testable', { kind: 'cannot-be-sent', reason: error.message })
  }
  throw error
}

/** The requirement that access tokens authorize calls: a token breaks it that no header can carry. */
const tokensWork = 'tokens/authorize'

/** Makes every call of a step: one, or those of repeat, parallel or for. */
async function perform(talk: Conversation, step: CallStep | SendStep, names: Names): Promise<Called[]> {
  if (!('send' in step) && (step.parallel !== undefined || step.beside !== undefined))
    return performTogether(talk, step, names)
  const rounds = roundsOf(step, names)
  const make = async (round: Names): Promise<Called> => {
    const called = await makeRound(talk, step, round, rounds.length)
    if (mayBeRefused(step)) await confirmRefusals(talk, [called])
    return called
  }
  if (talk.limit.atOnce > 1 && !isOrdered(step)) return Promise.all(rounds.map(make))
  const calls: Called[] = []
  for (const [index, round] of rounds.entries()) {
    calls.push(await make(round))
    if (talk.limit.atOnce > 1 && isFull(step, calls))
      return [...calls, ...(await Promise.all(rounds.slice(index + 1).map(make)))]
  }
  return calls
}

/** After this number of refusals in a row a limit counts as reached. */
const refusalsWhenFull = 2

/**
 * Whether the creations of a step meet the limit of keys. Those that follow change nothing then, so they may be under way at once. If one is
 * accepted all the same, the limit must hold for simultaneous creations too.
 */
function isFull(step: CallStep | SendStep, calls: readonly Called[]): boolean {
  if ('send' in step || step.call !== 'manager/createApiKey') return false
  const last = calls.slice(-refusalsWhenFull)
  return last.length === refusalsWhenFull && last.every(({ answer }) => answer.outcome === 'refused')
}

/** Whether the rounds of a step must run one after another. They need not if they change nothing and only their sum counts. */
function isOrdered(step: CallStep | SendStep): boolean {
  if ('send' in step || step.call !== 'solution/listSolutions') return true
  // A server may answer repeated calls differently one after another than all at once.
  return step.observe !== undefined && step.for === undefined
}

/**
 * Calls at once: equal ones, one of them for each item of `for`, and others beside them. Only the calls of the step itself are judged, so what
 * those beside keep is kept here. Every second race uses connections that carried calls before, unless the step says which.
 */
async function performTogether(talk: Conversation, step: CallStep, names: Names): Promise<Called[]> {
  const { for: items, beside = [], ...race } = step
  const rounds = items === undefined ? [names] : roundsOf({ ...step, parallel: undefined } as never, names)
  const others = beside.map((one): CallStep => ({ ...one, at: step.at }))
  const calls: Called[] = []
  for (const [round, inRound] of rounds.entries()) {
    const connections = step.connections ?? (round % 2 === 0 ? 'new' : 'warm')
    const racers = roundsOf(race, inRound)
    const sharedBy = rounds.length * (racers.length + others.length)
    const specs = [
      ...racers.map((one) => callSpec(talk, race, one)),
      ...others.map((one) => callSpec(talk, one, inRound)),
    ].map((spec) => ({ ...spec, warmConnection: connections === 'warm', sharedBy }))
    // In memory there is nothing to warm up.
    if (connections === 'warm' && talk.instance.endRaces !== undefined) await warmUp(talk, specs.length)
    const made = await makeCalls(talk, specs)
    await talk.instance.endRaces?.()
    const judged = made.slice(0, racers.length)
    if (mayBeRefused(step)) await confirmRefusals(talk, judged)
    for (const [at, called] of made.slice(racers.length).entries())
      for (const [name, path] of Object.entries(beside[at]?.keep ?? {})) names[name] = valueAt(readable(called), path)
    for (const called of judged) calls.push({ ...called, race: { round, connections } })
  }
  return calls
}

/** Makes ordinary calls at once, so that enough connections are open for a race. */
async function warmUp(talk: Conversation, connections: number): Promise<void> {
  const call = { method: 'solution/listSolutions', params: {}, auth: { key: 'root' }, warmConnection: true } as const
  await makeCalls(
    talk,
    Array.from({ length: connections }, () => call),
  )
}

async function makeRound(
  talk: Conversation,
  step: CallStep | SendStep,
  names: Names,
  sharedBy: number,
): Promise<Called> {
  const timeoutMs = mayBeRefused(step) ? patienceForRefusalMs(talk) : undefined
  if ('send' in step) return sendRaw(talk, { ...rawSpec(talk, step, names), timeoutMs, sharedBy })
  const mustBeRefused = step.expect === 'refused'
  const called = await makeCall(talk, { ...callSpec(talk, step, names), timeoutMs, sharedBy, mustBeRefused })
  const { step: madeBy } = membersOf(names.it) as Pick<CreatedKey, 'step'>
  return madeBy !== undefined && madeBy.caseKey === talk.caseKey ? { ...called, keyMadeBy: madeBy.title } : called
}

/** Whether reported times can be judged, because the server's answers carry a Date header that did not jump. */
function isClockKnown({ facts }: Conversation): boolean {
  return facts.offset !== undefined && facts.clockWasSet !== true
}

/** A clock is not moved beyond this: the times of later calls must still have 13 digits. */
const latestTimeMs = endOfTimestampsMs - 366 * 86_400_000

/** Time for a call between the end of an `until` wait and the margin. */
const roomForCallMs = 200

type Wait = string | { past: unknown } | { until: unknown }

/**
 * Waits, or returns why it cannot.
 *
 * @param isRequestedTime the case requested the time; the server did not report it
 */
async function waitStep(
  talk: Conversation,
  wait: Wait,
  isRequestedTime: boolean,
): Promise<ReturnType<typeof stepEnd> | undefined> {
  const { clock, settings } = talk.instance
  if (typeof wait === 'object' && !isRequestedTime && !isClockKnown(talk))
    return stepEnd('not-testable', { kind: 'clock-unknown' })
  const ms = waitMs(talk, wait, isRequestedTime ? { behindMs: 0, aheadMs: 0 } : tokenClockDoubt(talk.facts))
  if (typeof ms === 'object') return stepEnd('blocked', ms)
  if (talk.skipsSessionWaits && typeof wait === 'string') return undefined
  const isTooLong = clock.controlled ? serverNow(talk) + ms > latestTimeMs : ms > settings.maxWaitMs
  if (isTooLong) return stepEnd('not-testable', { kind: 'wait-too-long', waitMs: ms })
  await sleepAs(talk, ms)
  return undefined
}

/** Waits, and announces it, because other cases may run meanwhile. */
async function sleepAs({ caseKey, emit, instance: { clock } }: Conversation, ms: number): Promise<void> {
  if (caseKey !== null) emit({ kind: 'wait-started', key: caseKey, untilMs: clock.now() + ms })
  await clock.sleep(ms)
  if (caseKey !== null) emit({ kind: 'wait-ended', key: caseKey })
}

/** How long a wait takes from now, in ms; `past` ends a second after a time on the server's clock, `until` over a second before. */
function waitMs(talk: Conversation, wait: Wait, doubt: ReturnType<typeof tokenClockDoubt>): number | ProblemFacts {
  if (typeof wait === 'string') return parseDuration(wait) ?? { kind: 'not-a-duration', got: wait }
  const time = 'past' in wait ? wait.past : wait.until
  if (typeof time !== 'number') return { kind: 'not-a-time', got: showJson(time) }
  // Waiting for a time in the distant past would end at once, and a token that still works would count as a failure.
  const wrong = expiryProblem(time)
  if (wrong !== undefined) return wrong
  const uncertainty = offsetUncertaintyMs(talk.facts.offset)
  const margin =
    'past' in wait
      ? roundingMs + uncertainty + doubt.behindMs
      : -(roundingMs + uncertainty + doubt.aheadMs + Math.max(roomForCallMs, 3 * talk.facts.roundTripMs))
  return Math.max(0, Math.ceil(time + margin - serverNow(talk)))
}

// A broken answer does not show whether the call was refused. A control right after it shows that the server still
// answers; where the call would have had an effect, that effect must be absent.

/** Whether a refusal may satisfy the step. */
function mayBeRefused({ expect, tally }: CallStep | SendStep): boolean {
  return tally !== undefined || expect === 'refused' || (typeof expect === 'object' && 'refused-or' in expect)
}

/** Finds out for every broken answer whether the call was refused in effect. One control is enough for calls that were made at once. */
async function confirmRefusals(talk: Conversation, calls: Called[]): Promise<void> {
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const [first] = broken
  if (first === undefined || talk.run.stopping.reason !== null) return
  for (const called of broken) noteSilence(talk, called.wire)
  const { answer } = await listSolutions(talk, { key: 'root' }, { freshConnection: true })
  for (const called of broken) {
    called.confirmation =
      answer.outcome === 'accepted'
        ? await checkEffect(talk, called)
        : { kind: 'control-failed', control: summarizeAnswer(answer) }
  }
}

async function checkEffect(talk: Conversation, called: Called): Promise<NonNullable<Called['confirmation']>> {
  const effect = effectOf(called)
  if (effect === undefined) return { kind: 'confirmed' }
  // The content of a lost answer is unknown, and so is the part of a long one that was not kept.
  if (called.wire.kind !== 'answer' || called.wire.cut !== undefined) return { kind: 'effect-unknown', effect }
  const result = membersOf(membersIn(called.wire.body).result)
  const isShown = effect === 'token' ? await tokenWorks(talk, result) : await keyWorks(talk, result)
  if (isShown === undefined) return { kind: 'effect-unknown', effect }
  return isShown ? { kind: 'effect-shown', effect } : { kind: 'confirmed' }
}

/** Decided by the method in the sent request, because raw requests carry one too. */
function effectOf({ request }: Called): Effect | undefined {
  const text = new TextDecoder().decode(request.body)
  if (text.includes('manager/createApiKey')) return 'key'
  return text.includes('manager/auth') ? 'token' : undefined
}

/** An answer without a token gives the talk nothing. */
async function tokenWorks(talk: Conversation, { accessToken }: JsonObject): Promise<boolean> {
  if (typeof accessToken !== 'string' || !isSendable(accessToken)) return false
  const { answer } = await listSolutions(talk, { token: accessToken }, { freshConnection: true })
  return answer.outcome === 'accepted'
}

/** An answer without a key proves nothing: the key may exist and take one of the ten places. */
async function keyWorks(talk: Conversation, { id, secret }: JsonObject): Promise<boolean | undefined> {
  if (typeof id !== 'string' || typeof secret !== 'string' || !isSendable(id)) return undefined
  const { answer } = await listSolutions(talk, { key: { id, secret } as never }, { freshConnection: true })
  const works = answer.outcome === 'accepted'
  // A key that works must be removed after the run, and may take a place.
  if (works) talk.createdKeys.note({ created: { id, name: '(in a broken answer)', secret } })
  return works
}

/**
 * By how much the clock of reported expiries may be behind and ahead of the clock of the Date header, where the two contradict each other;
 * 0 where they do not. In ms.
 */
function tokenClockDoubt({ tokenClock }: TargetFacts): { behindMs: number; aheadMs: number } {
  const earliestMs = Math.max(...tokenClock.map((sighting) => sighting.earliestMs))
  const latestMs = Math.min(...tokenClock.map((sighting) => sighting.latestMs))
  const contradicts = tokenClock.length > 0 && earliestMs <= latestMs && (earliestMs > 0 || latestMs < 0)
  return contradicts
    ? { behindMs: Math.max(0, -earliestMs), aheadMs: Math.max(0, latestMs) }
    : { behindMs: 0, aheadMs: 0 }
}

// What cases show about how a target counts sessions. It decides which cases may run at the same time.

/** In the cases that observe these questions the last call is made as an earlier session, after sixteen grants of another kind. */
function noteSessionFacts(facts: TargetFacts, { observe }: CallStep | SendStep, calls: readonly Called[]): void {
  const outcome = calls.at(-1)?.answer.outcome
  if (outcome !== 'accepted' && outcome !== 'refused') return
  if (observe === 'sessions/counting') facts.unnamedTakePlaces = outcome === 'refused'
  if (observe === 'sessions/user') facts.sessionsPerKey = outcome === 'accepted'
}
