import type { ServerContext } from './context.ts'
import type { MockRequest } from './http-server.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import type { SignedParts } from './rules.ts'
import type { ApiKey } from './state.ts'

/** How long a nonce is remembered at least, in ms; longer where the time window is wider. */
const nonceMemoryMs = 20 * 60_000

/**
 * Finds the key of a signed request by its credentials (everything after the scheme word): form, time, key, nonce, then the signature itself.
 */
export function verifySignature(
  context: ServerContext,
  credentials: string,
  request: MockRequest,
  keyOf: (id: string, means: 'hmac' | 'ecc') => Outcome<ApiKey>,
): Outcome<{ key: ApiKey; means: 'hmac' | 'ecc' }> {
  const { rules, profile } = context
  const fields = rules.headerFields(credentials)
  if (!rules.fieldCountTaken(fields.length)) return refuse('unauthorized', 'signature/fields')
  const [keyId = '', version = '', timestamp = '', nonce = '', signature = ''] = fields
  if (!rules.versionTaken(version)) return refuse('unauthorized', 'signature/version')
  const nowMs = context.now()
  if (!rules.timestampTaken(timestamp, nowMs, profile)) return refuse('unauthorized', 'signature/timestamp')
  if (!rules.nonceTaken(nonce, profile)) return refuse('unauthorized', 'signature/nonce-form')
  const found = keyOf(keyId, context.state.keys.get(keyId)?.publicKey === undefined ? 'hmac' : 'ecc')
  if (!found.ok) return found
  const key = found.value
  if (context.state.nonces.has(nonce, nowMs) && !rules.usedNonceTaken(profile))
    return refuse('unauthorized', 'signature/nonce-used')
  if (profile.nonceBurntByBadSignature) rememberNonce(context, nonce, nowMs)

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
  if (!profile.nonceBurntByBadSignature) rememberNonce(context, nonce, nowMs)
  return succeed({ key, means })
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

function meansOf(
  context: ServerContext,
  key: ApiKey,
  signature: string,
  texts: Uint8Array[],
): 'hmac' | 'ecc' | undefined {
  const { rules } = context
  for (const data of texts) if (rules.hmacTakenFor(key) && isMac(context, key, signature, data)) return 'hmac'
  for (const data of texts) if (rules.eccTakenFor(key) && isEcc(context, key, signature, data)) return 'ecc'
  return undefined
}

const signersOf = ({ rules, state }: ServerContext, key: ApiKey, kind: 'hmac' | 'ecc'): ApiKey[] =>
  rules.signingKeys(key, () => [...state.keys.values()], kind)

function isMac(context: ServerContext, key: ApiKey, received: string, data: Uint8Array): boolean {
  const { rules, profile } = context
  return signersOf(context, key, 'hmac').some((signer) => {
    const mac = rules.mac(data, signer)
    const texts = rules.macTexts(mac.subarray(0, rules.macBytes()), mac, profile)
    return texts.some((text) => rules.macTextMatches(received, text))
  })
}

function isEcc(context: ServerContext, key: ApiKey, received: string, data: Uint8Array): boolean {
  const { rules, profile } = context
  const signatures = rules.eccSignatures(received, profile)
  return signersOf(context, key, 'ecc').some(
    ({ verifyKey }) => verifyKey && signatures.some((bytes) => rules.eccVerifies(verifyKey, data, bytes)),
  )
}

function rememberNonce({ state, profile }: ServerContext, nonce: string, nowMs: number): void {
  state.nonces.add(nonce, nowMs + Math.max(nonceMemoryMs, 2 * profile.timeWindowMs), nowMs)
}
