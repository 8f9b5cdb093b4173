/** Parts 2 and 5.4: which methods a scope opens. */

import { sameBytes, toBase64 } from '../signer/bytes.ts'
import { isOrdinaryPoint } from '../signer/ed25519.ts'
import { publicKeyFromPem, publicKeyToPem } from '../signer/pem.ts'
import { lifetimeOf, no, open, unsure, yes } from './fact.ts'
import { isStrings, type JsonObject } from './parse.ts'
import type { Fact, Key, Pair, State } from './state.ts'

/** API areas, part 1. */
export const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

const isArea = (word: string): boolean => areas.includes(word)
export const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/.test(word)
const isApikeyWord = (word: string): boolean => word.toLowerCase() === 'apikey'
/** Whether the effect of a word is unknown: it is not in the document, or written in another case. */
const isForeign = (word: string): boolean =>
  !isArea(word) && !isRestriction(word) && !isApikeyWord(word) && !word.startsWith('solution:')

/** The word that opens a method: an area, or `apikey` for manager/createApiKey. */
function openerOf(state: State, method: string): string {
  if (method === 'manager/createApiKey') return 'apikey'
  return method === 'solution/listSolutions' ? 'solution' : (state.terms.probes.get(method) ?? '')
}

/** keys/scope-held, keys/apikey-scope, keys/initial-full-access: whether a key's own scope covers a method. */
export function keyScopeFact(state: State, key: Key, method: string): Fact {
  const opener = openerOf(state, method)
  if (key.scope === null)
    return key.doubtful.includes(opener) ? unsure('keys/scope-held') : yes('keys/initial-full-access', method)
  const scope = key.scope
  if (opener === 'apikey') {
    if (!scope.some(isApikeyWord)) return scope.some(isForeign) ? unsure('keys/apikey-scope') : no('keys/apikey-scope')
    if (key.doubtful.some(isApikeyWord)) return unsure('keys/apikey-scope')
    return apikeyFact(state, scope)
  }
  if (key.doubtful.includes(opener)) return unsure('keys/scope-held')
  if (scope.includes(opener)) return openedFact(state, opener, 'keys/created-key-works')
  const mayCover = scope.length === 0 || scope.some(isForeign) || (opener === 'solution' && scope.some(isSolutionId))
  return mayCover ? unsure('keys/scope-held') : no('keys/scope-held')
}

export const isSolutionId = (word: string): boolean => word.startsWith('solution:')

/** scopes/…: whether a token's scope, within its key's, covers a method. */
export function pairScopeFact(state: State, pair: Pair, key: Key | undefined, method: string): Fact {
  const opener = openerOf(state, method)
  const { scope } = pair
  const has = opener === 'apikey' ? scope.some(isApikeyWord) : scope.includes(opener)
  if (!has) return closedFact(state, pair, key, method)
  if (opener === 'apikey') {
    if (key?.scope?.some(isApikeyWord) === false) return no('scopes/within-key')
    return key?.doubtful.some(isApikeyWord) === true ? unsure('keys/apikey-scope') : apikeyFact(state, scope)
  }
  if (key?.scope !== null && key?.scope.includes(opener) !== true)
    return key?.scope.some(isForeign) === false ? no('scopes/within-key') : unsure('scopes/within-key')
  return key?.doubtful.includes(opener) === true
    ? unsure('scopes/area-opens')
    : openedFact(state, opener, 'tokens/authorize')
}

/** scopes/solution, scopes/context, …: a token is limited to the API areas of its scope. */
function closedFact(state: State, pair: Pair, key: Key | undefined, method: string): Fact {
  const limits = pair.scope.filter((word) => !isRestriction(word))
  const opener = openerOf(state, method)
  if (limits.length === 0 || limits.some(isForeign)) {
    const isBeyondKey = key !== undefined && keyScopeFact(state, key, method).is === 'no'
    return isBeyondKey ? no('scopes/within-key') : unsure('scopes/area-opens')
  }
  const area = limits.find(isArea)
  // Whether the word for one solution, or for all, opens the listing beside what it limits is not shown.
  if (opener === 'solution' && (area === undefined || limits.some(isSolutionId))) return unsure('scopes/solution-id')
  if (area !== undefined) return no(isSaidToOpen(pair, opener) ? 'refresh/scopes-kept' : `scopes/${area}`)
  return no(pair.generation > 0 ? 'refresh/scopes-kept' : 'keys/apikey-scope')
}

/** scopes/solution-id: a token for one solution manages contexts under no other. What it may do under its own, and beside solution:*, is open. */
export function solutionFact({ scope, granted, generation }: Pair, solution: string): Fact {
  const words = scope.filter(isSolutionId)
  const isLimited = words.length > 0 && !words.includes('solution:*') && words.every((word) => granted.includes(word))
  if (!isLimited || words.includes(`solution:${solution}`)) return unsure('scopes/solution-id')
  return no(generation > 0 ? 'refresh/scopes-kept' : 'scopes/solution-id')
}

/** Whether the result of a refresh names the area, though the first grant did not: that a refresh adds none is only implied. */
const isSaidToOpen = ({ generation, granted }: Pair, opener: string): boolean =>
  generation > 0 && (opener === 'apikey' ? granted.some(isApikeyWord) : granted.includes(opener))

/** Which spelling of apikey opens manager/createApiKey is open (scopes/apikey-spelling). */
function apikeyFact(state: State, scope: readonly string[]): Fact {
  const spellings = scope.filter(isApikeyWord)
  const known = spellings.find((word) => open(state, 'keys/create-authorized', word).is === 'yes')
  if (known !== undefined) return yes('keys/create-authorized', known)
  const both = ['apikey', 'apiKey'].every((word) => spellings.includes(word))
  if (both) return yes('keys/create-authorized', 'apikey and apiKey')
  return unsure('keys/create-authorized', spellings[0])
}

function openedFact(state: State, opener: string, requirement: string): Fact {
  // The examples of the document list solutions; that other areas have methods is only implied.
  if (opener === 'solution') return yes(requirement, opener)
  return open(state, 'scopes/area-opens', opener)
}

/** Whether every word of a new key's scope lies within its creator's. */
export function beyondCreator(words: readonly string[], creator: readonly string[] | null): string[] {
  if (creator === null) return []
  const has = new Set(creator.map((word) => word.toLowerCase()))
  return words.filter((word) => !has.has(word.toLowerCase()))
}

/** Words that every server accepts in a new key's scope: those of the examples of createApiKey, or one that this target accepted. */
function keyWordFact(state: State, word: string): Fact {
  if (['apikey', 'context', 'solution'].includes(word)) return yes('keys/create-authorized', `scope ${word}`)
  return open(state, 'keys/create-authorized', `scope ${word}`)
}

/** Parts 4.1 and 4.2: whether the params are the documented ones. */

/** Which names are accepted, such as those with capitals or with two hyphens in a row, is open. */
const isPlainName = (name: string): boolean => name.length <= 64 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)

/** keys/name-rules: open for long names, until one as long was accepted, and for names that were offered before, as a refused one may stay taken. */
const isPlainKeyName = ({ keys, keyNames }: State, name: string): boolean =>
  isPlainName(name) &&
  !keyNames.has(name) &&
  (name.length <= 12 || [...keys.values()].some((key) => key.name.length >= name.length))

/** Which names of sessions are accepted is open: other names than short ones may be refused, until a long one with hyphens inside was accepted. */
const isPlainSession = ({ terms }: State, name: string): boolean =>
  /^[a-z0-9]{1,8}$/.test(name) || (terms.longSessionNames === true && name.length <= 32 && isPlainName(name))

/** The longest lifetime that every server must keep exactly; a maximum is open. */
export const longestKeptMs = 15_000

/** The params of manager/createApiKey. */
export function createFacts(state: State, params: JsonObject): Fact[] {
  const { name, scope, publicKey, ...extra } = params
  if (typeof name !== 'string' || !isStrings(scope)) return [no('keys/create-params')]
  return [
    isPlainKeyName(state, name) ? yes('keys/create-params') : unsure('keys/create-params'),
    ...(Object.keys(extra).length > 0 ? [unsure('keys/create-params')] : []),
    ...(scope.length === 0 || new Set(scope).size < scope.length ? [unsure('keys/create-params')] : []),
    ...scope.map((word) => keyWordFact(state, word)),
    ...(publicKey === undefined ? [] : [publicKeyFact(state, publicKey)]),
    placeFact(state),
  ]
}

/** keys/public-key-material; weak points, CRLF and other white space are open, and whether two keys may have one public key. */
function publicKeyFact(state: State, publicKey: unknown): Fact {
  // A server may take null for a parameter that is not there.
  if (publicKey === null) return unsure('keys/public-key-material')
  if (typeof publicKey !== 'string') return no('keys/public-key-material')
  try {
    const bytes = publicKeyFromPem(publicKey)
    const written = publicKeyToPem(bytes) === publicKey
    const isNew = [...state.keys.values()].every((key) => key.publicKey === null || !sameBytes(key.publicKey, bytes))
    return written && isNew && isOrdinaryPoint(bytes) ? yes('keys/public-key') : unsure('keys/public-key-material')
  } catch {
    return looksLikePem(publicKey) ? unsure('keys/public-key-material') : no('keys/public-key-material')
  }
}

/** A lenient reader may still find a key if it has text around it, or if letters are missing. */
function looksLikePem(text: string): boolean {
  const body = text.replace(/-+(BEGIN|END) PUBLIC KEY-+/gi, '').replace(/[^A-Za-z0-9+/]/g, '')
  return /PUBLIC KEY/i.test(text) && body.length >= 59 && body.includes(ed25519Prefix) && !/PRIVATE/.test(text)
}

/** The beginning of the SubjectPublicKeyInfo of every ED25519 key. */
const ed25519Prefix = toBase64(Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70))

/** limits/ten-can-be-made: a fresh instance has room for at least nine created keys; how the eleventh creation is answered is open. */
function placeFact(state: State): Fact {
  return state.terms.fresh && state.created < 9 ? yes('limits/ten-can-be-made') : unsure('limits/eleventh-refused')
}

/** The params of the grant api_key_credentials, the credentials themselves apart. */
export function credentialParamsFacts(state: State, params: JsonObject, key: Key | undefined, from: string): Fact[] {
  const { grantType, apiKeyId, apiKeySecret, scope, ...extra } = params
  if (typeof apiKeyId !== 'string' || typeof apiKeySecret !== 'string' || !isStrings(scope))
    return [no('grants/params')]
  const limits = scope.filter((word) => !isRestriction(word))
  return [
    yes('grants/params'),
    ...(Object.keys(extra).length > 0 ? [unsure('grants/params')] : []),
    // What an empty scope list grants is open, and so is a list that repeats a word.
    ...(limits.length === 0 || new Set(scope).size < scope.length ? [unsure('grants/params')] : []),
    ...scope.map((word) => wordFact(state, word, { key, from, scope })),
  ]
}

/** Part 5.4: whether a scope word is granted. */
function wordFact(
  state: State,
  word: string,
  { key, from, scope }: { key: Key | undefined; from: string; scope: readonly string[] },
): Fact {
  const behind = word.slice(word.indexOf(':') + 1)
  const alone = scope.filter((other) => other.split(':')[0] === word.split(':')[0]).length === 1
  if (word.startsWith('session:'))
    return alone && isPlainSession(state, behind) && isNew(state, behind)
      ? yes('sessions/created')
      : unsure('sessions/created')
  if (word.startsWith('ipAddr:'))
    return alone && behind !== '' && behind === from ? yes('addresses/bound') : unsure('addresses/bound')
  if (word.startsWith('expiresIn:')) return lifetimeFact(state, scope)
  const has = key?.doubtful.includes(word) === false && (key.scope === null || key.scope.includes(word))
  if (!has) return unsure('scopes/within-key')
  if (word === 'solution' || word === 'context') return yes('grants/credentials', word)
  return areas.includes(word) || isApikeyWord(word)
    ? open(state, 'grants/credentials', word)
    : unsure('grants/credentials')
}

/** What happens with a session name that any key used before is open, also when its session is gone (sessions/reused-name). */
const isNew = (state: State, name: string): boolean => !state.sessionNames.has(name.toLowerCase())

/** A lifetime of 1 to 15 seconds is accepted; a maximum, and other forms of NUMBER, are open. */
function lifetimeFact(state: State, scope: readonly string[]): Fact {
  const asked = lifetimeOf(scope)
  const longest = Math.min(longestKeptMs, 0.9 * (state.refreshLifetimeMs ?? longestKeptMs))
  return asked !== null && asked >= 1000 && asked <= longest
    ? yes('expires-in/reported')
    : unsure('expires-in/reported')
}

/** The params of the grant refresh_token, the token itself apart. */
export function refreshParamsFacts({ grantType, refreshToken, ...extra }: JsonObject): Fact[] {
  if (typeof refreshToken !== 'string') return [no('grants/params')]
  return Object.keys(extra).length > 0 ? [unsure('refresh/no-scope')] : []
}
