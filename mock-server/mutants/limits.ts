import { rules } from '../rules.ts'
import { type Mutant, race } from './mutant.ts'

/** Part 8: the limit of keys. */
export const limitMutants: Mutant[] = [
  { id: 'eleven-keys-created', breaks: 'limits/ten-keys', with: { keyLimit: () => 11 } },
  { id: 'any-number-of-keys-created', breaks: 'limits/ten-keys', with: { keyLimit: () => 1000 } },
  {
    id: 'keys-with-a-public-key-not-counted',
    breaks: 'limits/ten-keys',
    with: {
      keysCounted: (all, profile) =>
        rules.keysCounted(
          all.filter((key) => key.publicKey === undefined),
          profile,
        ),
    },
  },
  ...(['hmac', 'ecc', 'token'] as const).map(
    (means): Mutant => ({
      id: `keys-created-by-${means}-without-a-limit`,
      breaks: 'limits/ten-keys',
      with: { keyLimit: (used) => (used === means ? 1000 : 10) },
    }),
  ),
  { id: 'key-limit-races', breaks: 'limits/ten-keys', with: { beforeEffect: race('key') } },
  { id: 'eight-keys-created', breaks: 'limits/ten-can-be-made', with: { keyLimit: () => 8 } },
  { id: 'five-keys-created', breaks: 'limits/ten-can-be-made', with: { keyLimit: () => 5 } },
  {
    id: 'eleventh-key-created-and-the-oldest-removed',
    breaks: 'limits/eleventh-refused',
    with: { beyondKeyLimit: () => 'oldest-removed' },
  },
  {
    id: 'first-key-lost-to-a-new-one',
    breaks: 'limits/earlier-keys-kept',
    with: { keysLostToNewKey: (all) => all.filter((key) => !key.initial && !key.deleted).slice(0, 1) },
  },
  {
    id: 'newest-key-lost-to-a-refusal',
    breaks: 'limits/earlier-keys-kept',
    with: { keysLostToRefusal: (all) => all.filter((key) => !key.initial && !key.deleted).slice(-1) },
  },
  {
    id: 'initial-key-lost-to-a-refusal',
    breaks: 'limits/earlier-keys-kept',
    with: { keysLostToRefusal: (all) => all.filter(({ initial }) => initial) },
  },
  {
    id: 'initial-key-lost-to-the-tenth',
    breaks: 'limits/earlier-keys-kept',
    with: {
      keysLostToNewKey: (all) =>
        all.filter(({ initial, deleted }) => !initial && !deleted).length < 9
          ? []
          : all.filter(({ initial }) => initial),
    },
  },
  {
    id: 'public-keys-lost-to-a-refusal',
    breaks: 'limits/earlier-keys-kept',
    with: { keysLostToRefusal: (all) => all.filter(({ publicKey }) => publicKey !== undefined) },
  },
  {
    id: 'key-lost-to-a-namesake',
    breaks: 'limits/earlier-keys-kept',
    with: { keysLostToNewKey: (all, created) => all.filter(({ initial, name }) => !initial && name === created.name) },
  },
]
