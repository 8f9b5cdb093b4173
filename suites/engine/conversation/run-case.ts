import type { Attempt, CaseStop } from '../judge/attempt.ts'
import type { CaseOutcome } from '../judge/outcome.ts'
import type { ProblemFacts } from '../judge/problem.ts'
import { caseKey } from '../language/cases.ts'
import type { Case, Scenario } from '../language/fixture-types.ts'
import { attemptCase } from './attempt-case.ts'
import { builtInNames } from './built-in-names.ts'
import { type Caller, closeCaller, isMustIn, openCaller, type Run } from './caller.ts'
import { claimsOfCase, isWaitedFor, limitOf } from './claims.ts'
import { explainRefusal } from './explain-refusal.ts'
import { noPlaceForKeys, placesUsedBefore } from './full-target.ts'
import { recordCase } from './record-case.ts'
import { noRoomForSessions } from './refused-session.ts'
import { createSilence } from './silence.ts'
import { noteSpoilt, spoiltBefore } from './spoilt-limit.ts'
import { standInOf } from './stand-in.ts'
import { testKeysUsed, unjudged } from './test-case.ts'
import { ensureTestKeys, hasNoPlace } from './test-keys.ts'
import { withoutTokenWord } from './token-word.ts'
import { isRefusedInstead, isUnanswered, noticeGone, noticeLockOut } from './watch-target.ts'

/** How often a case is tried when the server's clock jumps, a call is throttled, an answer comes too late or a preparation no longer holds. */
const tries = 3

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
    const shared = await openCaller(run)
    // Cases on a lasting target share a caller, so each counts its own calls.
    const caller = {
      ...shared,
      calls: 0,
      silence: createSilence(run.stopping),
      skipsSessionWaits: number === 1 && maySkipSessionWaits(shared, scenario),
      caseKey: caseKey(scenario, testCase),
      isUrgent: isWaitedFor(claimsOfCase(scenario, testCase)),
    }
    try {
      const outcome = await tryCase(caller, scenario, testCase, number)
      calls += caller.calls
      if (outcome !== 'again') {
        noteSpoilt(run, scenario, outcome)
        return { ...outcome, calls, durationMs: Math.round((performance.now() - startedMs) * 10) / 10 }
      }
    } finally {
      await closeCaller(caller)
    }
  }
}

/**
 * A case waits a second before it creates younger sessions, because a server may store the time of a session in seconds. Most servers need
 * no wait: the case first runs without it, and only if it does not pass, again with it.
 */
function maySkipSessionWaits({ facts, instance }: Caller, scenario: Scenario): boolean {
  if (instance.clock.controlled || facts.needsSessionWaits === true) return false
  return limitOf(scenario) === 'sessions' && scenario.proves.length > 0
}

/** One try: makes sure that the test keys exist, runs the steps, and records the result unless something spoilt it. */
async function tryCase(caller: Caller, scenario: Scenario, testCase: Case, number: number): Promise<RanCase | 'again'> {
  const { run } = caller
  const blocked = (problem: ProblemFacts): CaseOutcome => unjudged(scenario, testCase, 'blocked', problem)
  if (run.stopping.reason !== null) return blocked({ kind: 'not-run', because: run.stopping.reason })
  const beyondLimit = spoiltBefore(run, scenario)
  if (beyondLimit !== undefined) return blocked(beyondLimit)
  const noTokens = withoutTokenWord(caller.facts, scenario, testCase)
  if (noTokens !== undefined) return blocked(noTokens)
  const testKeys = testKeysOfCase(caller, scenario, testCase)
  const missing = await ensureTestKeys(caller, testKeys)
  if (missing !== undefined)
    return unjudged(scenario, testCase, hasNoPlace(missing) ? 'not-testable' : 'blocked', missing)
  const names = builtInNames(caller, { scenario, testCase }, testKeys, number)
  const jumpsBefore = caller.facts.clockJumps
  const countedBefore = caller.createdKeys.perhapsCounted + caller.createdKeys.unanswered.length
  const { schemas } = run.corpus
  const attempt = await attemptCase({ caller, names, schemas, isMust: isMustIn(run.corpus) }, scenario, testCase)
  const jumped = caller.facts.clockJumps > jumpsBefore && attempt.stops.length > 0
  if (caller.skipsSessionWaits && attempt.stops.some(({ kind }) => kind === 'broke')) {
    caller.facts.needsSessionWaits = true
    return 'again'
  }
  if (number < tries && deservesAnotherTry(scenario, attempt, jumped)) return 'again'
  if (jumped) return blocked({ kind: 'clock-jumped' })
  const spoilt = (await findSpoiler(caller, attempt)) ?? placesUsedBefore(caller, scenario, attempt, countedBefore)
  if (spoilt !== undefined) return unjudged(scenario, testCase, spoilt.verdict, spoilt.problem)
  const tried = { caller, scenario, testCase, attempt }
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
function testKeysOfCase(caller: Caller, scenario: Scenario, testCase: Case): Set<string> {
  const { testKeys } = caller.run.corpus
  const used = testKeysUsed(
    scenario,
    testCase,
    testKeys.map(({ name }) => name),
  )
  if (used.has('root')) used.add(standInOf(testKeys, caller.instance.root))
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
  caller: Caller,
  attempt: Attempt,
): Promise<{ verdict: 'blocked' | 'not-testable'; problem: ProblemFacts } | undefined> {
  const { run } = caller
  await noticeGone(caller, attempt)
  const gone = run.stopping.reason
  if (gone !== null && attempt.stops.some(isUnanswered)) {
    return { verdict: 'blocked', problem: { kind: 'not-run', because: gone } }
  }
  const full = await noPlaceForKeys(caller, attempt)
  if (full !== undefined) return { verdict: 'not-testable', problem: full }
  const noRoom = await noRoomForSessions(caller, attempt)
  if (noRoom !== undefined) return { verdict: 'blocked', problem: noRoom }
  await noticeLockOut(caller, attempt)
  const stopped = run.stopping.reason
  return stopped?.kind === 'locked-out'
    ? { verdict: 'blocked', problem: { kind: 'not-run', because: stopped } }
    : undefined
}
