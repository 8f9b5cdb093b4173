import type { Attempt } from '../judge/attempt.ts'
import type { Gap, ProblemFacts } from '../judge/problem.ts'
import type { Auth, Scenario } from '../language/fixture-types.ts'
import { shortName, uniqueLength } from '../signer/short-name.ts'
import { makeCall } from './call.ts'
import type { Caller } from './caller.ts'

const createApiKey = 'manager/createApiKey'

/**
 * At most ten API keys can be created. A lasting target may hold some that the suite does not know of, or count refused creations. So
 * a refused creation there says something only if another one, by the root key in a way that works, is accepted now.
 *
 * @returns why the case cannot be judged; undefined if it can
 */
export async function noPlaceForKeys(caller: Caller, attempt: Attempt): Promise<Gap | undefined> {
  const { run, instance, facts, createdKeys } = caller
  if (!run.target.lasting || run.stopping.reason !== null) return undefined
  // A fresh target that never accepted a creation cannot create keys, which is a failure.
  if (!refusesCreation(attempt) || (run.target.fresh && createdKeys.keys.length === 0)) return undefined
  const auth: Auth =
    instance.root.kind === 'ed25519' ? { ecc: 'root' } : facts.keyWay === 'hmac' ? { hmac: 'root' } : { basic: 'root' }
  const params = { name: `full-${shortName(run.unique, uniqueLength)}`, scope: ['solution'] }
  const { answer } = await makeCall(caller, { method: createApiKey, params, auth })
  if (answer.outcome !== 'refused') return undefined
  return { kind: 'no-place-for-keys', fresh: run.target.fresh, created: createdKeys.keys.length }
}

/** Whether a lasting target that should be fresh refused a creation before it accepted any: its places may be taken. */
export function isPerhapsNotFresh({ run, createdKeys }: Caller, attempt: Attempt): boolean {
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
  { run }: Caller,
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
