/** What else may be the cause of what a case saw: a target that went away, is full, is locked, or a limit that an earlier case broke. */

import type { Classified } from '../judge/classify.ts'
import type { Called } from '../judge/expectation.ts'
import type { Attempt, CaseStop } from '../judge/judge-case.ts'
import type { CaseOutcome, Gap, Hint, Obstacle, ProblemFacts } from '../judge/problem.ts'
import type { Auth, Case, Scenario, Step } from '../language/fixture-types.ts'
import { withCase } from '../language/resolve.ts'
import { shortName, uniqueLength } from '../signer/random.ts'
import { hasRace, limitOf, namesIn } from './cases.ts'
import { actor, type Conversation, type Run } from './conversation.ts'
import { makeCall } from './send.ts'
import { isUnavailable, requestsSession, type TargetFacts } from './target-facts.ts'

export const isUnanswered = ({ called }: CaseStop): boolean => called.some(({ answer }) => isAway(answer))

/** Nothing answered, or something in front of the target answered for it. */
const isAway = (answer: Classified): boolean =>
  answer.outcome === 'broken' && (answer.status === null || isUnavailable(answer.status))

/** A call should have been accepted and was refused. */
export const isRefusedInstead = ({ step, called }: CaseStop): boolean =>
  !('wait' in step) && step.expect !== 'refused' && called.some(({ answer }) => answer.outcome === 'refused')

/** Checks after an unanswered call on a lasting target whether it is still there. */
export async function noticeGone(talk: Conversation, attempt: Attempt): Promise<void> {
  const { run } = talk
  if (!run.target.lasting || run.stopping.reason !== null || !attempt.stops.some(isUnanswered)) return
  // On a new connection: a server that is shutting down may still answer on a kept one. With the root key: a target may hang up on others.
  const { answer } = await makeCall(talk, {
    method: 'solution/listSolutions',
    params: {},
    auth: { key: actor(talk, 'root') },
    freshConnection: true,
  })
  if (answer.outcome === 'broken' && isAway(answer)) {
    const because = { kind: 'no-answers', calls: 1, reason: answer.reason } as const
    run.stopping.stop({ kind: 'gone', target: run.target.name, because })
  }
}

/**
 * A locked key is refused every time. A server that refuses only some right calls, such as those whose nonce has a plus sign, accepts one of
 * this many.
 */
const triesOfLock = 6

/**
 * Checks for a lock-out after a refusal that should have been an acceptance: the root key is refused again and again, with a kind of
 * authorization that was accepted before, on used and on new connections: a refusal on used ones alone is no lock.
 */
export async function noticeLockOut(talk: Conversation, attempt: Attempt): Promise<void> {
  const { run } = talk
  if (!run.target.lasting || run.stopping.reason !== null || !attempt.stops.some(isRefusedInstead)) return
  for (const control of run.acceptedControls) {
    let refused = 0
    while (refused < triesOfLock && (await refusesRoot(talk, control, refused % 2 === 1))) refused += 1
    if (refused === triesOfLock) {
      run.stopping.stop({ kind: 'locked-out', target: run.target.name })
      return
    }
  }
}

async function refusesRoot(talk: Conversation, control: 'basic' | 'hmac', freshConnection: boolean): Promise<boolean> {
  const member = actor(talk, 'root')
  const auth: Auth = control === 'basic' ? { basic: member } : { hmac: member }
  const { answer } = await makeCall(talk, { method: 'solution/listSolutions', params: {}, auth, freshConnection })
  return answer.outcome === 'refused'
}

const createApiKey = 'manager/createApiKey'

/**
 * At most ten API keys can be created. A lasting target may hold some that the suite does not know of, or count refused creations. So
 * a refused creation there says something only if another one, by the root key in a way that works, is accepted now.
 *
 * @returns why the case cannot be judged; undefined if it can
 */
export async function noPlaceForKeys(talk: Conversation, attempt: Attempt): Promise<Gap | undefined> {
  const { run, instance, facts, createdKeys } = talk
  if (!run.target.lasting || run.stopping.reason !== null) return undefined
  // A fresh target that never accepted a creation cannot create keys, which is a failure.
  if (!refusesCreation(attempt) || (run.target.fresh && createdKeys.keys.length === 0)) return undefined
  const auth: Auth =
    instance.root.kind === 'ed25519' ? { ecc: 'root' } : facts.keyWay === 'hmac' ? { hmac: 'root' } : { basic: 'root' }
  const params = { name: `full-${shortName(run.unique, uniqueLength)}`, scope: ['solution'] }
  const { answer } = await makeCall(talk, { method: createApiKey, params, auth })
  if (answer.outcome !== 'refused') return undefined
  return { kind: 'no-place-for-keys', fresh: run.target.fresh, created: createdKeys.keys.length }
}

/** Whether a lasting target that should be fresh refused a creation before it accepted any: its places may be taken. */
function isPerhapsNotFresh({ run, createdKeys }: Conversation, attempt: Attempt): boolean {
  return run.target.lasting && run.target.fresh && createdKeys.keys.length === 0 && refusesCreation(attempt)
}

/** Whether the creation of a key was refused that may be accepted. */
const refusesCreation = ({ stops }: Attempt): boolean =>
  stops.some(
    ({ step, called }) =>
      'call' in step &&
      step.call === createApiKey &&
      step.expect !== 'refused' &&
      called.some(({ answer }) => answer.outcome === 'refused'),
  )

/** Too few keys work. A target may refuse the others with something that is no JSON-RPC error. */
const kindsOfTooFew: readonly ProblemFacts['kind'][] = ['wrong-count', 'call-not-answered']

/**
 * A case that needs all ten places of a fresh instance proves nothing on a lasting one where keys were removed, or creations were refused or not
 * answered before: whether those count is open.
 */
export function placesUsedBefore(
  { run }: Conversation,
  { needs }: Scenario,
  { stops }: Attempt,
  perhapsCounted: number,
): { verdict: 'not-testable'; problem: Gap } | undefined {
  const fillsFresh = needs.includes('fresh-instance') && needs.includes('limits')
  if (!run.target.lasting || !fillsFresh || perhapsCounted === 0) return undefined
  const tooFew = stops.some(({ kind, problem }) => kind === 'broke' && kindsOfTooFew.includes(problem.kind))
  return tooFew
    ? { verdict: 'not-testable', problem: { kind: 'places-perhaps-used', count: perhapsCounted } }
    : undefined
}

/** The most sessions that a user has (part 5.4). */
const mostSessions = 16
const nextWorks = 'sessions/next-works'

/**
 * A server that refuses the seventeenth session, instead of removing the oldest, breaks sessions/next-works. Once there may be sixteen, a
 * refused session says something about another requirement only if an ordinary session of the same key is granted now.
 *
 * @returns why the case cannot be judged; undefined if it can
 */
export async function noRoomForSessions(talk: Conversation, { stops }: Attempt): Promise<Obstacle | undefined> {
  const { run, facts } = talk
  if (!run.target.lasting || run.stopping.reason !== null || (facts.sessionsGranted ?? 0) < mostSessions)
    return undefined
  const refused = stops.flatMap(({ step, proves, called }) =>
    'wait' in step || step.expect === 'refused' || proves.includes(nextWorks) ? [] : called.filter(isRefusedSession),
  )
  const params = paramsOf(refused[0])
  if (params === undefined) return undefined
  const areas = params.scope.filter((word) => !String(word).includes(':'))
  const scope = [...areas, `session:${shortName(`control-${run.unique}`)}`]
  const { answer } = await makeCall(talk, { method: 'manager/auth', params: { ...params, scope }, auth: 'none' })
  return answer.outcome === 'refused' ? { kind: 'no-room-for-sessions' } : undefined
}

const isRefusedSession = (called: Called): boolean =>
  called.answer.outcome === 'refused' && paramsOf(called) !== undefined

/** The params of a call that requests a session. */
function paramsOf(called: Called | undefined): { scope: unknown[] } | undefined {
  if (called === undefined) return undefined
  try {
    const { params } = JSON.parse(new TextDecoder().decode(called.request.body)) as { params?: unknown }
    return requestsSession(params) ? params : undefined
  } catch {
    return undefined
  }
}

// A case that breaks a limit leaves the target beyond it, which spoils later cases about the limit.

/** Returns why a case can no longer run; undefined if it can. */
export function spoiltBefore(run: Run, scenario: Scenario): Obstacle | undefined {
  const limit = limitOf(scenario)
  const by = limit === undefined ? undefined : run.spoilt.get(limit)
  return limit === undefined || by === undefined || !run.target.lasting
    ? undefined
    : { kind: 'limit-spoilt', what: limit, by }
}

/** Remembers a limit that a case found broken. */
export function noteSpoilt(run: Run, scenario: Scenario, { key, verdict }: Pick<CaseOutcome, 'key' | 'verdict'>): void {
  const limit = limitOf(scenario)
  if (limit !== undefined && hasRace(scenario) && verdict === 'failed' && !run.spoilt.has(limit))
    run.spoilt.set(limit, key)
}

// If no token prefix is known to work, cases that send tokens would fail for that reason alone.

/** The requirement that access tokens authorize calls. A prefix that the user gives must work in its cases. */
const tokensWork = 'tokens/authorize'

/** Returns why a case cannot run; undefined if it can. A given prefix that does not work fails the cases that judge it. */
export function withoutTokenWord({ tokenWord }: TargetFacts, scenario: Scenario, testCase: Case): Obstacle | undefined {
  if (tokenWord === undefined) return undefined
  const written = (steps: Step[]): Step[] => steps.map((step) => withCase(step, testCase.values))
  const inGiven = written(scenario.given).some(sendsToken)
  if (!inGiven && !written(scenario.steps).some(sendsToken)) return undefined
  const judgesIt = !inGiven && (testCase.proves ?? scenario.proves).every((id) => id === tokensWork)
  return tokenWord.kind === 'not-accepted' && judgesIt ? undefined : { kind: 'no-token-word', because: tokenWord }
}

function sendsToken(step: Step): boolean {
  if ('wait' in step) return false
  const auth = 'call' in step ? step.auth : step.send.auth
  return typeof auth === 'object' && 'token' in auth
}

// What may explain a refusal that should have been an acceptance. Only ever a hint, never a verdict.

/** A case after its tries. */
export interface Tried {
  talk: Conversation
  scenario: Scenario
  testCase: Case
  attempt: Attempt
}

export async function explainRefusal(tried: Tried): Promise<Hint | undefined> {
  if (isPerhapsNotFresh(tried.talk, tried.attempt)) return { kind: 'perhaps-not-fresh' }
  return addressHint(tried) ?? (await diagnose(tried))
}

/** If the user is wrong about the address that the target sees, every token bound to that address is refused. */
function addressHint({ talk, attempt, scenario, testCase }: Tried): Hint | undefined {
  const { run, instance } = talk
  const { clientAddress } = instance.settings
  if (!run.target.lasting || clientAddress === undefined || !attempt.stops.some(isRefusedInstead)) return undefined
  return namesIn(scenario, testCase).has('client') ? { kind: 'client-address', address: clientAddress } : undefined
}

/** For a refused signature: which deliberate mistake does the server accept? For a refused token: is its prefix wrong? */
async function diagnose({ talk, attempt }: Tried): Promise<Hint | undefined> {
  // A call that came too late, or after what it rests on was gone, was refused for that reason.
  const stop = attempt.stops.find(
    ({ kind, called }) =>
      kind !== 'too-late' && kind !== 'preparation-lost' && called.some(({ answer }) => answer.outcome === 'refused'),
  )
  const auth = stop === undefined ? undefined : authOf(stop)
  const refused = stop?.called.find(({ answer }) => answer.outcome === 'refused')
  if (auth === undefined || refused === undefined) return undefined
  if (typeof auth !== 'object' || !('token' in auth)) {
    const quiet = unheard(talk)
    const hint = await talk.run.diagnose?.signature(quiet, auth, refused.request)
    talk.calls = quiet.calls
    return hint
  }
  return auth.but === undefined ? talk.run.diagnose?.token(talk) : undefined
}

/** The model does not hear of the calls of a hint: what they show is the cause of a failure that is reported. */
const unheard = (talk: Conversation): Conversation => ({
  ...talk,
  emit: (event) => {
    if (event.kind !== 'exchange-begun' && event.kind !== 'exchange-made') talk.emit(event)
  },
})

function authOf({ step }: CaseStop): Auth | undefined {
  return 'call' in step &&
    step.expect === 'accepted' &&
    step.call === 'solution/listSolutions' &&
    step.alter === undefined
    ? step.auth
    : undefined
}
