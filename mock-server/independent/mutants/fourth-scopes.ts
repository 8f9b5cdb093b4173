import { rules as right } from '../../rules.ts'
import { isAccepted, paramsOf, scopeOf } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Part 5.4: what scopes open, and what the scope of a key allows. */
export const fourthScopeMutants: IndependentMutant[] = [
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'grants-of-key-made-by-created-key-checked-against-its-creator',
    breaks: 'scopes/within-key',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ creators: new Map<unknown, string[]>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            const creator = callerOf(seen)
            if (creator?.initial === false) seen.memory.creators.set(key.id, creator.scope)
            return key
          },
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) ||
            right.scopeWithinKey(scope, seen.memory.creators.get(paramsOf(seen.request).apiKeyId) ?? [], profile),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation": of the key that the grant names
    id: 'grant-checked-against-key-of-earlier-call-on-connection',
    breaks: 'scopes/within-key',
    needsState: true,
    about: 'The scope of an accepted caller stays with the connection.',
    create: () => {
      const seen = watch(() => ({ scopes: new Map<number, string[]>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answer = await inner(request)
            const key = request.headers.authorization && context.state.keys.get(namedKeyId(request) ?? '')
            if (key && request.connection !== undefined && isAccepted(answer))
              seen.memory.scopes.set(request.connection, key.scope)
            return answer
          }
        },
        rules: {
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) ||
            right.scopeWithinKey(scope, seen.memory.scopes.get(seen.request.connection ?? 0) ?? [], profile),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings)": a list of whole words
    id: 'single-scope-of-key-searched-as-text',
    breaks: 'scopes/within-key',
    about: 'A list of one entry is stored as a text, in which any part is found.',
    create: () => ({
      rules: {
        scopeWithinKey: (scope, keyScope, profile) =>
          right.scopeWithinKey(scope, keyScope, profile) ||
          (keyScope.length === 1 && keyScope[0]?.includes(scope) === true),
      },
    }),
  },
  {
    // "`solution:SOLUTION_ID` | Token may manage Contexts only under the given solution"
    id: 'any-solution-granted-to-key-of-one-solution',
    breaks: 'scopes/within-key',
    about: 'Only what stands in front of the colon is compared.',
    create: () => ({
      rules: {
        scopeWithinKey: (scope, keyScope, profile) =>
          right.scopeWithinKey(scope, keyScope, profile) ||
          (scope.startsWith('solution:') && keyScope.some((word) => word.startsWith('solution:'))),
      },
    }),
  },
  {
    // "inbox | Token limited to the Inbox API"
    id: 'inbox-token-of-created-key-lists-solutions',
    breaks: 'scopes/inbox',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) =>
            right.scopeOpens(scope, area) ||
            (scope === 'inbox' && area === 'solution' && seen.pair?.key.initial === false),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'scope-of-narrow-signer-not-checked-behind-wide-one-on-connection',
    breaks: 'keys/scope-held',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ wide: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          keyScopeHolds: (means) => {
            const { connection } = seen.request
            if (connection === undefined || means === 'basic') return true
            if (callerOf(seen)?.initial === true) seen.memory.wide.add(connection)
            return !seen.memory.wide.has(connection)
          },
        },
      }
    },
  },
  {
    // "solution | Token limited to the Solution API": of the scopes that this grant asked for
    id: 'scopes-of-token-cached-by-key-and-number-of-scopes',
    breaks: 'scopes/context',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ scopes: new Map<string, string[]>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            const place = `${pair.key.id} ${scopeOf(seen.request).length}`
            pair.scope = seen.memory.scopes.get(place) ?? pair.scope
            seen.memory.scopes.set(place, pair.scope)
            return result
          },
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'entries-behind-session-in-scope-dropped',
    breaks: 'addresses/bound',
    about: 'The loop over the entries ends at the session; the result repeats the whole scope.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            const entries = scopeOf(seen.request)
            const end = entries.findIndex((entry) => entry.startsWith('session:'))
            const dropped = end < 0 ? [] : entries.slice(end + 1)
            pair.addresses = pair.addresses.filter((address) => !dropped.includes(`ipAddr:${address}`))
            pair.scope = pair.scope.filter((scope) => !dropped.includes(scope))
            return result
          },
        },
      }
    },
  },
]
