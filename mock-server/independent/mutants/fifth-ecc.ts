import type { SignedParts } from '../../rules.ts'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { callerOf, isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { type Watch, watch } from '../watch.ts'

/** Data that keys with a public key may sign besides the right one. */
const alsoSigned = (seen: Watch<object>, more: (parts: SignedParts) => Uint8Array[]) => ({
  around: seen.around,
  rules: {
    dataToSign: (parts: SignedParts) => [
      ...right.dataToSign(parts),
      ...(isSignedWithPublicKey(seen) ? more(parts) : []),
    ],
  },
})

/** Part 5.1: signatures of keys with a public key. */
export const fifthEccMutants: IndependentMutant[] = [
  {
    // "Build `dataToSign` = `<timestamp>;<nonce>;<requestData>`"
    id: 'ecc-without-the-nonce-accepted',
    breaks: 'signatures/nonce',
    create: () =>
      alsoSigned(watch(), ({ timestamp, httpMethod, uri, body }) => [
        Buffer.concat([Buffer.from(`${timestamp};${httpMethod}\n${uri}\n`), body, Buffer.from('\n')]),
      ]),
  },
  {
    // "BASE64 of the signature of `dataToSign` made with the private key"
    id: 'ecc-signature-with-halves-swapped-accepted',
    breaks: 'signatures/ecc-encoding',
    create: () => ({
      rules: {
        eccSignatures: (received, profile) =>
          right
            .eccSignatures(received, profile)
            .flatMap((bytes) => [bytes, Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)])]),
      },
    }),
  },
  {
    // "BASE64 of the signature of `dataToSign`", and nothing more
    id: 'bytes-in-front-of-ecc-signature-ignored',
    breaks: 'signatures/ecc-encoding',
    create: () => ({
      rules: {
        eccSignatures: (received, profile) =>
          right.eccSignatures(received, profile).map((bytes) => bytes.subarray(-64)),
      },
    }),
  },
  {
    // "(then only ECC signatures may be used with it)"
    id: 'hmac-of-creator-accepted-for-public-key',
    breaks: 'signatures/public-key-refuses-hmac',
    create: () => {
      const seen = watch(() => ({ creators: new Map<string, ApiKey>() }))
      const creatorOf = ({ id, publicKey }: ApiKey) =>
        publicKey === undefined ? undefined : seen.memory.creators.get(id)
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = callerOf(seen)
            if (creator?.publicKey === undefined && creator) seen.memory.creators.set(key.id, creator)
            return key
          },
          hmacTakenFor: (key) => right.hmacTakenFor(key) || creatorOf(key) !== undefined,
          signingKeys: (key, _all, kind) => [kind === 'hmac' ? (creatorOf(key) ?? key) : key],
        },
      }
    },
  },
  {
    // "Not usable with an API key that has a public key; such a key accepts only ECC signatures."
    id: 'basic-accepted-for-public-key-without-apikey-scope',
    breaks: 'basic/public-key-refused',
    create: () => ({
      rules: {
        secretTakenFor: (key, means) =>
          right.secretTakenFor(key, means) || (means === 'basic' && !key.scope.some((word) => /^apikey$/i.test(word))),
      },
    }),
  },
  {
    // "The URI is `/api`."
    id: 'ecc-over-root-uri-accepted-on-key-creation',
    breaks: 'signatures/request-uri',
    create: () => {
      const seen = watch()
      return alsoSigned(seen, (parts) =>
        isMethod(seen.request, 'manager/createApiKey') ? right.dataToSign({ ...parts, uri: '/' }) : [],
      )
    },
  },
  {
    // "(then only ECC signatures may be used with it)"
    id: 'hmac-accepted-for-public-key-after-wrong-ecc-signature',
    breaks: 'signatures/public-key-refuses-hmac',
    needsState: true,
    about: 'A key whose signature fails is marked as one of the old kind.',
    create: () => {
      const seen = watch(() => ({ failed: new Set<ApiKey | undefined>() }))
      return {
        around: seen.around,
        rules: {
          hmacTakenFor: (key) => right.hmacTakenFor(key) || seen.memory.failed.has(key),
          eccVerifies: (publicKey, data, signature) => {
            const verifies = right.eccVerifies(publicKey, data, signature)
            if (!verifies && signature.length === 64) seen.memory.failed.add(callerOf(seen))
            return verifies
          },
        },
      }
    },
  },
  {
    // "BASE64 of the signature of `dataToSign` made with the private key that matches the public key"
    id: 'second-wrong-ecc-signature-in-a-row-accepted',
    breaks: 'signatures/ecc',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ wrong: new Map<ApiKey | undefined, number>() }))
      return {
        around: seen.around,
        rules: {
          eccVerifies: (publicKey, data, signature) => {
            if (signature.length !== 64) return false
            const key = callerOf(seen)
            const wrong = right.eccVerifies(publicKey, data, signature) ? 0 : (seen.memory.wrong.get(key) ?? 0) + 1
            seen.memory.wrong.set(key, wrong)
            return wrong === 0 || wrong === 2
          },
        },
      }
    },
  },
]
