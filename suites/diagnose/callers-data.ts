/** What the caller's own data to sign say about where the mistake is. */
import { fromBase64Strict, sameBytes } from '../engine/signer/bytes.ts'
import { type Draft, signDraft } from '../engine/signer/draft.ts'
import { ed25519Verify, publicKeyOfSeed } from '../engine/signer/ed25519.ts'
import { draftOf } from '../engine/signer/sign.ts'
import type { DiagnoseInput } from './diagnose.ts'
import { firstDifference } from './first-difference.ts'
import { readHeader } from './reading.ts'
import { dataToSign } from './verify.ts'

/** Sentences for people; none where the caller gave no data. */
export function callersDataSays(input: DiagnoseInput): string[] {
  const { callersData } = input
  const { fields } = readHeader(input.header, input)
  if (callersData === undefined || fields === null) return []
  const right = dataToSign(input, fields)
  const signed = signatureFits(input, fields, callersData)
  const fit = signed ? 'the signature is made over your data' : 'the signature is not made over your data with this key'
  if (sameBytes(right, callersData)) return [`Your data to sign are right; ${fit}`]
  const { line, column, expected, received } = firstDifference(right, callersData)
  return [
    `Your data to sign differ at line ${line}, byte ${column}: expected ${expected}, in yours ${received}; ${fit}`,
  ]
}

function signatureFits(input: DiagnoseInput, fields: { signature: string }, data: Uint8Array): boolean {
  const { key } = input
  if (key.kind === 'secret') {
    const draft: Draft = {
      ...draftOf({ ...plain(input), keyId: '', timestamp: '', nonce: '' }),
      pieces: [{ origin: 'other', bytes: data }],
    }
    return signDraft(draft).signature === fields.signature
  }
  const bytes = fromBase64Strict(fields.signature)
  const publicKey = key.kind === 'ed25519' ? publicKeyOfSeed(key.seed) : key.publicKey
  return bytes !== null && ed25519Verify(publicKey, data, bytes)
}

function plain({ key, scheme, method, uri, body }: DiagnoseInput) {
  return { key, scheme, method, uri, body }
}
