import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 8: at most ten keys. */
export const keyLimitMutants: IndependentMutant[] = [
  {
    id: 'keys-with-public-key-not-counted',
    breaks: 'limits/ten-keys',
    create: () => ({
      rules: {
        keysCounted: (all, profile) =>
          right.keysCounted(
            all.filter((key) => !key.publicKey),
            profile,
          ),
      },
    }),
  },
  {
    id: 'keys-of-same-name-counted-once',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => ({
      rules: {
        keysCounted: (all, profile) => {
          const live = all.filter((key) => !key.deleted)
          const firsts = live.filter((key, index) => live.findIndex((one) => one.name === key.name) === index)
          return right.keysCounted(firsts, profile)
        },
      },
    }),
  },
  {
    id: 'no-key-limit-for-ecc-callers',
    breaks: 'limits/ten-keys',
    create: () => ({ rules: { keyLimit: (means) => (means === 'ecc' ? 100 : right.keyLimit(means)) } }),
  },
  {
    id: 'token-callers-make-eight-keys',
    breaks: 'limits/ten-can-be-made',
    create: () => ({ rules: { keyLimit: (means) => (means === 'token' ? 8 : right.keyLimit(means)) } }),
  },
  {
    id: 'eleventh-key-created-on-second-try',
    breaks: 'limits/eleventh-refused',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ refusals: 0 }))
      return {
        around: seen.around,
        rules: {
          beyondKeyLimit: () => {
            seen.memory.refusals += 1
            return seen.memory.refusals % 2 === 0 ? 'created' : 'refused'
          },
        },
      }
    },
  },
  {
    id: 'refused-creation-ends-newest-key',
    breaks: 'limits/earlier-keys-kept',
    needsState: true,
    create: () => ({ rules: { keysLostToRefusal: (all) => all.slice(-1) } }),
  },
  {
    id: 'new-key-replaces-key-of-same-name',
    breaks: 'limits/earlier-keys-kept',
    needsState: true,
    create: () => ({
      rules: { keysLostToNewKey: (all, created) => all.filter((key) => !key.initial && key.name === created.name) },
    }),
  },
  {
    id: 'new-key-replaces-key-with-same-public-key',
    breaks: 'limits/earlier-keys-kept',
    needsState: true,
    create: () => ({
      rules: {
        keysLostToNewKey: (all, created) =>
          all.filter((key) => !key.initial && key.publicKey !== undefined && key.publicKey === created.publicKey),
      },
    }),
  },
]
