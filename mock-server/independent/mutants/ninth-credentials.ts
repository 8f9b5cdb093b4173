import { rules as right } from '../../rules.ts'
import { pairsOf } from '../../token-state.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, paramsOf, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/.test(word)
const isOneSolution = (word: string): boolean => /^solution:[^*]/.test(word)

/** Parts 4.2 and 5.2: Basic credentials and grants. */
export const ninthCredentialMutants: IndependentMutant[] = [
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`": the id, and no label
    id: 'key-name-accepted-as-id-in-basic',
    breaks: 'basic/key-id',
    create: () => ({
      rules: {
        keyNamed: (id, find, all, means) =>
          find(id) ?? (means === 'basic' ? all().find(({ name }) => name === id) : undefined),
      },
    }),
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`": the whole secret
    id: 'first-half-of-secret-not-compared-in-basic',
    breaks: 'basic/credentials',
    about: 'It compares with the end of the secret that it keeps for display.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) => {
          if (means === 'grant') return right.secretMatches(received, expected, means)
          const half = expected.length / 2
          return received.length === expected.length && received.slice(half) === expected.slice(half)
        },
      },
    }),
  },
  {
    // "Two grant types, selected by `grantType`"
    id: 'blanks-around-grant-type-ignored',
    breaks: 'grants/grant-type',
    create: () => ({
      rules: { grantType: ({ grantType }) => (typeof grantType === 'string' ? grantType.trim() : grantType) },
    }),
  },
  {
    // "apiKeyId | string | yes"
    id: 'key-id-may-be-missing-in-grant',
    breaks: 'grants/params',
    about: 'The query then looks for the secret alone.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid || (method === 'manager/auth' && name === 'apiKeyId' && value === undefined),
          keyNamed: (id, find, all, means) => {
            if (means !== 'grant' || id !== '') return find(id)
            const { apiKeySecret } = paramsOf(seen.request)
            return all().find(({ secret }) => secret === apiKeySecret)
          },
        },
      }
    },
  },
  {
    // "scope | array of string | Scopes granted"
    id: 'scope-in-result-an-object-when-restriction-stands-in-front',
    breaks: 'grants/result-scope',
    about: 'The restrictions are filtered out of a list that keeps its numbers.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result) => {
            const kept = scopeOf(seen.request).flatMap((word, place) => (isRestriction(word) ? [] : [place]))
            if (kept.every((place, at) => place === at)) return result
            return { ...result, scope: Object.fromEntries(result.scope.map((word, at) => [kept[at] ?? at, word])) }
          },
        },
      }
    },
  },
  {
    // "apiKeySecret | string | yes"
    id: 'secret-not-checked-in-grant-of-one-solution',
    breaks: 'grants/credentials',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) =>
            right.secretMatches(received, expected, means) ||
            (means === 'grant' && scopeOf(seen.request).some(isOneSolution)),
        },
      }
    },
  },
  {
    // "apiKeySecret | string | yes": in each grant
    id: 'key-refused-for-its-scope-needs-no-secret-in-next-grant',
    breaks: 'grants/credentials',
    needsState: true,
    about: 'The key counts as proved until a grant succeeds.',
    create: () => {
      const seen = watch(() => ({ proved: new Set<string>() }))
      const note = answerThrough((answer, request, { state }) => {
        const { grantType, apiKeySecret } = paramsOf(request)
        const key = state.keys.get(namedKeyId(request) ?? '')
        if (grantType !== 'api_key_credentials' || key === undefined) return answer
        if (isAccepted(answer)) seen.memory.proved.delete(key.id)
        else if (apiKeySecret === key.secret) seen.memory.proved.add(key.id)
        return answer
      })
      return {
        around: chain(seen.around, note),
        rules: {
          secretMatches: (received, expected, means) =>
            right.secretMatches(received, expected, means) ||
            (means === 'grant' && seen.memory.proved.has(namedKeyId(seen.request) ?? '')),
        },
      }
    },
  },
  {
    // "Callers prove their identity with an API key (by signature or by credentials)": sessions do not change that
    id: 'created-key-takes-no-basic-while-it-has-a-session',
    breaks: 'basic/credentials',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretTakenFor: (key, means) => {
            if (key.initial || means === 'grant') return right.secretTakenFor(key, means)
            const hasSession = pairsOf(seen.context).some(
              ({ key: owner, session }) => owner === key && session?.removed === false,
            )
            return right.secretTakenFor(key, means) && !hasSession
          },
        },
      }
    },
  },
]
