/** Checks a header stage by stage, as a server does, and says at which stage it goes wrong. */

import { counted } from '../engine/group.ts'
import type { VerifyStage } from '../engine/language/vectors.ts'
import { fromBase64Strict, sameBytes } from '../engine/signer/bytes.ts'
import {
  type HeaderFields,
  joinPieces,
  piecesOf,
  type SigningKey,
  signDraft,
  splitHeader,
  version,
} from '../engine/signer/draft.ts'
import { ed25519Verify, publicKeyOfSeed, signatureBytes } from '../engine/signer/ed25519.ts'
import { macBytesSent } from '../engine/signer/hmac.ts'
import { draftOf } from '../engine/signer/sign.ts'
import { firstDifference } from './first-difference.ts'
import { timestampMistake } from './reading.ts'

export interface VerifyInput {
  /** The value of the Authorization header. */
  header: string
  key: SigningKey
  scheme: string
  /** Where known: the id that the header must name. */
  keyId?: string | undefined
  method: string
  uri: string
  body: Uint8Array
  /** The data to sign, as the caller computed them. */
  callersData?: Uint8Array | undefined
}

export interface Stage {
  name: VerifyStage | 'data-to-sign'
  ok: boolean
  expected?: string
  received?: string
}

export interface Verification {
  valid: boolean
  /** In order; stages that depend on a failed one are left out. */
  stages: Stage[]
}

/** Checks every stage of a header. Never throws: each mistake in the header is a stage that is not ok. */
export function verify(input: VerifyInput): Verification {
  const { scheme, fields: raw } = splitHeader(input.header)
  const stages: Stage[] = [compare('scheme', input.scheme, scheme)]
  const five = raw.length === 5
  stages.push(five ? { name: 'fields', ok: true } : compare('fields', '5 fields', counted(raw.length, 'field')))
  if (five) {
    const [keyId = '', second = '', timestamp = '', nonce = '', signature = ''] = raw
    stages.push(...fieldStages(input, { keyId, version: second, timestamp, nonce, signature }))
  }
  return { valid: stages.every(({ ok }) => ok), stages }
}

/** Whether the signature is right for the other fields of the header. */
export function signatureIsRight(input: VerifyInput, fields: HeaderFields): boolean {
  return signatureStages(input, fields).every(({ ok }) => ok)
}

function fieldStages(input: VerifyInput, fields: HeaderFields): Stage[] {
  const stages = [compare('version', version, fields.version)]
  if (input.keyId !== undefined) stages.push(compare('key-id', input.keyId, fields.keyId))
  const time: Stage = { name: 'timestamp', ok: timestampMistake(fields.timestamp) === null }
  stages.push(time.ok ? time : { ...time, expected: 'milliseconds, 13 digits today', received: fields.timestamp })
  const nonce: Stage = { name: 'nonce', ok: fields.nonce !== '' }
  stages.push(nonce.ok ? nonce : { ...nonce, expected: 'a nonce', received: '' })
  if (input.callersData !== undefined) stages.push(dataStage(input, fields, input.callersData))
  return [...stages, ...signatureStages(input, fields)]
}

function signatureStages(input: VerifyInput, fields: HeaderFields): Stage[] {
  const received = fields.signature
  const right = rightSignature(input, fields)
  const bytes = fromBase64Strict(received)
  if (bytes === null) return [failed('encoding', right ?? 'padded BASE64', received)]
  const encoding: Stage = { name: 'encoding', ok: true }
  const length = input.key.kind === 'secret' ? macBytesSent : signatureBytes
  if (bytes.length !== length) return [encoding, failed('length', `${length} bytes`, `${bytes.length} bytes`)]
  const ok = input.key.kind === 'secret' ? received === right : ed25519Fits(input.key, dataToSign(input, fields), bytes)
  const last: Stage = ok
    ? { name: 'signature', ok }
    : failed('signature', right ?? 'a signature by the private key of this public key', received)
  return [encoding, { name: 'length', ok: true }, last]
}

/** The right signature, if the key can sign. */
function rightSignature(input: VerifyInput, { keyId, timestamp, nonce }: HeaderFields): string | null {
  if (input.key.kind === 'ed25519-public') return null
  return signDraft(draftOf({ ...input, keyId, timestamp, nonce })).signature
}

/** Whether a signature is made over these bytes with the private key of this pair; never with a secret. */
export function ed25519Fits(key: SigningKey, data: Uint8Array, signature: Uint8Array): boolean {
  if (key.kind === 'secret') return false
  return ed25519Verify(key.kind === 'ed25519' ? publicKeyOfSeed(key.seed) : key.publicKey, data, signature)
}

/** The right data for the header and the request. */
export function dataToSign({ method, uri, body }: VerifyInput, { timestamp, nonce }: HeaderFields): Uint8Array {
  return joinPieces(piecesOf({ timestamp, nonce, method, uri, body }))
}

function dataStage(input: VerifyInput, fields: HeaderFields, callers: Uint8Array): Stage {
  const expected = dataToSign(input, fields)
  if (sameBytes(expected, callers)) return { name: 'data-to-sign', ok: true }
  const { line, column, ...bytes } = firstDifference(expected, callers)
  return failed('data-to-sign', `${bytes.expected} at line ${line}, byte ${column}`, bytes.received)
}

function compare(name: Stage['name'], expected: string, received: string): Stage {
  return expected === received ? { name, ok: true } : failed(name, expected, received)
}

function failed(name: Stage['name'], expected: string, received: string): Stage {
  return { name, ok: false, expected, received }
}
