import type { MockAnswer } from '../../http-server.ts'
import { rules as right } from '../../rules.ts'
import { answerFor, answerThrough, isAccepted, mergeInFlight, paramsOf, readMembers, withMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

const basicCredentials = (authorization = '') => authorization.replace(/^Basic /, '')

/** Parts 4.2, 5 and 5.2: Basic credentials, grants and what callers may do without them. */
export const secondCredentialMutants: IndependentMutant[] = [
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'basic-cache-looks-at-64-characters',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'After an accepted call, the first 64 characters of its credentials are enough.',
    create: () => {
      const seen = watch(() => ({ accepted: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          secretMatches: (received, expected, means) => {
            const isRight = right.secretMatches(received, expected, means)
            if (means !== 'basic') return isRight
            const start = basicCredentials(seen.request.headers.authorization).slice(0, 64)
            if (isRight) seen.memory.accepted.add(start)
            return seen.memory.accepted.has(start)
          },
        },
      }
    },
  },
  {
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`"
    id: 'access-token-accepted-as-basic-secret',
    breaks: 'basic/credentials',
    needsState: true,
    about: 'The password may be a valid access token of the key, and then has all the scope of the key.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretsOf: (key, _all, means) => {
            const shown = right.basicPair(basicCredentials(seen.request.headers.authorization))?.secret ?? ''
            const token = means === 'basic' ? seen.context.state.tokens.get(shown) : undefined
            const isValid = token?.kind === 'access' && token.pair.key === key && !token.pair.accessRevoked
            return isValid ? [key.secret, shown] : [key.secret]
          },
        },
      }
    },
  },
  {
    // "`apiKeySecret` | string | yes"
    id: 'refresh-token-accepted-as-secret-of-grant',
    breaks: 'grants/credentials',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretsOf: (key, _all, means) => {
            const shown = String(paramsOf(seen.request).apiKeySecret)
            const token = means === 'grant' ? seen.context.state.tokens.get(shown) : undefined
            const isValid = token?.kind === 'refresh' && token.pair.key === key && !token.pair.refreshRevoked
            return isValid ? [key.secret, shown] : [key.secret]
          },
        },
      }
    },
  },
  {
    // "such a key accepts only ECC signatures"
    id: 'ecc-signature-opens-basic-for-its-key',
    breaks: 'basic/public-key-refused',
    needsState: true,
    about: 'Basic looks for the key in a cache that accepted ECC signatures fill, and does not look at its kind there.',
    create: () => {
      const seen = watch(() => ({ signers: new Set<string>() }))
      const note = answerThrough((answer, request) => {
        const id = namedKeyId(request)
        if (id !== undefined && request.headers.authorization?.includes(';') && isAccepted(answer))
          seen.memory.signers.add(id)
        return answer
      })
      return {
        around: (handle, context) => note(seen.around(handle, context), context),
        rules: {
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) || (means === 'basic' && seen.memory.signers.has(key.id)),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'allowed-basic-call-opens-its-method-to-every-key',
    breaks: 'keys/scope-held',
    needsState: true,
    about: 'The decision on the scope is kept by method, without the key.',
    create: () => {
      const seen = watch(() => ({ allowed: new Set<string>() }))
      const isBasic = () => seen.request.headers.authorization?.startsWith('Basic ') === true
      const note = answerThrough((answer, { body, headers }) => {
        if (headers.authorization?.startsWith('Basic ') && isAccepted(answer))
          seen.memory.allowed.add(String(readMembers(body.toString('utf8'))?.method))
        return answer
      })
      return {
        around: (handle, context) => note(seen.around(handle, context), context),
        rules: { scopeNeeded: (method) => !(isBasic() && seen.memory.allowed.has(method)) },
      }
    },
  },
  {
    // "Three ways to authorize a call to a method"
    id: 'accepted-listing-cached-by-body',
    breaks: 'authorization/required',
    needsState: true,
    about: 'For a second, a listing with the same body gets the same answer, whoever calls.',
    create: () => {
      const seen = watch(() => ({ answers: new Map<string, { untilMs: number; answer: MockAnswer }>() }))
      return {
        around: (handle, context) => {
          const inner = answerThrough((answer, request) => {
            const text = request.body.toString('utf8')
            if (isAccepted(answer)) seen.memory.answers.set(text, { untilMs: context.now() + 1000, answer })
            return answer
          })(seen.around(handle, context), context)
          return (request) => {
            if (!isMethod(request, 'solution/listSolutions')) return handle(request)
            const kept = seen.memory.answers.get(request.body.toString('utf8'))
            return kept && context.now() < kept.untilMs ? answerFor(kept.answer, request) : inner(request)
          }
        },
      }
    },
  },
  {
    // "`apiKeySecret` | string | yes"
    id: 'sixth-wrong-secret-in-a-row-accepted',
    breaks: 'grants/credentials',
    needsState: true,
    about: 'The counter of wrong secrets has room for five; beyond them the check of the secret is skipped.',
    create: () => {
      const seen = watch(() => ({ key: '', failures: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          secretsOf: (key) => {
            seen.memory.key = key.id
            return [key.secret]
          },
          secretMatches: (received, expected, means) => {
            const isRight = right.secretMatches(received, expected, means)
            if (means !== 'grant') return isRight
            const { key, failures } = seen.memory
            const count = isRight ? 0 : (failures.get(key) ?? 0) + 1
            failures.set(key, count)
            return isRight || count > 5
          },
        },
      }
    },
  },
  {
    // "`apiKeySecret` | string | yes"
    id: 'grant-without-secret-takes-that-of-last-grant',
    breaks: 'grants/params',
    needsState: true,
    about: 'The params are read into a record that is used again, so a missing secret keeps its last value.',
    create: () => {
      const seen = watch((): { secret?: unknown } => ({}))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const params = paramsOf(request)
            if (params.grantType !== 'api_key_credentials') return inner(request)
            if (params.apiKeySecret !== undefined) seen.memory.secret = params.apiKeySecret
            else if (seen.memory.secret !== undefined) {
              const filled = { ...params, apiKeySecret: seen.memory.secret }
              return inner(withMembers(request, { ...readMembers(request.body.toString('utf8')), params: filled }))
            }
            return inner(request)
          }
        },
      }
    },
  },
  {
    // "Two grant types, selected by `grantType`"
    id: 'missing-grant-type-is-that-of-last-grant',
    breaks: 'grants/grant-type',
    needsState: true,
    create: () => {
      const seen = watch((): { last?: unknown } => ({}))
      return {
        around: seen.around,
        rules: {
          grantType: (params) => {
            seen.memory.last = params.grantType ?? seen.memory.last
            return seen.memory.last
          },
        },
      }
    },
  },
  {
    // "`apiKeySecret` | string | yes"
    id: 'grants-in-flight-merged-by-key-id',
    breaks: 'grants/credentials',
    needsState: true,
    about:
      'Grants for one key id and scope that are in flight together get the tokens of the first, even if their secrets differ.',
    create: () => ({
      around: mergeInFlight((request) => {
        const { grantType, apiKeyId, scope } = paramsOf(request)
        return grantType === 'api_key_credentials' ? JSON.stringify([apiKeyId, scope]) : undefined
      }),
    }),
  },
  {
    // "Not usable with an API key that has a public key; such a key accepts only ECC signatures"
    id: 'session-granted-to-key-with-public-key',
    breaks: 'grants/public-key-refused',
    about: 'The secret of a key with a public key is accepted when the grant asks for a session.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          secretTakenFor: (key, means) =>
            right.secretTakenFor(key, means) || (means === 'grant' && seen.bodyHas('"session:')),
        },
      }
    },
  },
]
