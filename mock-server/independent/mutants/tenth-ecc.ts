import { makeKey } from '../../create-context.ts'
import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import { meet, paramsOf } from '../calls.ts'
import { isSignedWithPublicKey } from '../creators.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 4.1 and 5.1, for keys with a public key. */
export const tenthEccMutants: IndependentMutant[] = [
  {
    // "BASE64 of the signature of `dataToSign`": of the text itself
    id: 'ecc-signature-of-data-in-base64-accepted',
    breaks: 'signatures/ecc',
    about: 'Some signing devices take only text, so their clients encode the data first.',
    create: () => ({
      rules: {
        eccVerifies: (publicKey, data, signature) =>
          right.eccVerifies(publicKey, data, signature) ||
          right.eccVerifies(publicKey, Buffer.from(Buffer.from(data).toString('base64')), signature),
      },
    }),
  },
  {
    // "dataToSign = `<timestamp>;<nonce>;<requestData>`", with the timestamp of the header
    id: 'ecc-over-timestamp-in-seconds-accepted',
    breaks: 'signatures/timestamp',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            if (!isSignedWithPublicKey(seen)) return right.dataToSign(parts)
            const timestamp = String(Math.floor(Number(parts.timestamp) / 1000))
            return [...right.dataToSign(parts), ...right.dataToSign({ ...parts, timestamp })]
          },
        },
      }
    },
  },
  {
    // "Not usable with an API key that has a public key; such a key accepts only ECC signatures."
    id: 'public-key-gets-grant-with-empty-secret',
    breaks: 'grants/public-key-refused',
    about: 'Such a key has no stored secret, and an empty text is equal to that.',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid || (method === 'manager/auth' && name === 'apiKeySecret' && value === ''),
        secretTakenFor: (key, means) => right.secretTakenFor(key, means) || means === 'grant',
        secretsOf: (key) => [key.publicKey === undefined ? key.secret : ''],
      },
    }),
  },
  {
    // "then only ECC signatures may be used with it"
    id: 'hmac-with-empty-secret-accepted-for-public-key',
    breaks: 'signatures/public-key-refuses-hmac',
    about: 'A key without a stored secret is verified with an empty one.',
    create: () => ({
      rules: {
        hmacTakenFor: () => true,
        signingKeys: (key, _all, kind) =>
          kind === 'hmac' && key.publicKey !== undefined ? [makeKey({ ...key, secret: '' })] : [key],
      },
    }),
  },
  {
    // "publicKey | createApiKey params | ED25519 public key in PEM form": that of this creation
    id: 'creations-in-flight-share-a-public-key',
    breaks: 'keys/public-key',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ pem: undefined as unknown }))
      const wait: Around = (handle) => (request) => {
        const { publicKey } = paramsOf(request)
        if (publicKey === undefined) return handle(request)
        seen.memory.pem = publicKey
        return meet().then(() => handle(request))
      }
      return {
        around: chain(seen.around, wait),
        rules: {
          publicKey: (pem, profile) =>
            right.publicKey(paramsOf(seen.request).publicKey === undefined ? pem : seen.memory.pem, profile),
        },
      }
    },
  },
  {
    // "ED25519 public key in PEM form (`-----BEGIN PUBLIC KEY-----` ... `-----END PUBLIC KEY-----`)"
    id: 'label-of-pem-text-ignored',
    breaks: 'keys/public-key-material',
    about: 'It reads whatever stands between two lines of dashes, such as `-----BEGIN CERTIFICATE-----`.',
    create: () => ({
      rules: {
        publicKey: (pem, profile) =>
          right.publicKey(
            typeof pem === 'string' ? pem.replace(/-----(BEGIN|END) [^-]*-----/g, '-----$1 PUBLIC KEY-----') : pem,
            profile,
          ),
      },
    }),
  },
]
