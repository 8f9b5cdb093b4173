/** Open questions that are answered with a value, and not only with whether a call was accepted. */

import type { Called } from '../judge/called.ts'
import { firstTimestampMs } from '../judge/margins.ts'
import { showJson } from '../judge/show-json.ts'

type Result = { [name: string]: unknown }

/** The value that answers an open question; undefined where the outcome of the call answers it. */
export function observedValue(question: string, { answer, time }: Called): string | undefined {
  if (answer.outcome !== 'accepted' || typeof answer.result !== 'object' || answer.result === null) return undefined
  return answers[question]?.(answer.result as Result, time.answeredAtMs)
}

const answers: { readonly [question: string]: (result: Result, nowMs: number) => string | undefined } = {
  'limits/token-lifetimes': (result, nowMs) =>
    joined([
      ['access token', lifetime(result.accessTokenExpiry, nowMs)],
      ['refresh token', lifetime(result.refreshTokenExpiry, nowMs)],
    ]),
  'sessions/lifetime': (result, nowMs) => joined([['its refresh token', lifetime(result.refreshTokenExpiry, nowMs)]]),
  'expires-in/too-long': (result, nowMs) => joined([['access token', lifetime(result.accessTokenExpiry, nowMs)]]),
  'expires-in/forms': (result, nowMs) => joined([['access token', lifetime(result.accessTokenExpiry, nowMs)]]),
  'refresh/lifetime-renewed': (result, nowMs) =>
    joined([['refresh token', lifetime(result.refreshTokenExpiry, nowMs)]]),
  'refresh/expires-in-kept': (result, nowMs) => joined([['access token', lifetime(result.accessTokenExpiry, nowMs)]]),
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

const units: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Rounded to the second, because a server may round an expiry. */
function lifetime(expiry: unknown, nowMs: number): string | undefined {
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return undefined
  const ms = Math.round((expiry - nowMs) / 1000) * 1000
  const [name, unitMs] = units.find(([, unit]) => ms !== 0 && ms % unit === 0) ?? ['s', 1000]
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
