import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { meet, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1 and 8: creating keys and counting them. */
export const secondKeyMutants: IndependentMutant[] = [
  {
    // "A key is either without a public key (secret-based) or with an ED25519 PEM-encoded public key"
    id: 'key-created-after-public-key-gets-it-too',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'The params are read into a record that is used again, so a missing publicKey keeps its last value once.',
    create: () => {
      const seen = watch((): { last?: ApiKey } => ({}))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const { last } = seen.memory
            if (key.publicKey !== undefined) {
              seen.memory.last = key
              return key
            }
            delete seen.memory.last
            if (last?.publicKey === undefined || last.verifyKey === undefined) return key
            return { ...key, publicKey: last.publicKey, verifyKey: last.verifyKey }
          },
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created"
    id: 'keys-of-one-name-counted-once',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => ({
      rules: {
        keysCounted: (all, profile) =>
          right.keysCounted([...new Map(all.map((key) => [key.name, key])).values()], profile),
      },
    }),
  },
  {
    // "At most 10 API keys can be created"
    id: 'each-creator-has-ten-places',
    breaks: 'limits/ten-keys',
    needsState: true,
    about: 'The keys are counted for the key that creates them.',
    create: () => {
      const seen = watch(() => ({ creators: new Map<string, string>() }))
      const creator = () => namedKeyId(seen.request) ?? seen.pair?.key.id ?? ''
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            seen.memory.creators.set(key.id, creator())
            return key
          },
          keysCounted: (all, profile) =>
            right.keysCounted(
              all.filter((key) => key.initial || seen.memory.creators.get(key.id) === creator()),
              profile,
            ),
        },
      }
    },
  },
  {
    // "At most 10 API keys can be created"
    id: 'key-created-by-ecc-signature-takes-no-place',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ uncounted: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const creator = seen.context.state.keys.get(namedKeyId(seen.request) ?? '')
            if (creator?.publicKey !== undefined) seen.memory.uncounted.add(key.id)
            return key
          },
          keysCounted: (all, profile) =>
            right.keysCounted(
              all.filter(({ id }) => !seen.memory.uncounted.has(id)),
              profile,
            ),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'creations-in-flight-share-a-scope',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'Keys that are created at the same time all get the scope of the last one.',
    create: () => {
      const seen = watch()
      let shared: string[] = []
      return {
        around: seen.around,
        rules: {
          beforeEffect: (effect) => {
            if (effect !== 'key') return undefined
            shared = scopeOf(seen.request)
            return meet()
          },
          storedKey: (key) => ({ ...key, scope: shared }),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'scope-of-key-cut-at-three-entries',
    breaks: 'keys/created-key-works',
    create: () => ({ rules: { storedKey: (key) => ({ ...key, scope: key.scope.slice(0, 3) }) } }),
  },
]
