/** Keeps only the beginning and the end of a long answer, so evidence stays small. */
import { toHex } from '../signer/bytes.ts'
import { sha256 } from '../signer/hmac.ts'
import type { WireAnswer } from '../target.ts'

/** How many bytes of each end of a long body are kept. */
export const keptBytes = 2048

/** Returns the answer as it is kept: a long body is cut, with its length and its SHA-256. */
export function cutAnswer(wire: WireAnswer): WireAnswer {
  if (wire.kind !== 'answer' || wire.body.length <= 2 * keptBytes) return wire
  const { body } = wire
  const kept = new Uint8Array(2 * keptBytes)
  kept.set(body.subarray(0, keptBytes))
  kept.set(body.subarray(-keptBytes), keptBytes)
  return { ...wire, body: kept, cut: { bytes: body.length, sha256: toHex(sha256(body)) } }
}
