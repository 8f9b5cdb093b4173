import { ensureCast } from '../cast.ts'
import { diagnoseTarget } from '../diagnose-target.ts'
import type { Auth, Row, Scenario } from '../fixture/model.ts'
import type { RowOutcome } from '../outcome.ts'
import { castUsed, unjudged } from '../rows.ts'
import { leaveSeat, type Run, requirementLevel, type Seat, takeSeat } from '../seat.ts'
import { type Attempt, attemptRow, rootControl, type Trouble } from './attempt.ts'
import { makeCall } from './call.ts'
import { conclude } from './conclude.ts'
import { builtInNames } from './names.ts'

/** A row that a moment decides is begun anew when it was throttled or came too late, so many times in all. */
const tries = 3

/** Runs one row on its own seat and says what it showed. Never throws for what a target does. */
export async function runRow(run: Run, scenario: Scenario, row: Row): Promise<RowOutcome> {
  const startedMs = performance.now()
  let calls = 0
  for (let number = 1; ; number += 1) {
    const seat = await takeSeat(run)
    const callsBefore = seat.calls
    try {
      const outcome = await tryRow(seat, scenario, row, number)
      calls += seat.calls - callsBefore
      if (outcome !== 'again') {
        return { ...outcome, calls, durationMs: Math.round((performance.now() - startedMs) * 10) / 10 }
      }
    } finally {
      await leaveSeat(seat)
    }
  }
}

async function tryRow(seat: Seat, scenario: Scenario, row: Row, number: number): Promise<RowOutcome | 'again'> {
  const { run } = seat
  if (run.stopped !== null) return unjudged(scenario, row, 'blocked', `not run: ${run.stopped.message}`)
  const members = castUsed(
    scenario,
    row,
    run.corpus.cast.map(({ name }) => name),
  )
  if (seat.instance.root.kind === 'ed25519' && members.has('root')) members.add('erin')
  const missing = await ensureCast(seat, members)
  if (missing !== undefined) return unjudged(scenario, row, 'blocked', missing)
  const names = builtInNames(seat, row, members, number)
  const isMust = (id: string): boolean => requirementLevel(run.corpus, id) === 'must'
  const attempt = await attemptRow(seat, scenario, row, names, run.corpus.schemas, isMust)
  const timed = [...scenario.given, ...scenario.steps].some((step) => 'wait' in step || step.before !== undefined)
  const late = attempt.troubles.some(({ kind }) => kind === 'too-late')
  if (timed && (attempt.throttled || late) && number < tries) return 'again'
  await noticeLockOut(seat, attempt)
  return conclude(seat, scenario, row, attempt, isMust, await hintFor(seat, attempt))
}

/** After a right signature was refused, which classic mistake does the server make? */
async function hintFor(seat: Seat, attempt: Attempt): Promise<string | undefined> {
  const trouble = attempt.troubles.find(({ called }) => called.some(({ answer }) => answer.outcome === 'refused'))
  const auth = trouble === undefined ? undefined : authOf(trouble)
  return auth === undefined ? undefined : diagnoseTarget(seat, auth)
}

function authOf({ step }: Trouble): Auth | undefined {
  return 'call' in step && step.expect === 'accepted' && step.call === 'solution/listSolutions' ? step.auth : undefined
}

/**
 * A control by the root key that was accepted before and is refused now, twice, means that a lasting target locked us out: every
 * further verdict would be false.
 */
async function noticeLockOut(seat: Seat, attempt: Attempt): Promise<void> {
  const { run } = seat
  if (!run.target.lasting || run.stopped !== null) return
  const [trouble] = attempt.troubles
  const control = trouble?.kind === 'blocked' ? rootControl(trouble.step) : undefined
  if (control === undefined || !run.acceptedControls.has(control)) return
  const again = await makeCall(seat, {
    method: 'solution/listSolutions',
    params: {},
    auth: control === 'basic' ? { basic: 'root' } : { hmac: 'root' },
  })
  if (again.answer.outcome === 'refused') {
    run.stopped = {
      kind: 'locked-out',
      message: `${run.target.name} refuses the root key that it accepted before; it may have locked the key out`,
    }
  }
}
