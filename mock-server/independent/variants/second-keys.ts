import { randomUUID } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { chain, changeErrors } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'

/** Parts 2, 4.1 and 8: API keys. */
export const secondKeyVariants: IndependentVariant[] = [
  {
    id: 'key-ids-are-small-numbers',
    questions: ['keys/record'],
    about: 'The ids of created keys count from 1001.',
    create() {
      let last = 1000
      return {
        rules: {
          keyId: () => {
            last += 1
            return String(last)
          },
        },
      }
    },
  },
  {
    id: 'key-ids-long-and-secrets-with-signs',
    questions: ['keys/record', 'keys/create-result-extras'],
    about: 'Ids have dots and dashes; secrets have colons, slashes and equals signs.',
    profile: { extraResultMembers: true },
    create: () => ({
      rules: {
        keyId: () => `api.key.${randomUUID()}.${randomUUID()}`,
        keySecret: (fresh) => `${fresh.slice(0, 6)}:${fresh.slice(6, 16)}/+${fresh.slice(16)}:==`,
      },
    }),
  },
  {
    id: 'key-names-unique-and-at-most-64-letters',
    questions: ['keys/name-rules', 'keys/public-key-repeated'],
    about: 'A name or a public key that a live key has is refused.',
    profile: { repeatedPublicKeys: 'refused' },
    create() {
      const held = holdContext()
      const isUsed = (name: unknown) =>
        [...held.get().state.keys.values()].some((key) => !key.deleted && key.name === name)
      return {
        around: held.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid &&
            !(method === 'manager/createApiKey' && name === 'name' && (String(value).length > 64 || isUsed(value))),
        },
      }
    },
  },
  {
    id: 'key-places-never-freed',
    questions: ['keys/limit-frees'],
    create: () => ({ rules: { keysCounted: (all) => all.filter((key) => !key.initial).length } }),
  },
  {
    id: 'key-scopes-known-and-not-empty',
    questions: ['keys/unknown-scopes', 'keys/empty-scope', 'keys/expires-in-scope'],
    about: 'Unknown words, restrictions and an empty list are refused in the scope of a key.',
    profile: { unknownKeyScopes: 'refused' },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid &&
          !(
            method === 'manager/createApiKey' &&
            name === 'scope' &&
            Array.isArray(value) &&
            (value.length === 0 || value.some((word) => /^(session|ipAddr):/.test(String(word))))
          ),
      },
    }),
  },
  {
    id: 'public-key-has-no-secret-and-results-are-long',
    questions: ['keys/secret-of-public-key', 'keys/create-result-extras'],
    about: 'The secret of a key with a public key is an empty text, and the result repeats the whole record.',
    create() {
      let stored: ApiKey | undefined
      return {
        rules: {
          storedKey: (key) => {
            stored = key
            return key
          },
          createKeyResult: ({ id, secret }) => ({
            kind: 'apiKey',
            id,
            secret: stored?.publicKey === undefined ? secret : '',
            name: stored?.name,
            scope: stored?.scope,
            publicKey: stored?.publicKey ?? null,
            createdAt: stored === undefined ? null : new Date(stored.createdMs).toISOString(),
          }),
        },
      }
    },
  },
  {
    id: 'public-keys-weak-and-with-many-line-feeds',
    questions: ['keys/small-order', 'keys/pem-variants', 'signatures/weak-keys'],
    about: 'Weak points are accepted, and a PEM may end with several line feeds.',
    profile: { weakPublicKeys: 'accepted' },
    create: () => ({
      rules: {
        publicKey: (pem, profile) => right.publicKey(typeof pem === 'string' ? pem.trimEnd() : pem, profile),
      },
    }),
  },
  {
    id: 'nine-keys-with-scopes-of-their-creator',
    questions: ['keys/limit-counts-initial', 'keys/scope-above-creator', 'keys/unknown-scopes', 'errors/codes'],
    about: 'The initial key counts, a key passes on only what it has, and errors have the code 0.',
    profile: { initialKeyCounts: true, keyScopeAboveCreator: 'refused', unknownKeyScopes: 'all-but-shown-refused' },
    create: () => ({ around: chain(changeErrors(({ message }) => ({ code: 0, message }))) }),
  },
]
