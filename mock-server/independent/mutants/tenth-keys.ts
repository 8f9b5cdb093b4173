import { createHmac, randomBytes } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import { paramsOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1 and 8: keys and their number. */
export const tenthKeyMutants: IndependentMutant[] = [
  {
    // "At most 10 API keys can be created."
    id: 'deleted-key-frees-two-places',
    breaks: 'limits/ten-keys',
    needsState: true,
    about: 'Both the method and a trigger of the database lower the count.',
    create: () => ({
      rules: {
        keysCounted: (all, profile) => right.keysCounted(all, profile) - all.filter(({ deleted }) => deleted).length,
      },
    }),
  },
  {
    // "At most 10 API keys can be created."
    id: 'keys-without-apikey-scope-not-counted',
    breaks: 'limits/ten-keys',
    create: () => ({
      rules: {
        keysCounted: (all, profile) =>
          right.keysCounted(
            all.filter(({ scope }) => scope.some((word) => /^apikey$/i.test(word))),
            profile,
          ),
      },
    }),
  },
  {
    // "name | createApiKey params | string | yes"
    id: 'name-may-be-missing-beside-public-key',
    breaks: 'keys/create-params',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid ||
            (method === 'manager/createApiKey' &&
              name === 'name' &&
              value === undefined &&
              paramsOf(seen.request).publicKey !== undefined),
        },
      }
    },
  },
  {
    // "secret | createApiKey result | string | Secret of the key": of this key
    id: 'secret-of-key-made-from-its-name',
    breaks: 'keys/unique-secrets',
    needsState: true,
    about: 'Keys of the same name have the same secret.',
    create: () => {
      const seen = watch(() => ({ salt: randomBytes(16) }))
      return {
        around: seen.around,
        rules: {
          keySecret: (fresh) =>
            createHmac('sha256', seen.memory.salt)
              .update(String(paramsOf(seen.request).name))
              .digest('hex')
              .slice(0, fresh.length),
        },
      }
    },
  },
]
