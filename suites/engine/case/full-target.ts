import type { Auth } from '../fixture/model.ts'
import type { Attempt } from './attempt.ts'
import { makeCall } from './call.ts'
import type { Client } from './client.ts'

const createApiKey = 'manager/createApiKey'

/**
 * At most ten API keys can be created, and a lasting target may have some that nobody told of, or count refused creations. So a creation
 * that is refused there says something only if another one, by the root key in a way that works, is accepted now.
 *
 * @returns why nothing can be said, undefined where it can
 */
export async function noPlaceForKeys(client: Client, { stops }: Attempt): Promise<string | undefined> {
  const { run, instance, facts, createdKeys } = client
  if (!run.target.lasting || run.stopping.reason !== null) return undefined
  const refused = stops.some(
    ({ step, called }) =>
      'call' in step &&
      step.call === createApiKey &&
      step.expect !== 'refused' &&
      called.some(({ answer }) => answer.outcome === 'refused'),
  )
  // Where a fresh target never accepted a creation it is the creation that is broken.
  if (!refused || (run.target.fresh && createdKeys.keys.length === 0)) return undefined
  const auth: Auth =
    instance.root.kind === 'ed25519' ? { ecc: 'root' } : facts.keyWay === 'hmac' ? { hmac: 'root' } : { basic: 'root' }
  const params = { name: `svc-conformance-control-${run.unique}`, scope: ['solution'] }
  const { answer } = await makeCall(client, { method: createApiKey, params, auth })
  if (answer.outcome !== 'refused') return undefined
  return run.target.fresh
    ? `no further API key can be created, though the target is fresh and ${createdKeys.keys.length} were; it may count refused creations`
    : 'no further API key can be created, most likely since the target has its ten; a cleanup method in the target file frees places'
}
