/** The calls of the preflight. */
import { makeCall } from '../../engine/case/call.ts'
import type { Client } from '../../engine/case/client.ts'
import { isSendable } from '../../engine/case/credential-of.ts'
import { noteSilence, patienceForRefusalMs } from '../../engine/case/patience.ts'
import type { Auth } from '../../engine/fixture/fixture-types.ts'
import type { Called } from '../../engine/judge/called.ts'

export const listSolutions = 'solution/listSolutions'

export const call = (client: Client, auth: Auth, method = listSolutions, params: unknown = {}): Promise<Called> =>
  makeCall(client, { method, params, auth })

/** Makes a call that should be refused; some servers never answer such calls. */
export async function refusable(
  client: Client,
  auth: Auth,
  method = listSolutions,
  params: unknown = {},
): Promise<Called> {
  const called = await makeCall(client, { method, params, auth, timeoutMs: patienceForRefusalMs(client) })
  noteSilence(client, called.wire)
  return called
}

/** The params of a grant for the root key. */
export function grantParams(client: Client, scope: string[]): unknown {
  const { id, secret = '' } = client.testKeys.get('root') ?? { id: '' }
  return { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope }
}

export const grant = (client: Client, scope: string[]): Promise<Called> =>
  call(client, 'none', 'manager/auth', grantParams(client, scope))

/** The access token in a grant's answer, if it can be sent. */
export function accessTokenOf({ answer }: Called): string | undefined {
  const result = answer.outcome === 'accepted' ? (answer.result as { accessToken?: unknown } | null) : null
  const token = result?.accessToken
  return typeof token === 'string' && isSendable(token) ? token : undefined
}
