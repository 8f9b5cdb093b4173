import { rules as right } from '../../rules.ts'
import type { ApiKey, Session } from '../../state.ts'
import { meet } from '../calls.ts'
import { callerOf, isSignedWithPublicKey } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 2, 4.1 and 8: creating and counting keys. */
export const fourthKeyMutants: IndependentMutant[] = [
  {
    // "At most 10 API keys can be created", and "publicKey" is a param of each creation
    id: 'tenth-key-with-public-key-refused',
    breaks: 'limits/ten-can-be-made',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          publicKey: (pem, profile) => {
            const { state } = seen.context
            return right.keysCounted([...state.keys.values()], profile) >= 9 ? undefined : right.publicKey(pem, profile)
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'ninth-key-overwrites-scope-of-first',
    breaks: 'keys/scope-held',
    needsState: true,
    about: 'The scopes are in a ring of eight places.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const created = [...seen.context.state.keys.values()].filter(({ initial }) => !initial)
            const older = created[created.length - 8]
            if (older !== undefined) older.scope = key.scope
            return key
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'key-made-by-created-key-has-scope-of-initial-key',
    breaks: 'keys/scope-held',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => (callerOf(seen)?.initial === false ? { ...key, scope: seen.context.root.scope } : key),
        },
      }
    },
  },
  {
    // "scope | array of string | Scope strings of the key": in any order
    id: 'scope-of-key-made-by-token-compared-place-by-place',
    breaks: 'keys/created-key-works',
    about: 'The key gets what stands at the same place in the scope of the token and in its own.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const { pair } = seen
            if (pair === undefined) return key
            const scope = key.scope.filter((word, at) => word.toLowerCase() === pair.scope[at]?.toLowerCase())
            return { ...key, scope }
          },
        },
      }
    },
  },
  {
    // "id | createApiKey result | string | Identifier of the key"
    id: 'creations-in-flight-share-an-id',
    breaks: 'keys/unique-ids',
    needsState: true,
    create: () => {
      const shared: { calls: number; id: string | undefined } = { calls: 0, id: undefined }
      return {
        around: (handle) => (request) => {
          if (!isMethod(request, 'manager/createApiKey')) return handle(request)
          shared.calls += 1
          return meet()
            .then(() => handle(request))
            .finally(() => {
              shared.calls -= 1
              if (shared.calls === 0) shared.id = undefined
            })
        },
        rules: {
          keyId: (fresh) => {
            shared.id ??= fresh
            return shared.id
          },
        },
      }
    },
  },
  {
    // "A key has no time-to-live"
    id: 'key-created-in-session-ends-with-it',
    breaks: 'keys/no-time-to-live',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ sessions: new Map<string, Session>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const session = seen.pair?.session
            if (session !== undefined) seen.memory.sessions.set(key.id, session)
            return key
          },
          keyExpired: (key) => seen.memory.sessions.get(key.id)?.removed === true,
        },
      }
    },
  },
  {
    // "made with the private key that matches the public key": the one in the params
    id: 'public-key-created-by-ecc-call-is-that-of-its-creator',
    breaks: 'keys/public-key',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key): ApiKey => {
            const verifyKey = isSignedWithPublicKey(seen) ? callerOf(seen)?.verifyKey : undefined
            return key.publicKey !== undefined && verifyKey ? { ...key, verifyKey } : key
          },
        },
      }
    },
  },
  {
    // "A key has no time-to-live", and ten can be created
    id: 'fifth-public-key-ends-the-first',
    breaks: 'limits/earlier-keys-kept',
    needsState: true,
    create: () => ({
      rules: {
        keysLostToNewKey: (all, created) => {
          const live = all.filter((key) => key.publicKey !== undefined && !key.deleted)
          return created.publicKey !== undefined && live.length >= 4 ? live.slice(0, 1) : []
        },
      },
    }),
  },
  {
    // "At most 10 API keys can be created"
    id: 'keys-created-within-a-second-not-counted',
    breaks: 'limits/ten-keys',
    needsState: true,
    about: 'The keys are counted at a replica that is a second behind.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keysCounted: (all, profile) =>
            right.keysCounted(
              all.filter(({ createdMs }) => createdMs <= seen.nowMs - 1000),
              profile,
            ),
        },
      }
    },
  },
  {
    // "scope | createApiKey params | array of string | yes"
    id: 'null-as-scope-of-creation-taken',
    breaks: 'keys/create-params',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid || (method === 'manager/createApiKey' && name === 'scope' && value === null),
      },
    }),
  },
  {
    // "Result: `id` (string), `secret` (string)"
    id: 'creation-by-token-returns-no-secret',
    breaks: 'keys/create-result',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          createKeyResult: ({ id, secret }) => (seen.pair === undefined ? { id, secret } : { id }),
        },
      }
    },
  },
]
