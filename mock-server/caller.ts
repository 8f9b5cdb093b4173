import type { ServerContext } from './context.ts'
import type { MockRequest } from './http-server.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import type { SignedParts } from './rules.ts'
import { effectiveKeyScope } from './scopes.ts'
import type { ApiKey, Means, TokenPair } from './state.ts'
import { findToken } from './token-state.ts'

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
    return signedCaller(context, credentials, request)
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
  const found = findToken(context, text, 'access')
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

/** How long a nonce is remembered at least, in ms; longer where the time window is wider. */
const nonceMemoryMs = 20 * 60_000

/** The caller of a signed request by everything after the scheme word: form, time, key, nonce, then the signature itself. */
function signedCaller(context: ServerContext, credentials: string, request: MockRequest): Outcome<Caller> {
  const { rules, profile, state } = context
  const fields = rules.headerFields(credentials)
  if (!rules.fieldCountTaken(fields.length)) return refuse('unauthorized', 'signature/fields')
  const [keyId = '', version = '', timestamp = '', nonce = '', signature = ''] = fields
  if (!rules.versionTaken(version)) return refuse('unauthorized', 'signature/version')
  const nowMs = context.now()
  if (!rules.timestampTaken(timestamp, nowMs, profile)) return refuse('unauthorized', 'signature/timestamp')
  if (!rules.nonceTaken(nonce, profile)) return refuse('unauthorized', 'signature/nonce-form')
  const found = findKey(context, keyId, state.keys.get(keyId)?.publicKey === undefined ? 'hmac' : 'ecc')
  if (!found.ok) return found
  const key = found.value
  if (state.nonces.has(nonce, nowMs) && !rules.usedNonceTaken(profile))
    return refuse('unauthorized', 'signature/nonce-used')
  const remember = () => state.nonces.add(nonce, nowMs + Math.max(nonceMemoryMs, 2 * profile.timeWindowMs), nowMs)
  if (profile.nonceBurntByBadSignature) remember()

  const parts: SignedParts = {
    timestamp,
    nonce,
    httpMethod: rules.signedMethod(request.method),
    uri: '/api',
    target: request.target,
    host: request.headers.host ?? '',
    body: request.body,
  }
  const means = meansOf(context, key, signature, signedTexts(context, parts))
  if (means === undefined) {
    const refused = refuse('unauthorized', key.publicKey === undefined ? 'signature/mac' : 'signature/ecc')
    if (context.explain) refused.refusal.computed = explain(context, key, parts)
    return refused
  }
  if (!profile.nonceBurntByBadSignature) remember()
  return keyCaller(context, key, means)
}

/** What should have been signed, and for an HMAC how it should have been sent. */
function explain(
  { rules }: ServerContext,
  key: ApiKey,
  parts: SignedParts,
): { dataToSign: string; signature?: string } {
  const [data = Buffer.alloc(0)] = rules.dataToSign(parts)
  const dataToSign = Buffer.from(data).toString('utf8')
  if (key.publicKey !== undefined) return { dataToSign }
  return { dataToSign, signature: rules.mac(data, key).subarray(0, rules.macBytes()).toString('base64') }
}

function signedTexts({ rules, profile }: ServerContext, parts: SignedParts): Uint8Array[] {
  const texts = rules.dataToSign(parts)
  if (profile.noncePadding === 'refused') return texts
  const nonce = parts.nonce.padEnd(Math.ceil(parts.nonce.length / 4) * 4, '=')
  return nonce === parts.nonce ? texts : [...texts, ...rules.dataToSign({ ...parts, nonce })]
}

/** The kind of signature that verifies over one of the texts. */
function meansOf(
  { rules, profile, state }: ServerContext,
  key: ApiKey,
  received: string,
  texts: Uint8Array[],
): 'hmac' | 'ecc' | undefined {
  const signers = (kind: 'hmac' | 'ecc') => rules.signingKeys(key, () => [...state.keys.values()], kind)
  const isMac = (data: Uint8Array): boolean =>
    signers('hmac').some((signer) => {
      const mac = rules.mac(data, signer)
      const encoded = rules.macTexts(mac.subarray(0, rules.macBytes()), mac, profile)
      return encoded.some((text) => rules.macTextMatches(received, text))
    })
  if (rules.hmacTakenFor(key) && texts.some(isMac)) return 'hmac'
  if (!rules.eccTakenFor(key)) return undefined
  const signatures = rules.eccSignatures(received, profile)
  const isEcc = (data: Uint8Array): boolean =>
    signers('ecc').some(
      ({ verifyKey }) => verifyKey && signatures.some((bytes) => rules.eccVerifies(verifyKey, data, bytes)),
    )
  return texts.some(isEcc) ? 'ecc' : undefined
}
