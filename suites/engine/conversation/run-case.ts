/** Runs one case, as often as what happened meanwhile makes worthwhile, and returns its outcome. */
import { type Attempt, type CaseStop, stopsOf } from '../judge/judge-case.ts'
import type { CaseOutcome } from '../judge/problem.ts'
import type { Case, Scenario } from '../language/fixture-types.ts'
import { caseKey } from '../language/resolve.ts'
import { attemptCase, builtInNames } from './attempt-case.ts'
import { claimsOfCase, isWaitedFor, limitOf, testKeysUsed, unjudged } from './cases.ts'
import { type Conversation, closeConversation, openConversation, type Run, standInOf } from './conversation.ts'
import { explainRefusal, findSpoiler, isAway, isRefusedInstead, noteSpoilt, obstacleBefore } from './other-causes.ts'
import { recordCase } from './outcome.ts'
import { mayBeLost, noteLost } from './target-facts.ts'
import { ensureTestKeys, hasNoPlace } from './test-keys.ts'

/** How often a case is tried when the server's clock jumps, a call is throttled, an answer comes too late or a preparation no longer holds. */
const mostTries = 3

/** What a case showed, and whether the cases that ran at the same time may be the reason. */
interface RanCase extends CaseOutcome {
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
  const { facts, createdKeys } = talk
  const obstacle = obstacleBefore(talk, scenario, testCase)
  if (obstacle !== undefined) return unjudged(scenario, testCase, 'blocked', obstacle)
  const testKeys = testKeysOfCase(talk, scenario, testCase)
  const missing = await ensureTestKeys(talk, testKeys)
  if (missing !== undefined)
    return unjudged(scenario, testCase, hasNoPlace(missing) ? 'not-testable' : 'blocked', missing)
  const names = builtInNames(talk, { scenario, testCase }, testKeys, number)
  const jumpsBefore = facts.clockJumps
  const perhapsCounted = createdKeys.perhapsCounted + createdKeys.unanswered.length
  const attempt = await attemptCase(talk, names, scenario, testCase)
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

/** Other cases may end a token, slow an answer down or cause throttling. They cannot make the target accept a call that it would refuse. */
function causeByOthers(stops: readonly CaseStop[]): RanCase['mayBeOfOthers'] {
  if (stops.length > 0 && stops.every(isLate)) return 'time'
  return stops.some((stop) => isLate(stop) || isRefusedInstead(stop)) ? 'tokens' : undefined
}

function isLate({ kind, problem, called }: CaseStop): boolean {
  if (kind === 'too-late' || problem.kind === 'token-ended') return true
  if (problem.kind === 'preparation-lost' && problem.because.kind === 'token-expired') return true
  return called.some(({ answer }) => answer.outcome === 'broken' || answer.outcome === 'throttled')
}
