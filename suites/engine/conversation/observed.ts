/** What an observing step saw, as a phrase and as data. */
import { countBy } from '../group.ts'
import { type JsonObject, membersOf, parseJson } from '../json.ts'
import { describe, showJson } from '../judge/classify.ts'
import { type Called, firstTimestampMs } from '../judge/judge-case.ts'
import type { SeenAnswer } from '../judge/problem.ts'
import type { CallStep, SendStep } from '../language/fixture-types.ts'
import type { Names } from '../language/resolve.ts'
import { hasRounds } from './step-calls.ts'

/** The observation of a step; undefined for one that does not observe. */
export function observationOf(step: CallStep | SendStep, calls: Called[], names: Names) {
  if (step.observe === undefined) return undefined
  const sentence = step.step === undefined ? {} : { step: step.step }
  return {
    question: step.observe,
    answer: answerOf(step, calls, names),
    seen: calls.map(seenAnswer),
    ...sentence,
  }
}

/** Describes in a phrase what an observing step saw. */
function answerOf(step: CallStep | SendStep, calls: Called[], names: Names): string {
  const values = calls.flatMap((called) => observedValue(step.observe ?? '', called) ?? [])
  if (values.length === calls.length) return [...new Set(values)].join('; ')
  return observed(calls) + keptValues(step, names)
}

/** A value that an observing step keeps is part of the observation; with several calls it is only kept for later steps. */
function keptValues(step: CallStep | SendStep, names: Names): string {
  if (hasRounds(step)) return ''
  const kept = Object.keys(step.keep ?? {}).filter((name) => names[name] !== undefined)
  return kept.map((name) => `; ${name} ${showJson(names[name], longestKept)}`).join('')
}

const longestKept = 100

/** Describes how often each outcome occurred. */
function observed(calls: Called[]): string {
  const counts = countBy(calls, ({ answer }) => describe(answer))
  if (calls.length === 1) return [...counts.keys()].join('')
  return [...counts].map(([what, count]) => `${count} of ${calls.length} ${what}`).join(', ')
}

/** The answer to one call of an observing step as data; it holds no secret but those that a server repeats in a message. */
function seenAnswer({ answer, time, wire }: Called): SeenAnswer {
  const result = answer.outcome === 'accepted' ? membersOf(answer.result) : {}
  const error = membersOf(answer.outcome === 'refused' ? answer.error : undefined)
  const { accessToken, accessTokenExpiry, refreshTokenExpiry, scope } = result
  const text = wire.kind === 'answer' ? new TextDecoder().decode(wire.body) : ''
  const body = membersOf(parseJson(text))
  const lifeMs = (expiry: unknown): number | null => (typeof expiry === 'number' ? expiry - time.answeredAtMs : null)
  const isWhole = (expiry: unknown): boolean => typeof expiry === 'number' && expiry % 1000 === 0
  return {
    outcome: answer.outcome,
    status: wire.kind === 'none' ? null : wire.status,
    code: typeof error.code === 'number' || typeof error.code === 'string' ? error.code : null,
    message:
      typeof error.message === 'string'
        ? error.message
        : 'error' in body || text === ''
          ? null
          : text.slice(0, longestKept),
    id: 'id' in body ? (body.id === null ? 'null' : 'request') : 'none',
    members: answer.outcome === 'accepted' ? typesOf(result) : null,
    scope: Array.isArray(scope) ? scope.map(String) : null,
    tokenLength: typeof accessToken === 'string' ? accessToken.length : null,
    accessLifeMs: lifeMs(accessTokenExpiry),
    refreshLifeMs: lifeMs(refreshTokenExpiry),
    isRounded: isWhole(accessTokenExpiry) && isWhole(refreshTokenExpiry),
    closes: wire.kind === 'answer' && /close/i.test(wire.headers.connection ?? ''),
  }
}

/** `list: array`, in the order of names. */
const typesOf = (result: JsonObject): string[] =>
  Object.entries(result)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value}`)
    .sort()

// Open questions that are answered with a value, and not only with whether a call was accepted.

type Result = { [name: string]: unknown }

/** The value that answers an open question; undefined where the outcome of the call answers it. */
function observedValue(question: string, { answer, time }: Called): string | undefined {
  if (answer.outcome !== 'accepted' || typeof answer.result !== 'object' || answer.result === null) return undefined
  return answers[question]?.(answer.result as Result, time.answeredAtMs)
}

const answers: { readonly [question: string]: (result: Result, nowMs: number) => string | undefined } = {
  'limits/token-lifetimes': lifetimesOf({ accessTokenExpiry: 'access token', refreshTokenExpiry: 'refresh token' }),
  'sessions/lifetime': lifetimesOf({ refreshTokenExpiry: 'its refresh token' }),
  'expires-in/too-long': lifetimesOf({ accessTokenExpiry: 'access token' }),
  'expires-in/forms': lifetimesOf({ accessTokenExpiry: 'access token' }),
  'refresh/lifetime-renewed': lifetimesOf({ refreshTokenExpiry: 'refresh token' }),
  'refresh/expires-in-kept': lifetimesOf({ accessTokenExpiry: 'access token' }),
  'grants/scope-echo': grantedScope,
  'grants/empty-scope': grantedScope,
  'grants/unknown-scope': grantedScope,
  'keys/record': members,
  'keys/create-result-extras': members,
  'keys/secret-of-public-key': ({ secret }) => joined([['secret', formatOf(secret) ?? 'none']]),
  'tokens/format': ({ accessToken, refreshToken }) =>
    joined([
      ['access token', formatOf(accessToken)],
      ['refresh token', formatOf(refreshToken)],
    ]),
}

function grantedScope({ scope }: Result): string {
  return `scope ${showJson(scope)}`
}

function members(result: Result): string {
  return `members ${Object.keys(result)
    .sort()
    .map((name) => showJson(name))
    .join(', ')}`
}

function joined(parts: [what: string, value: string | undefined][]): string | undefined {
  const known = parts.filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : known.map(([what, value]) => `${what}: ${value}`).join(', ')
}

/** @param names what the expiries of a result are called */
function lifetimesOf(names: { readonly [expiry: string]: string }) {
  return (result: Result, nowMs: number): string | undefined =>
    joined(Object.entries(names).map(([expiry, name]) => [name, lifetime(result[expiry], nowMs)]))
}

const unitsShown: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Rounded to the second, because a server may round an expiry. */
function lifetime(expiry: unknown, nowMs: number): string | undefined {
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return undefined
  const ms = Math.round((expiry - nowMs) / 1000) * 1000
  const [name, unitMs] = unitsShown.find(([, unit]) => ms !== 0 && ms % unit === 0) ?? ['s', 1000]
  return `${ms / unitMs} ${name}`
}

/** Describes what a token looks like without showing a character of it. */
function formatOf(token: unknown): string | undefined {
  if (typeof token !== 'string') return undefined
  const alphabet =
    alphabets.find(([, pattern]) => pattern.test(token))?.[0] ?? 'characters beyond those of BASE64 and base64url'
  return `${token.length} characters, ${alphabet}`
}

const alphabets: [name: string, pattern: RegExp][] = [
  ['a JWT', /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/],
  ['a UUID', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
  ['digits', /^\d+$/],
  ['hex', /^[0-9a-f]+$/i],
  ['letters and digits', /^[0-9a-z]+$/i],
  ['base64url', /^[\w-]+=*$/],
  ['BASE64', /^[0-9a-z+/]+=*$/i],
]
