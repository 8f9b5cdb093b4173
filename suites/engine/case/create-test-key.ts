import { diagnoseTarget } from '../../diagnose/signature-hint.ts'
import type { Auth, CallStep, TestKey } from '../fixture/model.ts'
import { describe } from '../judge/classify.ts'
import { conclude } from '../judge/judge-case.ts'
import type { CaseOutcome } from '../judge/outcome.ts'
import { emptyAttempt } from './attempt.ts'
import { type Called, makeCall } from './call.ts'
import { type Client, closeClient, openClient, type Run, requirementLevel, secretRoot } from './client.ts'
import { unjudged } from './test-case.ts'
import { creationCase, creationScenario, declaredWay, type Way } from './test-key-scenario.ts'
import { createKeyOf, ensureTestKeys, tokenOf } from './test-keys.ts'

/** Creates a member in the way that it declares, which is the evidence; where that fails the cases make it in another way. */
export async function createTestKey(run: Run, member: TestKey): Promise<CaseOutcome> {
  const startedMs = performance.now()
  const scenario = creationScenario(member)
  const client = await openClient(run)
  const callsBefore = client.calls
  const timed = (outcome: CaseOutcome): CaseOutcome => ({
    ...outcome,
    calls: client.calls - callsBefore,
    durationMs: Math.round((performance.now() - startedMs) * 10) / 10,
  })
  try {
    const stopped = run.stopping.reason
    if (stopped !== null) return unjudged(scenario, creationCase, 'blocked', `not run: ${stopped.message}`)
    // Who stands in for a root key with a public key can be created by its private key only.
    const standsIn = secretRoot(client.instance.root) === member.name
    const declared = standsIn ? ({ way: 'ecc', by: 'root' } as const) : declaredBy(member, client)
    if (declared === undefined) return unjudged(scenario, creationCase, 'blocked', 'no way to create it is declared')
    if (client.testKeys.has(member.name)) {
      return unjudged(
        scenario,
        creationCase,
        'not-testable',
        run.keptTestKeys.some((key) => key.member === member.name)
          ? 'its key is kept from an earlier run; without the kept test keys it is created anew'
          : 'its key was needed by another case before, and is there already',
      )
    }
    const missing = declared.by === member.name ? undefined : await ensureTestKeys(client, [declared.by])
    if (missing !== undefined || declared.by === member.name) {
      return timed(
        unjudged(
          scenario,
          creationCase,
          'blocked',
          missing ?? 'the root key has a public key, so nobody can create it this way',
        ),
      )
    }
    const { called, problem } = await createKeyOf(client, member, declared.way, declared.by)
    const attempt = emptyAttempt()
    let hint: string | undefined
    const isMust = (id: string): boolean => requirementLevel(run.corpus, id) === 'must'
    if (problem !== undefined) {
      if (called === undefined) return timed(unjudged(scenario, creationCase, 'blocked', problem))
      const accepted = called.answer.outcome === 'accepted'
      const control = accepted ? undefined : await refusedControl(client, declared.way, declared.by)
      if (typeof control === 'string') return timed(unjudged(scenario, creationCase, 'blocked', control))
      if (control !== undefined) {
        attempt.stops.push({
          kind: 'blocked',
          step: controlStep,
          called: [control.called],
          proves: [],
          message: control.message,
        })
        for (const id of member.proves) attempt.unreached.add(id)
        return timed(
          conclude(client, scenario, creationCase, attempt, isMust, await diagnoseTarget(client, control.auth)),
        )
      }
      const nowhere = accepted ? undefined : await ensureTestKeys(client, [member.name])
      if (nowhere !== undefined && !run.target.fresh) return timed(unjudged(scenario, creationCase, 'blocked', nowhere))
      if (nowhere !== undefined && run.target.lasting) hint = perhapsUsed
      const broken = member.proves.filter((id) => (id === 'keys/create-result') === accepted)
      attempt.stops.push({
        kind: called.answer.outcome === 'throttled' ? 'blocked' : 'broke',
        step: creationStep,
        message: accepted ? problem : `expected the creation to be accepted, it was ${describe(called.answer)}`,
        called: [called],
        proves: broken,
      })
      for (const id of member.proves.filter((proved) => !broken.includes(proved))) {
        if (accepted) attempt.sides.set(id, new Set(['accepted']))
        else attempt.unreached.add(id)
      }
    } else {
      for (const id of member.proves) attempt.sides.set(id, new Set(['accepted']))
    }
    if (called?.answer.outcome === 'accepted') {
      attempt.envelopeAnswers = 1
      attempt.envelope = called.notes.map((note) => ({ ...note, called }))
    }
    return timed(conclude(client, scenario, creationCase, attempt, isMust, hint))
  } finally {
    await closeClient(client)
  }
}

const perhapsUsed =
  'No kind of authorization creates a key here. Is this instance fresh, as --disposable says? At most ten API keys can be created.'

const controlStep: CallStep = { call: 'solution/listSolutions', auth: 'none', at: { line: 1, column: 1 } }
const creationStep: CallStep = { call: 'manager/createApiKey', auth: 'none', at: { line: 1, column: 1 } }

/** The declared way, with the stand-in where a root key has no secret. */
function declaredBy(member: TestKey, client: Client): { way: Way; by: string } | undefined {
  const declared = declaredWay(member)
  if (declared === undefined || declared.by !== 'root' || declared.way === 'ecc') return declared
  return { way: declared.way, by: secretRoot(client.instance.root) }
}

/** A creation that is refused says something only if an ordinary call with the same authorization is accepted. */
async function refusedControl(
  client: Client,
  way: Way,
  by: string,
): Promise<string | { auth: Auth; called: Called; message: string } | undefined> {
  const token = way === 'token' ? await tokenOf(client, by, ['solution']) : undefined
  if (way === 'token' && token === undefined) return 'preparation: no access token was granted'
  const auth = (token === undefined ? { [way]: by } : { token }) as Auth
  const called = await makeCall(client, { method: 'solution/listSolutions', params: {}, auth })
  const { answer } = called
  if (answer.outcome === 'accepted') return undefined
  return { auth, called, message: `preparation: expected the call to be accepted, it was ${describe(answer)}` }
}
