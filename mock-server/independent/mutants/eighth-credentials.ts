import { createHash } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import { scopeOf } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

const grantTypes = ['api_key_credentials', 'refresh_token']

/** Part 5.2, and `api_key_credentials` of part 4.2. */
export const eighthCredentialMutants: IndependentMutant[] = [
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'line-feed-behind-secret-ignored-in-basic',
    breaks: 'basic/credentials',
    create: () => ({ rules: { basicPair: (encoded) => withoutLineFeed(right.basicPair(encoded)) } }),
  },
  {
    // "apiKeySecret | string | yes": the secret of the key, not what the server stores of it
    id: 'hash-of-secret-accepted-in-grant',
    breaks: 'grants/credentials',
    about: 'The SHA-256 of the secret in hex, as a leaked database would show it.',
    create: () => ({
      rules: {
        secretsOf: ({ secret }, _all, means) =>
          means === 'grant' ? [secret, createHash('sha256').update(secret).digest('hex')] : [secret],
      },
    }),
  },
  {
    // "apiKeyId | string | yes"
    id: 'hyphens-in-key-id-ignored-in-grant',
    breaks: 'grants/key-id',
    create: () => ({
      rules: {
        keyNamed: (id, find, _all, means) => find(id) ?? (means === 'grant' ? find(id.replaceAll('-', '')) : undefined),
      },
    }),
  },
  {
    // "Two grant types, selected by `grantType`"
    id: 'beginning-of-grant-type-suffices',
    breaks: 'grants/grant-type',
    create: () => ({
      rules: {
        grantType: ({ grantType }) =>
          typeof grantType === 'string' && grantType !== ''
            ? grantTypes.find((name) => name.startsWith(grantType))
            : grantType,
      },
    }),
  },
  {
    // "scope | array of string | yes (see scopes in part 5)"
    id: 'missing-scope-taken-in-grant-of-created-key',
    breaks: 'grants/params',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) => {
            const isMissing = method === 'manager/auth' && name === 'scope' && value === undefined
            return valid || (isMissing && callerOf(seen)?.initial === false)
          },
        },
      }
    },
  },
  {
    // "apiKeyId", "apiKeySecret": the secret belongs to the key that the id names
    id: 'grant-with-address-takes-secret-of-any-key',
    breaks: 'grants/credentials',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretsOf: (key, all, means) => {
            const isBound = scopeOf(seen.request).some((word) => word.startsWith('ipAddr:'))
            return means === 'grant' && isBound ? all().map(({ secret }) => secret) : [key.secret]
          },
        },
      }
    },
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'wrong-secret-accepted-in-basic-just-after-grant-of-its-key',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'A key that has just proved its secret in a grant is known for five seconds.',
    create: () => {
      const seen = watch(() => ({ grantedMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { key }) => {
            seen.memory.grantedMs.set(key.id, seen.nowMs)
            return result
          },
          secretMatches: (received, expected, means) => {
            const grantedMs = seen.memory.grantedMs.get(namedKeyId(seen.request) ?? '')
            const isKnown = means === 'basic' && grantedMs !== undefined && seen.nowMs < grantedMs + 5000
            return isKnown || right.secretMatches(received, expected, means)
          },
        },
      }
    },
  },
  {
    // "<api_key_id>": that of an existing key
    id: 'unknown-key-id-in-basic-means-key-of-last-call',
    breaks: 'basic/key-id',
    needsState: true,
    create: () => {
      const seen = watch<{ last?: string }>(() => ({}))
      return {
        around: seen.around,
        rules: {
          keyNamed: (id, find, _all, means) => {
            const key = find(id)
            if (means !== 'basic') return key
            if (key !== undefined) seen.memory.last = key.id
            return key ?? find(seen.memory.last ?? '')
          },
        },
      }
    },
  },
]

function withoutLineFeed(pair: ReturnType<typeof right.basicPair>): ReturnType<typeof right.basicPair> {
  return pair === undefined ? undefined : { ...pair, secret: pair.secret.replace(/\r?\n$/, '') }
}
