import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { batches } from '../in-flight.ts'
import { agreesAgain, also, every, inARow, unless, withCreators } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, counts, firsts } from '../rows.ts'
import { alsoEcc, bytes, sha256, text } from './signed-data.ts'

const sha512 = (data: Uint8Array) => createHash('sha512').update(data).digest()

const eccText = (change: (data: string) => string) => alsoEcc((data) => bytes(change(text(data))))

const alsoEccBytes = (read: (received: string) => Buffer): Change => ({
  eccSignatures: (received, profile) => [...right.eccSignatures(received, profile), read(received)],
})

/** An ED25519 public key whose seed is made of a secret. */
function keyOfSeed(seed: Buffer): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

/** The order of the group of ED25519. */
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

const readScalar = (bytes: Buffer) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** S brought below L: what a verifier without that check does. */
function reduced(signature: Buffer): Buffer {
  const scalar = readScalar(signature.subarray(32)) % groupOrder
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()])
}

/** One of eight places, by the last hex digit of an id. */
const placeOf = ({ id }: ApiKey): number => (Number.parseInt(id.slice(-1), 16) || 0) % 8

/** The same point without the bit that says which of two values its x has. */
function withoutSign(key: KeyObject): KeyObject {
  const point = key.export({ type: 'spki', format: 'der' }).subarray(-32)
  point[31] = (point[31] ?? 0) & 0x7f
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }, format: 'jwk' })
}

export const ecc: BrokenRows = {
  'signatures/ecc': {
    'short-ecc-signatures-taken': also('eccVerifies', (_key, _data, { length }) => length > 0 && length < 64),
    'ecc-never-taken': { eccTakenFor: () => false },
    'hash-of-the-data-verified': {
      eccVerifies: (publicKey, data, signature) => right.eccVerifies(publicKey, sha256(data), signature),
    },
    'ecc-over-a-hash-taken-too': alsoEcc(sha256),
    'ecc-over-sha512-taken-too': alsoEcc(sha512),
    'ecc-over-hex-taken-too': alsoEcc((data) => Buffer.from(sha256(data).toString('hex'))),
    'ecc-over-base64-taken-too': alsoEcc((data) => Buffer.from(data.toString('base64'))),
    'ecc-without-final-line-feed-too': eccText((data) => data.slice(0, -1)),
    'ecc-over-the-trimmed-body-too': eccText((data) => `${data.trimEnd()}\n`),
    'ecc-over-the-lower-case-method-too': eccText((data) => data.replace('POST', 'post')),
    'ecc-without-the-timestamp-too': eccText((data) => data.replace(/^\d+/, '')),
    'ecc-without-the-body-too': eccText((data) => data.replace(/{.*}/s, '')),
    'ecc-first-64-bytes-verified': alsoEcc((data, signature) => [data, signature.subarray(0, 64)]),
    'ecc-bytes-in-reverse-too': alsoEcc((data, signature) => [data, Buffer.from(signature).reverse()]),
    'empty-ecc-signature-taken': also('eccVerifies', (_key, _data, { length }) => length === 0),
    'ecc-by-any-private-key': { signingKeys: (key, all, kind) => (kind === 'ecc' ? all() : [key]) },
    // The low-S rule of ECDSA: about every second right signature is refused.
    'ecc-scalar-above-half-order-refused': by.first(
      unless('eccVerifies', (_key, _data, signature) => readScalar(signature.subarray(32)) > groupOrder / 2n),
    ),
    // Within a second of a right signature of the key, any signature is accepted for it.
    'ecc-signature-checked-once-a-second': by.first(agreesAgain('eccVerifies', ({ named }) => named?.id, 1000)),
    'every-tenth-ecc-signature-not-checked': by.first(every(10, 'eccVerifies', () => true)),
    // Half of all public keys have this bit; what they sign is refused.
    'public-key-read-without-its-highest-bit': by.third({
      publicKey: (pem, profile) => {
        const key = right.publicKey(pem, profile)
        return key?.asymmetricKeyType === 'ed25519' ? withoutSign(key) : key
      },
    }),
    'public-key-of-first-ecc-call-holds-for-connection': by.third((seen, first = firsts<ApiKey>()) => ({
      signingKeys: (key, _all, kind) => [kind === 'ecc' ? first(seen.connection, key) : key],
    })),
    // A verified signature is remembered by the key and a hash of the body.
    'ecc-signature-not-checked-for-body-signed-before': by.fourth(
      agreesAgain('eccVerifies', ({ keyId, request }, _key, _data, { length }) =>
        length === 64 ? `${keyId} ${sha256(request.body).toString('hex')}` : undefined,
      ),
    ),
    // Two keys whose ids end alike have one place: the later one verifies the signatures of both.
    'public-keys-filed-in-eight-places-by-their-id': by.fourth({
      signingKeys: (key, all, kind) =>
        kind === 'hmac'
          ? [key]
          : all()
              .filter((one) => one.publicKey !== undefined && placeOf(one) === placeOf(key))
              .slice(-1),
    }),
    // Signatures that arrive together are verified as a batch, and one right signature is enough.
    'ecc-signature-accepted-in-flight-with-a-right-one': by.fourth(
      (
        _seen,
        batch = batches(
          ({ named }) => named?.publicKey !== undefined,
          () => ({ isRight: false }),
        ),
      ) => ({
        around: batch.around,
        eccVerifies: (publicKey, data, signature) => {
          const isRight = right.eccVerifies(publicKey, data, signature)
          const shared = batch.current() ?? { isRight }
          shared.isRight ||= isRight
          return isRight || (shared.isRight && signature.length === 64)
        },
      }),
    ),
    'second-wrong-ecc-signature-in-a-row-accepted': by.fifth(
      inARow(
        'eccVerifies',
        ({ caller }, _key, _data, { length }) => (length === 64 ? `key ${caller?.id}` : undefined),
        (refused) => refused === 2,
      ),
    ),
    // A library for big numbers drops the zero byte, and the signature gets too short.
    'ecc-scalar-with-leading-zero-byte-refused': by.ninth(
      unless('eccVerifies', (_key, _data, signature) => signature[63] === 0),
    ),
    // The key is trusted on its first use.
    'first-ecc-signature-of-key-not-checked': by.ninth((seen, met = counts()) => ({
      eccVerifies: (publicKey, data, signature) =>
        met(seen.named) === 1 || right.eccVerifies(publicKey, data, signature),
    })),
    // The equation is solved by zeros, and nobody looks whether both halves are above zero.
    'ecc-signature-of-zeros-accepted': by.twelfth(
      also('eccVerifies', (_key, _data, signature) => signature.equals(Buffer.alloc(64))),
    ),
  },
  'signatures/ecc-encoding': {
    'ecc-in-hex-taken-too': alsoEccBytes((received) => Buffer.from(received, 'hex')),
    'ecc-in-base64-of-hex-taken-too': alsoEccBytes((received) =>
      Buffer.from(Buffer.from(received, 'base64').toString(), 'hex'),
    ),
    // A proxy merges slashes, in headers too.
    'ecc-signature-with-doubled-slash-refused': by.fourth({
      eccSignatures: (received, profile) => right.eccSignatures(received.replaceAll(/\/{2,}/g, '/'), profile),
    }),
    'ecc-signature-with-halves-swapped-accepted': by.fifth({
      eccSignatures: (received, profile) =>
        right
          .eccSignatures(received, profile)
          .flatMap((bytes) => [bytes, Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)])]),
    }),
    // "BASE64 of the signature of `dataToSign`", and nothing more
    'bytes-in-front-of-ecc-signature-ignored': by.fifth({
      eccSignatures: (received, profile) => right.eccSignatures(received, profile).map((bytes) => bytes.subarray(-64)),
    }),
    // "BASE64 of the signature of `dataToSign` made with the private key": once
    'ecc-signature-encoded-twice-accepted': by.ninth({
      eccSignatures: (received, profile) => [
        ...right.eccSignatures(received, profile),
        ...right.eccSignatures(Buffer.from(received, 'base64').toString('latin1'), profile),
      ],
    }),
    'ecc-in-base64url-taken-too': alsoEccBytes((received) => Buffer.from(received, 'base64url')),
  },
  'signatures/ecc-malleability': {
    'high-s-taken': alsoEcc((data, signature) => [data, signature.length === 64 ? reduced(signature) : signature]),
    // The three highest bits of S are cleared, as old implementations do; S + L is still refused.
    'ecc-high-bits-of-scalar-ignored': by.first({
      eccVerifies: (publicKey, data, signature) => {
        const cleared = Buffer.from(signature)
        cleared[63] = (cleared[63] ?? 0) & 0x1f
        return right.eccVerifies(publicKey, data, cleared)
      },
    }),
  },
  'signatures/secret-key-refuses-ecc': {
    'ecc-of-any-key-for-secret-keys': {
      eccTakenFor: () => true,
      signingKeys: (key, all, kind) => (kind === 'ecc' && key.publicKey === undefined ? all() : [key]),
    },
    'ecc-with-a-seed-made-of-the-secret': {
      eccTakenFor: () => true,
      signingKeys: (key, _all, kind) =>
        kind === 'ecc' && key.publicKey === undefined ? [{ ...key, verifyKey: keyOfSeed(sha256(key.secret)) }] : [key],
    },
    'key-created-by-ecc-call-takes-signatures-of-its-creator': by.fourth(
      withCreators((creatorOf) => ({
        eccTakenFor: (key) => right.eccTakenFor(key) || creatorOf(key)?.publicKey !== undefined,
        signingKeys: (key, _all, kind) => [(kind === 'ecc' && key.publicKey === undefined && creatorOf(key)) || key],
      })),
    ),
  },
}
