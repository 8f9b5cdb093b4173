import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1, 5.1 and 5.2: keys, signatures and Basic credentials. */
export const fourthKeyVariants: IndependentVariant[] = [
  {
    id: 'each-key-id-begins-with-the-one-before',
    questions: ['keys/record'],
    create() {
      const seen = watch(() => ({ last: 'key' }))
      return {
        around: seen.around,
        rules: {
          keyId: (fresh) => {
            // Ids have at most 128 letters.
            seen.memory.last = seen.memory.last.length < 120 ? `${seen.memory.last}${fresh.slice(0, 1)}` : fresh
            return seen.memory.last
          },
        },
      }
    },
  },
  {
    id: 'key-ids-in-capitals-behind-a-word',
    questions: ['keys/record'],
    create: () => ({ rules: { keyId: (fresh) => `PROD.KEY~${fresh.slice(0, 20).toUpperCase()}` } }),
  },
  {
    id: 'key-secrets-with-semicolons-and-percent-signs',
    questions: ['keys/record'],
    create: () => ({ rules: { keySecret: (fresh) => `%41;+${fresh}&=;%` } }),
  },
  {
    id: 'public-keys-share-a-placeholder-and-results-repeat-params',
    questions: ['keys/secret-of-public-key', 'keys/create-result-extras'],
    about: 'The secret of a key with a public key, which nothing takes, is a word.',
    create() {
      const seen = watch(() => ({ publicKeys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            if (key.publicKey !== undefined) seen.memory.publicKeys.add(key.id)
            return key
          },
          createKeyResult: ({ id, secret }) => ({
            id,
            secret: seen.memory.publicKeys.has(id) ? 'not-used' : secret,
            state: 'active',
            createdAt: new Date(seen.nowMs).toISOString(),
          }),
        },
      }
    },
  },
  {
    id: 'known-words-weak-keys-and-nine-places',
    questions: ['keys/unknown-scopes', 'keys/small-order', 'keys/limit-counts-initial'],
    profile: { unknownKeyScopes: 'refused', weakPublicKeys: 'accepted', initialKeyCounts: true },
  },
  {
    id: 'key-names-without-blanks-at-the-ends-and-scopes-not-empty',
    questions: ['keys/name-rules', 'keys/empty-scope'],
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) => {
          if (method !== 'manager/createApiKey' || !valid) return valid
          return name === 'name' ? value === String(value).trim() : !(Array.isArray(value) && value.length === 0)
        },
      },
    }),
  },
  {
    id: 'public-key-once-and-scope-of-creator-at-most',
    questions: ['keys/public-key-repeated', 'keys/scope-above-creator'],
    profile: { repeatedPublicKeys: 'refused', keyScopeAboveCreator: 'refused' },
  },
  {
    id: 'nonces-of-48-letters-two-minutes-and-a-clock-ahead',
    questions: ['signatures/nonce-length', 'signatures/time-window'],
    profile: { nonceMaxLength: 48, timeWindowMs: 120_000, clockOffsetMs: 60_000 },
  },
  {
    id: 'nonce-not-burnt-padding-as-in-sample-and-a-day-to-come',
    questions: ['signatures/nonce-burnt', 'signatures/nonce-padding', 'signatures/time-window'],
    profile: { nonceBurntByBadSignature: false, noncePadding: 'accepted', timeWindowMs: 24 * 3_600_000 },
  },
  {
    id: 'api-token-word-and-words-in-any-case',
    questions: ['tokens/prefix', 'signatures/scheme-case'],
    profile: { tokenPrefix: 'Api-Token', schemeCase: 'any' },
    settings: { tokenPrefix: 'Api-Token' },
  },
]
