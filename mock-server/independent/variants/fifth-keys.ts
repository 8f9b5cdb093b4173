import { rules as right } from '../../rules.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

/** A word whose letters are capitals where the bits of `number` are set. */
const inCaseOf = (number: number): string =>
  [...'apikeyidentifier'].map((letter, at) => ((number >> at) & 1 ? letter.toUpperCase() : letter)).join('')

/** Parts 2, 4.1 and 8: keys and their limit. */
export const fifthKeyVariants: IndependentVariant[] = [
  {
    id: 'key-ids-with-slashes-and-at-signs',
    questions: ['keys/record'],
    create: () => ({ rules: { keyId: (fresh) => `/keys/${fresh}?v=2.2&x=%2F#1@svc` } }),
  },
  {
    id: 'key-ids-differ-in-letter-case-only',
    questions: ['keys/record'],
    create() {
      const seen = watch(() => ({ made: 0 }))
      return {
        around: seen.around,
        rules: {
          keyId: () => {
            seen.memory.made += 1
            return inCaseOf(seen.memory.made)
          },
        },
      }
    },
  },
  {
    id: 'key-secrets-begin-with-the-id-of-their-key',
    questions: ['keys/record'],
    create() {
      let last = ''
      return {
        rules: {
          keyId: (fresh) => {
            last = fresh
            return fresh
          },
          keySecret: (fresh) => `${last}${fresh}`,
        },
      }
    },
  },
  {
    id: 'initial-key-and-wrong-public-keys-take-places',
    questions: ['keys/limit-counts-initial', 'keys/limit-counts-refused'],
    profile: { initialKeyCounts: true },
    create() {
      const seen = watch(() => ({ refused: 0 }))
      return {
        around: seen.around,
        rules: {
          badPublicKeyTaken: () => {
            seen.memory.refused += 1
            return false
          },
          keysCounted: (all, profile) => right.keysCounted(all, profile) + seen.memory.refused,
        },
      }
    },
  },
  {
    id: 'disabled-keys-take-no-places',
    questions: ['keys/limit-frees'],
    create: () => ({
      rules: {
        keysCounted: (all, profile) =>
          right.keysCounted(
            all.filter(({ enabled }) => enabled),
            profile,
          ),
      },
    }),
  },
  {
    id: 'restrictions-and-nothing-refused-as-scope-of-key',
    questions: ['keys/expires-in-scope', 'keys/empty-scope'],
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid &&
          (method !== 'manager/createApiKey' ||
            name !== 'scope' ||
            (Array.isArray(value) &&
              value.length > 0 &&
              !value.some((word) => /^(session|ipAddr|expiresIn):/.test(String(word))))),
      },
    }),
  },
]
