import { isIPv4 } from 'node:net'
import type { Profile } from './profile.ts'
import type { Rules } from './rules.ts'

const areaWords = new Set(['solution', 'context', 'thread', 'store', 'inbox', 'stream', 'apiKey'])
const restrictions = ['session:', 'ipAddr:', 'expiresIn:']

/** A scope in the spelling of the server, or undefined for an unknown word. `apikey` and `apiKey` are one. */
export function knownScope(scope: string, profile: Profile): string | undefined {
  const spelled = profile.scopeCase === 'any' ? anyCase(scope) : scope
  if (spelled === 'apikey') return profile.apikeySpelling === 'apiKey' ? undefined : 'apiKey'
  if (spelled === 'apiKey') {
    const taken =
      profile.apikeySpelling !== 'apikey' || (profile.scopeCase === 'any' && scope.toLowerCase() === 'apikey')
    return taken ? 'apiKey' : undefined
  }
  if (areaWords.has(spelled)) return spelled
  return /^solution:./.test(spelled) && spelled.length <= 128 ? spelled : undefined
}

function anyCase(scope: string): string {
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

/** The parsed `scope` of manager/auth. */
export interface ScopeRequest {
  /** In the server's spelling, in order, each once. */
  scopes: string[]
  unknown: string[]
  sessionName: string | undefined
  addresses: string[]
  expiresInMs: number | undefined
}

/** Reads the `scope` of manager/auth; the second form names the entry that is refused. */
export function readScopeRequest(
  entries: string[],
  profile: Profile,
  rules: Rules,
): { request: ScopeRequest } | { refused: string } {
  const request: ScopeRequest = {
    scopes: [],
    unknown: [],
    sessionName: undefined,
    addresses: [],
    expiresInMs: undefined,
  }
  for (const entry of entries) {
    const spelled = profile.scopeCase === 'any' ? anyCase(entry) : entry
    const colon = spelled.indexOf(':') + 1
    const value = spelled.slice(colon)
    switch (spelled.slice(0, colon)) {
      case 'session:':
        if (value === '' || value.length > 128 || request.sessionName !== undefined) return { refused: entry }
        request.sessionName = value
        break
      case 'ipAddr:':
        if (!isIPv4(value)) return { refused: entry }
        request.addresses.push(value)
        break
      case 'expiresIn:': {
        const ms = rules.expiresInMs(value)
        if (ms === undefined || request.expiresInMs !== undefined) return { refused: entry }
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
  return { request }
}
