/** Runs one item of a run, a case or the creation of a test key, and returns its outcome. */

import { summarizeAnswer } from '../judge/classify.ts'
import type { Called } from '../judge/expectation.ts'
import {
  type Attempt,
  type CaseStop,
  type CaseVerdict,
  type Exchanged,
  emptyAttempt,
  judgeCase,
} from '../judge/judge-case.ts'
import type { CaseOutcome, Hint, Problem, ProblemFacts } from '../judge/problem.ts'
import type { Auth, CallStep, Case, Scenario, Step, TestKey } from '../language/fixture-types.ts'
import { caseKey } from '../language/resolve.ts'
import { redactExchange, redactValue } from '../redact.ts'
import type { Exchange } from '../target.ts'
import { attemptCase, builtInNames } from './attempt-case.ts'
import {
  allProves,
  claimsOfCase,
  creationCase,
  creationScenario,
  declaredWay,
  isWaitedFor,
  limitOf,
  testKeysUsed,
  unjudged,
  type Way,
} from './cases.ts'
import {
  actor,
  type Conversation,
  closeConversation,
  createSilence,
  isMustIn,
  openConversation,
  type Run,
  standInOf,
} from './conversation.ts'
import { showExchange } from './exchange.ts'
import {
  explainRefusal,
  isRefusedInstead,
  isUnanswered,
  noPlaceForKeys,
  noRoomForSessions,
  noteSpoilt,
  noticeGone,
  noticeLockOut,
  placesUsedBefore,
  spoiltBefore,
  type Tried,
  withoutTokenWord,
} from './other-causes.ts'
import { makeCall } from './send.ts'
import { type Creation, createKeyOf, ensureTestKeys, hasNoPlace, tokenOf } from './test-keys.ts'

/** How often a case is tried when the server's clock jumps, a call is throttled, an answer comes too late or a preparation no longer holds. */
const mostTries = 3

/** What a case showed, and whether the cases that ran at the same time may be the reason. */
export interface RanCase extends CaseOutcome {
  /** `time`: they only made its calls late. */
  mayBeOfOthers?: 'time' | 'tokens'
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
      silence: createSilence(run.stopping),
      skipsSessionWaits: number === 1 && maySkipSessionWaits(shared, scenario),
      caseKey: caseKey(scenario, testCase),
      isUrgent: isWaitedFor(claimsOfCase(scenario, testCase)),
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
  const { run } = talk
  const blocked = (problem: ProblemFacts): CaseOutcome => unjudged(scenario, testCase, 'blocked', problem)
  if (run.stopping.reason !== null) return blocked({ kind: 'not-run', because: run.stopping.reason })
  const beyondLimit = spoiltBefore(run, scenario)
  if (beyondLimit !== undefined) return blocked(beyondLimit)
  const noTokens = withoutTokenWord(talk.facts, scenario, testCase)
  if (noTokens !== undefined) return blocked(noTokens)
  const testKeys = testKeysOfCase(talk, scenario, testCase)
  const missing = await ensureTestKeys(talk, testKeys)
  if (missing !== undefined)
    return unjudged(scenario, testCase, hasNoPlace(missing) ? 'not-testable' : 'blocked', missing)
  const names = builtInNames(talk, { scenario, testCase }, testKeys, number)
  const jumpsBefore = talk.facts.clockJumps
  const countedBefore = talk.createdKeys.perhapsCounted + talk.createdKeys.unanswered.length
  const { schemas } = run.corpus
  const attempt = await attemptCase({ talk, names, schemas, isMust: isMustIn(run.corpus) }, scenario, testCase)
  const jumped = talk.facts.clockJumps > jumpsBefore && attempt.stops.length > 0
  if (talk.skipsSessionWaits && attempt.stops.some(({ kind }) => kind === 'broke')) {
    talk.facts.needsSessionWaits = true
    return 'again'
  }
  if (number < mostTries && deservesAnotherTry(scenario, attempt, jumped)) return 'again'
  if (jumped) return blocked({ kind: 'clock-jumped' })
  const spoilt = (await findSpoiler(talk, attempt)) ?? placesUsedBefore(talk, scenario, attempt, countedBefore)
  if (spoilt !== undefined) return unjudged(scenario, testCase, spoilt.verdict, spoilt.problem)
  const tried = { talk, scenario, testCase, attempt }
  const outcome = recordCase(tried, await explainRefusal(tried))
  const cause = outcome.verdict === 'passed' ? undefined : causeByOthers(attempt)
  return cause === undefined ? outcome : { ...outcome, mayBeOfOthers: cause }
}

/** Other cases may end a token, slow an answer down or cause throttling. They cannot make the target accept a call that it would refuse. */
function causeByOthers({ stops }: Attempt): RanCase['mayBeOfOthers'] {
  if (stops.length > 0 && stops.every(isLate)) return 'time'
  return stops.some((stop) => isLate(stop) || isRefusedInstead(stop)) ? 'tokens' : undefined
}

function isLate({ kind, problem, called }: CaseStop): boolean {
  if (kind === 'too-late' || problem.kind === 'token-ended') return true
  if (problem.kind === 'preparation-lost' && problem.because.kind === 'token-expired') return true
  return called.some(({ answer }) => answer.outcome === 'broken' || answer.outcome === 'throttled')
}

/** The test keys that a case uses, with the stand-in for a root key without a secret. */
function testKeysOfCase(talk: Conversation, scenario: Scenario, testCase: Case): Set<string> {
  const { testKeys } = talk.run.corpus
  const used = testKeysUsed(
    scenario,
    testCase,
    testKeys.map(({ name }) => name),
  )
  if (used.has('root')) used.add(standInOf(testKeys, talk.instance.root))
  return used
}

function deservesAnotherTry(scenario: Scenario, { stops, throttled }: Attempt, jumped: boolean): boolean {
  const isTimed = [...scenario.given, ...scenario.steps].some((step) => 'wait' in step || step.before !== undefined)
  const cameTooLate = stops.some(({ kind }) => kind === 'too-late' || kind === 'preparation-lost')
  // Keys are removed only after the case has ended, so a case that creates keys is repeated only for reasons of time.
  const isRepeatable = isTimed || !scenario.needs.includes('keys')
  return jumped || (isTimed && throttled) || (cameTooLate && isRepeatable)
}

/** What happened to the target during the attempt, if it makes the attempt prove nothing. */
async function findSpoiler(
  talk: Conversation,
  attempt: Attempt,
): Promise<{ verdict: 'blocked' | 'not-testable'; problem: ProblemFacts } | undefined> {
  const { run } = talk
  await noticeGone(talk, attempt)
  const gone = run.stopping.reason
  if (gone !== null && attempt.stops.some(isUnanswered)) {
    return { verdict: 'blocked', problem: { kind: 'not-run', because: gone } }
  }
  const full = await noPlaceForKeys(talk, attempt)
  if (full !== undefined) return { verdict: 'not-testable', problem: full }
  const noRoom = await noRoomForSessions(talk, attempt)
  if (noRoom !== undefined) return { verdict: 'blocked', problem: noRoom }
  await noticeLockOut(talk, attempt)
  const stopped = run.stopping.reason
  return stopped?.kind === 'locked-out'
    ? { verdict: 'blocked', problem: { kind: 'not-run', because: stopped } }
    : undefined
}

/** Creates a test key in its declared way, which is evidence by itself. If that fails, the cases create it in another way. */
export async function createTestKey(run: Run, testKey: TestKey): Promise<CaseOutcome> {
  const startedMs = performance.now()
  const talk = await openConversation(run)
  const callsBefore = talk.calls
  try {
    const evidence = await tryCreation(talk, testKey)
    const scenario = creationScenario(testKey)
    const outcome =
      'attempt' in evidence
        ? recordCase({ talk, scenario, testCase: creationCase, attempt: evidence.attempt }, evidence.hint)
        : unjudged(scenario, creationCase, evidence.verdict, evidence.problem)
    const durationMs = Math.round((performance.now() - startedMs) * 10) / 10
    return { ...outcome, calls: talk.calls - callsBefore, durationMs }
  } finally {
    await closeConversation(talk)
  }
}

/** What the creation showed, or why nothing could be judged. */
type CreationEvidence =
  | { attempt: Attempt; hint: Hint | undefined }
  | { verdict: 'blocked' | 'not-testable'; problem: ProblemFacts }

const unavailable = (problem: ProblemFacts): CreationEvidence =>
  hasNoPlace(problem) ? { verdict: 'not-testable', problem } : blocked(problem)

const blocked = (problem: ProblemFacts): CreationEvidence => ({ verdict: 'blocked', problem })

async function tryCreation(talk: Conversation, testKey: TestKey): Promise<CreationEvidence> {
  const { run } = talk
  if (run.stopping.reason !== null) return blocked({ kind: 'not-run', because: run.stopping.reason })
  const declared = wayOf(testKey, talk)
  if (declared === undefined) return blocked({ kind: 'no-way-to-create' })
  if (talk.testKeys.has(testKey.name)) {
    const isKept = run.keptTestKeys.some((key) => key.member === testKey.name)
    return { verdict: 'not-testable', problem: { kind: isKept ? 'test-key-kept' : 'test-key-made-before' } }
  }
  const { tokenWord } = talk.facts
  if (declared.way === 'token' && tokenWord !== undefined) return blocked({ kind: 'no-token-word', because: tokenWord })
  if (declared.by === testKey.name) return blocked({ kind: 'root-has-public-key' })
  const missing = await ensureTestKeys(talk, [declared.by])
  if (missing !== undefined) return unavailable(missing)
  const creation = await createKeyOf(talk, testKey, declared.way, declared.by)
  return creation.problem === undefined
    ? { attempt: attemptOf(creation.called, testKey.proves), hint: undefined }
    : judgeFailedCreation(talk, testKey, declared, creation)
}

/** The declared way, with the stand-in if the root key has no secret. */
function wayOf(testKey: TestKey, talk: Conversation): { way: Way; by: string } | undefined {
  // Only the root key itself can create its stand-in.
  if (standInOf(talk.run.corpus.testKeys, talk.instance.root) === testKey.name) return { way: 'ecc', by: 'root' }
  const declared = declaredWay(testKey)
  if (declared === undefined || declared.way === 'ecc') return declared
  return { way: declared.way, by: actor(talk, declared.by) }
}

/** @param shown the requirements whose accepted side was shown */
function attemptOf(called: Called | undefined, shown: string[]): Attempt {
  const attempt = emptyAttempt()
  for (const id of shown) {
    attempt.sides.set(id, new Set(['accepted']))
    attempt.judged.add(id)
  }
  if (called?.answer.outcome !== 'accepted') return attempt
  attempt.envelopeAnswers = 1
  attempt.envelope = called.departures.map((problem) => ({ problem, called }))
  return attempt
}

async function judgeFailedCreation(
  talk: Conversation,
  testKey: TestKey,
  { way, by }: { way: Way; by: string },
  { called, problem }: Creation,
): Promise<CreationEvidence> {
  if (called === undefined) return blocked(problem?.kind === 'no-token' ? problem : { kind: 'no-way-to-create' })
  if (called.answer.outcome === 'accepted' && problem?.kind === 'creation-result') {
    return { attempt: attemptWithIncompleteResult(called, testKey, problem), hint: undefined }
  }
  const control = await refusedControl(talk, way, by)
  if (control.kind === 'no-token') return blocked(control.problem)
  if (control.kind === 'refused') {
    return {
      attempt: attemptWithRefusal(control.called, testKey, 'control'),
      hint: await talk.run.diagnose?.signature(talk, control.auth),
    }
  }
  const missingKey = await ensureTestKeys(talk, [testKey.name])
  if (missingKey !== undefined && !talk.run.target.fresh) return unavailable(missingKey)
  const isPerhapsUsed = missingKey !== undefined && talk.run.target.lasting
  return {
    attempt: attemptWithRefusal(called, testKey, 'creation'),
    hint: isPerhapsUsed ? { kind: 'perhaps-not-fresh' } : undefined,
  }
}

const resultRequirement = 'keys/create-result'

/** The creation was accepted, but its result lacks something. */
function attemptWithIncompleteResult(called: Called, testKey: TestKey, problem: ProblemFacts): Attempt {
  const attempt = attemptOf(
    called,
    testKey.proves.filter((id) => id !== resultRequirement),
  )
  const proves = testKey.proves.filter((id) => id === resultRequirement)
  attempt.stops.push({ kind: 'broke', step: creationStep, problem, called: [called], proves })
  return attempt
}

/** The creation was refused, or its control was: an ordinary call with the same authorization. */
function attemptWithRefusal(called: Called, testKey: TestKey, what: 'creation' | 'control'): Attempt {
  const attempt = emptyAttempt()
  const problem = { kind: 'wrong-outcome', expected: 'accepted', got: summarizeAnswer(called.answer) } as const
  const isJudged = what === 'creation'
  const proves = isJudged ? testKey.proves.filter((id) => id !== resultRequirement) : []
  const kind = isJudged && called.answer.outcome !== 'throttled' ? 'broke' : 'blocked'
  attempt.stops.push({
    kind,
    step: isJudged ? creationStep : controlStep,
    problem,
    called: [called],
    proves,
    ...(isJudged ? {} : { inPreparation: true }),
  })
  for (const id of testKey.proves) if (!proves.includes(id)) attempt.unreached.add(id)
  return attempt
}

const controlStep: CallStep = { call: 'solution/listSolutions', auth: 'none', at: { line: 1, column: 1 } }
const creationStep: CallStep = { call: 'manager/createApiKey', auth: 'none', at: { line: 1, column: 1 } }

type Control =
  | { kind: 'accepted' }
  | { kind: 'refused'; auth: Auth; called: Called }
  | { kind: 'no-token'; problem: ProblemFacts }

/** A refused creation proves something only if an ordinary call with the same authorization is accepted. */
async function refusedControl(talk: Conversation, way: Way, by: string): Promise<Control> {
  const token = way === 'token' ? await tokenOf(talk, by, ['solution']) : undefined
  if (way === 'token' && token === undefined) {
    return { kind: 'no-token', problem: { kind: 'no-token', testKey: by } }
  }
  const auth = (token === undefined ? { [way]: by } : { token }) as Auth
  const called = await makeCall(talk, { method: 'solution/listSolutions', params: {}, auth })
  return called.answer.outcome === 'accepted' ? { kind: 'accepted' } : { kind: 'refused', auth, called }
}

// Turns an attempt into the outcome of a case: verdicts and evidence, without secrets.

/** A case shows at most this many of its calls. */
const shownExchanges = 3

function recordCase({ talk, scenario, testCase, attempt }: Tried, hint: Hint | undefined): CaseOutcome {
  const isMust = isMustIn(talk.run.corpus)
  const judged = judgeCase(attempt, allProves(scenario, testCase), talk.facts, isMust)
  const show = ({ request, wire }: Exchanged): Exchange =>
    showExchange(request, wire, talk.facts.secondAddress ?? talk.instance.settings.secondAddress)
  return redactOutcome(talk, {
    ...unjudged(scenario, testCase, 'blocked', null),
    verdict: judged.verdict,
    requirements: judged.requirements,
    sides: Object.fromEntries([...attempt.sides].map(([id, sides]) => [id, [...sides]])),
    problem: problemOf({ talk, scenario, testCase, attempt }, judged, hint, show),
    observations: attempt.observations,
    envelope: attempt.envelope
      .slice(0, shownExchanges)
      .map(({ problem, called }) => ({ problem, exchange: show(called) })),
    envelopeAnswers: attempt.envelopeAnswers,
    throttled: attempt.calls.filter((called) => called.throttled > 0).length,
  })
}

function problemOf(
  { talk, scenario, attempt }: Tried,
  { because }: CaseVerdict,
  hint: Hint | undefined,
  show: (called: Exchanged) => Exchange,
): Problem | null {
  if (because === null) return null
  if (because.kind !== 'step') {
    const facts = because.kind === 'control' ? because.problem : because
    return { ...facts, requirements: [], step: '', exchanges: talk.run.trace ? attempt.calls.map(show) : [] }
  }
  const { stop } = because
  return {
    ...stop.problem,
    ...(stop.inPreparation === undefined ? {} : { inPreparation: true }),
    requirements: stop.proves,
    step: nameOfStep(stop.step),
    where: `${scenario.file}:${stop.step.at.line}:${stop.step.at.column}`,
    exchanges: exchangesOf(talk, attempt, stop).map(show),
    ...(hint === undefined ? {} : { hint }),
  }
}

function nameOfStep(step: Step): string {
  if (step.step !== undefined) return step.step
  if ('call' in step) return step.call
  return 'send' in step ? `${step.send.method} ${step.send.path}` : 'wait'
}

/** The calls that show the problem; with `--trace` all calls of the case up to where it ended. */
function exchangesOf(talk: Conversation, attempt: Attempt, { called }: CaseStop): Exchanged[] {
  return talk.run.trace && attempt.calls.length > 0 ? attempt.calls : called.slice(0, shownExchanges)
}

function redactOutcome(talk: Conversation, outcome: CaseOutcome): CaseOutcome {
  const hasText = outcome.problem !== null || outcome.envelope.length > 0 || outcome.observations.length > 0
  if (!hasText || talk.run.trace) return outcome
  const { redactor } = talk
  return {
    ...outcome,
    problem:
      outcome.problem === null
        ? null
        : {
            ...redactValue({ ...outcome.problem, exchanges: [] }, redactor),
            exchanges: outcome.problem.exchanges.map((exchange) => redactExchange(exchange, redactor)),
          },
    observations: outcome.observations.map((seen) => redactValue(seen, redactor)),
    envelope: outcome.envelope.map((note) => ({
      problem: redactValue(note.problem, redactor),
      exchange: redactExchange(note.exchange, redactor),
    })),
  }
}
