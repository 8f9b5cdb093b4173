import type { Area } from '../../rules.ts'
import { rules as right } from '../../rules.ts'
import { meet, paramsOf, readMembers, scopeOf, tokenText, withMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const areas = ['context', 'solution', 'thread', 'store', 'inbox', 'stream']
const numberedAreas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

const opens = (scopes: readonly string[], area: Area) => scopes.some((scope) => right.scopeOpens(scope, area))

/** Parts 2 and 5.4: scopes and addresses. */
export const secondScopeMutants: IndependentMutant[] = [
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'address-checked-once-for-each-connection',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'After one accepted token, tokens of other addresses work on the same connection.',
    create: () => {
      const seen = watch(() => ({ checked: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          addressTaken: (addresses, remoteAddress) => {
            const { connection = 0 } = seen.request
            const isTaken = right.addressTaken(addresses, remoteAddress)
            if (isTaken && connection > 0) seen.memory.checked.add(connection)
            return isTaken || seen.memory.checked.has(connection)
          },
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'latest-grant-of-key-sets-address-of-all-its-tokens',
    breaks: 'addresses/bound',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ addresses: new Map<string, string[]>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          grantResult: (result, pair) => {
            seen.memory.addresses.set(pair.key.id, pair.addresses)
            return result
          },
          addressTaken: (own, remoteAddress) =>
            right.addressTaken(seen.memory.addresses.get(seen.pair?.key.id ?? '') ?? own, remoteAddress),
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'restrictions-behind-fourth-scope-entry-ignored',
    breaks: 'addresses/bound',
    about: 'ipAddr, expiresIn and session count only among the first four entries of the scope.',
    create: () => ({
      around: (handle) => (request) => {
        const scope = scopeOf(request)
        if (paramsOf(request).grantType !== 'api_key_credentials' || scope.length < 5) return handle(request)
        const kept = scope.filter((entry, index) => index < 4 || !/^(ipAddr|expiresIn|session):/.test(entry))
        const members = readMembers(request.body.toString('utf8'))
        return handle(withMembers(request, { ...members, params: { ...paramsOf(request), scope: kept } }))
      },
    }),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'address-not-checked-when-a-key-is-created',
    breaks: 'addresses/bound',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          addressTaken: (addresses, remoteAddress) =>
            right.addressTaken(addresses, remoteAddress) || seen.bodyHas('manager/createApiKey'),
        },
      }
    },
  },
  {
    // "Token limited to the Context API"
    id: 'scopes-of-first-token-hold-for-its-connection',
    breaks: 'scopes/context',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ scopes: new Map<number, string[]>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) => {
            const { connection } = seen.request
            if (connection === undefined || seen.pair === undefined) return true
            const first = seen.memory.scopes.get(connection) ?? seen.pair.scope
            seen.memory.scopes.set(connection, first)
            return !opens(first, area)
          },
        },
      }
    },
  },
  {
    // "Token limited to the Context API"
    id: 'latest-grant-of-key-opens-areas-for-all-its-tokens',
    breaks: 'scopes/context',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ scopes: new Map<string, string[]>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          grantResult: (result, pair) => {
            seen.memory.scopes.set(pair.key.id, pair.scope)
            return result
          },
          scopeNeeded: (_method, area) => !opens(seen.memory.scopes.get(seen.pair?.key.id ?? '') ?? [], area),
        },
      }
    },
  },
  {
    // "Token limited to the Context API"
    id: 'repeated-area-scope-opens-next-area',
    breaks: 'scopes/context',
    about: 'The areas are bits that are added up, so context twice makes solution.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantedScope: (asked) => {
            const sum = scopeOf(seen.request).reduce((all, word) => all + (areas.includes(word) ? bit(word) : 0), 0)
            return [
              ...asked.filter((word) => !areas.includes(word)),
              ...areas.filter((word) => Math.floor(sum / bit(word)) % 2 === 1),
            ]
          },
        },
      }
    },
  },
  {
    // "Token limited to the Thread API"
    id: 'area-numbers-compared-as-bits',
    breaks: 'scopes/thread',
    about: 'The areas are numbered from 1 to 6 and compared as bits, so thread (3) opens solution (1).',
    create: () => ({
      rules: {
        scopeOpens: (scope, area) => {
          const own = numberedAreas.indexOf(scope) + 1
          const needed = numberedAreas.indexOf(area) + 1
          return right.scopeOpens(scope, area) || (needed > 0 && (own & needed) === needed)
        },
      },
    }),
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'session-grant-exceeds-scope-of-key',
    breaks: 'scopes/within-key',
    about: 'The scope of the key is not looked at when the grant asks for a session.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) || seen.bodyHas('"session:'),
        },
      }
    },
  },
  {
    // "Token limited to the Context API"
    id: 'calls-in-flight-share-the-scopes-of-the-last-token',
    breaks: 'scopes/context',
    needsState: true,
    about: 'A variable of the process holds the scopes of the caller while its call is waiting.',
    create: () => {
      let shared: string[] = []
      return {
        around: (handle, context) => (request) => {
          const token = context.state.tokens.get(tokenText(request))
          shared = token?.kind === 'access' ? token.pair.scope : []
          return token ? meet().then(() => handle(request)) : handle(request)
        },
        rules: { scopeNeeded: (_method, area) => !opens(shared, area) },
      }
    },
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation"
    id: 'narrow-grant-narrows-its-key',
    breaks: 'keys/created-key-works',
    needsState: true,
    about: 'The scope of a created key is filtered in place when a token is granted.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantedScope: (asked) => {
            const key = seen.context.state.keys.get(String(paramsOf(seen.request).apiKeyId))
            const words = asked.map((word) => word.toLowerCase())
            if (key && !key.initial && asked.length > 0)
              key.scope = key.scope.filter((word) => words.includes(word.toLowerCase()))
            return asked
          },
        },
      }
    },
  },
]

const bit = (area: string): number => 2 ** areas.indexOf(area)
