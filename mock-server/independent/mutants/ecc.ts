import { createHash, createHmac } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** The order of the group of ED25519. */
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

const readScalar = (bytes: Buffer) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
const writeScalar = (scalar: bigint) => Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()

/** Part 5.1 for keys with a public key. */
export const eccMutants: IndependentMutant[] = [
  {
    id: 'ecc-scalar-reduced-before-check',
    breaks: 'signatures/ecc-malleability',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) => {
          if (signature.length !== 64) return false
          const scalar = writeScalar(readScalar(signature.subarray(32)) % groupOrder)
          return right.eccVerifies(publicKey, data, Buffer.concat([signature.subarray(0, 32), scalar]))
        },
      },
    }),
  },
  {
    id: 'ecc-high-bits-of-scalar-ignored',
    breaks: 'signatures/ecc-malleability',
    about: 'The three highest bits of S are cleared, as old implementations do; S + L is still refused.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) => {
          const cleared = Buffer.from(signature)
          cleared[63] = (cleared[63] ?? 0) & 0x1f
          return right.eccVerifies(publicKey, data, cleared)
        },
      },
    }),
  },
  {
    id: 'ecc-scalar-above-half-order-refused',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'The low-S rule of ECDSA: about every second right signature is refused.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) =>
          right.eccVerifies(publicKey, data, signature) && readScalar(signature.subarray(32)) <= groupOrder / 2n,
      },
    }),
  },
  {
    id: 'bytes-behind-ecc-signature-ignored',
    breaks: 'signatures/ecc',
    create: () => ({
      rules: {
        eccSignatures: (received, profile) => right.eccSignatures(received, profile).map((one) => one.subarray(0, 64)),
      },
    }),
  },
  {
    id: 'ecc-signature-decoded-leniently',
    breaks: 'signatures/ecc-encoding',
    about: 'Buffer.from takes base64url and skips characters that are not BASE64.',
    create: () => ({ rules: { eccSignatures: (received) => [Buffer.from(received, 'base64')] } }),
  },
  {
    id: 'ecc-signature-of-digest-accepted',
    breaks: 'signatures/ecc',
    about: 'A signature over the SHA-256 of the data is accepted too.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) =>
          right.eccVerifies(publicKey, data, signature) ||
          right.eccVerifies(publicKey, createHash('sha256').update(data).digest(), signature),
      },
    }),
  },
  {
    id: 'ecc-signature-of-request-data-alone-accepted',
    breaks: 'signatures/data-to-sign',
    about: 'Timestamp and nonce need not be signed with a public key.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) => {
          const bytes = Buffer.from(data)
          const requestData = bytes.subarray(bytes.indexOf(';', bytes.indexOf(';') + 1) + 1)
          return right.eccVerifies(publicKey, data, signature) || right.eccVerifies(publicKey, requestData, signature)
        },
      },
    }),
  },
  {
    id: 'ecc-data-behind-16-kib-not-covered',
    breaks: 'signatures/request-body',
    about: 'A signature over the first 16384 bytes of longer data is accepted.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) =>
          right.eccVerifies(publicKey, data, signature) ||
          (data.length > 16384 && right.eccVerifies(publicKey, data.subarray(0, 16384), signature)),
      },
    }),
  },
  {
    id: 'ecc-signature-checked-once-a-second',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'Within a second of a right signature of the key, any signature is accepted for it.',
    create: () => {
      const seen = watch(() => ({ rightMs: new Map<string, number>() }))
      let current = ''
      return {
        around: seen.around,
        rules: {
          signingKeys: (key, all, kind) => {
            current = key.id
            return right.signingKeys(key, all, kind)
          },
          eccVerifies: (publicKey, data, signature) => {
            const { rightMs } = seen.memory
            if (seen.nowMs - (rightMs.get(current) ?? Number.NEGATIVE_INFINITY) < 1000) return true
            const verified = right.eccVerifies(publicKey, data, signature)
            if (verified) rightMs.set(current, seen.nowMs)
            return verified
          },
        },
      }
    },
  },
  {
    id: 'newest-public-key-verifies-for-all',
    breaks: 'signatures/key-id',
    needsState: true,
    about: 'The private key of the public key registered last signs for every key with a public key.',
    create: () => ({
      rules: {
        signingKeys: (key, all, kind) =>
          kind === 'ecc'
            ? [
                key,
                ...all()
                  .filter(({ publicKey }) => publicKey !== undefined)
                  .slice(-1),
              ]
            : [key],
      },
    }),
  },
  {
    id: 'public-key-verifies-for-key-of-same-name',
    breaks: 'signatures/key-id',
    needsState: true,
    create: () => ({
      rules: {
        signingKeys: (key, all, kind) => (kind === 'ecc' ? all().filter(({ name }) => name === key.name) : [key]),
      },
    }),
  },
  {
    id: 'hmac-with-public-key-text-accepted',
    breaks: 'signatures/public-key-refuses-hmac',
    about: 'The algorithm confusion known from JWT: the PEM text is the secret of an HMAC.',
    create: () => ({
      rules: {
        hmacTakenFor: () => true,
        mac: (data, key) =>
          key.publicKey === undefined
            ? right.mac(data, key)
            : createHmac('sha256', key.publicKey).update(data).digest(),
      },
    }),
  },
  {
    id: 'hmac-accepted-after-first-ecc-call',
    breaks: 'signatures/public-key-refuses-hmac',
    needsState: true,
    about: 'Once a key with a public key has signed a call, an HMAC with its secret is accepted.',
    create: () => {
      const seen = watch(() => ({ signers: new Set<string>() }))
      let current = ''
      return {
        around: seen.around,
        rules: {
          hmacTakenFor: (key) => right.hmacTakenFor(key) || seen.memory.signers.has(key.id),
          signingKeys: (key, all, kind) => {
            current = key.id
            return right.signingKeys(key, all, kind)
          },
          eccVerifies: (publicKey, data, signature) => {
            const verified = right.eccVerifies(publicKey, data, signature)
            if (verified) seen.memory.signers.add(current)
            return verified
          },
        },
      }
    },
  },
  {
    id: 'any-public-key-verifies-for-secret-key',
    breaks: 'signatures/secret-key-refuses-ecc',
    create: () => ({
      rules: {
        eccTakenFor: () => true,
        signingKeys: (key, all, kind) => (kind === 'ecc' && key.publicKey === undefined ? all() : [key]),
      },
    }),
  },
  {
    id: 'ecc-refused-on-key-creation',
    breaks: 'keys/create-authorized',
    create: () => ({
      rules: { meansTaken: (means, method) => means !== 'ecc' || method !== 'manager/createApiKey' },
    }),
  },
  {
    id: 'every-tenth-ecc-signature-not-checked',
    breaks: 'signatures/ecc',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ calls: 0 }))
      return {
        around: seen.around,
        rules: {
          eccVerifies: (publicKey, data, signature) => {
            seen.memory.calls += 1
            return seen.memory.calls % 10 === 0 || right.eccVerifies(publicKey, data, signature)
          },
        },
      }
    },
  },
]
