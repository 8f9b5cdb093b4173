/** Recognises a right signature that was damaged on its way: a typing error, a cut, a line break. */
import { editDistance } from '../engine/language/yaml-source.ts'
import { type HeaderFields, signDraft } from '../engine/signer/draft.ts'
import { draftOf } from '../engine/signer/sign.ts'
import type { VerifyInput } from './verify.ts'

/** A part of the right signature with this many characters is not a coincidence: 10 characters of BASE64 are 60 bits. */
const tellingLength = 10
const toleratedEdits = 3

/** Whether the received signature is nearly the right one. Always false without a key that can sign. */
export function isDamaged(input: VerifyInput, { keyId, timestamp, nonce, signature }: HeaderFields): boolean {
  if (input.key.kind === 'ed25519-public') return false
  const right = signDraft(draftOf({ ...input, keyId, timestamp, nonce })).signature
  if (signature.length >= tellingLength && right.includes(signature)) return true
  return Math.abs(right.length - signature.length) <= toleratedEdits && editDistance(right, signature) <= toleratedEdits
}
