import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { isAccepted, paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 4.2 and 5.2: credentials in the header and in the params of a grant. */
export const fifthCredentialMutants: IndependentMutant[] = [
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'text-in-front-of-secret-ignored-in-basic',
    breaks: 'basic/credentials',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          means === 'basic' ? received.endsWith(expected) : right.secretMatches(received, expected, means),
      },
    }),
  },
  {
    // "BASE64(<api_key_id>:<api_key_secret>)", in this order
    id: 'secret-before-key-id-accepted-in-basic',
    breaks: 'basic/credentials',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          basicPair: (encoded) => {
            const pair = right.basicPair(encoded)
            return pair && seen.context.state.keys.has(pair.secret) ? { id: pair.secret, secret: pair.id } : pair
          },
        },
      }
    },
  },
  {
    // "apiKeySecret | string | yes": the secret of the key
    id: 'base64-of-secret-accepted-in-grant',
    breaks: 'grants/credentials',
    create: () => ({
      rules: {
        secretsOf: ({ secret }, _all, means) =>
          means === 'grant' ? [secret, Buffer.from(secret).toString('base64')] : [secret],
      },
    }),
  },
  {
    // "scope | array of string | yes"
    id: 'lists-in-scope-of-grant-flattened',
    breaks: 'grants/params',
    create: () => ({
      around: (handle) => (request) => {
        const { scope } = paramsOf(request)
        if (!Array.isArray(scope) || !scope.some(Array.isArray)) return handle(request)
        const members = readMembers(request.body.toString('utf8'))
        return handle(withMembers(request, { ...members, params: { ...paramsOf(request), scope: scope.flat() } }))
      },
    }),
  },
  {
    // "credentials are in the params": `apiKeySecret`
    id: 'second-half-of-secret-not-compared-in-grant-of-session',
    breaks: 'grants/credentials',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            const isSession = means === 'grant' && scopeOf(seen.request).some((word) => word.startsWith('session:'))
            return isSession
              ? received.startsWith(expected.slice(0, expected.length / 2))
              : right.secretMatches(received, expected, means)
          },
        },
      }
    },
  },
  {
    // "BASE64(<api_key_id>:<api_key_secret>)": the secret of this key
    id: 'secret-of-creator-accepted-in-basic-for-key-made-by-created-key',
    breaks: 'basic/credentials',
    create: () => {
      const seen = watch(() => ({ creators: new Map<string, ApiKey>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = callerOf(seen)
            if (creator?.initial === false) seen.memory.creators.set(key.id, creator)
            return key
          },
          secretsOf: ({ id, secret }, _all, means) => [
            secret,
            ...(means === 'basic' ? [seen.memory.creators.get(id)?.secret ?? secret] : []),
          ],
        },
      }
    },
  },
  {
    // "Token limited to the Context API": the scopes that the grant asks for
    id: 'scope-of-grant-with-wrong-secret-added-to-next-grant',
    breaks: 'scopes/context',
    needsState: true,
    about: 'The list is collected in one variable, which only an accepted grant empties.',
    create: () => {
      const seen = watch<{ left: string[] }>(() => ({ left: [] }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answer = await inner(request)
            if (paramsOf(request).grantType !== 'api_key_credentials') return answer
            seen.memory.left = isAccepted(answer) ? [] : [...seen.memory.left, ...scopeOf(request)]
            return answer
          }
        },
        rules: {
          grantedScope: (requested, keyScope) => [
            ...new Set([...requested, ...keyScope.filter((word) => seen.memory.left.includes(word))]),
          ],
        },
      }
    },
  },
  {
    // "apiKeySecret | string | yes": the secret of the key
    id: 'same-wrong-secret-accepted-third-time-in-grant',
    breaks: 'grants/credentials',
    needsState: true,
    about: 'A secret that is sent again and again is taken for a new one whose change has not arrived yet.',
    create: () => {
      const seen = watch(() => ({ tries: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            if (right.secretMatches(received, expected, means)) return true
            const tries = (seen.memory.tries.get(`${expected} ${received}`) ?? 0) + (means === 'grant' ? 1 : 0)
            seen.memory.tries.set(`${expected} ${received}`, tries)
            return means === 'grant' && tries >= 3
          },
        },
      }
    },
  },
]
