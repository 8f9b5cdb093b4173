import { createSecretKey } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { isAccepted, tokenText } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const day = 24 * 3_600_000

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)

/** Part 5.1: signatures of keys without a public key. */
export const fifthHmacMutants: IndependentMutant[] = [
  {
    // "BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256"
    id: 'swapped-letters-of-mac-accepted',
    breaks: 'signatures/hmac',
    about: 'The comparison in constant time adds the differences up, and they cancel each other out.',
    create: () => ({
      rules: {
        macTextMatches: (received, expected) =>
          received.length === expected.length && sumOf(received) === sumOf(expected),
      },
    }),
  },
  {
    // "HMAC-SHA256 computed with the API key secret"
    id: 'mac-with-secret-in-capitals-accepted',
    breaks: 'signatures/hmac',
    create: () => ({
      rules: {
        signingKeys: (key, _all, kind) =>
          kind === 'ecc' ? [key] : [key, { ...key, macKey: createSecretKey(Buffer.from(key.secret.toUpperCase())) }],
      },
    }),
  },
  {
    // "BASE64 of the first 20 bytes (bytes 0 to 20) of HMAC-SHA256"
    id: 'text-in-front-of-mac-ignored',
    breaks: 'signatures/hmac-encoding',
    create: () => ({ rules: { macTextMatches: (received, expected) => received.endsWith(expected) } }),
  },
  {
    // "UPPERCASE(HTTP method)", and "Every call is an HTTP `POST`"
    id: 'get-signed-by-created-key-accepted',
    breaks: 'signatures/request-method',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          dataToSign: (parts) => {
            const key = callerOf(seen)
            const isCreated = key?.initial === false && key.publicKey === undefined
            return [parts, ...(isCreated ? [{ ...parts, httpMethod: 'GET' }] : [])].flatMap(right.dataToSign)
          },
        },
      }
    },
  },
  {
    // "BASE64 of the first 20 bytes (bytes 0 to 20)"
    id: 'whole-mac-of-key-without-apikey-scope-accepted',
    breaks: 'signatures/hmac-length',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          macTexts: (bytes, mac, profile) => {
            const isNarrow = !callerOf(seen)?.scope.some((word) => /^apikey$/i.test(word))
            return [...right.macTexts(bytes, mac, profile), ...(isNarrow ? [mac.toString('base64')] : [])]
          },
        },
      }
    },
  },
  {
    // "Callers prove their identity with an API key (by signature or by credentials) or with an access token"
    id: 'wrong-mac-accepted-directly-behind-token-call-of-its-key',
    breaks: 'signatures/hmac',
    needsState: true,
    about: 'The process keeps the last authorized key until the next call has been answered.',
    create: () => {
      const seen = watch<{ last?: ApiKey | undefined }>(() => ({}))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answer = await inner(request)
            seen.memory.last = isAccepted(answer) && tokenText(request) !== '' ? seen.pair?.key : undefined
            return answer
          }
        },
        rules: {
          ...seen.notePair,
          macTextMatches: (received, expected) => {
            const { last } = seen.memory
            return right.macTextMatches(received, expected) || (last !== undefined && last === callerOf(seen))
          },
        },
      }
    },
  },
  {
    // "HMAC-SHA256 computed with the API key secret": that of the key in `<api_key_id>`
    id: 'secret-of-previous-signer-signs-for-next-key',
    breaks: 'signatures/key-id',
    needsState: true,
    create: () => {
      const seen = watch<{ previous?: ApiKey | undefined }>(() => ({}))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answer = await inner(request)
            const isSigned = request.headers.authorization?.startsWith('svc-') === true
            if (isSigned && isAccepted(answer)) seen.memory.previous = callerOf(seen)
            return answer
          }
        },
        rules: {
          signingKeys: (key, _all, kind) => {
            const { previous } = seen.memory
            return kind === 'ecc' || previous === undefined ? [key] : [key, previous]
          },
        },
      }
    },
  },
  {
    // "A key has no time-to-live."
    id: 'created-key-cannot-sign-after-a-day',
    breaks: 'keys/no-time-to-live',
    needsState: true,
    about: 'The secret is kept in clear for a day; afterwards only its hash is left.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          hmacTakenFor: (key) => right.hmacTakenFor(key) && (key.initial || seen.nowMs < key.createdMs + day),
        },
      }
    },
  },
]
