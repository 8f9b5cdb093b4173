import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import { mergeInFlight, paramsOf, readMembers, withMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Compares in constant time, but adds the differences up with an exclusive or: two equal differences cancel each other. */
function sameByExclusiveOr(received: string, expected: string): boolean {
  let difference = received.length ^ expected.length
  for (let index = 0; index < expected.length; index++) {
    difference ^= received.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}

/** Parts 4.2 and 5.2: Basic credentials and grants. */
export const thirdCredentialMutants: IndependentMutant[] = [
  {
    // "Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>" authorizes calls, whatever else the key was used for
    id: 'basic-refused-after-tokens-of-key-were-refreshed',
    breaks: 'basic/credentials',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            seen.memory.keys.add(old.key.id)
            return result
          },
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) && !(means === 'basic' && seen.memory.keys.has(key.id)),
        },
      }
    },
  },
  {
    // "Basic <BASE64(<api_key_id>:<api_key_secret>)>": the secret is part of the proof
    id: 'basic-calls-in-flight-merged-by-key-id',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'Equal calls of one key that arrive together are answered once, even if their secrets differ.',
    create: () => ({
      around: mergeInFlight((request) => {
        if (!request.headers.authorization?.startsWith('Basic ')) return undefined
        const { method, params } = readMembers(request.body.toString('utf8')) ?? {}
        return JSON.stringify([namedKeyId(request), method, params])
      }),
    }),
  },
  {
    // "<BASE64(<api_key_id>:<api_key_secret>)>"
    id: 'colons-in-front-of-secret-skipped-in-basic',
    breaks: 'basic/credentials',
    create: () => ({
      rules: {
        basicPair: (encoded) => {
          const pair = right.basicPair(encoded)
          return pair && { id: pair.id, secret: pair.secret.replace(/^:+/, '') }
        },
      },
    }),
  },
  {
    // "<BASE64(<api_key_id>:<api_key_secret>)>": the whole secret
    id: 'swapped-letters-of-secret-accepted-in-basic',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'The comparison in constant time adds the differences up with an exclusive or, so that they may cancel.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          means === 'basic' ? sameByExclusiveOr(received, expected) : right.secretMatches(received, expected, means),
      },
    }),
  },
  {
    // The params of the grant: "apiKeyId | string | yes"
    id: 'grant-finds-key-by-secret-alone',
    breaks: 'grants/key-id',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keyNamed: (id, find, all, means) => {
            const { apiKeySecret } = means === 'grant' ? paramsOf(seen.request) : {}
            return all().find(({ secret, deleted }) => secret === apiKeySecret && !deleted) ?? find(id)
          },
        },
      }
    },
  },
  {
    // "scope | array of string | yes"
    id: 'scope-as-object-accepted-in-grant',
    breaks: 'grants/params',
    about: 'An object is read as the list of its values.',
    create: () => ({
      around: (handle) => (request) => {
        const { scope } = paramsOf(request)
        const isObject = typeof scope === 'object' && scope !== null && !Array.isArray(scope)
        if (!isObject || !isMethod(request, 'manager/auth')) return handle(request)
        const members = readMembers(request.body.toString('utf8'))
        const params = { ...paramsOf(request), scope: Object.values(scope) }
        return handle(withMembers(request, { ...members, params }))
      },
    }),
  },
  {
    // "Two grant types, selected by `grantType`"
    id: 'oauth-name-of-grant-type-accepted',
    breaks: 'grants/grant-type',
    create: () => ({
      rules: {
        grantType: (params) =>
          params.grantType === 'client_credentials' ? 'api_key_credentials' : right.grantType(params),
      },
    }),
  },
  {
    // "context | Token limited to the Context API"
    id: 'grant-adds-to-scopes-of-earlier-grants-of-key',
    breaks: 'scopes/context',
    needsState: true,
    about: 'The list of scopes is made once for each key and is never emptied.',
    create: () => {
      const seen = watch(() => ({ scopes: new Map<unknown, string[]>() }))
      return {
        around: seen.around,
        rules: {
          grantedScope: (requested) => {
            const { scopes } = seen.memory
            const { apiKeyId } = paramsOf(seen.request)
            const all = [...new Set([...(scopes.get(apiKeyId) ?? []), ...requested])]
            scopes.set(apiKeyId, all)
            return all
          },
        },
      }
    },
  },
  {
    // The result: "scope | array of string | Scopes granted"
    id: 'empty-scope-left-out-of-result',
    breaks: 'grants/result-scope',
    needsState: true,
    about: 'Empty members are not written. A grant of restrictions alone has an empty scope.',
    create: () => ({
      rules: {
        grantResult: ({ scope, ...rest }) => (scope.length === 0 ? rest : { ...rest, scope }),
      },
    }),
  },
  {
    // "Sent without an Authorization header; credentials are in the params"
    id: 'grant-refused-without-header-behind-basic-call-on-connection',
    breaks: 'grants/no-authorization-header',
    needsState: true,
    about: 'A connection on which Basic credentials came must go on sending them.',
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: chain(seen.around, (handle) => (request) => {
          const { connection, headers } = request
          if (connection !== undefined && headers.authorization?.startsWith('Basic '))
            seen.memory.connections.add(connection)
          return handle(request)
        }),
        rules: {
          grantType: (params) => {
            const { connection, headers } = seen.request
            const isMissing =
              headers.authorization === undefined && connection !== undefined && seen.memory.connections.has(connection)
            return isMissing && params.grantType === 'api_key_credentials' ? undefined : right.grantType(params)
          },
        },
      }
    },
  },
]
