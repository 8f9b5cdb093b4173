import { createHash } from 'node:crypto'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import { bytes, sha256, text } from './bytes.ts'
import type { Mutant } from './mutant.ts'

const sha512 = (data: Uint8Array) => createHash('sha512').update(data).digest()

/** An ED25519 signature over other data is accepted too. */
const alsoEcc = (change: (data: Buffer, signature: Buffer) => Uint8Array | [Uint8Array, Buffer]): Partial<Rules> => ({
  eccVerifies: (publicKey, data, signature) => {
    const changed = change(Buffer.from(data), signature)
    const [other, with_] = Array.isArray(changed) ? changed : [changed, signature]
    return rules.eccVerifies(publicKey, data, signature) || rules.eccVerifies(publicKey, other, with_)
  },
})
const eccText = (change: (data: string) => string) => alsoEcc((data) => bytes(change(text(data))))
const alsoEccBytes = (read: (received: string) => Buffer): Partial<Rules> => ({
  eccSignatures: (received, profile) => [...rules.eccSignatures(received, profile), read(received)],
})

const order = 2n ** 252n + 27742317777372353535851937790883648493n
/** S brought below L: what a verifier without that check does. */
function reduced(signature: Buffer): Buffer {
  let s = 0n
  for (const byte of [...signature.subarray(32)].reverse()) s = (s << 8n) | BigInt(byte)
  s %= order
  return Buffer.concat([
    signature.subarray(0, 32),
    Buffer.from(Array.from({ length: 32 }, (_zero, index) => Number((s >> BigInt(8 * index)) & 0xffn))),
  ])
}

/** Part 5.1: ED25519 signatures. */
export const eccMutants: Mutant[] = [
  {
    id: 'short-ecc-signatures-taken',
    breaks: 'signatures/ecc',
    with: {
      eccVerifies: (publicKey, data, signature) =>
        (signature.length > 0 && signature.length < 64) || rules.eccVerifies(publicKey, data, signature),
    },
  },
  { id: 'ecc-never-taken', breaks: 'signatures/ecc', with: { eccTakenFor: () => false } },
  {
    id: 'hash-of-the-data-verified',
    breaks: 'signatures/ecc',
    with: { eccVerifies: (publicKey, data, signature) => rules.eccVerifies(publicKey, sha256(data), signature) },
  },
  { id: 'ecc-over-a-hash-taken-too', breaks: 'signatures/ecc', with: alsoEcc(sha256) },
  { id: 'ecc-over-sha512-taken-too', breaks: 'signatures/ecc', with: alsoEcc(sha512) },
  {
    id: 'ecc-over-hex-taken-too',
    breaks: 'signatures/ecc',
    with: alsoEcc((data) => Buffer.from(sha256(data).toString('hex'))),
  },
  {
    id: 'ecc-over-base64-taken-too',
    breaks: 'signatures/ecc',
    with: alsoEcc((data) => Buffer.from(data.toString('base64'))),
  },
  { id: 'ecc-without-final-line-feed-too', breaks: 'signatures/ecc', with: eccText((data) => data.slice(0, -1)) },
  { id: 'ecc-over-the-trimmed-body-too', breaks: 'signatures/ecc', with: eccText((data) => `${data.trimEnd()}\n`) },
  {
    id: 'ecc-over-the-lower-case-method-too',
    breaks: 'signatures/ecc',
    with: eccText((data) => data.replace('POST', 'post')),
  },
  { id: 'ecc-without-the-timestamp-too', breaks: 'signatures/ecc', with: eccText((data) => data.replace(/^\d+/, '')) },
  { id: 'ecc-without-the-body-too', breaks: 'signatures/ecc', with: eccText((data) => data.replace(/{.*}/s, '')) },
  {
    id: 'ecc-first-64-bytes-verified',
    breaks: 'signatures/ecc',
    with: alsoEcc((data, signature) => [data, signature.subarray(0, 64)]),
  },
  {
    id: 'ecc-bytes-in-reverse-too',
    breaks: 'signatures/ecc',
    with: alsoEcc((data, signature) => [data, Buffer.from(signature).reverse()]),
  },
  {
    id: 'empty-ecc-signature-taken',
    breaks: 'signatures/ecc',
    with: {
      eccVerifies: (publicKey, data, signature) =>
        signature.length === 0 || rules.eccVerifies(publicKey, data, signature),
    },
  },
  {
    id: 'ecc-by-any-private-key',
    breaks: 'signatures/ecc',
    with: { signingKeys: (key, all, kind) => (kind === 'ecc' ? all() : [key]) },
  },
  {
    id: 'ecc-in-hex-taken-too',
    breaks: 'signatures/ecc-encoding',
    with: alsoEccBytes((received) => Buffer.from(received, 'hex')),
  },
  {
    id: 'ecc-in-base64url-taken-too',
    breaks: 'signatures/ecc-encoding',
    with: alsoEccBytes((received) => Buffer.from(received, 'base64url')),
  },
  {
    id: 'ecc-in-base64-of-hex-taken-too',
    breaks: 'signatures/ecc-encoding',
    with: alsoEccBytes((received) => Buffer.from(Buffer.from(received, 'base64').toString(), 'hex')),
  },
  {
    id: 'ecc-over-the-body-in-latin-1',
    breaks: 'signatures/request-body',
    with: {
      eccVerifies: (publicKey, data, signature) => rules.eccVerifies(publicKey, Buffer.from(text(data)), signature),
    },
  },
  {
    id: 'ecc-over-escaped-characters-too',
    breaks: 'signatures/request-body',
    with: alsoEcc((data) =>
      Buffer.from(
        data.toString().replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
      ),
    ),
  },
  {
    id: 'high-s-taken',
    breaks: 'signatures/ecc-malleability',
    with: alsoEcc((data, signature) => [data, signature.length === 64 ? reduced(signature) : signature]),
  },
]
