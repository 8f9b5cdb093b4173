import { rules as right } from '../../rules.ts'
import { paramsOf } from '../calls.ts'
import { isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Part 5.1, for keys with a public key. */
export const ninthEccMutants: IndependentMutant[] = [
  {
    // "BASE64 of the signature of `dataToSign` made with the private key": once
    id: 'ecc-signature-encoded-twice-accepted',
    breaks: 'signatures/ecc-encoding',
    create: () => ({
      rules: {
        eccSignatures: (received, profile) => [
          ...right.eccSignatures(received, profile),
          ...right.eccSignatures(Buffer.from(received, 'base64').toString('latin1'), profile),
        ],
      },
    }),
  },
  {
    // "The key created with `publicKey` accepts only ECC signatures (part 5)."
    id: 'public-key-dropped-from-key-with-single-scope',
    breaks: 'keys/public-key',
    about: 'A key with one scope takes another path through the code, which forgets its public key.',
    create: () => ({
      rules: {
        storedKey: (key) => {
          if (key.scope.length !== 1) return key
          delete key.publicKey
          delete key.verifyKey
          return key
        },
      },
    }),
  },
  {
    // "request body exactly as sent"
    id: 'ecc-over-empty-body-accepted-where-params-are-empty',
    breaks: 'signatures/request-body',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const texts = right.dataToSign(parts)
            return isSignedWithPublicKey(seen) && Object.keys(paramsOf(seen.request)).length === 0
              ? [...texts, ...right.dataToSign({ ...parts, body: Buffer.alloc(0) })]
              : texts
          },
        },
      }
    },
  },
  {
    // "BASE64 of the signature of `dataToSign` made with the private key that matches the public key": one in sixteen has this byte
    id: 'ecc-scalar-with-leading-zero-byte-refused',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'A library for big numbers drops the zero byte, and the signature gets too short.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) =>
          signature[63] !== 0 && right.eccVerifies(publicKey, data, signature),
      },
    }),
  },
  {
    // "the signature of `dataToSign` made with the private key that matches the public key"
    id: 'first-ecc-signature-of-key-not-checked',
    breaks: 'signatures/ecc',
    needsState: true,
    about: 'The key is trusted on its first use.',
    create: () => {
      const seen = watch(() => ({ met: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          eccVerifies: (publicKey, data, signature) => {
            const { met } = seen.memory
            const id = namedKeyId(seen.request) ?? ''
            if (met.has(id)) return right.eccVerifies(publicKey, data, signature)
            met.add(id)
            return true
          },
        },
      }
    },
  },
]
