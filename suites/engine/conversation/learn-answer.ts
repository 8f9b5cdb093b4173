/** What an answer shows about the target, independent of its case. */
import { isStrings, membersOf } from '../json.ts'
import type { Delivered } from '../judge/called.ts'
import type { CallTime } from '../judge/match.ts'
import type { CallSpec } from './call-spec.ts'
import type { Caller } from './caller.ts'
import { noteSession } from './session-facts.ts'
import { sightTokenClock, tokenClockWitnesses } from './token-clock.ts'

/** The time of a grant, with what other grants showed about the clock of expiries. Remembers what this grant shows. */
export function witnessed({ facts }: Caller, { answer, time }: Delivered, requestedLifeMs: number): CallTime {
  const witnesses = tokenClockWitnesses(facts, requestedLifeMs)
  if (answer.outcome === 'accepted')
    sightTokenClock(facts, requestedLifeMs, membersOf(answer.result).accessTokenExpiry, time)
  return { ...time, witnesses }
}

/** The lifetime in ms that a grant requests with `expiresIn:NUMBER`, the longest of several; undefined for other calls. */
export function requestedLife({ method, params }: CallSpec): number | undefined {
  const { scope } = membersOf(params)
  if (method !== 'manager/auth' || !Array.isArray(scope)) return undefined
  const lifetimesMs = scope.flatMap((word) => /^expiresIn:(\d+)$/.exec(String(word))?.[1] ?? [])
  return lifetimesMs.length === 0 ? undefined : Math.max(...lifetimesMs.map(Number))
}

/** The access token that authorizes a call, or the refresh token in its params; empty without either. */
export function tokenUsed({ auth, params }: CallSpec): string {
  if (typeof auth === 'object' && 'token' in auth) return String(auth.token)
  return String(membersOf(params).refreshToken ?? '')
}

/** The name that a created key is given, as reports show it. */
export function keyName({ params }: CallSpec): string {
  const { name } = membersOf(params)
  return typeof name === 'string' ? name : '(no name)'
}

/** Tokens of megabytes are not kept for a whole run. */
const longToken = 65_536

/** Remembers created keys, how long a refresh token lives, and every secret that must not appear in a report. */
export function learnAnswer(caller: Caller, spec: CallSpec, { answer, time, wire }: Delivered): void {
  const creates = spec.method === 'manager/createApiKey'
  if (answer.outcome !== 'accepted') {
    const wasSent = wire.kind !== 'none' || wire.wasNotSent !== true
    if (creates && (answer.status !== null || !wasSent)) caller.createdKeys.notCreated(keyName(spec))
    return
  }
  noteSession(caller.facts, spec.method, spec.params)
  if (spec.removes !== undefined) caller.createdKeys.removed(spec.removes)
  const result = membersOf(answer.result)
  for (const name of ['secret', 'accessToken', 'refreshToken']) {
    const value = result[name]
    if (typeof value === 'string') caller.redactor.add(value)
  }
  for (const kind of ['access', 'refresh']) {
    const token = result[`${kind}Token`]
    const expiry = result[`${kind}TokenExpiry`]
    // An expiry in the past, or one that is not a time, does not say when the token ends.
    const isToCome = typeof expiry === 'number' && expiry > time.answeredAtMs
    if (typeof token === 'string' && token.length < longToken && isToCome) caller.tokenExpiries.set(token, expiry)
  }
  const { id, secret, refreshTokenExpiry } = result
  if (typeof refreshTokenExpiry === 'number') {
    caller.facts.refreshLifeMs ??= Math.max(0, Math.round(refreshTokenExpiry - time.answeredAtMs))
  }
  if (!creates) return
  const { scope } = membersOf(spec.params)
  caller.createdKeys.created({
    id: typeof id === 'string' ? id : '(no id)',
    name: keyName(spec),
    ...(typeof secret === 'string' ? { secret } : {}),
    ...(spec.privateKey === undefined ? {} : { privateKey: spec.privateKey }),
    ...(spec.member === undefined ? (isStrings(scope) ? { scope } : {}) : { member: spec.member }),
  })
}
