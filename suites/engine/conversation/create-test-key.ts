import { type Attempt, emptyAttempt } from '../judge/attempt.ts'
import type { Called } from '../judge/called.ts'
import { summarizeAnswer } from '../judge/classify.ts'
import type { CaseOutcome } from '../judge/outcome.ts'
import type { Hint, ProblemFacts } from '../judge/problem.ts'
import type { Auth, CallStep, TestKey } from '../language/fixture-types.ts'
import { makeCall } from './call.ts'
import { type Caller, closeCaller, openCaller, type Run } from './caller.ts'
import { actor } from './credential-of.ts'
import { recordCase } from './record-case.ts'
import { standInOf } from './stand-in.ts'
import { unjudged } from './test-case.ts'
import { creationCase, creationScenario, declaredWay, type Way } from './test-key-scenario.ts'
import { type Creation, createKeyOf, ensureTestKeys, hasNoPlace, tokenOf } from './test-keys.ts'

/** Creates a test key in its declared way, which is evidence by itself. If that fails, the cases create it in another way. */
export async function createTestKey(run: Run, testKey: TestKey): Promise<CaseOutcome> {
  const startedMs = performance.now()
  const caller = await openCaller(run)
  const callsBefore = caller.calls
  try {
    const shown = await tryCreation(caller, testKey)
    const scenario = creationScenario(testKey)
    const outcome =
      'attempt' in shown
        ? recordCase({ caller, scenario, testCase: creationCase, attempt: shown.attempt }, shown.hint)
        : unjudged(scenario, creationCase, shown.verdict, shown.problem)
    const durationMs = Math.round((performance.now() - startedMs) * 10) / 10
    return { ...outcome, calls: caller.calls - callsBefore, durationMs }
  } finally {
    await closeCaller(caller)
  }
}

/** What the creation showed, or why nothing could be judged. */
type CreationEvidence =
  | { attempt: Attempt; hint: Hint | undefined }
  | { verdict: 'blocked' | 'not-testable'; problem: ProblemFacts }

const unavailable = (problem: ProblemFacts): CreationEvidence =>
  hasNoPlace(problem) ? { verdict: 'not-testable', problem } : blocked(problem)

const blocked = (problem: ProblemFacts): CreationEvidence => ({ verdict: 'blocked', problem })

async function tryCreation(caller: Caller, testKey: TestKey): Promise<CreationEvidence> {
  const { run } = caller
  if (run.stopping.reason !== null) return blocked({ kind: 'not-run', because: run.stopping.reason })
  const declared = wayOf(testKey, caller)
  if (declared === undefined) return blocked({ kind: 'no-way-to-create' })
  if (caller.testKeys.has(testKey.name)) {
    const isKept = run.keptTestKeys.some((key) => key.member === testKey.name)
    return { verdict: 'not-testable', problem: { kind: isKept ? 'test-key-kept' : 'test-key-made-before' } }
  }
  const { tokenWord } = caller.facts
  if (declared.way === 'token' && tokenWord !== undefined) return blocked({ kind: 'no-token-word', because: tokenWord })
  if (declared.by === testKey.name) return blocked({ kind: 'root-has-public-key' })
  const missing = await ensureTestKeys(caller, [declared.by])
  if (missing !== undefined) return unavailable(missing)
  const creation = await createKeyOf(caller, testKey, declared.way, declared.by)
  return creation.problem === undefined
    ? { attempt: attemptOf(creation.called, testKey.proves), hint: undefined }
    : judgeFailedCreation(caller, testKey, declared, creation)
}

/** The declared way, with the stand-in if the root key has no secret. */
function wayOf(testKey: TestKey, caller: Caller): { way: Way; by: string } | undefined {
  // Only the root key itself can create its stand-in.
  if (standInOf(caller.run.corpus.testKeys, caller.instance.root) === testKey.name) return { way: 'ecc', by: 'root' }
  const declared = declaredWay(testKey)
  if (declared === undefined || declared.way === 'ecc') return declared
  return { way: declared.way, by: actor(caller, declared.by) }
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
  caller: Caller,
  testKey: TestKey,
  { way, by }: { way: Way; by: string },
  { called, problem }: Creation,
): Promise<CreationEvidence> {
  if (called === undefined) return blocked(problem?.kind === 'no-token' ? problem : { kind: 'no-way-to-create' })
  if (called.answer.outcome === 'accepted' && problem?.kind === 'creation-result') {
    return { attempt: attemptWithIncompleteResult(called, testKey, problem), hint: undefined }
  }
  const control = await refusedControl(caller, way, by)
  if (control.kind === 'no-token') return blocked(control.problem)
  if (control.kind === 'refused') {
    return {
      attempt: attemptWithRefusal(control.called, testKey, 'control'),
      hint: await caller.run.diagnose?.signature(caller, control.auth),
    }
  }
  const missingKey = await ensureTestKeys(caller, [testKey.name])
  if (missingKey !== undefined && !caller.run.target.fresh) return unavailable(missingKey)
  const isPerhapsUsed = missingKey !== undefined && caller.run.target.lasting
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
async function refusedControl(caller: Caller, way: Way, by: string): Promise<Control> {
  const token = way === 'token' ? await tokenOf(caller, by, ['solution']) : undefined
  if (way === 'token' && token === undefined) {
    return { kind: 'no-token', problem: { kind: 'no-token', testKey: by } }
  }
  const auth = (token === undefined ? { [way]: by } : { token }) as Auth
  const called = await makeCall(caller, { method: 'solution/listSolutions', params: {}, auth })
  return called.answer.outcome === 'accepted' ? { kind: 'accepted' } : { kind: 'refused', auth, called }
}
