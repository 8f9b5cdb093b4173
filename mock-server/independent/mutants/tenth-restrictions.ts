import { callerAddress } from '../../caller.ts'
import { rules as right } from '../../rules.ts'
import { effectiveKeyScope } from '../../scopes.ts'
import { chain } from '../answers.ts'
import { meet, paramsOf, tokenText } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const isOneSolution = (word: string): boolean => /^solution:[^*]/.test(word)
const isArea = (word: string): boolean => /^(solution|context|thread|store|inbox|stream)$/.test(word)

/** Part 5.4: scopes and addresses. */
export const tenthRestrictionMutants: IndependentMutant[] = [
  {
    // "`solution:*` | Token may manage all Contexts.": and no keys
    id: 'solution-any-scope-creates-keys',
    breaks: 'keys/apikey-scope',
    about: 'An asterisk at the end of a scope counts as permission for the management of keys.',
    create: () => ({
      rules: {
        scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (area === 'manager' && scope === 'solution:*'),
      },
    }),
  },
  {
    // "`context` | Token limited to the Context API."
    id: 'context-token-with-address-lists-solutions',
    breaks: 'scopes/context',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) =>
            right.scopeOpens(scope, area) ||
            (area === 'solution' && scope === 'context' && (seen.pair?.addresses.length ?? 0) > 0),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'grants-in-flight-share-the-scope-of-a-key',
    breaks: 'scopes/within-key',
    needsState: true,
    about: 'The key that a grant names is kept in a variable of the server.',
    create: () => {
      const seen = watch(() => ({ keyId: undefined as unknown }))
      const wait: Around = (handle) => (request) => {
        const { grantType, apiKeyId } = paramsOf(request)
        if (grantType !== 'api_key_credentials') return handle(request)
        seen.memory.keyId = apiKeyId
        return meet().then(() => handle(request))
      }
      return {
        around: chain(seen.around, wait),
        rules: {
          scopeWithinKey: (scope, keyScope, profile) => {
            const key = seen.context.state.keys.get(String(seen.memory.keyId))
            if (key === undefined || key.id === paramsOf(seen.request).apiKeyId)
              return right.scopeWithinKey(scope, keyScope, profile)
            return right.scopeWithinKey(scope, effectiveKeyScope(key.scope, profile), profile)
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'key-takes-scopes-of-key-created-before-on-connection',
    breaks: 'keys/scope-held',
    needsState: true,
    about: 'The handler belongs to a connection, and adds to a list that it never empties.',
    create: () => {
      const seen = watch(() => ({ scopesOn: new Map<number, string[]>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const { connection } = seen.request
            if (connection === undefined) return key
            key.scope = [...new Set([...(seen.memory.scopesOn.get(connection) ?? []), ...key.scope])]
            seen.memory.scopesOn.set(connection, key.scope)
            return key
          },
        },
      }
    },
  },
  {
    // "`solution:SOLUTION_ID` | Token may manage Contexts only under the given solution."
    id: 'address-opens-all-solutions-to-token-of-one',
    breaks: 'scopes/solution-id',
    about: 'The later of two restrictions replaces the earlier one.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          solutionReached: (scopes, solution) =>
            right.solutionReached(scopes, solution) || (seen.pair?.addresses.length ?? 0) > 0,
        },
      }
    },
  },
  {
    // "`solution:SOLUTION_ID` | Token may manage Contexts only under the given solution."
    id: 'refresh-widens-one-solution-to-any',
    breaks: 'refresh/scopes-kept',
    about: 'The result still names the one solution.',
    create: () => ({
      rules: { refreshedScope: ({ scope }) => scope.map((word) => (isOneSolution(word) ? 'solution:*' : word)) },
    }),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'calls-in-flight-share-the-address-of-the-last-one',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'The address of the caller is kept in a variable of the server.',
    create: () => {
      const seen = watch(() => ({ address: '' }))
      const wait: Around = (handle, context) => (request) => {
        seen.memory.address = callerAddress(context, request)
        return tokenText(request) === '' ? handle(request) : meet().then(() => handle(request))
      }
      return {
        around: chain(seen.around, wait),
        rules: { addressTaken: (addresses) => right.addressTaken(addresses, seen.memory.address) },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-list-of-key-grows-with-its-grants',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'The list is kept with the key, and each grant with an address adds one.',
    create: () => {
      const seen = watch(() => ({ addressesOf: new Map<string, string[]>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            if (pair.addresses.length === 0) return result
            const { addressesOf } = seen.memory
            pair.addresses = [...new Set([...(addressesOf.get(pair.key.id) ?? []), ...pair.addresses])]
            addressesOf.set(pair.key.id, pair.addresses)
            return result
          },
        },
      }
    },
  },
  {
    // "`solution` | Token limited to the Solution API.", beside other areas too
    id: 'only-first-area-of-token-opens',
    breaks: 'scopes/area-opens',
    about: 'The scope in the result names them all.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) => {
            const first = seen.pair?.scope.find(isArea)
            return right.scopeOpens(scope, area) && (first === undefined || !isArea(scope) || scope === first)
          },
        },
      }
    },
  },
]
