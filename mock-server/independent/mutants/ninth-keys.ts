import { rules as right } from '../../rules.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1 and 8: keys, their scopes and their number. */
export const ninthKeyMutants: IndependentMutant[] = [
  {
    // "publicKey | createApiKey params | string | no | ED25519 public key in PEM form"
    id: 'false-as-public-key-means-none',
    breaks: 'keys/public-key-material',
    about: 'False, 0 and null pass as no public key at all.',
    create: () => ({
      rules: {
        badPublicKeyTaken: (pem) => pem === false || pem === 0 || pem === null,
        storedKey: (key) => {
          if (key.publicKey === '') delete key.publicKey
          return key
        },
      },
    }),
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'scope-of-key-kept-in-forty-characters',
    breaks: 'keys/created-key-works',
    about: 'The scope is stored as one text in a column of forty characters, so long lists lose their end.',
    create: () => ({
      rules: {
        storedKey: (key) => {
          const text = key.scope.join(',')
          if (text.length > 40) key.scope = text.slice(0, 40).split(',')
          return key
        },
      },
    }),
  },
  {
    // "It can be disabled or deleted."
    id: 'disabled-key-signs-with-ecc',
    breaks: 'keys/can-be-disabled',
    create: () => ({ rules: { disabledKeyWorks: (_key, means) => means === 'ecc' } }),
  },
  {
    // "scope | createApiKey params | array of string | yes | Scope strings of the key"
    id: 'key-made-by-created-key-cannot-create-keys',
    breaks: 'keys/created-key-works',
    about: 'The scope apikey is given on once only.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (callerOf(seen)?.initial === false) key.scope = key.scope.filter((word) => !/^apikey$/i.test(word))
            return key
          },
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created."
    id: 'creation-refused-for-its-params-frees-a-place',
    breaks: 'limits/ten-keys',
    needsState: true,
    about: 'The way back from an error lowers a count that was not raised.',
    create: () => {
      const seen = watch(() => ({ freed: 0 }))
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, _name, _value, valid) => {
            if (method === 'manager/createApiKey' && !valid) seen.memory.freed += 1
            return valid
          },
          keysCounted: (all, profile) => right.keysCounted(all, profile) - seen.memory.freed,
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'creator-takes-scope-of-key-that-it-creates',
    breaks: 'keys/scope-held',
    needsState: true,
    about: 'The wrong one of two variables is saved; the initial key is never saved.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = callerOf(seen)
            if (creator?.initial === false) creator.scope = key.scope
            return key
          },
        },
      }
    },
  },
]
