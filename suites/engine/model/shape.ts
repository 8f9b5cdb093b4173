/** Whether an accepted answer looks as the document says. */
import { hasDocumentedResult } from '../document.ts'
import { isObject, isStrings, type JsonObject } from '../json.ts'
import { areas, isRestriction, isSolutionId, longestKeptMs, refreshParamsFacts } from './facts.ts'
import { levelOf } from './judge.ts'
import { isMoment, type Result, readResult, roundedMs } from './learn.ts'
import { type ReadCall, readCall } from './read-call.ts'
import { type Span, slackMs } from './sessions.ts'
import { type Answer, type Call, lifetimeOf, type Matchers, type Pair, type Problem, type State } from './state.ts'

/** The longest lifetime may depend on the time of day, so only the expiries of grants this close together are compared. In ms. */
const comparableMs = 10_000
/** Every server grants lifetimes of a second. */
const shortestCertainMs = 1000

const problem = (requirement: string, message: string, demands?: Matchers): Problem => ({
  requirement,
  level: levelOf(requirement),
  message,
  ...(demands === undefined ? {} : { demands }),
})

/** Every way in which an accepted answer departs from the document; `state` is that before the call. */
export function shape(state: State, call: Call, answer: Answer, span: Span): Problem[] {
  if (answer.kind !== 'accepted') return []
  const read = readCall(state, call)
  const { body } = read
  const problems: Problem[] = []
  if (answer.jsonrpc !== '2.0')
    problems.push(problem('envelope/response-jsonrpc', `jsonrpc is ${show(answer.jsonrpc)}`))
  if (Number.isSafeInteger(body.id) && !body.duplicates && answer.id !== body.id)
    problems.push(problem('envelope/id-echo', `The request has the id ${show(body.id)}, the answer ${show(answer.id)}`))
  const { result } = answer
  if (hasDocumentedResult(String(body.method))) {
    if (!isObject(result)) problems.push(problem('envelope/result-object', 'The result is not an object'))
    else if (body.method === 'manager/createApiKey') problems.push(...createShape(state, read, result))
    else if (body.method === 'manager/auth') problems.push(...grantShape(state, read, result, span))
  }
  return [...problems, ...tenKeys(state, read)]
}

/** keys/create-result, keys/unique-ids, keys/unique-secrets. Which secret a key with a public key gets is open (keys/secret-of-public-key). */
function createShape(state: State, { params }: ReadCall, { id, secret }: JsonObject): Problem[] {
  if (typeof id !== 'string' || typeof secret !== 'string')
    return [problem('keys/create-result', 'id or secret is not a string')]
  const problems: Problem[] = []
  if (state.keys.has(id)) problems.push(problem('keys/unique-ids', 'A key was created with the id of another'))
  const hasPublicKey = params?.publicKey !== undefined
  if (!hasPublicKey && [...state.keys.values()].some((key) => key.publicKey === null && key.secret === secret))
    problems.push(problem('keys/unique-secrets', 'A key was created with the secret of another'))
  return problems
}

const string = { expected: 'a string', fits: (value: unknown): boolean => typeof value === 'string' }
const timestamp = { expected: 'an integer of 13 digits', fits: isMoment }

/** The members of the result of manager/auth (part 4.2). */
const membersOfGrant = [
  { name: 'accessToken', requirement: 'grants/result-access-token', ...string },
  { name: 'accessTokenExpiry', requirement: 'grants/result-access-token-expiry', ...timestamp },
  { name: 'refreshToken', requirement: 'grants/result-refresh-token', ...string },
  { name: 'refreshTokenExpiry', requirement: 'grants/result-refresh-token-expiry', ...timestamp },
  {
    name: 'tokenType',
    requirement: 'grants/result-token-type',
    expected: '"Bearer"',
    fits: (value: unknown): boolean => value === 'Bearer',
  },
  { name: 'scope', requirement: 'grants/result-scope', expected: 'an array of strings', fits: isStrings },
] as const

/** grants/result-…, refresh/pair-differs, refresh/scopes-kept, expires-in/…. */
function grantShape(state: State, { params, found, keyId }: ReadCall, result: JsonObject, made: Span): Problem[] {
  const wrong = membersOfGrant.flatMap(({ name, requirement, expected, fits }) => {
    const value = result[name]
    if (fits(value)) return []
    const got = typeof value === 'string' ? 'a string' : show(value)
    return [problem(requirement, `${name} is ${got}, expected ${expected}`)]
  })
  const read = readResult(result)
  if (read === undefined || params === undefined) return wrong
  const old = found?.pair
  const key = old?.key ?? String(keyId)
  const asked = old === undefined && isStrings(params.scope) ? params.scope : []
  // What a scope in a refresh does is open (refresh/no-scope).
  const isPlainRefresh = found?.exact === true && refreshParamsFacts(params).length === 0
  return [
    ...wrong,
    ...issuedTwice(state, read, old, key),
    ...withinKey(state, key, result.scope),
    ...lifetimeShape(state, asked, read, made),
    ...(isPlainRefresh && isStrings(result.scope) ? scopeKept(found.pair.granted, result.scope) : []),
  ]
}

/** scopes/within-key: of the API areas that the result names, all are in the key's scope, and a key of some solutions does not get all. */
function withinKey(state: State, id: string, granted: unknown): Problem[] {
  const key = state.keys.get(id)
  if (key === undefined || key.scope === null || !isStrings(granted)) return []
  const { scope } = key
  const solutions = scope.filter(isSolutionId)
  // Any other word may cover all solutions, and any word for solutions may cover the Solution API.
  const isLimited = solutions.length > 0 && solutions.length === scope.length && !scope.includes('solution:*')
  const isBeyond = (word: string): boolean => {
    if (word === 'solution:*') return isLimited
    return areas.includes(word) && !scope.includes(word) && (word !== 'solution' || solutions.length === 0)
  }
  const beyond = granted.filter(isBeyond)
  const [first] = beyond
  if (first === undefined) return []
  const message = `A token was granted "${beyond.join(', ')}", which its key has not`
  return [problem('scopes/within-key', message, { 'result.scope': { excludes: first } })]
}

/** Nothing is issued twice: neither a revoked token nor the token of another pair may come again. */
function issuedTwice(state: State, result: Result, old: Pair | undefined, key: string): Problem[] {
  const indexes = [state.access.get(result.accessToken), state.refresh.get(result.refreshToken)]
  const earlier = indexes.flatMap((index) => state.pairs.get(index ?? -1) ?? [])
  if (result.accessToken === result.refreshToken)
    return [problem('tokens/refresh-is-no-access', 'Both tokens are the same')]
  if (old !== undefined && earlier.some(({ line }) => line === old.line))
    return [problem('refresh/pair-differs', 'A refresh returned a token that its line had before')]
  const foreign = earlier.find((pair) => pair.key !== key || pair.standing === 'dead')
  return foreign === undefined ? [] : [problem('tokens/authorize', 'A token was issued that was issued before')]
}

/** expires-in/reported, expires-in/within-refresh-lifetime, grants/expiry-order. */
function lifetimeShape(state: State, scope: readonly string[], result: Result, made: Span): Problem[] {
  const { accessTokenExpiry: ends, refreshTokenExpiry: refreshEnds } = result
  if (!isMoment(ends)) return []
  const asked = lifetimeOf(scope)
  const problems: Problem[] = []
  if (isMoment(refreshEnds) && ends > refreshEnds + roundedMs)
    problems.push(
      problem(
        asked === null ? 'grants/expiry-order' : 'expires-in/within-refresh-lifetime',
        `The access token ends ${ends - refreshEnds} ms after the refresh token`,
      ),
    )
  const clock = state.tokenClock
  if (asked === null || clock === null) return problems
  const life = { from: ends - clock.to - made.to, to: ends - clock.from - made.from }
  const tooLong = life.from > asked + slackMs
  const tooShort = asked <= longestKeptMs && life.to < asked - slackMs
  if (tooLong || tooShort) {
    // A longer one may be shortened.
    const demands = asked <= longestKeptMs ? { 'result.accessTokenExpiry': { in: asked } } : undefined
    const byMs = Math.round(tooLong ? life.from - asked : asked - life.to)
    const message = `expiresIn:${asked} gave an expiry ${byMs} ms ${tooLong ? 'later' : 'earlier'} than ${expected(state)}`
    problems.push(problem('expires-in/reported', message, demands))
  }
  // What a server makes of a number above the lifetime of the refresh token is open (expires-in/too-long).
  else if (isMoment(refreshEnds) && asked < refreshEnds - clock.from - made.from - slackMs)
    problems.push(...endsTooEarly(state, asked, life, made))
  return problems
}

/** The clock of the server is known from other expiries alone, so an expiry is compared with them, and no lifetime is measured. */
function expected({ lifetimes }: State): string {
  const other = lifetimes.findLast(({ asked }) => asked <= longestKeptMs)
  return other === undefined ? 'it should be' : `that of expiresIn:${other.asked} leads to expect`
}

/** expires-in/reported: a larger NUMBER never gives an earlier expiry than a smaller one did shortly before. */
function endsTooEarly({ lifetimes }: State, asked: number, life: Span, made: Span): Problem[] {
  const smaller = lifetimes
    .filter((other) => other.asked < asked && made.from - other.madeAt < comparableMs)
    .filter(({ madeAt, got }) => madeAt + got.from > made.from + life.to + slackMs)
    .map((other) => other.asked)
  if (smaller.length === 0) return []
  // A very short one may be refused by another server.
  const least = `expiresIn:${Math.min(...smaller.filter((one) => one >= shortestCertainMs), Math.max(...smaller))}`
  const message = `expiresIn:${asked} gave an earlier expiry than ${least}, which was granted before`
  return [{ ...problem('expires-in/reported', message), comparedWith: least }]
}

/** refresh/scopes-kept: as reported, restrictions and order apart. */
function scopeKept(before: readonly string[], after: readonly string[]): Problem[] {
  const words = (scope: readonly string[]): string =>
    [...new Set(scope.filter((word) => !isRestriction(word)).map((word) => word.toLowerCase()))].sort().join(' ')
  if (words(before) === words(after)) return []
  const [lost] = before.filter((word) => !isRestriction(word) && !after.includes(word))
  const message = `The scope was "${words(before)}" and is "${words(after)}" after the refresh`
  const demands = lost === undefined ? undefined : { 'result.scope': { includes: lost } }
  return [problem('refresh/scopes-kept', message, demands)]
}

/** limits/ten-keys: eleven created keys were accepted since the last creation. */
function tenKeys(state: State, { key }: ReadCall): Problem[] {
  if (key === undefined || key.id === state.root || state.working.has(key.id)) return []
  if (state.working.size < 10) return []
  return [problem('limits/ten-keys', 'Eleven created keys work at once')]
}

/** A value for a message. Texts may be secret, and a value of a hostile server may be of any size and depth. */
function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  return typeof value === 'string' && value.length > 12 ? 'a text' : JSON.stringify(value)
}
