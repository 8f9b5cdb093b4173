import type { Area, Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { Session } from '../state.ts'
import type { Mutant } from './mutant.ts'

const areas: Exclude<Area, 'manager'>[] = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

/** A scope opens more than its area. */
const alsoOpens = (opens: (scope: string, area: Area) => boolean): Partial<Rules> => ({
  scopeOpens: (scope, area) => rules.scopeOpens(scope, area) || opens(scope, area),
})
const addresses = (taken: Rules['addressTaken']): Partial<Rules> => ({ addressTaken: taken })
const octets = (address: string, count: number) => address.split('.').slice(0, count).join('.')

/** Part 5.4: areas, solutions, addresses. */
export const scopeMutants: Mutant[] = [
  ...areas.flatMap((name, index): Mutant[] => [
    {
      id: `${name}-scope-opens-every-area`,
      breaks: `scopes/${name}`,
      with: alsoOpens((scope) => scope === name),
    },
    {
      id: `${name}-scope-opens-the-creation-of-keys`,
      breaks: `scopes/${name}`,
      with: alsoOpens((scope, area) => scope === name && area === 'manager'),
    },
    {
      id: `${name}-scope-opens-the-area-beside-it`,
      breaks: `scopes/${name}`,
      with: alsoOpens((scope, area) => scope === name && area === (areas[index + 1] ?? areas[0])),
    },
    {
      id: `${name}-scope-grants-the-scope-of-the-key`,
      breaks: `scopes/${name}`,
      with: { grantedScope: (requested, keyScope) => (requested.includes(name) ? keyScope : requested) },
    },
    {
      id: `${name}-scope-opens-nothing`,
      breaks: 'scopes/area-opens',
      with: { scopeOpens: (scope, area) => scope !== name && rules.scopeOpens(scope, area) },
    },
  ]),
  {
    id: 'three-areas-open-the-solution-area',
    breaks: 'scopes/context',
    with: { grantedScope: (requested) => (requested.length >= 3 ? [...requested, 'solution'] : requested) },
  },
  {
    id: 'five-areas-grant-the-scope-of-the-key',
    breaks: 'scopes/context',
    with: { grantedScope: (requested, keyScope) => (requested.length >= 5 ? keyScope : requested) },
  },
  {
    id: 'scope-beyond-the-key-granted',
    breaks: 'scopes/within-key',
    with: { scopeWithinKey: () => true },
  },
  {
    id: 'scope-beyond-the-key-in-force-and-not-said',
    breaks: 'scopes/within-key',
    with: {
      scopeWithinKey: () => true,
      grantResult: (result) => ({ ...result, scope: result.scope.filter((scope) => scope === 'context') }),
    },
  },
  {
    id: 'longer-scope-beyond-the-key-granted',
    breaks: 'scopes/within-key',
    with: { scopeWithinKey: (scope, keyScope) => keyScope.length === 1 || keyScope.includes(scope) },
  },
  {
    id: 'apikey-beyond-the-key-granted',
    breaks: 'scopes/within-key',
    with: {
      scopeWithinKey: (scope, keyScope, profile) =>
        scope === 'apiKey' || rules.scopeWithinKey(scope, keyScope, profile),
    },
  },
  {
    id: 'solution-id-reaches-every-solution',
    breaks: 'scopes/solution-id',
    with: { solutionReached: () => true },
  },
  {
    id: 'solution-id-reaches-nothing',
    breaks: 'scopes/solution-id',
    with: {
      solutionReached: (scopes) =>
        scopes.includes('solution:*') || !scopes.some((scope) => scope.startsWith('solution:')),
    },
  },
  {
    id: 'solution-id-holds-with-the-scope-context-only',
    breaks: 'scopes/solution-id',
    with: {
      solutionReached: (scopes, solution) => !scopes.includes('context') || rules.solutionReached(scopes, solution),
    },
  },
  {
    id: 'solution-id-lost-beside-the-scope-solution',
    breaks: 'scopes/solution-id',
    with: {
      solutionReached: (scopes, solution) => scopes.includes('solution') || rules.solutionReached(scopes, solution),
    },
  },
  {
    id: 'any-solution-reaches-nothing',
    breaks: 'scopes/solution-any',
    with: {
      solutionReached: (scopes, solution) => !scopes.includes('solution:*') && rules.solutionReached(scopes, solution),
    },
  },
  {
    id: 'address-never-checked',
    breaks: 'addresses/bound',
    with: { addressChecked: () => false },
  },
  {
    id: 'address-checked-at-the-grant-only',
    breaks: 'addresses/bound',
    with: { addressChecked: (moment) => moment === 'grant' },
  },
  {
    id: 'first-octets-of-the-address-compared',
    breaks: 'addresses/bound',
    with: addresses(
      (list, remote) => list.length === 0 || list.some((address) => octets(address, 3) === octets(remote, 3)),
    ),
  },
  {
    id: 'beginning-of-the-address-compared',
    breaks: 'addresses/bound',
    with: addresses((list, remote) => list.length === 0 || list.some((address) => address.startsWith(remote))),
  },
  {
    id: 'address-that-begins-alike-taken',
    breaks: 'addresses/bound',
    with: addresses((list, remote) => list.length === 0 || list.some((address) => remote.startsWith(address))),
  },
  {
    id: 'address-of-created-keys-never-checked',
    breaks: 'addresses/bound',
    with: { addressChecked: (moment, key) => moment === 'call' && key.initial },
  },
  {
    id: 'last-octet-of-the-address-compared',
    breaks: 'addresses/bound',
    with: addresses(
      (list, remote) =>
        list.length === 0 || list.some((address) => address.split('.').at(-1) === remote.split('.').at(-1)),
    ),
  },
  {
    id: 'bound-token-works-from-nowhere',
    breaks: 'addresses/bound',
    with: addresses((list) => list.length === 0),
  },
]

/** The session whose access token ends first is removed. */
function firstToEnd(): Partial<Rules> {
  const ends = new WeakMap<Session, number>()
  return {
    reportedAccessExpiry: (pair) => {
      if (pair.session) ends.set(pair.session, pair.accessExpiryMs)
      return pair.accessExpiryMs
    },
    sessionsRemoved: (live, surplus) =>
      [...live].sort((one, other) => (ends.get(one) ?? 0) - (ends.get(other) ?? 0)).slice(0, surplus),
  }
}

/** Parts 2, 3 and 5.4: sessions. */
export const sessionMutants: Mutant[] = [
  {
    id: 'tokens-of-a-session-do-not-work',
    breaks: 'sessions/created',
    with: { issuedTokenWorks: (_kind, pair) => pair.session === undefined },
  },
  { id: 'fifteen-sessions-kept', breaks: 'sessions/sixteen-live', with: { sessionLimit: () => 15 } },
  { id: 'eight-sessions-kept', breaks: 'sessions/sixteen-live', with: { sessionLimit: () => 8 } },
  { id: 'seventeen-sessions-kept', breaks: 'sessions/at-most-sixteen', with: { sessionLimit: () => 17 } },
  { id: 'any-number-of-sessions-kept', breaks: 'sessions/at-most-sixteen', with: { sessionLimit: () => 1000 } },
  { id: 'sessions-never-created', breaks: 'sessions/at-most-sixteen', with: { sessionCreated: () => false } },
  {
    id: 'four-sessions-of-created-keys-kept',
    breaks: 'sessions/sixteen-live',
    with: { sessionLimit: (key) => (key.initial ? 16 : 4) },
  },
  {
    id: 'any-number-of-sessions-of-created-keys-kept',
    breaks: 'sessions/at-most-sixteen',
    with: { sessionLimit: (key) => (key.initial ? 16 : 1000) },
  },
  {
    id: 'seventeenth-session-refused',
    breaks: 'sessions/next-works',
    with: { beyondSessionLimit: () => 'refused' },
  },
  {
    id: 'seventeenth-session-does-not-work',
    breaks: 'sessions/next-works',
    with: { issuedTokenWorks: (_kind, pair) => !/^s17/.test(pair.session?.name ?? '') },
  },
  {
    id: 'newest-session-removed',
    breaks: 'sessions/oldest-removed',
    with: { sessionsRemoved: (live, surplus) => live.slice(-surplus) },
  },
  {
    id: 'first-session-by-name-removed',
    breaks: 'sessions/oldest-removed',
    with: {
      sessionsRemoved: (live, surplus) =>
        [...live].sort((one, other) => ((one.name ?? '') < (other.name ?? '') ? -1 : 1)).slice(0, surplus),
    },
  },
  {
    id: 'sessions-that-begin-like-the-oldest-removed',
    breaks: 'sessions/oldest-removed',
    with: {
      sessionsRemoved: (live, surplus) =>
        live.filter(
          (session, index) => index < surplus || (session.name?.startsWith(live[0]?.name ?? 'unnamed') ?? false),
        ),
    },
  },
  { id: 'session-that-ends-first-removed', breaks: 'sessions/oldest-removed', with: firstToEnd() },
  {
    id: 'refused-grant-opens-a-session',
    breaks: 'sessions/oldest-removed',
    with: { refusedGrantOpensSession: () => true },
  },
  {
    id: 'refresh-opens-a-session',
    breaks: 'sessions/oldest-removed',
    with: { refreshOpensSession: () => true },
  },
  { id: 'all-sessions-removed', breaks: 'sessions/oldest-removed', with: { sessionsRemoved: (live) => live } },
  {
    id: 'two-sessions-removed',
    breaks: 'sessions/oldest-removed',
    with: { sessionsRemoved: (live, surplus) => live.slice(0, surplus + 1) },
  },
  {
    id: 'second-oldest-session-removed',
    breaks: 'sessions/oldest-removed',
    with: { sessionsRemoved: (live, surplus) => live.slice(1, surplus + 1) },
  },
  {
    id: 'access-through-a-removed-session',
    breaks: 'sessions/oldest-removed',
    with: { removedSessionWorks: (use) => use === 'access' },
  },
  {
    id: 'refresh-through-a-removed-session',
    breaks: 'sessions/removed-refresh',
    with: { removedSessionWorks: (use) => use === 'refresh' },
  },
]
