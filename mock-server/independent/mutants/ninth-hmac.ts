import { makeKey } from '../../create-context.ts'
import { rules as right } from '../../rules.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 5.1, for keys without a public key. */
export const ninthHmacMutants: IndependentMutant[] = [
  {
    // "dataToSign = `<timestamp>;<nonce>;<requestData>`"
    id: 'timestamp-and-nonce-alone-signed-too',
    breaks: 'signatures/request-body',
    about: 'Old clients sign no request, and the new check falls back to theirs.',
    create: () => ({
      rules: {
        dataToSign: (parts) => [...right.dataToSign(parts), Buffer.from(`${parts.timestamp};${parts.nonce}`)],
      },
    }),
  },
  {
    // "HMAC-SHA256 computed with the API key secret over `dataToSign`": the whole secret
    id: 'mac-by-first-half-of-secret-accepted',
    breaks: 'signatures/hmac',
    about: 'The column of the first version held sixteen characters.',
    create: () => ({
      rules: {
        signingKeys: (key, _all, kind) =>
          kind === 'ecc' ? [key] : [key, makeKey({ ...key, secret: key.secret.slice(0, key.secret.length / 2) })],
      },
    }),
  },
  {
    // "the second field is the literal `1`"
    id: 'higher-version-taken-too',
    breaks: 'signatures/version',
    about: 'It compares with `at least 1`.',
    create: () => ({ rules: { versionTaken: (version) => /^[0-9]+$/.test(version) && Number(version) >= 1 } }),
  },
  {
    // "The nonce in the signed data and in the header is the same value"
    id: 'nonce-cut-at-slash-signed-too',
    breaks: 'signatures/nonce',
    about: 'Only with a nonce that contains a slash.',
    create: () => ({
      rules: {
        dataToSign: (parts) => {
          const [nonce = ''] = parts.nonce.split('/')
          return nonce === parts.nonce
            ? right.dataToSign(parts)
            : [...right.dataToSign(parts), ...right.dataToSign({ ...parts, nonce })]
        },
      },
    }),
  },
  {
    // "Requires authorization (any method of part 5)"
    id: 'hmac-of-created-key-refused-on-key-creation',
    breaks: 'keys/create-authorized',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          meansTaken: (means, method) =>
            means !== 'hmac' || method !== 'manager/createApiKey' || callerOf(seen)?.initial !== false,
        },
      }
    },
  },
  {
    // "Three ways to authorize a call to a method": one does not end another
    id: 'created-key-cannot-sign-once-it-got-a-token',
    breaks: 'signatures/hmac',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ granted: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { key }) => {
            if (!key.initial) seen.memory.granted.add(key.id)
            return result
          },
          hmacTakenFor: (key) => right.hmacTakenFor(key) && !seen.memory.granted.has(key.id),
        },
      }
    },
  },
]
