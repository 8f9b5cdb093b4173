import { ensureCast } from '../cast.ts'
import { diagnoseTarget, diagnoseTokens } from '../diagnose-target.ts'
import type { Auth, Row, Scenario } from '../fixture/model.ts'
import { noPlaceForKeys } from '../full-target.ts'
import type { RowOutcome } from '../outcome.ts'
import { castUsed, namesIn, unjudged } from '../rows.ts'
import { leaveSeat, type Run, requirementLevel, type Seat, type Stop, takeSeat } from '../seat.ts'
import { type Attempt, attemptRow, type Trouble } from './attempt.ts'
import { actor, makeCall } from './call.ts'
import { conclude } from './conclude.ts'
import { builtInNames } from './names.ts'

/** A row is begun anew when the server's clock jumped, or when a moment decides it and it was throttled or came too late, or when a token ended under way; so many times in all. */
const tries = 3

/** Runs one row on its own seat and says what it showed. Never throws for what a target does. */
export async function runRow(run: Run, scenario: Scenario, row: Row): Promise<RowOutcome> {
  const startedMs = performance.now()
  let calls = 0
  for (let number = 1; ; number += 1) {
    const shared = await takeSeat(run)
    // Rows that wait together share a seat; each counts its own calls.
    const seat = { ...shared, calls: 0 }
    try {
      const outcome = await tryRow(seat, scenario, row, number)
      calls += seat.calls
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
  const jumpsBefore = seat.knowledge.clockJumps
  const attempt = await attemptRow(seat, scenario, row, names, run.corpus.schemas, isMust)
  const jumped = seat.knowledge.clockJumps > jumpsBefore && attempt.troubles.length > 0
  const timed = [...scenario.given, ...scenario.steps].some((step) => 'wait' in step || step.before !== undefined)
  const late = attempt.troubles.some(({ kind }) => kind === 'too-late' || kind === 'token-ended')
  // Nothing takes back the keys of a row before it ends.
  const repeatable = timed || !scenario.needs.includes('keys')
  if ((jumped || (timed && attempt.throttled) || (late && repeatable)) && number < tries) return 'again'
  if (jumped) return unjudged(scenario, row, 'blocked', 'the clock of the target jumped during each of several tries')
  await noticeGone(seat, attempt)
  // What a target fails to answer while it goes away says nothing about what it does.
  if (stopOf(run) !== null && attempt.troubles.some(isUnanswered)) {
    return unjudged(scenario, row, 'blocked', `not run: ${stopOf(run)?.message}`)
  }
  const full = await noPlaceForKeys(seat, attempt)
  if (full !== undefined) return unjudged(scenario, row, 'not-testable', full)
  await noticeLockOut(seat, attempt)
  if (stopOf(run)?.kind === 'locked-out') {
    return unjudged(scenario, row, 'blocked', `not run: ${stopOf(run)?.message}`)
  }
  return conclude(
    seat,
    scenario,
    row,
    attempt,
    isMust,
    addressHint(seat, attempt, scenario, row) ?? (await hintFor(seat, attempt)),
  )
}

/** Read anew: a call in between may have set it. */
const stopOf = (run: Run): Stop | null => run.stopped

const isUnanswered = ({ called }: Trouble): boolean =>
  called.some(({ answer }) => answer.outcome === 'broken' && answer.status === null)

/** A call without any answer on a lasting target: is the target still there? */
async function noticeGone(seat: Seat, attempt: Attempt): Promise<void> {
  const { run } = seat
  if (!run.target.lasting || run.stopped !== null || !attempt.troubles.some(isUnanswered)) return
  // On a connection of its own: a server that is shutting down may still answer on a kept one.
  const { answer } = await makeCall(seat, {
    method: 'solution/listSolutions',
    params: {},
    auth: 'none',
    freshConnection: true,
  })
  if (answer.outcome === 'broken' && answer.status === null) {
    run.stopped ??= { kind: 'gone', message: `${run.target.name} went away: ${answer.reason}` }
  }
}

/** A user who is wrong about the address that the target sees gets refusals wherever a token is bound to it. */
function addressHint({ run, instance }: Seat, attempt: Attempt, scenario: Scenario, row: Row): string | undefined {
  const { clientAddress } = instance.settings
  if (!run.target.lasting || clientAddress === undefined || !attempt.troubles.some(isRefusedInstead)) return undefined
  return namesIn(scenario, row).has('client')
    ? `Does the target see our calls come from ${clientAddress}, as clientAddress in the target file says?`
    : undefined
}

/** After a right signature was refused, which classic mistake does the server make? After a token was, is it the word before it? */
async function hintFor(seat: Seat, attempt: Attempt): Promise<string | undefined> {
  // What came too late was refused for that.
  const trouble = attempt.troubles.find(
    ({ kind, called }) => kind !== 'too-late' && called.some(({ answer }) => answer.outcome === 'refused'),
  )
  const auth = trouble === undefined ? undefined : authOf(trouble)
  const refused = trouble?.called.find(({ answer }) => answer.outcome === 'refused')
  if (auth === undefined || refused === undefined) return undefined
  if (typeof auth === 'object' && 'token' in auth) return auth.but === undefined ? diagnoseTokens(seat) : undefined
  return diagnoseTarget(seat, auth, refused.request)
}

function authOf({ step }: Trouble): Auth | undefined {
  return 'call' in step && step.expect === 'accepted' && step.call === 'solution/listSolutions' ? step.auth : undefined
}

/**
 * Something was refused that should have been accepted. Where the root key is refused as well, twice, in a way in which it was accepted
 * before, a lasting target locked us out, and every further verdict would be false.
 */
async function noticeLockOut(seat: Seat, attempt: Attempt): Promise<void> {
  const { run } = seat
  if (!run.target.lasting || run.stopped !== null || !attempt.troubles.some(isRefusedInstead)) return
  for (const control of run.acceptedControls) {
    if ((await refusesRoot(seat, control)) && (await refusesRoot(seat, control))) {
      run.stopped = {
        kind: 'locked-out',
        message: `${run.target.name} refuses the root key that it accepted before; it may have locked the key out`,
      }
      return
    }
  }
}

const isRefusedInstead = ({ step, called }: Trouble): boolean =>
  !('wait' in step) && step.expect !== 'refused' && called.some(({ answer }) => answer.outcome === 'refused')

async function refusesRoot(seat: Seat, control: 'basic' | 'hmac'): Promise<boolean> {
  const member = actor(seat, 'root')
  const auth: Auth = control === 'basic' ? { basic: member } : { hmac: member }
  const { answer } = await makeCall(seat, { method: 'solution/listSolutions', params: {}, auth })
  return answer.outcome === 'refused'
}
