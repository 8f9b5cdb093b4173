import type { Profile } from '../profile.ts'
import type { ApiKey, Session, TokenPair } from '../state.ts'

/** The API areas that scopes name, and the management of keys. */
export type Area = 'manager' | 'solution' | 'context' | 'thread' | 'store' | 'inbox' | 'stream'

/** Parts 2 and 5.4: scopes, addresses, sessions. */
export const scopeRules = {
  /** scopes/<area>, scopes/area-opens, keys/apikey-scope: whether a scope opens an area. */
  scopeOpens: (scope: string, area: Area): boolean =>
    area === 'manager' ? scope === 'apiKey' : scope === area || (area === 'context' && scope.startsWith('solution:')),

  /** keys/apikey-scope: whether a method needs a scope at all. */
  scopeNeeded: (_method: string, _area: Area): boolean => true,

  /** scopes/solution-id, scopes/solution-any: whether the Contexts of one solution may be managed. */
  solutionReached: (scopes: string[], solution: string): boolean => {
    const named = scopes.filter((scope) => scope.startsWith('solution:'))
    return named.length === 0 || named.includes('solution:*') || named.includes(`solution:${solution}`)
  },

  /** scopes/within-key: whether a key's scope covers a requested one. */
  scopeWithinKey: (scope: string, keyScope: string[], profile: Profile): boolean =>
    keyScope.includes(scope) ||
    (scope.startsWith('solution:') && profile.solutionIdFromAny && keyScope.includes('solution:*')),

  /** scopes/within-key: what happens to scopes beyond the key's. */
  scopeBeyondKey: (): 'refused' | 'left-out' => 'refused',

  /** scopes/<area>, grants/result-scope: the scopes that are granted, of the requested ones that are allowed. */
  grantedScope: (requested: string[], _keyScope: string[]): string[] => requested,

  /** addresses/bound: one of the named addresses, as a whole. */
  addressTaken: (addresses: string[], remoteAddress: string): boolean =>
    addresses.length === 0 || addresses.includes(remoteAddress),

  /** addresses/bound: checked on every call, and not when a token is granted. */
  addressChecked: (during: 'grant' | 'call', _key: ApiKey): boolean => during === 'call',

  /** sessions/created: whether session:NAME makes a session; undefined: nothing is bound to it. */
  sessionCreated: (_name: string): boolean => true,

  /** Open question sessions/user: whose session it is. */
  sessionUser: (key: ApiKey, profile: Profile): string => (profile.sessionUser === 'one-key' ? key.id : 'everyone'),

  /** Open question sessions/counting: the name under which a session is kept; two sessions of one name are one re-used. */
  sessionName: (name: string | undefined): string | undefined => name,

  /** Open question sessions/reused-name: what happens with the name of a live session of the user. */
  reusedSessionName: (profile: Profile): 'replaces' | 'adds' | 'joins' | 'refused' => profile.reusedSessionName,

  /** sessions/sixteen-live, sessions/at-most-sixteen: sixteen at once, for every key. */
  sessionLimit: (_key: ApiKey): number => 16,

  /** sessions/oldest-removed: a grant that is refused creates no session. */
  refusedGrantOpensSession: (): boolean => false,

  /** sessions/oldest-removed: a refresh keeps its session and creates no other. */
  refreshOpensSession: (): boolean => false,

  /** sessions/next-works: what happens with a session beyond the limit. */
  beyondSessionLimit: (): 'oldest-removed' | 'refused' => 'oldest-removed',

  /** sessions/oldest-removed: which of the live sessions (first created first) make room, `surplus` of them. */
  sessionsRemoved: (live: Session[], surplus: number, profile: Profile): Session[] =>
    (profile.oldestSession === 'first-created' ? live : [...live].sort((a, b) => a.lastUsedMs - b.lastUsedMs)).slice(
      0,
      surplus,
    ),

  /** sessions/oldest-removed, sessions/removed-refresh: whether a token of a removed session works. */
  removedSessionWorks: (_use: 'access' | 'refresh', _pair: TokenPair): boolean => false,
}
