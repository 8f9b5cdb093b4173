import { diagnoseTarget, diagnoseTokens } from '../../diagnose/signature-hint.ts'
import type { Auth, Case, Scenario } from '../fixture/model.ts'
import { conclude } from '../judge/judge-case.ts'
import type { CaseOutcome } from '../judge/outcome.ts'
import { type Attempt, attemptCase, type CaseStop } from './attempt.ts'
import { builtInNames } from './built-in-names.ts'
import { actor, makeCall } from './call.ts'
import { type Client, closeClient, openClient, type Run, requirementLevel } from './client.ts'
import type { StopReason } from './events.ts'
import { noPlaceForKeys } from './full-target.ts'
import { namesIn, testKeysUsed, unjudged } from './test-case.ts'
import { ensureTestKeys } from './test-keys.ts'

/** A case is begun anew when the server's clock jumped, or when a moment decides it and it was throttled or came too late, or when a token ended under way; so many times in all. */
const tries = 3

/** Runs one case on its own client and says what it showed. Never throws for what a target does. */
export async function runCase(run: Run, scenario: Scenario, testCase: Case): Promise<CaseOutcome> {
  const startedMs = performance.now()
  let calls = 0
  for (let number = 1; ; number += 1) {
    const shared = await openClient(run)
    // Cases that wait together share a client; each counts its own calls.
    const client = { ...shared, calls: 0 }
    try {
      const outcome = await tryCase(client, scenario, testCase, number)
      calls += client.calls
      if (outcome !== 'again') {
        return { ...outcome, calls, durationMs: Math.round((performance.now() - startedMs) * 10) / 10 }
      }
    } finally {
      await closeClient(client)
    }
  }
}

async function tryCase(
  client: Client,
  scenario: Scenario,
  testCase: Case,
  number: number,
): Promise<CaseOutcome | 'again'> {
  const { run } = client
  const stopped = stopOf(run)
  if (stopped !== null) return unjudged(scenario, testCase, 'blocked', `not run: ${stopped.message}`)
  const members = testKeysUsed(
    scenario,
    testCase,
    run.corpus.testKeys.map(({ name }) => name),
  )
  if (client.instance.root.kind === 'ed25519' && members.has('root')) members.add('erin')
  const missing = await ensureTestKeys(client, members)
  if (missing !== undefined) return unjudged(scenario, testCase, 'blocked', missing)
  const names = builtInNames(client, testCase, members, number)
  const isMust = (id: string): boolean => requirementLevel(run.corpus, id) === 'must'
  const jumpsBefore = client.facts.clockJumps
  const attempt = await attemptCase(client, scenario, testCase, names, run.corpus.schemas, isMust)
  const jumped = client.facts.clockJumps > jumpsBefore && attempt.stops.length > 0
  const timed = [...scenario.given, ...scenario.steps].some((step) => 'wait' in step || step.before !== undefined)
  const late = attempt.stops.some(({ kind }) => kind === 'too-late' || kind === 'token-ended')
  // Nothing takes back the keys of a case before it ends.
  const repeatable = timed || !scenario.needs.includes('keys')
  if ((jumped || (timed && attempt.throttled) || (late && repeatable)) && number < tries) return 'again'
  if (jumped)
    return unjudged(scenario, testCase, 'blocked', 'the clock of the target jumped during each of several tries')
  await noticeGone(client, attempt)
  // What a target fails to answer while it goes away says nothing about what it does.
  if (stopOf(run) !== null && attempt.stops.some(isUnanswered)) {
    return unjudged(scenario, testCase, 'blocked', `not run: ${stopOf(run)?.message}`)
  }
  const full = await noPlaceForKeys(client, attempt)
  if (full !== undefined) return unjudged(scenario, testCase, 'not-testable', full)
  await noticeLockOut(client, attempt)
  if (stopOf(run)?.kind === 'locked-out') {
    return unjudged(scenario, testCase, 'blocked', `not run: ${stopOf(run)?.message}`)
  }
  return conclude(
    client,
    scenario,
    testCase,
    attempt,
    isMust,
    addressHint(client, attempt, scenario, testCase) ?? (await hintFor(client, attempt)),
  )
}

/** Read anew: a call in between may have set it. */
const stopOf = (run: Run): StopReason | null => run.stopping.reason

const isUnanswered = ({ called }: CaseStop): boolean =>
  called.some(({ answer }) => answer.outcome === 'broken' && answer.status === null)

/** A call without any answer on a lasting target: is the target still there? */
async function noticeGone(client: Client, attempt: Attempt): Promise<void> {
  const { run } = client
  if (!run.target.lasting || run.stopping.reason !== null || !attempt.stops.some(isUnanswered)) return
  // On a connection of its own: a server that is shutting down may still answer on a kept one.
  const { answer } = await makeCall(client, {
    method: 'solution/listSolutions',
    params: {},
    auth: 'none',
    freshConnection: true,
  })
  if (answer.outcome === 'broken' && answer.status === null) {
    run.stopping.stop({ kind: 'gone', message: `${run.target.name} went away: ${answer.reason}` })
  }
}

/** A user who is wrong about the address that the target sees gets refusals wherever a token is bound to it. */
function addressHint(
  { run, instance }: Client,
  attempt: Attempt,
  scenario: Scenario,
  testCase: Case,
): string | undefined {
  const { clientAddress } = instance.settings
  if (!run.target.lasting || clientAddress === undefined || !attempt.stops.some(isRefusedInstead)) return undefined
  return namesIn(scenario, testCase).has('client')
    ? `Does the target see our calls come from ${clientAddress}, as clientAddress in the target file says?`
    : undefined
}

/** After a right signature was refused, which classic mistake does the server make? After a token was, is it the word before it? */
async function hintFor(client: Client, attempt: Attempt): Promise<string | undefined> {
  // What came too late was refused for that.
  const stop = attempt.stops.find(
    ({ kind, called }) => kind !== 'too-late' && called.some(({ answer }) => answer.outcome === 'refused'),
  )
  const auth = stop === undefined ? undefined : authOf(stop)
  const refused = stop?.called.find(({ answer }) => answer.outcome === 'refused')
  if (auth === undefined || refused === undefined) return undefined
  if (typeof auth === 'object' && 'token' in auth) return auth.but === undefined ? diagnoseTokens(client) : undefined
  return diagnoseTarget(client, auth, refused.request)
}

function authOf({ step }: CaseStop): Auth | undefined {
  return 'call' in step && step.expect === 'accepted' && step.call === 'solution/listSolutions' ? step.auth : undefined
}

/**
 * Something was refused that should have been accepted. Where the root key is refused as well, twice, in a way in which it was accepted
 * before, a lasting target locked us out, and every further verdict would be false.
 */
async function noticeLockOut(client: Client, attempt: Attempt): Promise<void> {
  const { run } = client
  if (!run.target.lasting || run.stopping.reason !== null || !attempt.stops.some(isRefusedInstead)) return
  for (const control of run.acceptedControls) {
    if ((await refusesRoot(client, control)) && (await refusesRoot(client, control))) {
      run.stopping.stop({
        kind: 'locked-out',
        message: `${run.target.name} refuses the root key that it accepted before; it may have locked the key out`,
      })
      return
    }
  }
}

const isRefusedInstead = ({ step, called }: CaseStop): boolean =>
  !('wait' in step) && step.expect !== 'refused' && called.some(({ answer }) => answer.outcome === 'refused')

async function refusesRoot(client: Client, control: 'basic' | 'hmac'): Promise<boolean> {
  const member = actor(client, 'root')
  const auth: Auth = control === 'basic' ? { basic: member } : { hmac: member }
  const { answer } = await makeCall(client, { method: 'solution/listSolutions', params: {}, auth })
  return answer.outcome === 'refused'
}
