import type { Client } from '../../engine/case/client.ts'
import type { Auth, SafetyClass } from '../../engine/fixture/model.ts'
import type { Called } from '../../engine/judge/called.ts'
import type { CredentialKind } from '../../engine/judge/junk-control.ts'
import { listSolutions, refusable } from './calls.ts'

/** Junk credentials, which no server knows. */
const junk = { id: 'svc-conformance-junk', secret: 'svc-conformance-junk-secret' }
const junkSeed = '\u0007'.repeat(32)
const junkAuths: readonly [CredentialKind, Auth][] = [
  ['basic', { basic: junk as never }],
  ['hmac', { hmac: junk as never }],
  ['ecc', { ecc: { id: junk.id, secret: junkSeed } as never }],
  ['token', { token: 'svc-conformance-junk-token' }],
]

/** Tries junk credentials: where they are accepted, an acceptance proves nothing. */
export async function tryJunk(client: Client, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const note = (method: string, kind: CredentialKind, { answer }: Called): void => {
    if (answer.outcome === 'accepted') client.facts.junkTaken.push(`${method} ${kind}`)
  }
  note(listSolutions, 'none', first)
  for (const [kind, auth] of junkAuths) note(listSolutions, kind, await refusable(client, auth))
  if (allow.includes('keys')) {
    const params = { name: `svc-junk-${client.run.unique}`, scope: ['solution'] }
    const noAuth: [CredentialKind, Auth][] = [['none', 'none']]
    for (const [kind, auth] of [...noAuth, ...junkAuths]) {
      note('manager/createApiKey', kind, await refusable(client, auth, 'manager/createApiKey', params))
    }
  }
  if (!allow.includes('sessions')) return
  const credentials = {
    grantType: 'api_key_credentials',
    apiKeyId: junk.id,
    apiKeySecret: junk.secret,
    scope: ['solution'],
  }
  note('manager/auth', 'credentials', await refusable(client, 'none', 'manager/auth', credentials))
  const refresh = { grantType: 'refresh_token', refreshToken: 'svc-conformance-junk-token' }
  note('manager/auth', 'refresh', await refusable(client, 'none', 'manager/auth', refresh))
}
