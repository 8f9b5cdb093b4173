import type { Caller } from '../../engine/conversation/caller.ts'
import type { Called } from '../../engine/judge/called.ts'
import type { CredentialKind } from '../../engine/judge/junk-control.ts'
import type { Auth, SafetyClass } from '../../engine/language/fixture-types.ts'
import { shortName, uniqueLength } from '../../engine/signer/short-name.ts'
import { callExpectingRefusal, listSolutions } from './calls.ts'

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
export async function tryJunk(caller: Caller, first: Called, allow: readonly SafetyClass[]): Promise<void> {
  const tries = [...junkCalls(), ...(allow.includes('keys') ? junkCreations(caller) : [])]
  const grants = allow.includes('sessions') ? junkGrants() : []
  const tried = await Promise.all(
    [...tries, ...grants].map(async ({ kind, auth, method, params }) => ({
      what: `${method} ${kind}`,
      called: await callExpectingRefusal(caller, auth, method, params),
    })),
  )
  for (const { what, called } of [{ what: `${listSolutions} none`, called: first }, ...tried])
    if (called.answer.outcome === 'accepted') caller.facts.junkTaken.push(what)
}

interface Junk {
  kind: CredentialKind
  auth: Auth
  method: string
  params: unknown
}

const junkCalls = (): Junk[] => junkAuths.map(([kind, auth]) => ({ kind, auth, method: listSolutions, params: {} }))

function junkCreations({ run }: Caller): Junk[] {
  const params = { name: `junk-${shortName(run.unique, uniqueLength)}`, scope: ['solution'] }
  const none: [CredentialKind, Auth] = ['none', 'none']
  return [none, ...junkAuths].map(([kind, auth]) => ({ kind, auth, method: 'manager/createApiKey', params }))
}

function junkGrants(): Junk[] {
  const credentials = {
    grantType: 'api_key_credentials',
    apiKeyId: junk.id,
    apiKeySecret: junk.secret,
    scope: ['solution'],
  }
  const refresh = { grantType: 'refresh_token', refreshToken: 'svc-conformance-junk-token' }
  return [
    { kind: 'credentials', auth: 'none', method: 'manager/auth', params: credentials },
    { kind: 'refresh', auth: 'none', method: 'manager/auth', params: refresh },
  ]
}
