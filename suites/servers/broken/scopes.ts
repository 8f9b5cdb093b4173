import type { Area } from '../../../mock-server/rules.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import { effectiveKeyScope } from '../../../mock-server/scopes.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import {
  type Around,
  type BrokenRow,
  type BrokenRows,
  type Change,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  isMethod,
  meet,
  namedKeyId,
  ninth,
  own,
  ownEach,
  paramsOf,
  scopeOf,
  second,
  tenth,
  third,
  tokenText,
  twelfth,
} from '../operators.ts'

const otherAreas = ['context', 'thread', 'store', 'inbox', 'stream']

/** The `scope` that a body requests; empty without one. */
function firstScopeOf(body: Buffer): string[] {
  try {
    const { scope } = JSON.parse(body.toString()).params
    return Array.isArray(scope) ? scope : []
  } catch {
    return []
  }
}

const secondAreas = ['context', 'solution', 'thread', 'store', 'inbox', 'stream']

const numberedAreas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

const opens = (scopes: readonly string[], area: Area) => scopes.some((scope) => right.scopeOpens(scope, area))

const bit = (area: string): number => 2 ** secondAreas.indexOf(area)

const isArea = (word: string): boolean => /^(solution|context|thread|store|inbox|stream)$/.test(word)

/** A scope opens more than its area. */
const alsoOpens = (opens: (scope: string, area: Area) => boolean): Change => ({
  scopeOpens: (scope, area) => right.scopeOpens(scope, area) || opens(scope, area),
})

const areas: Area[] = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

/** Servers that are wrong about one area, made for each of them. */
const wrongAbout = (name: Area): { [id: string]: BrokenRow } => ({
  [`${name}-scope-opens-every-area`]: own(alsoOpens((scope) => scope === name)),
  [`${name}-scope-opens-the-creation-of-keys`]: own(alsoOpens((scope, area) => scope === name && area === 'manager')),
  [`${name}-scope-opens-the-area-beside-it`]: own(
    alsoOpens((scope, area) => scope === name && area === areas[(areas.indexOf(name) + 1) % areas.length]),
  ),
  [`${name}-scope-grants-the-scope-of-the-key`]: own({
    grantedScope: (requested, keyScope) => (requested.includes(name) ? keyScope : requested),
  }),
})

export const scopes: BrokenRows = {
  'scopes/solution': {
    ...wrongAbout('solution'),
    // manager/createApiKey looks at the scope of the key behind a token.
    'token-creates-keys-with-scope-of-its-key': first((seen) => ({
      scopeNeeded: (_method, area) =>
        !(area === 'manager' && seen.pair?.key.scope.some((scope) => scope.toLowerCase() === 'apikey')),
    })),
  },
  'scopes/context': {
    ...wrongAbout('context'),
    'three-areas-open-the-solution-area': own({
      grantedScope: (requested) => (requested.length >= 3 ? [...requested, 'solution'] : requested),
    }),
    'five-areas-grant-the-scope-of-the-key': own({
      grantedScope: (requested, keyScope) => (requested.length >= 5 ? keyScope : requested),
    }),
    // The areas are flags that are added, and the sum of two is the flag of a third.
    'context-and-thread-scopes-together-open-solution': first((seen) => ({
      scopeNeeded: (_method, area) => {
        const scopes = seen.pair?.scope ?? []
        return !(area === 'solution' && scopes.includes('context') && scopes.includes('thread'))
      },
    })),
    // Once a token opened an area, the other tokens of its key open it for a second too.
    'opened-area-cached-for-key': first((seen, openedMs = new Map<string, number>()) => ({
      scopeOpens: (scope, area) => {
        if (seen.pair === undefined) return right.scopeOpens(scope, area)
        const cell = `${seen.pair.key.id} ${area}`
        if (right.scopeOpens(scope, area)) {
          openedMs.set(cell, seen.nowMs)
          return true
        }
        return seen.nowMs - (openedMs.get(cell) ?? Number.NEGATIVE_INFINITY) < 1000
      },
    })),
    // The scope of the first token on a connection holds for all later tokens on it.
    'scope-of-previous-token-used-on-same-connection': first((seen, scopes = new Map<number, string[]>()) => ({
      scopeNeeded: (_method, area) => {
        const { connection } = seen
        if (connection === undefined || seen.pair === undefined) return true
        const first = scopes.get(connection)
        if (first === undefined) scopes.set(connection, seen.pair.scope)
        return !first?.some((scope) => right.scopeOpens(scope, area))
      },
    })),
    'scopes-of-first-token-hold-for-its-connection': second((seen, scopes = new Map<number, string[]>()) => ({
      scopeNeeded: (_method, area) => {
        const { connection } = seen
        if (connection === undefined || seen.pair === undefined) return true
        const first = scopes.get(connection) ?? seen.pair.scope
        scopes.set(connection, first)
        return !opens(first, area)
      },
    })),
    'latest-grant-of-key-opens-areas-for-all-its-tokens': second((seen, scopes = new Map<string, string[]>()) => ({
      grantResult: (result, pair) => {
        scopes.set(pair.key.id, pair.scope)
        return result
      },
      scopeNeeded: (_method, area) => !opens(scopes.get(seen.pair?.key.id ?? '') ?? [], area),
    })),
    // The areas are bits that are added up, so context twice makes solution.
    'repeated-area-scope-opens-next-area': second((seen) => ({
      grantedScope: (asked) => {
        const sum = seen.scope.reduce((all, word) => all + (secondAreas.includes(word) ? bit(word) : 0), 0)
        return [
          ...asked.filter((word) => !secondAreas.includes(word)),
          ...secondAreas.filter((word) => Math.floor(sum / bit(word)) % 2 === 1),
        ]
      },
    })),
    // A variable of the process holds the scopes of the caller while its call is waiting.
    'calls-in-flight-share-the-scopes-of-the-last-token': second((_seen, shared: string[] = []) => ({
      around: (handle, context) => (request) => {
        const token = context.state.tokens.get(tokenText(request))
        shared = token?.kind === 'access' ? token.pair.scope : []
        return token ? meet().then(() => handle(request)) : handle(request)
      },
      scopeNeeded: (_method, area) => !opens(shared, area),
    })),
    // The list of scopes is made once for each key and is never emptied.
    'grant-adds-to-scopes-of-earlier-grants-of-key': third((seen, scopes = new Map<unknown, string[]>()) => ({
      grantedScope: (requested) => {
        const { apiKeyId } = seen.params
        const all = [...new Set([...(scopes.get(apiKeyId) ?? []), ...requested])]
        scopes.set(apiKeyId, all)
        return all
      },
    })),
    'token-of-token-created-key-has-whole-scope-of-key': third((seen, keys = new Set<unknown>()) => ({
      storedKey: (key) => {
        if (seen.pair !== undefined) keys.add(key.id)
        return key
      },
      grantedScope: (requested, keyScope) => (keys.has(seen.params.apiKeyId) ? keyScope : requested),
    })),
    // "solution | Token limited to the Solution API": of the scopes that this grant asked for
    'scopes-of-token-cached-by-key-and-number-of-scopes': fourth((seen, scopes = new Map<string, string[]>()) => ({
      grantResult: (result, pair) => {
        const place = `${pair.key.id} ${seen.scope.length}`
        pair.scope = scopes.get(place) ?? pair.scope
        scopes.set(place, pair.scope)
        return result
      },
    })),
    // The scope is stored under the key and the time of the grant; the later grant overwrites it.
    'pairs-of-same-key-and-millisecond-share-scope': fourth((_seen, keptPairs = new Map<string, TokenPair[]>()) => ({
      grantResult: (result, pair) => {
        const place = `${pair.key.id} ${pair.issuedMs}`
        const pairs = [...(keptPairs.get(place) ?? []), pair]
        keptPairs.set(place, pairs)
        for (const one of pairs) one.scope = pair.scope
        return result
      },
    })),
    // The list is collected in one variable, which only an accepted grant empties.
    'scope-of-grant-with-wrong-secret-added-to-next-grant': fifth((_seen, left: string[] = []) => ({
      around: (inner) => async (request) => {
        const answer = await inner(request)
        if (paramsOf(request).grantType !== 'api_key_credentials') return answer
        left = isAccepted(answer) ? [] : [...left, ...scopeOf(request)]
        return answer
      },
      grantedScope: (requested, keyScope) => [
        ...new Set([...requested, ...keyScope.filter((word) => left.includes(word))]),
      ],
    })),
    'token-in-session-of-created-key-has-scope-of-key': fifth((seen) => ({
      scopeNeeded: (_method, area) => {
        const { pair } = seen
        const isWide = pair?.session !== undefined && !pair.key.initial
        return !isWide || !pair.key.scope.some((word) => right.scopeOpens(word, area))
      },
    })),
    // "Token limited to the Context API", and so on: three of them do not make a fourth
    'token-of-three-other-areas-lists-solutions': eighth((seen) => ({
      scopeNeeded: (_method, area) =>
        area !== 'solution' || otherAreas.filter((name) => seen.pair?.scope.includes(name)).length < 3,
    })),
    // Threads lie in Contexts, so the code takes them for a part of that API.
    'context-scope-opens-thread-area': ninth({
      scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (area === 'thread' && scope === 'context'),
    }),
    // Scopes are kept with the name of the session.
    'scopes-of-earlier-session-of-same-name-added': ninth((seen) => ({
      grantedScope: (requested) => {
        const entry = seen.scope.find((word) => word.startsWith('session:'))
        const earlier = pairsOf(seen.context).filter(
          ({ key, session }) => key.id === namedKeyId(seen.request) && `session:${session?.name}` === entry,
        )
        return [...new Set([...requested, ...earlier.flatMap(({ scope }) => scope)])]
      },
    })),
    'context-token-with-address-lists-solutions': tenth((seen) => ({
      scopeOpens: (scope, area) =>
        right.scopeOpens(scope, area) ||
        (area === 'solution' && scope === 'context' && (seen.pair?.addresses.length ?? 0) > 0),
    })),
    // A slot belongs to all tokens whose hash ends alike, and the first of them fills it.
    'scopes-of-tokens-cached-in-sixteen-slots': twelfth((seen, slots = new Map<number, string[]>()) => ({
      scopeOpens: (scope, area) => {
        if (seen.pair === undefined) return right.scopeOpens(scope, area)
        const slot = seen.pair.accessToken.charCodeAt(0) % 16
        const scopes = slots.get(slot) ?? seen.pair.scope
        slots.set(slot, scopes)
        return scopes.some((one) => right.scopeOpens(one, area))
      },
    })),
  },
  'scopes/thread': {
    ...wrongAbout('thread'),
    'thread-scope-opens-solution-after-refresh': first((seen) => ({
      scopeOpens: (scope, area) =>
        right.scopeOpens(scope, area) ||
        (scope === 'thread' && area === 'solution' && (seen.pair?.generation ?? 0) > 0),
    })),
    // The areas are numbered from 1 to 6 and compared as bits, so thread (3) opens solution (1).
    'area-numbers-compared-as-bits': second({
      scopeOpens: (scope, area) => {
        const own = numberedAreas.indexOf(scope) + 1
        const needed = numberedAreas.indexOf(area) + 1
        return right.scopeOpens(scope, area) || (needed > 0 && (own & needed) === needed)
      },
    }),
    'thread-token-creates-keys': fifth({
      scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (area === 'manager' && scope === 'thread'),
    }),
  },
  'scopes/store': {
    ...wrongAbout('store'),
    'store-scope-creates-keys': first({
      scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (scope === 'store' && area === 'manager'),
    }),
    'store-token-of-session-lists-solutions': third((seen) => ({
      scopeOpens: (scope, area) =>
        right.scopeOpens(scope, area) || (scope === 'store' && area === 'solution' && seen.pair?.session !== undefined),
    })),
  },
  'scopes/inbox': {
    ...wrongAbout('inbox'),
    'inbox-scope-creates-keys': first({
      scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (scope === 'inbox' && area === 'manager'),
    }),
    'inbox-token-of-created-key-lists-solutions': fourth((seen) => ({
      scopeOpens: (scope, area) =>
        right.scopeOpens(scope, area) || (scope === 'inbox' && area === 'solution' && seen.pair?.key.initial === false),
    })),
    // "Token limited to the Inbox API", and so on
    'third-call-beyond-scope-of-token-accepted': fifth((seen, keptRefused = new Map<TokenPair, number>()) => ({
      scopeNeeded: (_method, area) => {
        const { pair } = seen
        if (pair === undefined || pair.scope.some((scope) => right.scopeOpens(scope, area))) return true
        const refused = (keptRefused.get(pair) ?? 0) + 1
        keptRefused.set(pair, refused)
        return refused < 3
      },
    })),
  },
  'scopes/stream': {
    ...wrongAbout('stream'),
    'stream-scope-opens-solution': first({
      scopeOpens: (scope, area) => right.scopeOpens(scope === 'stream' ? 'solution' : scope, area),
    }),
    'stream-token-of-third-pair-lists-solutions': fourth((seen) => ({
      scopeOpens: (scope, area) =>
        right.scopeOpens(scope, area) ||
        (scope === 'stream' && area === 'solution' && seen.pair !== undefined && seen.pair.generation >= 2),
    })),
    'stream-token-with-expires-in-lists-solutions': fifth((seen) => ({
      scopeOpens: (scope, area) =>
        right.scopeOpens(scope, area) ||
        (area === 'solution' && scope === 'stream' && seen.pair?.expiresInMs !== undefined),
    })),
  },
  'scopes/area-opens': {
    ...ownEach(areas, (name) => [
      `${name}-scope-opens-nothing`,
      { scopeOpens: (scope, area) => scope !== name && right.scopeOpens(scope, area) },
    ]),
    'fifth-scope-and-later-dropped': first({
      grantedScope: (asked) => asked.slice(0, 4),
    }),
    // With solution:SOLUTION_ID in the list, `solution` is dropped as the wider one.
    'solution-scope-lost-next-to-solution-id': first({
      grantedScope: (asked) =>
        asked.some((scope) => scope.startsWith('solution:')) ? asked.filter((scope) => scope !== 'solution') : asked,
    }),
    // The scopes that the creation does not need are taken out of the stored list.
    'token-lists-no-solutions-once-it-created-a-key': fifth((seen) => ({
      around: (inner) => async (request) => {
        const answer = await inner(request)
        const { pair } = seen
        if (pair && isAccepted(answer) && isMethod(request, 'manager/createApiKey')) pair.scope = ['apiKey']
        return answer
      },
    })),
    // "`solution` | Token limited to the Solution API": it is usable there, whatever other tokens of its key may do
    'refused-listing-cached-for-all-tokens-of-key': eighth((seen, refused = new Set<string>()) => ({
      around: (inner) => async (request) => {
        const answering = inner(request)
        const { pair } = seen
        const answer = await answering
        if (pair && isMethod(request, 'solution/listSolutions') && !isAccepted(answer)) refused.add(pair.key.id)
        return answer
      },
      scopeOpens: (scope, area) => {
        const isCached = area === 'solution' && seen.pair && refused.has(seen.pair.key.id)
        return !isCached && right.scopeOpens(scope, area)
      },
    })),
    // The scope in the result names them all.
    'only-first-area-of-token-opens': tenth((seen) => ({
      scopeOpens: (scope, area) => {
        const first = seen.pair?.scope.find(isArea)
        return right.scopeOpens(scope, area) && (first === undefined || !isArea(scope) || scope === first)
      },
    })),
  },
  'scopes/within-key': {
    'scope-beyond-the-key-granted': own({ scopeWithinKey: () => true }),
    'scope-beyond-the-key-in-force-and-not-said': own({
      scopeWithinKey: () => true,
      grantResult: (result) => ({ ...result, scope: result.scope.filter((scope) => scope === 'context') }),
    }),
    'longer-scope-beyond-the-key-granted': own({
      scopeWithinKey: (scope, keyScope) => keyScope.length === 1 || keyScope.includes(scope),
    }),
    'apikey-beyond-the-key-granted': own({
      scopeWithinKey: (scope, keyScope, profile) =>
        scope === 'apiKey' || right.scopeWithinKey(scope, keyScope, profile),
    }),
    // A grant is refused only when no scope of the list is one of the key (`some` for `every`).
    'one-scope-of-key-brings-in-all-others': first((seen) => ({
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) ||
        firstScopeOf(seen.request.body).some((other) => keyScope.includes(other)),
    })),
    // thread, store, inbox and stream are not compared with the scope of the key.
    'rare-areas-granted-beyond-key': first({
      scopeWithinKey: (scope, keyScope, profile) =>
        ['thread', 'store', 'inbox', 'stream'].includes(scope) || right.scopeWithinKey(scope, keyScope, profile),
    }),
    // A key that had a grant within its scope is not compared again.
    'second-grant-of-narrow-key-gets-any-scope': first((_seen, trusted = new Set<string>(), current = '') => ({
      secretsOf: (key) => {
        current = key.id
        return [key.secret]
      },
      grantResult: (result, pair) => {
        trusted.add(pair.key.id)
        return result
      },
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) || trusted.has(current),
    })),
    // The scope of the key is not looked at when the grant asks for a session.
    'session-grant-exceeds-scope-of-key': second((seen) => ({
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) || seen.bodyHas('"session:'),
    })),
    'grants-of-key-made-by-created-key-checked-against-its-creator': fourth(
      (seen, creators = new Map<unknown, string[]>()) => ({
        storedKey: (key) => {
          const creator = seen.caller
          if (creator?.initial === false) creators.set(key.id, creator.scope)
          return key
        },
        scopeWithinKey: (scope, keyScope, profile) =>
          right.scopeWithinKey(scope, keyScope, profile) ||
          right.scopeWithinKey(scope, creators.get(seen.params.apiKeyId) ?? [], profile),
      }),
    ),
    // The scope of an accepted caller stays with the connection.
    'grant-checked-against-key-of-earlier-call-on-connection': fourth((seen, scopes = new Map<number, string[]>()) => ({
      around: (inner, context) => async (request) => {
        const answer = await inner(request)
        const key = request.headers.authorization && context.state.keys.get(namedKeyId(request) ?? '')
        if (key && request.connection !== undefined && isAccepted(answer)) scopes.set(request.connection, key.scope)
        return answer
      },
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) ||
        right.scopeWithinKey(scope, scopes.get(seen.connection ?? 0) ?? [], profile),
    })),
    // A list of one entry is stored as a text, in which any part is found.
    'single-scope-of-key-searched-as-text': fourth({
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) ||
        (keyScope.length === 1 && keyScope[0]?.includes(scope) === true),
    }),
    // Only what stands in front of the colon is compared.
    'any-solution-granted-to-key-of-one-solution': fourth({
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) ||
        (scope.startsWith('solution:') && keyScope.some((word) => word.startsWith('solution:'))),
    }),
    // The loop over the requested scopes ends one entry early.
    'last-entry-of-longer-scope-not-compared-with-key': fifth((seen) => ({
      scopeWithinKey: (scope, keyScope, profile) => {
        const requested = seen.scope
        const isLast = requested.length > 1 && requested.at(-1)?.toLowerCase() === scope.toLowerCase()
        return isLast || right.scopeWithinKey(scope, keyScope, profile)
      },
    })),
    'scope-of-key-not-compared-in-grant-with-address': eighth((seen) => ({
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) || seen.scope.some((word) => word.startsWith('ipAddr:')),
    })),
    // It compares the first two letters of areas, and the other way round too.
    'stream-granted-to-key-with-store': ninth({
      scopeWithinKey: (scope, keyScope, profile) =>
        right.scopeWithinKey(scope, keyScope, profile) ||
        (!scope.includes(':') && keyScope.some((held) => held.slice(0, 2) === scope.slice(0, 2))),
    }),
    // The key that a grant names is kept in a variable of the server.
    'grants-in-flight-share-the-scope-of-a-key': tenth((seen, keyId = undefined as unknown) => {
      const wait: Around = (handle) => (request) => {
        const { grantType, apiKeyId } = paramsOf(request)
        if (grantType !== 'api_key_credentials') return handle(request)
        keyId = apiKeyId
        return meet().then(() => handle(request))
      }
      return {
        around: wait,
        scopeWithinKey: (scope, keyScope, profile) => {
          const key = seen.context.state.keys.get(String(keyId))
          if (key === undefined || key.id === seen.params.apiKeyId)
            return right.scopeWithinKey(scope, keyScope, profile)
          return right.scopeWithinKey(scope, effectiveKeyScope(key.scope, profile), profile)
        },
      }
    }),
    // A list of scopes that one key was granted is granted to every key: the key of the cache lacks that of the caller.
    'grant-decision-cached-by-its-scopes': twelfth((seen, allowed = new Set<string>()) => {
      const asked = () => seen.scope.join(' ')
      return {
        scopeWithinKey: (scope, keyScope, profile) =>
          right.scopeWithinKey(scope, keyScope, profile) || allowed.has(asked()),
        grantResult: (result) => {
          allowed.add(asked())
          return result
        },
      }
    }),
  },
  'scopes/solution-id': {
    'solution-id-reaches-every-solution': own({ solutionReached: () => true }),
    'solution-id-reaches-nothing': own({
      solutionReached: (scopes) =>
        scopes.includes('solution:*') || !scopes.some((scope) => scope.startsWith('solution:')),
    }),
    'solution-id-holds-with-the-scope-context-only': own({
      solutionReached: (scopes, solution) => !scopes.includes('context') || right.solutionReached(scopes, solution),
    }),
    'solution-id-lost-beside-the-scope-solution': own({
      solutionReached: (scopes, solution) => scopes.includes('solution') || right.solutionReached(scopes, solution),
    }),
    'solution-id-compared-by-prefix': first({
      solutionReached: (scopes, solution) =>
        right.solutionReached(scopes, solution) ||
        scopes.some((scope) => scope.length > 9 && `solution:${solution}`.startsWith(scope)),
    }),
    'solution-id-not-held-in-session': ninth((seen) => ({
      solutionReached: (scopes, solution) =>
        seen.pair?.session !== undefined || right.solutionReached(scopes, solution),
    })),
    // The later of two restrictions replaces the earlier one.
    'address-opens-all-solutions-to-token-of-one': tenth((seen) => ({
      solutionReached: (scopes, solution) =>
        right.solutionReached(scopes, solution) || (seen.pair?.addresses.length ?? 0) > 0,
    })),
  },
  'scopes/solution-any': {
    'any-solution-reaches-nothing': own({
      solutionReached: (scopes, solution) => !scopes.includes('solution:*') && right.solutionReached(scopes, solution),
    }),
    'solution-any-lost-next-to-solution-id': first({
      solutionReached: (scopes, solution) => {
        const ids = scopes.filter((scope) => scope.startsWith('solution:') && scope !== 'solution:*')
        return right.solutionReached(ids.length > 0 ? ids : scopes, solution)
      },
    }),
  },
}
