import { type Area, type Rules, rules as right } from '../../../mock-server/rules.ts'
import { effectiveKeyScope } from '../../../mock-server/scopes.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import { isAccepted, isOneSolution, sessionIn } from '../call.ts'
import { afterCalls, onAccepted, onGrant, onRefused } from '../events.ts'
import { meeting } from '../in-flight.ts'
import { agreesAgain, also, forKeysMade, unless, withCreators } from '../replaced-rules.ts'
import { type BrokenRow, type BrokenRows, by, type Change, counts, firsts, marks, type Seen, table } from '../rows.ts'
import { asks, inSession, managesKeys, ofCreatedKey, ofRefresh, shows, withAddress, withLifetime } from './pairs.ts'

const areas: string[] = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']
const isArea = (word: string): boolean => areas.includes(word)
/** The six areas, solution as the second one. */
const contextFirst: string[] = ['context', 'solution', 'thread', 'store', 'inbox', 'stream']

const opens = (scopes: readonly string[], area: Area) => scopes.some((scope) => right.scopeOpens(scope, area))
/** A scope opens more than its area. */
const alsoOpens = (opened: (scope: string, area: Area) => boolean): Change => also('scopeOpens', opened)
/** Tokens that hold this scope list solutions, if they are of some kind. */
const listsSolutions = (wanted: string, seen: Seen, fits: (pair: TokenPair) => boolean): Change =>
  alsoOpens((scope, area) => scope === wanted && area === 'solution' && shows(seen, fits))
/** What these scopes would open is open. */
const opensLike = (scopes: () => readonly string[] | undefined): Pick<Rules, 'scopeNeeded'> => ({
  scopeNeeded: (_method, area) => !opens(scopes() ?? [], area),
})
/** An area is open to some tokens, whatever they hold. */
const opensTo = (opened: Area, seen: Seen, fits: (pair: TokenPair) => boolean): Change =>
  unless('scopeNeeded', (_method, area) => area === opened && shows(seen, fits))
/** Scopes that the key does not have are granted. */
const alsoWithin = (more: (...given: Parameters<Rules['scopeWithinKey']>) => boolean) => also('scopeWithinKey', more)

/** What can be wrong about each area. */
const ofArea = (area: string, rows: { [id: string]: BrokenRow }): BrokenRows[string] => ({
  [`${area}-scope-opens-every-area`]: alsoOpens((scope) => scope === area),
  [`${area}-scope-opens-the-creation-of-keys`]: alsoOpens((scope, called) => scope === area && called === 'manager'),
  [`${area}-scope-opens-the-area-beside-it`]: alsoOpens(
    (scope, called) => scope === area && called === areas[(areas.indexOf(area) + 1) % areas.length],
  ),
  [`${area}-scope-grants-the-scope-of-the-key`]: {
    grantedScope: (requested, keyScope) => (requested.includes(area) ? keyScope : requested),
  },
  ...rows,
})

/** Parts 2 and 5.4: areas, solutions, and the scope of a key. */
export const scopes: BrokenRows = {
  'scopes/solution': ofArea('solution', {
    // manager/createApiKey looks at the scope of the key behind a token.
    'token-creates-keys-with-scope-of-its-key': by.first((seen) =>
      opensTo('manager', seen, ({ key }) => managesKeys(key)),
    ),
  }),
  'scopes/context': ofArea('context', {
    'three-areas-open-the-solution-area': (seen) =>
      opensTo('solution', seen, ({ scope }) => scope.filter(isArea).length >= 3),
    'five-areas-grant-the-scope-of-the-key': {
      grantedScope: (requested, keyScope) => (requested.length >= 5 ? keyScope : requested),
    },
    // The areas are flags that are added, and the sum of two is the flag of a third.
    'context-and-thread-scopes-together-open-solution': by.first((seen) =>
      opensTo('solution', seen, ({ scope }) => scope.includes('context') && scope.includes('thread')),
    ),
    // Once a token opened an area, the other tokens of its key open it for a second too.
    'opened-area-cached-for-key': by.first(
      agreesAgain('scopeOpens', ({ pair }, _scope, area) => pair && `${pair.key.id} ${area}`, 1000),
    ),
    // The scope of the first token on a connection holds for all later tokens on it.
    'scope-of-previous-token-used-on-same-connection': by.first((seen, first = firsts<string[]>()) => ({
      scopeNeeded: (_method, area) => {
        const { connection, pair } = seen
        return connection === undefined || pair === undefined || !opens(first(connection, pair.scope), area)
      },
    })),
    'latest-grant-of-key-opens-areas-for-all-its-tokens': by.second((seen, latest = table<string[]>()) => ({
      ...onGrant(({ key, scope }) => latest.set(key, scope)),
      ...opensLike(() => latest.get(seen.pair?.key)),
    })),
    // The areas are bits that are added up, so context twice makes solution.
    'repeated-area-scope-opens-next-area': by.second((seen) => ({
      grantedScope: (asked) => {
        const bit = (area: string): number => 2 ** contextFirst.indexOf(area)
        const sum = seen.scope.filter(isArea).reduce((all, word) => all + bit(word), 0)
        return [
          ...asked.filter((word) => !isArea(word)),
          ...contextFirst.filter((word) => Math.floor(sum / bit(word)) % 2 === 1),
        ]
      },
    })),
    // A variable of the process holds the scopes of the caller while its call is waiting.
    'calls-in-flight-share-the-scopes-of-the-last-token': by.second((_seen, shared?: string[]) => ({
      around: meeting((call) => {
        shared = call.shownPair?.scope
        return call.token !== ''
      }),
      ...opensLike(() => shared),
    })),
    'token-of-token-created-key-has-whole-scope-of-key': by.third(
      forKeysMade('by-token', (made, seen) => ({
        grantedScope: (requested, keyScope) => (made(seen.named) ? keyScope : requested),
      })),
    ),
    'scopes-of-token-cached-by-key-and-number-of-scopes': by.fourth((seen, first = firsts<string[]>()) =>
      onGrant((pair) => {
        pair.scope = first(`${pair.key.id} ${seen.scope.length}`, pair.scope)
      }),
    ),
    // The scope is stored under the key and the time of the grant; the later grant overwrites it.
    'pairs-of-same-key-and-millisecond-share-scope': by.fourth((seen) =>
      onGrant(({ key, issuedMs, generation, scope }) => {
        for (const pair of pairsOf(seen.context))
          if (pair.key === key && pair.issuedMs === issuedMs && pair.generation === generation) pair.scope = scope
      }),
    ),
    'token-in-session-of-created-key-has-scope-of-key': by.fifth((seen) => ({
      scopeNeeded: (_method, area) =>
        !shows(seen, (pair) => inSession(pair) && ofCreatedKey(pair) && opens(pair.key.scope, area)),
    })),
    'scope-of-grant-with-wrong-secret-added-to-next-grant': by.fifth((_seen, left: string[] = []) => ({
      around: afterCalls((answer, call) => {
        if (call.isGrant) left = isAccepted(answer) ? [] : [...left, ...call.scope]
      }),
      grantedScope: (requested, keyScope) => [
        ...new Set([...requested, ...keyScope.filter((word) => left.includes(word))]),
      ],
    })),
    // Scopes are kept with the name of the session.
    'scopes-of-earlier-session-of-same-name-added': by.ninth((seen) => ({
      grantedScope: (requested) => {
        const name = sessionIn(seen.scope)
        const earlier = pairsOf(seen.context).filter(
          ({ key, session }) => key === seen.named && session !== undefined && session.name === name,
        )
        return [...new Set([...requested, ...earlier.flatMap(({ scope }) => scope)])]
      },
    })),
    'context-token-with-address-lists-solutions': by.tenth((seen) => listsSolutions('context', seen, withAddress)),
    // A slot belongs to all tokens whose hash ends alike, and the first of them fills it.
    'scopes-of-tokens-cached-in-sixteen-slots': by.twelfth((seen, first = firsts<string[]>()) => ({
      scopeOpens: (scope, area) => {
        const { pair } = seen
        return opens(pair === undefined ? [scope] : first(pair.accessToken.charCodeAt(0) % 16, pair.scope), area)
      },
    })),
  }),
  'scopes/thread': ofArea('thread', {
    'thread-scope-opens-solution-after-refresh': by.first((seen) => listsSolutions('thread', seen, ofRefresh)),
  }),
  'scopes/store': ofArea('store', {
    'store-token-of-session-lists-solutions': by.third((seen) => listsSolutions('store', seen, inSession)),
  }),
  'scopes/inbox': ofArea('inbox', {
    'inbox-token-of-created-key-lists-solutions': by.fourth((seen) => listsSolutions('inbox', seen, ofCreatedKey)),
    'third-call-beyond-scope-of-token-accepted': by.fifth((seen, refused = counts()) => ({
      scopeNeeded: (_method, area) => seen.pair === undefined || opens(seen.pair.scope, area) || refused(seen.pair) < 3,
    })),
  }),
  'scopes/stream': ofArea('stream', {
    'stream-token-of-third-pair-lists-solutions': by.fourth((seen) =>
      listsSolutions('stream', seen, ({ generation }) => generation >= 2),
    ),
    'stream-token-with-expires-in-lists-solutions': by.fifth((seen) => listsSolutions('stream', seen, withLifetime)),
  }),
  'scopes/area-opens': {
    ...Object.fromEntries(
      areas.map((area) => [`${area}-scope-opens-nothing`, unless('scopeOpens', (scope) => scope === area)]),
    ),
    'fifth-scope-and-later-dropped': by.first({ grantedScope: (asked) => asked.slice(0, 4) }),
    // With solution:SOLUTION_ID in the list, `solution` is dropped as the wider one.
    'solution-scope-lost-next-to-solution-id': by.first({
      grantedScope: (asked) =>
        asked.some((scope) => scope.startsWith('solution:')) ? asked.filter((scope) => scope !== 'solution') : asked,
    }),
    // The scopes that the creation does not need are taken out of the stored list.
    'token-lists-no-solutions-once-it-created-a-key': by.fifth({
      ...onAccepted(({ shownPair, creates }) => {
        if (shownPair !== undefined && creates) shownPair.scope = ['apiKey']
      }),
    }),
    'refused-listing-cached-for-all-tokens-of-key': by.eighth((seen, refused = marks()) => ({
      ...onRefused(({ shownPair, lists }) => shownPair?.accessRevoked === false && lists && refused.add(shownPair.key)),
      ...unless('scopeOpens', (_scope, area) => area === 'solution' && refused.has(seen.pair?.key)),
    })),
    // The scope in the result names them all.
    'only-first-area-of-token-opens': by.tenth((seen) =>
      unless('scopeOpens', (scope) => {
        const first = seen.pair?.scope.find(isArea)
        return first !== undefined && isArea(scope) && scope !== first
      }),
    ),
  },
  'scopes/within-key': {
    'scope-beyond-the-key-granted': alsoWithin(() => true),
    'scope-beyond-the-key-in-force-and-not-said': {
      ...alsoWithin(() => true),
      grantResult: (result) => ({ ...result, scope: result.scope.filter((scope) => scope === 'context') }),
    },
    'longer-scope-beyond-the-key-granted': alsoWithin((_scope, keyScope) => keyScope.length === 1),
    'apikey-beyond-the-key-granted': alsoWithin((scope) => scope === 'apiKey'),
    // A grant is refused only when no scope of the list is one of the key (`some` for `every`).
    'one-scope-of-key-brings-in-all-others': by.first((seen) =>
      alsoWithin((_scope, keyScope) => seen.scope.some((other) => keyScope.includes(other))),
    ),
    // thread, store, inbox and stream are not compared with the scope of the key.
    'rare-areas-granted-beyond-key': by.first(
      alsoWithin((scope) => ['thread', 'store', 'inbox', 'stream'].includes(scope)),
    ),
    // A key that had a grant within its scope is not compared again.
    'second-grant-of-narrow-key-gets-any-scope': by.first((seen, trusted = marks()) => ({
      ...onGrant(({ key }) => trusted.add(key)),
      ...alsoWithin(() => trusted.has(seen.named)),
    })),
    'session-grant-exceeds-scope-of-key': by.second((seen) => alsoWithin(() => asks(seen, 'session:'))),
    'grants-of-key-made-by-created-key-checked-against-its-creator': by.fourth(
      withCreators((creatorOf, seen) =>
        alsoWithin((scope, _keyScope, profile) => {
          const creator = seen.named && creatorOf(seen.named)
          return creator?.initial === false && right.scopeWithinKey(scope, creator.scope, profile)
        }),
      ),
    ),
    // The scope of an accepted caller stays with the connection.
    'grant-checked-against-key-of-earlier-call-on-connection': by.fourth((seen, onConnection = table<string[]>()) => ({
      ...onAccepted(({ authorization, named, connection }) => {
        if (authorization && named && connection !== undefined) onConnection.set(connection, named.scope)
      }),
      ...alsoWithin((scope, _keyScope, profile) =>
        right.scopeWithinKey(scope, onConnection.get(seen.connection) ?? [], profile),
      ),
    })),
    // A list of one entry is stored as a text, in which any part is found.
    'single-scope-of-key-searched-as-text': by.fourth(
      alsoWithin((scope, keyScope) => keyScope.length === 1 && keyScope[0]?.includes(scope) === true),
    ),
    // Only what stands in front of the colon is compared.
    'any-solution-granted-to-key-of-one-solution': by.fourth(
      alsoWithin(
        (scope, keyScope) => scope.startsWith('solution:') && keyScope.some((word) => word.startsWith('solution:')),
      ),
    ),
    // The loop over the requested scopes ends one entry early.
    'last-entry-of-longer-scope-not-compared-with-key': by.fifth((seen) =>
      alsoWithin((scope) => seen.scope.length > 1 && seen.scope.at(-1)?.toLowerCase() === scope.toLowerCase()),
    ),
    'scope-of-key-not-compared-in-grant-with-address': by.eighth((seen) => alsoWithin(() => asks(seen, 'ipAddr:'))),
    // It compares the first two letters of areas, and the other way round too.
    'stream-granted-to-key-with-store': by.ninth(
      alsoWithin(
        (scope, keyScope) => !scope.includes(':') && keyScope.some((held) => held.slice(0, 2) === scope.slice(0, 2)),
      ),
    ),
    // The key that a grant names is kept in a variable of the server.
    'grants-in-flight-share-the-scope-of-a-key': by.tenth((seen, latestId?: unknown) => ({
      around: meeting((call) => {
        if (call.isGrant) latestId = call.params.apiKeyId
        return call.isGrant
      }),
      scopeWithinKey: (scope, keyScope, profile) => {
        const key = seen.state.keys.get(String(latestId))
        const isOther = key !== undefined && key.id !== seen.params.apiKeyId
        return right.scopeWithinKey(scope, isOther ? effectiveKeyScope(key.scope, profile) : keyScope, profile)
      },
    })),
    'grant-decision-cached-by-its-scopes': by.twelfth((seen, allowed = marks()) => ({
      ...onGrant(() => allowed.add(seen.scope.join(' '))),
      ...alsoWithin(() => allowed.has(seen.scope.join(' '))),
    })),
  },
  'scopes/solution-id': {
    'solution-id-reaches-every-solution': { solutionReached: () => true },
    'solution-id-reaches-nothing': {
      solutionReached: (scopes) =>
        scopes.includes('solution:*') || !scopes.some((word) => word.startsWith('solution:')),
    },
    'solution-id-holds-with-the-scope-context-only': also('solutionReached', (scopes) => !scopes.includes('context')),
    'solution-id-lost-beside-the-scope-solution': also('solutionReached', (scopes) => scopes.includes('solution')),
    'solution-id-compared-by-prefix': by.first(
      also('solutionReached', (scopes, solution) =>
        scopes.some((scope) => scope.length > 'solution:'.length && `solution:${solution}`.startsWith(scope)),
      ),
    ),
    'solution-id-not-held-in-session': by.ninth((seen) => also('solutionReached', () => shows(seen, inSession))),
    // The later of two restrictions replaces the earlier one.
    'address-opens-all-solutions-to-token-of-one': by.tenth((seen) =>
      also('solutionReached', () => shows(seen, withAddress)),
    ),
  },
  'scopes/solution-any': {
    'any-solution-reaches-nothing': unless('solutionReached', (scopes) => scopes.includes('solution:*')),
    'solution-any-lost-next-to-solution-id': by.first({
      solutionReached: (scopes, solution) => {
        const ids = scopes.filter(isOneSolution)
        return right.solutionReached(ids.length > 0 ? ids : scopes, solution)
      },
    }),
  },
}
