import type { NamedMistake } from '../../lab/diagnose.ts'
import type { JournalKey } from '../journal.ts'

/** The checks about signatures. */
export const signatureChecks = [
  'signature/body-as-sent',
  'signature/method-path-newline',
  'signature/twenty-bytes',
  'signature/base64',
  'signature/five-fields',
  'signature/values-as-signed',
  'signature/timestamp-ms',
  'keys/public-key-signs-only',
] as const
export type SignatureCheck = (typeof signatureChecks)[number]

export interface SignatureFault {
  check: SignatureCheck
  /** What is wrong, and what would be right. */
  message: string
  /** The diagnosis, line by line. */
  diagnosis: readonly string[]
}

const byRequirement: { readonly [requirement: string]: SignatureCheck } = {
  'signatures/request-body': 'signature/body-as-sent',
  'signatures/request-line-feeds': 'signature/method-path-newline',
  'signatures/request-method': 'signature/method-path-newline',
  'signatures/request-uri': 'signature/method-path-newline',
  'signatures/hmac-length': 'signature/twenty-bytes',
  'signatures/secret-key-refuses-ecc': 'signature/twenty-bytes',
  'signatures/hmac-encoding': 'signature/base64',
  'signatures/ecc-encoding': 'signature/base64',
  'signatures/header-fields': 'signature/five-fields',
  'signatures/version': 'signature/five-fields',
  'signatures/scheme': 'signature/five-fields',
  'signatures/public-key-refuses-hmac': 'keys/public-key-signs-only',
}

/** A value of the header that is wrong in itself, not only different from the signed one. */
const byMistake: { readonly [id: string]: SignatureCheck } = {
  'data/with-newline-before-method': 'signature/method-path-newline',
  'data/with-timestamp-in-milliseconds': 'signature/timestamp-ms',
  'fields/timestamp-in-seconds': 'signature/timestamp-ms',
  'fields/timestamp-in-microseconds': 'signature/timestamp-ms',
  'fields/timestamp-no-integer': 'signature/timestamp-ms',
  // Twenty characters of the text instead of twenty bytes.
  'signature/cut-text': 'signature/twenty-bytes',
  'signature/cut-hex-text': 'signature/twenty-bytes',
  'fields/empty-nonce': 'signature/five-fields',
  'fields/other-key-id': 'signature/five-fields',
}

/** The check whose sentence a mistake breaks; `signature/values-as-signed` for mistakes without their own check. */
export function checkOfMistake({ id, requirement }: NamedMistake, key: JournalKey['kind']): SignatureCheck {
  const known = byMistake[id] ?? byRequirement[requirement]
  if (known !== undefined) return known
  // Another computation than HMAC-SHA256, such as SHA-1, makes other bytes than its first 20.
  const isComputation = id.startsWith('signature/') && requirement === 'signatures/hmac' && !isDamage(id)
  return key === 'secret' && isComputation ? 'signature/twenty-bytes' : 'signature/values-as-signed'
}

const isDamage = (id: string): boolean => id === 'signature/damaged' || id.startsWith('signature/one-bit-flipped')
