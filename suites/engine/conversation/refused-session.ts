import type { Attempt } from '../judge/attempt.ts'
import type { Called } from '../judge/called.ts'
import type { Obstacle } from '../judge/problem.ts'
import { shortName } from '../signer/short-name.ts'
import { makeCall } from './call.ts'
import type { Caller } from './caller.ts'
import { requestsSession } from './session-facts.ts'

/** The most sessions that a user has (part 5.4). */
const mostSessions = 16
const nextWorks = 'sessions/next-works'

/**
 * A server that refuses the seventeenth session, instead of removing the oldest, breaks sessions/next-works. Once there may be sixteen, a
 * refused session says something about another requirement only if an ordinary session of the same key is granted now.
 *
 * @returns why the case cannot be judged; undefined if it can
 */
export async function noRoomForSessions(caller: Caller, { stops }: Attempt): Promise<Obstacle | undefined> {
  const { run, facts } = caller
  if (!run.target.lasting || run.stopping.reason !== null || (facts.sessionsGranted ?? 0) < mostSessions)
    return undefined
  const refused = stops.flatMap(({ step, proves, called }) =>
    'wait' in step || step.expect === 'refused' || proves.includes(nextWorks) ? [] : called.filter(isRefusedSession),
  )
  const params = paramsOf(refused[0])
  if (params === undefined) return undefined
  const areas = params.scope.filter((word) => !String(word).includes(':'))
  const scope = [...areas, `session:${shortName(`control-${run.unique}`)}`]
  const { answer } = await makeCall(caller, { method: 'manager/auth', params: { ...params, scope }, auth: 'none' })
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
