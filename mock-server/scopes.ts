/** The words of a scope: how they are spelled, what a grant gets for them, and which ones a key may have. Parts 2 and 5.4. */
import { isIPv4 } from 'node:net'
import type { ServerContext } from './context.ts'
import type { Profile } from './profile.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import { areas } from './rules.ts'
import type { ApiKey } from './state.ts'

/** What the restrictions of a `scope` say. */
interface Restrictions {
  sessionName: string | undefined
  addresses: string[]
  expiresInMs: number | undefined
}

interface Granted extends Restrictions {
  /** In force. */
  scope: string[]
  /** The `scope` of the answer. */
  scopeEcho: string[]
}

/** What is granted for the `scope` of manager/auth, or why not: unknown words, words beyond the key's, an expiresIn beyond the refresh lifetime. */
export function grantScopes(context: ServerContext, key: ApiKey, requested: string[]): Outcome<Granted> {
  const { rules, profile } = context
  const read = readRequested(context, requested)
  if (!read.ok) return read
  const { scopes, unknown, ...restrictions } = read.value
  if (unknown[0] !== undefined && profile.unknownScopes === 'refused')
    return refuse('scope', 'scope/unknown', unknown[0])
  // The initial key has every scope in the server's own spelling, whichever spelling callers use.
  const keyScope = key.scope === context.root.scope ? key.scope : effectiveKeyScope(key.scope, profile)
  const beyond = scopes.filter((scope) => !rules.scopeWithinKey(scope, keyScope, profile))
  if (beyond[0] !== undefined && rules.scopeBeyondKey() === 'refused')
    return refuse('scope', 'scope/beyond-key', beyond[0])
  if (requested.length === 0 && profile.emptyScope === 'refused') return refuse('params', 'params/scope')
  const { expiresInMs = 0 } = restrictions
  if (expiresInMs > rules.refreshLifeMs(profile) && rules.expiresInTooLong(profile) === 'refused')
    return refuse('scope', 'scope/expires-in', `expiresIn:${expiresInMs}`)
  const isWhole = requested.length === 0 && profile.emptyScope === 'whole-key'
  const allowed = isWhole ? keyScope : scopes.filter((scope) => !beyond.includes(scope))
  const scope = rules.grantedScope(allowed, keyScope)
  const echoes = { 'as-requested': requested, sorted: [...scope].sort(), 'without-restrictions': scope }
  return succeed({ ...restrictions, scope, scopeEcho: echoes[profile.scopeEcho] })
}

interface Requested extends Restrictions {
  /** In the server's spelling, in order, each once. */
  scopes: string[]
  unknown: string[]
}

/** Reads the entries; a refusal names the wrong one. */
function readRequested({ profile, rules }: ServerContext, entries: string[]): Outcome<Requested> {
  const request: Requested = { scopes: [], unknown: [], sessionName: undefined, addresses: [], expiresInMs: undefined }
  for (const entry of entries) {
    const spelled = spelledScope(entry, profile)
    const colon = spelled.indexOf(':') + 1
    const value = spelled.slice(colon)
    switch (spelled.slice(0, colon)) {
      case 'session:':
        if (value === '' || value.length > 128 || request.sessionName !== undefined)
          return refuse('scope', 'scope/form', entry)
        request.sessionName = value
        break
      case 'ipAddr:':
        if (!isIPv4(value)) return refuse('scope', 'scope/form', entry)
        request.addresses.push(value)
        break
      case 'expiresIn:': {
        const ms = rules.expiresInMs(value)
        if (ms === undefined || request.expiresInMs !== undefined) return refuse('scope', 'scope/form', entry)
        request.expiresInMs = ms
        break
      }
      default: {
        const known = knownScope(entry, profile)
        if (known === undefined) request.unknown.push(entry)
        else if (!request.scopes.includes(known)) request.scopes.push(known)
      }
    }
  }
  return succeed(request)
}

/** The scope words of the document's examples. */
const shown = ['apikey', 'apiKey', 'context', 'solution']

/** Why a key cannot be created with this scope by a caller that has these; undefined if it can. */
export function keyScopeProblem(
  profile: Profile,
  scope: string[],
  creator: string[],
): ReturnType<typeof refuse> | undefined {
  if (scope.some((word) => !mayStandInKey(word, profile))) return refuse('params', 'params/scope')
  const isKept = profile.keyScopeAboveCreator === 'kept'
  const isWithin = (word: string): boolean => creator.includes(knownScope(word, profile) ?? word)
  return isKept || scope.every(isWithin) ? undefined : refuse('scope', 'scope/creator')
}

function mayStandInKey(word: string, profile: Profile): boolean {
  if (word.startsWith('expiresIn:')) return false
  if (profile.unknownKeyScopes === 'all-but-shown-refused') return shown.includes(word)
  return (
    profile.unknownKeyScopes === 'kept' || knownScope(word, profile) !== undefined || /^(session|ipAddr):/.test(word)
  )
}

const restrictions = ['session:', 'ipAddr:', 'expiresIn:']

/** A scope in the spelling of the server, or undefined for an unknown word. `apikey` and `apiKey` are one. */
function knownScope(scope: string, profile: Profile): string | undefined {
  const spelled = spelledScope(scope, profile)
  if (spelled === 'apikey') return profile.apikeySpelling === 'apiKey' ? undefined : 'apiKey'
  if (spelled === 'apiKey') {
    const taken =
      profile.apikeySpelling !== 'apikey' || (profile.scopeCase === 'any' && scope.toLowerCase() === 'apikey')
    return taken ? 'apiKey' : undefined
  }
  if (areas.some((area) => area === spelled)) return spelled
  return /^solution:./.test(spelled) && spelled.length <= 128 ? spelled : undefined
}

/** A scope in the server's letters, where it takes any. */
function spelledScope(scope: string, profile: Profile): string {
  if (profile.scopeCase !== 'any') return scope
  const colon = scope.indexOf(':')
  const word = (colon < 0 ? scope : scope.slice(0, colon)).toLowerCase()
  if (colon < 0) return word === 'apikey' ? 'apiKey' : word
  const restriction = restrictions.find((name) => name.toLowerCase() === `${word}:`)
  return (restriction ?? `${word}:`) + scope.slice(colon + 1)
}

/** A key's effective scope: known words in the server's spelling, each once; unknown words stay only in the record. */
export function effectiveKeyScope(scope: string[], profile: Profile): string[] {
  return [...new Set(scope.flatMap((word) => knownScope(word, profile) ?? []))]
}
