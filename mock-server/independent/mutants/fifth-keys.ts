import type { ApiKey } from '../../state.ts'
import { paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 1, 2, 4.1 and 8: the envelope, keys and their limit. */
export const fifthKeyMutants: IndependentMutant[] = [
  {
    // "jsonrpc | string | `2.0`."
    id: 'answer-to-key-creation-in-json-rpc-1-0',
    breaks: 'envelope/response-jsonrpc',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { answerVersion: () => (isMethod(seen.request, 'manager/createApiKey') ? '1.0' : '2.0') },
      }
    },
  },
  {
    // "id | integer | Echo of the request `id`."
    id: 'id-divided-by-a-million-echoed-as-rest',
    breaks: 'envelope/id-echo',
    create: () => ({ rules: { echoedId: (id) => (typeof id === 'number' ? id % 1_000_000 : id) } }),
  },
  {
    // "publicKey | createApiKey params | string | no"
    id: 'public-key-as-list-of-lines-accepted',
    breaks: 'keys/create-params',
    create: () => ({
      around: (handle) => (request) => {
        const { publicKey } = paramsOf(request)
        if (!Array.isArray(publicKey)) return handle(request)
        const params = { ...paramsOf(request), publicKey: publicKey.join('\n') }
        return handle(withMembers(request, { ...readMembers(request.body.toString('utf8')), params }))
      },
    }),
  },
  {
    // "At most 10 API keys can be created."
    id: 'no-key-limit-for-token-of-session',
    breaks: 'limits/ten-keys',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { ...seen.notePair, keyLimit: () => (seen.pair?.session === undefined ? 10 : 1000) },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'key-created-by-signature-loses-its-last-scope',
    breaks: 'keys/created-key-works',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const isSigned = seen.request.headers.authorization?.includes(';') === true
            return isSigned && key.scope.length > 1 ? { ...key, scope: key.scope.slice(0, -1) } : key
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'refused-eleventh-creation-sets-scope-of-last-key',
    breaks: 'keys/scope-fixed',
    needsState: true,
    about: 'The row is written before the limit is checked, and there is no eleventh row.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keysLostToRefusal: (all) => {
            const last = all.at(-1)
            if (last) last.scope = scopeOf(seen.request)
            return []
          },
        },
      }
    },
  },
  {
    // "id | createApiKey result | string | Identifier of the key"
    id: 'second-creation-with-same-params-gives-first-key',
    breaks: 'keys/unique-ids',
    needsState: true,
    about: 'The second one is taken for a repetition, but only when the result is made.',
    create: () => {
      const seen = watch(() => ({ results: new Map<string, object>() }))
      return {
        around: seen.around,
        rules: {
          createKeyResult: (result) => {
            const params = JSON.stringify(paramsOf(seen.request))
            const first = seen.memory.results.get(params) ?? result
            seen.memory.results.set(params, first)
            return first
          },
        },
      }
    },
  },
  {
    // "It can be disabled or deleted."
    id: 'deleted-key-signs-until-another-key-is-created',
    breaks: 'keys/can-be-deleted',
    needsState: true,
    about: 'The list of signers is rebuilt when a key is created.',
    create: () => {
      const seen = watch(() => ({ gone: new Set<ApiKey>() }))
      return {
        around: seen.around,
        rules: {
          keysLostToNewKey: (all) => {
            for (const key of all) if (key.deleted) seen.memory.gone.add(key)
            return []
          },
          deletedKeyWorks: (key, means) => (means === 'hmac' || means === 'ecc') && !seen.memory.gone.has(key),
        },
      }
    },
  },
]
