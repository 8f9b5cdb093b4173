import { rules as right } from '../../rules.ts'
import { isAccepted, scopeOf } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

const otherAreas = ['context', 'thread', 'store', 'inbox', 'stream']

/** Scopes and addresses: parts 2 and 5.4. */
export const eighthRestrictionMutants: IndependentMutant[] = [
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-not-checked-for-local-callers',
    breaks: 'addresses/bound',
    create: () => ({
      rules: {
        addressTaken: (addresses, remoteAddress) =>
          right.addressTaken(addresses, remoteAddress) || remoteAddress.startsWith('127.'),
      },
    }),
  },
  {
    // "Token limited to the Context API", and so on: three of them do not make a fourth
    id: 'token-of-three-other-areas-lists-solutions',
    breaks: 'scopes/context',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) =>
            area !== 'solution' || otherAreas.filter((name) => seen.pair?.scope.includes(name)).length < 3,
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'scope-of-key-not-compared-in-grant-with-address',
    breaks: 'scopes/within-key',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) ||
            scopeOf(seen.request).some((word) => word.startsWith('ipAddr:')),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'scope-of-key-made-by-token-not-checked-in-signatures',
    breaks: 'keys/scope-held',
    create: () => {
      const seen = watch(() => ({ made: new Set<string | undefined>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair !== undefined) seen.memory.made.add(key.id)
            return key
          },
          keyScopeHolds: (means) => means === 'basic' || !seen.memory.made.has(callerOf(seen)?.id),
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'key-with-nothing-but-apikey-scope-lists-solutions',
    breaks: 'keys/scope-held',
    about: 'Who may manage keys may do everything, it says.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          keyScopeHolds: () => {
            const scope = callerOf(seen)?.scope ?? []
            return scope.length === 0 || !scope.every((word) => word.toLowerCase() === 'apikey')
          },
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR": that of this token
    id: 'address-that-fitted-once-fits-every-token',
    breaks: 'addresses/bound',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ fitted: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          addressTaken: (addresses, remoteAddress) => {
            const fits = right.addressTaken(addresses, remoteAddress)
            if (fits && addresses.length > 0) seen.memory.fitted.add(remoteAddress)
            return fits || seen.memory.fitted.has(remoteAddress)
          },
        },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'scope-refused-in-grant-is-added-to-key',
    breaks: 'keys/scope-fixed',
    needsState: true,
    about: 'The list of the key is the one to which the requested scopes are added before the comparison.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeWithinKey: (scope, keyScope, profile) => {
            const isWithin = right.scopeWithinKey(scope, keyScope, profile)
            const key = callerOf(seen)
            if (!isWithin && key) key.scope = [...key.scope, scope]
            return isWithin
          },
        },
      }
    },
  },
  {
    // "`solution` | Token limited to the Solution API": it is usable there, whatever other tokens of its key may do
    id: 'refused-listing-cached-for-all-tokens-of-key',
    breaks: 'scopes/area-opens',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ refused: new Set<string>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answering = inner(request)
            const { pair } = seen
            const answer = await answering
            if (pair && isMethod(request, 'solution/listSolutions') && !isAccepted(answer))
              seen.memory.refused.add(pair.key.id)
            return answer
          }
        },
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) => {
            const isCached = area === 'solution' && seen.pair && seen.memory.refused.has(seen.pair.key.id)
            return !isCached && right.scopeOpens(scope, area)
          },
        },
      }
    },
  },
]
