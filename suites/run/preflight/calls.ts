/** The calls of the preflight. */
import { makeCall } from '../../engine/conversation/call.ts'
import type { Caller } from '../../engine/conversation/caller.ts'
import { noteSilence, patienceForRefusalMs } from '../../engine/conversation/patience.ts'
import type { Called } from '../../engine/judge/called.ts'
import type { Auth } from '../../engine/language/fixture-types.ts'

export const listSolutions = 'solution/listSolutions'

export const call = (caller: Caller, auth: Auth, method = listSolutions, params: unknown = {}): Promise<Called> =>
  makeCall(caller, { method, params, auth })

/** Makes a call that should be refused; some servers never answer such calls. */
export async function callExpectingRefusal(
  caller: Caller,
  auth: Auth,
  method = listSolutions,
  params: unknown = {},
): Promise<Called> {
  const called = await makeCall(caller, { method, params, auth, timeoutMs: patienceForRefusalMs(caller) })
  noteSilence(caller, called.wire)
  return called
}

/** The params of a grant for the root key. */
export function grantParams(caller: Caller, scope: string[]): unknown {
  const { id, secret = '' } = caller.testKeys.get('root') ?? { id: '' }
  return { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope }
}

export const grant = (caller: Caller, scope: string[]): Promise<Called> =>
  call(caller, 'none', 'manager/auth', grantParams(caller, scope))
