import { createHash } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { meet } from '../calls.ts'
import { callerOf, isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** One of eight places, by the last hex digit of an id. */
const placeOf = ({ id }: ApiKey): number => (Number.parseInt(id.slice(-1), 16) || 0) % 8

/** Part 5.1: signatures. */
export const fourthSignatureMutants: IndependentMutant[] = [
  {
    // "BASE64 of the signature of `dataToSign`": of the timestamp and the nonce of this call
    id: 'ecc-signature-not-checked-for-body-signed-before',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'A verified signature is remembered by the key and a hash of the body.',
    create: () => {
      const seen = watch(() => ({ bodies: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          eccVerifies: (publicKey, data, signature) => {
            const place = `${namedKeyId(seen.request)} ${createHash('sha256').update(seen.request.body).digest('hex')}`
            if (right.eccVerifies(publicKey, data, signature)) seen.memory.bodies.add(place)
            return seen.memory.bodies.has(place) && signature.length === 64
          },
        },
      }
    },
  },
  {
    // "made with the private key that matches the public key"
    id: 'public-keys-filed-in-eight-places-by-their-id',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'Two keys whose ids end alike have one place: the later one verifies the signatures of both.',
    create: () => ({
      rules: {
        signingKeys: (key, all, kind) =>
          kind === 'hmac'
            ? [key]
            : all()
                .filter((one) => one.publicKey !== undefined && placeOf(one) === placeOf(key))
                .slice(-1),
      },
    }),
  },
  {
    // "BASE64 of the signature of `dataToSign` made with the private key that matches the public key"
    id: 'ecc-signature-accepted-in-flight-with-a-right-one',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'Signatures that arrive together are verified as a batch, and one right signature is enough.',
    create: () => {
      const seen = watch()
      let batch: { size: number; right: boolean } | undefined
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const key = context.state.keys.get(namedKeyId(request) ?? '')
            if (key?.publicKey === undefined) return inner(request)
            batch ??= { size: 0, right: false }
            const mine = batch
            mine.size += 1
            return meet()
              .then(() => inner(request))
              .finally(() => {
                mine.size -= 1
                if (mine.size === 0) batch = undefined
              })
          }
        },
        rules: {
          eccVerifies: (publicKey, data, signature) => {
            const isRight = right.eccVerifies(publicKey, data, signature)
            if (batch !== undefined && isRight) batch.right = true
            return isRight || (batch?.right === true && signature.length === 64)
          },
        },
      }
    },
  },
  {
    // "BASE64 of the first 20 bytes", and BASE64 also begins with + and /
    id: 'mac-that-begins-with-a-sign-refused',
    breaks: 'signatures/hmac-encoding',
    needsState: true,
    about: 'The pattern for the field wants a letter or a digit in front.',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) => right.macTextMatches(received, expected) && !/^[+/]/.test(received),
      },
    }),
  },
  {
    // "BASE64 of the signature of `dataToSign`", and BASE64 may hold two slashes in a row
    id: 'ecc-signature-with-doubled-slash-refused',
    breaks: 'signatures/ecc-encoding',
    needsState: true,
    about: 'A proxy merges slashes, in headers too.',
    create: () => ({
      rules: {
        eccSignatures: (received, profile) => right.eccSignatures(received.replaceAll(/\/{2,}/g, '/'), profile),
      },
    }),
  },
  {
    // "Header: `Authorization: svc-hmac-sha256 <api_key_id>;1;<timestamp>;<nonce>;<signature>`"
    id: 'signature-fields-behind-basic-word-accepted',
    breaks: 'signatures/scheme',
    about: 'The kind of authorization is told by the semicolons.',
    create: () => ({
      around: (handle) => (request) => {
        const authorization = request.headers.authorization?.replace(/^Basic (?=[^;]*;)/, 'svc-hmac-sha256 ')
        return handle(
          authorization === undefined ? request : { ...request, headers: { ...request.headers, authorization } },
        )
      },
    }),
  },
  {
    // "request body exactly as sent"
    id: 'percent-escapes-in-body-decoded-before-verification',
    breaks: 'signatures/request-body',
    needsState: true,
    create: () => ({
      rules: {
        dataToSign: (parts) => {
          const text = parts.body.toString('latin1')
          const decoded = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
          return right.dataToSign({ ...parts, body: Buffer.from(decoded, 'latin1') })
        },
      },
    }),
  },
  {
    // "then only ECC signatures may be used with it"
    id: 'public-key-takes-hmac-for-ten-seconds',
    breaks: 'signatures/public-key-refuses-hmac',
    about: 'The kind of a key reaches the replicas ten seconds after its creation.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { hmacTakenFor: (key) => right.hmacTakenFor(key) || seen.nowMs - key.createdMs < 10_000 },
      }
    },
  },
  {
    // "Key without public key (HMAC)"
    id: 'key-created-by-ecc-call-takes-signatures-of-its-creator',
    breaks: 'signatures/secret-key-refuses-ecc',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ creators: new Map<string, ApiKey>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = callerOf(seen)
            if (creator !== undefined && isSignedWithPublicKey(seen)) seen.memory.creators.set(key.id, creator)
            return key
          },
          eccTakenFor: (key) => right.eccTakenFor(key) || seen.memory.creators.has(key.id),
          signingKeys: (key, _all, kind) => [
            (kind === 'ecc' && key.publicKey === undefined && seen.memory.creators.get(key.id)) || key,
          ],
        },
      }
    },
  },
  {
    // "`<api_key_id>;1;<timestamp>;<nonce>;<signature>`": the id itself
    id: 'blanks-behind-key-id-ignored-in-signatures',
    breaks: 'signatures/key-id',
    about: 'The collation of the column pads with blanks.',
    create: () => ({
      rules: { keyNamed: (id, find, _all, means) => find(means === 'hmac' || means === 'ecc' ? id.trimEnd() : id) },
    }),
  },
  {
    // "HMAC-SHA256 computed with the API key secret": the secret of the key that the call names
    id: 'secret-of-first-signer-holds-for-its-connection',
    breaks: 'signatures/hmac',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ signers: new Map<number, ApiKey>() }))
      return {
        around: seen.around,
        rules: {
          signingKeys: (key, _all, kind) => {
            const { connection } = seen.request
            if (kind === 'ecc' || connection === undefined) return [key]
            const signer = seen.memory.signers.get(connection) ?? key
            seen.memory.signers.set(connection, signer)
            return [signer]
          },
        },
      }
    },
  },
]
