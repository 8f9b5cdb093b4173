/** Parts 2 and 5.4: which methods a scope opens. */
import { no, open, unsure, yes } from './fact.ts'
import type { Fact, Key, Pair, State } from './types.ts'

/** API areas, part 1. */
export const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

const isArea = (word: string): boolean => areas.includes(word)
export const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/.test(word)
export const isApikeyWord = (word: string): boolean => word.toLowerCase() === 'apikey'
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
export function keyWordFact(state: State, word: string): Fact {
  if (['apikey', 'context', 'solution'].includes(word)) return yes('keys/create-authorized', `scope ${word}`)
  return open(state, 'keys/create-authorized', `scope ${word}`)
}
