import { identify } from '../../caller.ts'
import { rules as right } from '../../rules.ts'
import type { ApiKey } from '../../state.ts'
import { paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Changes the params of calls of manager/auth, which nobody signs. */
const changeGrantParams =
  (change: (params: { [name: string]: unknown }) => { [name: string]: unknown }): Around =>
  (handle) =>
  (request) =>
    handle(
      isMethod(request, 'manager/auth')
        ? withMembers(request, { ...readMembers(request.body.toString('utf8')), params: change(paramsOf(request)) })
        : request,
    )

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())

/** As much of a text as bcrypt looks at. */
const hashed = (text: string): string => Buffer.from(text).subarray(0, 72).toString('latin1')

/** Part 5.2, and the credentials of part 4.2. */
export const twelfthCredentialMutants: IndependentMutant[] = [
  {
    // "`api_key_credentials` | apiKeySecret | string | yes"
    id: 'letter-case-of-secret-ignored-in-grant',
    breaks: 'grants/credentials',
    about: 'The secret is a condition of the query, and the collation of its column ignores the letter case.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          means === 'grant'
            ? right.secretMatches(received.toLowerCase(), expected.toLowerCase(), means)
            : right.secretMatches(received, expected, means),
      },
    }),
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'blanks-behind-secret-ignored-in-basic',
    breaks: 'basic/credentials',
    about: 'The comparison of the database pads the shorter text with blanks.',
    create: () => ({
      rules: {
        secretMatches: (received, expected, means) =>
          right.secretMatches(means === 'basic' ? received.replace(/ +$/, '') : received, expected, means),
      },
    }),
  },
  {
    // "`api_key_credentials` | apiKeyId | string | yes"
    id: 'grant-params-in-snake-case-accepted',
    breaks: 'grants/params',
    about: 'The reader of JSON finds a member by either spelling of its name.',
    create: () => ({
      around: changeGrantParams((params) =>
        Object.fromEntries(Object.entries(params).map(([name, value]) => [camelCase(name), value])),
      ),
    }),
  },
  {
    // "`api_key_credentials` | apiKeyId | string | yes"
    id: 'key-id-in-a-list-accepted-in-grant',
    breaks: 'grants/params',
    about: 'The query takes one id or a list of them.',
    create: () => ({
      around: changeGrantParams((params) => {
        const { apiKeyId } = params
        return Array.isArray(apiKeyId) && apiKeyId.length === 1 ? { ...params, apiKeyId: apiKeyId[0] } : params
      }),
    }),
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`": a token is no id
    id: 'access-token-as-user-of-basic-accepted',
    breaks: 'basic/key-id',
    about: 'For clients that can send nothing but a user name and a password.',
    create: () => ({
      around: (handle, context) => (request) => {
        const [, encoded = ''] = /^Basic (.*)$/.exec(request.headers.authorization ?? '') ?? []
        const user = Buffer.from(encoded, 'base64').toString('utf8').split(':')[0] ?? ''
        if (context.state.tokens.get(user)?.kind !== 'access') return handle(request)
        return handle({ ...request, headers: { ...request.headers, authorization: `Bearer ${user}` } })
      },
    }),
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`", for a creation with a public key too
    id: 'creation-with-public-key-needs-no-secret-in-basic',
    breaks: 'basic/credentials',
    about: 'Calls with a public key are left to the check of signatures, which sees no signature.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) =>
            right.secretMatches(received, expected, means) ||
            (means === 'basic' &&
              isMethod(seen.request, 'manager/createApiKey') &&
              paramsOf(seen.request).publicKey !== undefined),
        },
      }
    },
  },
  {
    // "Sent without an Authorization header; credentials are in the params."
    id: 'grant-takes-authorization-header-for-secret',
    breaks: 'grants/credentials',
    about: 'The secret is not checked where the header was right, whichever key it belongs to.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) =>
            right.secretMatches(received, expected, means) ||
            (means === 'grant' &&
              seen.request.headers.authorization !== undefined &&
              identify(seen.context, seen.request).ok),
        },
      }
    },
  },
  {
    // "`api_key_credentials` | apiKeySecret | string | yes", the whole of it
    id: 'secret-hashed-behind-id-and-name-within-72-bytes',
    breaks: 'grants/credentials',
    needsState: true,
    about: 'The id, the name and the secret are hashed together, and the hash leaves out what follows 72 bytes.',
    create: () => {
      let named: ApiKey | undefined
      return {
        rules: {
          secretsOf: (key, all, means) => {
            named = key
            return right.secretsOf(key, all, means)
          },
          secretMatches: (received, expected, means) => {
            if (means !== 'grant' || named === undefined) return right.secretMatches(received, expected, means)
            const salt = named.id + named.name
            return right.secretMatches(hashed(salt + received), hashed(salt + expected), means)
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'grant-decision-cached-by-its-scopes',
    breaks: 'scopes/within-key',
    needsState: true,
    about:
      'A list of scopes that one key was granted is granted to every key: the key of the cache lacks that of the caller.',
    create: () => {
      const seen = watch(() => ({ allowed: new Set<string>() }))
      const asked = () => scopeOf(seen.request).join(' ')
      return {
        around: seen.around,
        rules: {
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) || seen.memory.allowed.has(asked()),
          grantResult: (result) => {
            seen.memory.allowed.add(asked())
            return result
          },
        },
      }
    },
  },
]
