import { chain } from '../answers.ts'
import { answerThrough, isAccepted } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1, 5.1 and 8: API keys and signatures. */
export const thirdKeyVariants: IndependentVariant[] = [
  {
    id: 'key-ids-of-padded-base64',
    questions: ['keys/record'],
    about: 'The ids of created keys have plus signs and slashes, and end with an equals sign.',
    create: () => ({ rules: { keyId: (fresh) => Buffer.from(`fb${fresh}`, 'hex').toString('base64') } }),
  },
  {
    id: 'key-secrets-with-quotes-and-spaces',
    questions: ['keys/record'],
    about: 'Secrets have quotes, spaces, a backslash and what looks like a percent encoding.',
    create: () => ({
      rules: { keySecret: (fresh) => `"${fresh.slice(0, 8)}' %41\\n <${fresh.slice(8)}>;` },
    }),
  },
  {
    id: 'key-secrets-of-512-letters',
    questions: ['keys/record'],
    create: () => ({ rules: { keySecret: (fresh) => fresh.repeat(16) } }),
  },
  {
    id: 'key-ids-and-secrets-are-short',
    questions: ['keys/record', 'keys/create-result-extras'],
    about: 'Ids are a letter and a number, secrets have eight letters, and the result has further members.',
    profile: { extraResultMembers: true },
    create() {
      let last = 0
      return {
        rules: {
          keyId: () => {
            last += 1
            return `k${last}`
          },
          keySecret: (fresh) => fresh.slice(0, 8),
        },
      }
    },
  },
  {
    id: 'key-names-of-40-letters-and-initial-key-counted',
    questions: ['keys/name-rules', 'keys/limit-counts-initial'],
    about: 'A name begins and ends with something else than a space.',
    profile: { initialKeyCounts: true },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid &&
          !(
            method === 'manager/createApiKey' &&
            name === 'name' &&
            (String(value).length > 40 || String(value).trim() !== value)
          ),
      },
    }),
  },
  {
    id: 'key-places-never-freed-and-scopes-of-creator-only',
    questions: ['keys/limit-frees', 'keys/scope-above-creator', 'keys/public-key-repeated'],
    profile: { keyScopeAboveCreator: 'refused', repeatedPublicKeys: 'refused' },
    create: () => ({ rules: { keysCounted: (all) => all.filter((key) => !key.initial).length } }),
  },
  {
    id: 'timestamps-not-far-behind-the-last-of-their-key',
    questions: ['signatures/time-window'],
    about: 'A timestamp is at most five seconds before the last accepted one of its key, and one second in the future.',
    create() {
      const seen = watch(() => ({ lastMs: new Map<string, number>() }))
      return {
        around: chain(
          seen.around,
          answerThrough((answer, request) => {
            const id = namedKeyId(request)
            const fields = request.headers.authorization?.split(';') ?? []
            if (id === undefined || fields.length !== 5 || !isAccepted(answer)) return answer
            const { lastMs } = seen.memory
            lastMs.set(id, Math.max(lastMs.get(id) ?? 0, Number(fields[2])))
            return answer
          }),
        ),
        rules: {
          timestampTaken: (timestamp, nowMs) => {
            const ms = Number(timestamp)
            const lastMs = seen.memory.lastMs.get(namedKeyId(seen.request) ?? '') ?? 0
            return /^[0-9]{13}$/.test(timestamp) && ms >= lastMs - 5000 && ms >= nowMs - 600_000 && ms <= nowMs + 1000
          },
        },
      }
    },
  },
  {
    id: 'padding-optional-and-words-in-any-case',
    questions: ['signatures/nonce-padding', 'signatures/base64-padding', 'signatures/scheme-case'],
    profile: { noncePadding: 'accepted', unpaddedSignatures: 'accepted', schemeCase: 'any' },
  },
  {
    id: 'signatures-for-a-minute-with-long-nonces',
    questions: ['signatures/time-window', 'signatures/nonce-length', 'signatures/nonce-burnt'],
    about: 'A nonce of a wrong signature may be used again.',
    profile: { timeWindowMs: 60_000, nonceMaxLength: 1024, nonceBurntByBadSignature: false },
  },
]
