import { createMember, ensureCast, tokenOf } from './cast.ts'
import { castRow, castScenario, declaredWay, type Way } from './cast-scenario.ts'
import { diagnoseTarget } from './diagnose-target.ts'
import type { Auth, CallStep, CastMember } from './fixture/model.ts'
import { describe } from './judge/classify.ts'
import type { RowOutcome } from './outcome.ts'
import { unjudged } from './rows.ts'
import { leaveSeat, type Run, requirementLevel, type Seat, secretRoot, takeSeat } from './seat.ts'
import { emptyAttempt } from './steps/attempt.ts'
import { type Called, makeCall } from './steps/call.ts'
import { conclude } from './steps/conclude.ts'

/** Creates a member in the way that it declares, which is the evidence; where that fails the rows make it in another way. */
export async function runCastMember(run: Run, member: CastMember): Promise<RowOutcome> {
  const startedMs = performance.now()
  const scenario = castScenario(member)
  const seat = await takeSeat(run)
  const callsBefore = seat.calls
  const timed = (outcome: RowOutcome): RowOutcome => ({
    ...outcome,
    calls: seat.calls - callsBefore,
    durationMs: Math.round((performance.now() - startedMs) * 10) / 10,
  })
  try {
    if (run.stopped !== null) return unjudged(scenario, castRow, 'blocked', `not run: ${run.stopped.message}`)
    // Who stands in for a root key with a public key can be created by its private key only.
    const standsIn = secretRoot(seat.instance.root) === member.name
    const declared = standsIn ? ({ way: 'ecc', by: 'root' } as const) : declaredBy(member, seat)
    if (declared === undefined) return unjudged(scenario, castRow, 'blocked', 'no way to create it is declared')
    if (seat.cast.has(member.name)) {
      return unjudged(
        scenario,
        castRow,
        'not-testable',
        run.keptCast.some((key) => key.member === member.name)
          ? 'its key is kept from an earlier run; without the kept cast it is created anew'
          : 'its key was needed by another row before, and is there already',
      )
    }
    const missing = declared.by === member.name ? undefined : await ensureCast(seat, [declared.by])
    if (missing !== undefined || declared.by === member.name) {
      return timed(
        unjudged(
          scenario,
          castRow,
          'blocked',
          missing ?? 'the root key has a public key, so nobody can create it this way',
        ),
      )
    }
    const { called, problem } = await createMember(seat, member, declared.way, declared.by)
    const attempt = emptyAttempt()
    let hint: string | undefined
    const isMust = (id: string): boolean => requirementLevel(run.corpus, id) === 'must'
    if (problem !== undefined) {
      if (called === undefined) return timed(unjudged(scenario, castRow, 'blocked', problem))
      const accepted = called.answer.outcome === 'accepted'
      const control = accepted ? undefined : await refusedControl(seat, declared.way, declared.by)
      if (typeof control === 'string') return timed(unjudged(scenario, castRow, 'blocked', control))
      if (control !== undefined) {
        attempt.troubles.push({
          kind: 'blocked',
          step: controlStep,
          called: [control.called],
          proves: [],
          message: control.message,
        })
        for (const id of member.proves) attempt.unreached.add(id)
        return timed(conclude(seat, scenario, castRow, attempt, isMust, await diagnoseTarget(seat, control.auth)))
      }
      const nowhere = accepted ? undefined : await ensureCast(seat, [member.name])
      if (nowhere !== undefined && !run.target.fresh) return timed(unjudged(scenario, castRow, 'blocked', nowhere))
      if (nowhere !== undefined && run.target.lasting) hint = perhapsUsed
      const broken = member.proves.filter((id) => (id === 'keys/create-result') === accepted)
      attempt.troubles.push({
        kind: called.answer.outcome === 'throttled' ? 'blocked' : 'broke',
        step: castStep,
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
    return timed(conclude(seat, scenario, castRow, attempt, isMust, hint))
  } finally {
    await leaveSeat(seat)
  }
}

const perhapsUsed =
  'No kind of authorization creates a key here. Is this instance fresh, as --disposable says? At most ten API keys can be created.'

const controlStep: CallStep = { call: 'solution/listSolutions', auth: 'none', at: { line: 1, column: 1 } }
const castStep: CallStep = { call: 'manager/createApiKey', auth: 'none', at: { line: 1, column: 1 } }

/** The declared way, with the stand-in where a root key has no secret. */
function declaredBy(member: CastMember, seat: Seat): { way: Way; by: string } | undefined {
  const declared = declaredWay(member)
  if (declared === undefined || declared.by !== 'root' || declared.way === 'ecc') return declared
  return { way: declared.way, by: secretRoot(seat.instance.root) }
}

/** A creation that is refused says something only if an ordinary call with the same authorization is accepted. */
async function refusedControl(
  seat: Seat,
  way: Way,
  by: string,
): Promise<string | { auth: Auth; called: Called; message: string } | undefined> {
  const token = way === 'token' ? await tokenOf(seat, by, ['solution']) : undefined
  if (way === 'token' && token === undefined) return 'preparation: no access token was granted'
  const auth = (token === undefined ? { [way]: by } : { token }) as Auth
  const called = await makeCall(seat, { method: 'solution/listSolutions', params: {}, auth })
  const { answer } = called
  if (answer.outcome === 'accepted') return undefined
  return { auth, called, message: `preparation: expected the call to be accepted, it was ${describe(answer)}` }
}
