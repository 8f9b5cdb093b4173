import type { ServerContext } from './context.ts'
import type { MockRequest } from './http-server.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import { effectiveKeyScope } from './scopes.ts'
import type { ApiKey, Means, TokenPair } from './state.ts'
import { tokenProblem } from './token-state.ts'
import { verifySignature } from './verify.ts'

/** The caller of a request and its permissions. */
export interface Caller {
  key: ApiKey
  means: Means
  pair?: TokenPair
  scopes: string[]
}

/** Whether the caller that `identify` found may call `method` with this kind of authorization. */
export function admit(context: ServerContext, found: Outcome<Caller>, method: string): Outcome<Caller> {
  const { rules } = context
  if (found.ok)
    return rules.meansTaken(found.value.means, method) ? found : refuse('unauthorized', 'authorization/means')
  return rules.forgives(found.refusal.stage, method) ? succeed(initialCaller(context)) : found
}

/** The caller of a call without authorization; only a replaced rule needs it. */
export function initialCaller(context: ServerContext): Caller {
  return { key: context.root, means: 'basic', scopes: context.root.scope }
}

/**
 * Finds the caller of a request by its Authorization header. A refusal's stage is `authorization/…`, `key/…`, `signature/…`, `basic/…` or
 * `token/…`. Call it once for a signed request, because that uses up its nonce.
 */
export function identify(context: ServerContext, request: MockRequest): Outcome<Caller> {
  const { rules, profile } = context
  const header = rules.headerOf(request)
  if (header === undefined || header === '') return refuse('unauthorized', 'authorization/none')
  const space = header.indexOf(' ')
  const word = header.slice(0, Math.max(space, 0))
  const credentials = header.slice(space + 1)
  if (rules.schemeTaken(word, profile.scheme, profile)) {
    const verified = verifySignature(context, credentials, request, (id, means) => findKey(context, id, means))
    return verified.ok ? keyCaller(context, verified.value.key, verified.value.means) : verified
  }
  if (rules.schemeTaken(word, 'Basic', profile)) return basicCaller(context, credentials)
  if (profile.tokenPrefix === '' && space < 0) return tokenCaller(context, header, request)
  if (profile.tokenPrefix !== '' && rules.schemeTaken(word, profile.tokenPrefix, profile)) {
    return tokenCaller(context, credentials, request)
  }
  return refuse('unauthorized', 'authorization/scheme')
}

/** The named key, if it exists and is active. Stages: `key/unknown`, `key/deleted`, `key/disabled`, `key/expired`. */
export function findKey(context: ServerContext, id: string, means: Means): Outcome<ApiKey> {
  const { rules, state } = context
  const key = rules.keyNamed(
    id,
    (exact) => state.keys.get(exact),
    () => [...state.keys.values()],
    means,
  )
  if (!key) return refuse('unauthorized', 'key/unknown')
  const stage = keyProblem(context, key, means)
  return stage === undefined ? succeed(key) : refuse('unauthorized', stage)
}

/** Why a key no longer authorizes calls, as a stage; undefined if it does. */
export function keyProblem({ rules, now }: ServerContext, key: ApiKey, means: Means): string | undefined {
  if (key.deleted && !rules.deletedKeyWorks(key, means)) return 'key/deleted'
  if (!key.enabled && !rules.disabledKeyWorks(key, means)) return 'key/disabled'
  return rules.keyExpired(key, now()) ? 'key/expired' : undefined
}

function basicCaller(context: ServerContext, credentials: string): Outcome<Caller> {
  const pair = context.rules.basicPair(credentials)
  if (!pair) return refuse('unauthorized', 'basic/form')
  const found = findKey(context, pair.id, 'basic')
  if (!found.ok) return found
  const stage = secretProblem(context, found.value, pair.secret, 'basic')
  return stage === undefined ? keyCaller(context, found.value, 'basic') : refuse('unauthorized', stage)
}

/** Why a presented secret does not prove the key, as a stage; undefined if it does. */
export function secretProblem(
  { rules, state }: ServerContext,
  key: ApiKey,
  secret: string,
  means: 'basic' | 'grant',
): string | undefined {
  if (!rules.secretTakenFor(key, means)) return `${means}/public-key`
  const secrets = rules.secretsOf(key, () => [...state.keys.values()], means)
  return secrets.some((expected) => rules.secretMatches(secret, expected, means)) ? undefined : `${means}/secret`
}

function keyCaller({ rules, profile, root }: ServerContext, key: ApiKey, means: Means): Outcome<Caller> {
  const scope = rules.keyScopeHolds(means) ? key.scope : root.scope
  // The initial key's scope is already known and need not be read in every call.
  return succeed({ key, means, scopes: scope === root.scope ? scope : effectiveKeyScope(scope, profile) })
}

function tokenCaller(context: ServerContext, text: string, request: MockRequest): Outcome<Caller> {
  const found = tokenProblem(context, text, 'access')
  if (!found.ok) return refuse('unauthorized', found.refusal.stage)
  const { pair } = found.value
  const stage = keyProblem(context, pair.key, 'token')
  if (stage !== undefined) return refuse('unauthorized', stage)
  const { rules } = context
  if (rules.addressChecked('call', pair.key) && !rules.addressTaken(pair.addresses, callerAddress(context, request))) {
    return refuse('unauthorized', 'token/address')
  }
  if (pair.session) pair.session.lastUsedMs = context.now()
  return succeed({ key: pair.key, means: 'token', pair, scopes: pair.scope })
}

/** addresses/bound: the address that a call comes from; forwarding headers count only if the profile trusts them. */
export function callerAddress({ profile }: ServerContext, request: MockRequest): string {
  const forwarded = profile.trustProxy ? request.headers['x-forwarded-for']?.split(',')[0]?.trim() : undefined
  const address = forwarded || request.remoteAddress
  return address.startsWith('::ffff:') ? address.slice(7) : address
}
