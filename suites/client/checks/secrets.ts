/** Checks of where secrets are sent. */
import { callPath } from '../../engine/document.ts'
import { percentDecoded } from '../../engine/signer/bytes.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Exchange } from '../journal.ts'
import { headerOf } from '../story/authorization.ts'
import { asObject } from '../story/rpc.ts'
import type { Request, Story } from '../story/story.ts'

const notInUrl: Check = {
  id: 'secrets/not-in-url',
  level: 'practice',
  title: 'No URL contains a secret',
  sentence: 'Tokens are not passed in URLs, since logs and histories keep those',
  source: 'RFC 6750 §5.3',
  judge({ story }) {
    const withSecret = story.requests.filter(
      ({ authorization, kind }) => authorization.kind !== 'none' || kind === 'grant' || kind === 'refresh',
    )
    const message = 'The URL contains a secret or a token. Send it in the header or the body'
    const leaking = story.requests.filter(
      ({ exchange: { target } }) => target !== callPath && holdsSecret(target, story),
    )
    const findings = leaking.map((request) => finding(message, request))
    return { exercised: withSecret.length > 0 || findings.length > 0, findings }
  },
}

const notAfterRedirect: Check = {
  id: 'secrets/not-after-redirect',
  level: 'practice',
  title: 'No secret follows a redirect to another origin',
  sentence:
    'A client that follows a redirect leaves out Authorization and everything else that only the first origin may see',
  source: 'RFC 9110 §15.4 and §17.16.3',
  judge({ story }) {
    const redirected = story.requests.some(({ outcome }) => outcome === 'redirected')
    const findings = story.elsewhere.flatMap((exchange) => leaksElsewhere(exchange, story))
    return { exercised: redirected || findings.length > 0, findings }
  },
}

function leaksElsewhere(exchange: Exchange, story: Story): Finding[] {
  const authorization = headerOf(exchange, 'authorization') ?? ''
  const body = Buffer.from(exchange.body).toString('utf8')
  const what =
    authorization !== ''
      ? 'The Authorization header'
      : holdsSecret(body, story) || holdsSecret(exchange.target, story)
        ? 'A secret of the request'
        : exchange.headers.some(([, value]) => holdsSecret(value, story))
          ? 'A header with a secret'
          : null
  if (what === null) return []
  const redirect = story.requests.find(({ outcome }) => outcome === 'redirected')
  const message = `${what} is sent to another origin after a redirect. Do not follow it, or leave the secrets out`
  return [finding(message, ...(redirect === undefined ? [] : [redirect]), exchange)]
}

const refreshTokenOnlyToAuth: Check = {
  id: 'secrets/refresh-token-only-to-auth',
  level: 'practice',
  title: 'A refresh token is sent to manager/auth only',
  sentence: 'Refresh tokens are for the authorization server and are never sent to resource servers',
  source: 'RFC 6749 §1.5',
  judge({ story }) {
    const tokens = new Set(story.pairs.map(({ refreshToken }) => refreshToken))
    const firstHeld = Math.min(...story.pairs.map(({ heldMs }) => heldMs ?? Number.POSITIVE_INFINITY))
    const later = story.requests.filter(({ exchange }) => exchange.startedMs >= firstHeld)
    const message = 'A refresh token is sent with a call. Send it as refreshToken of manager/auth only'
    const straying = later.filter((request) => straysIn(request, tokens))
    return { exercised: later.length > 0, findings: straying.map((request) => finding(message, request)) }
  },
}

function straysIn({ exchange, kind, body, params }: Request, tokens: ReadonlySet<string>): boolean {
  if (tokens.size === 0) return false
  const inHeaders = exchange.headers.some(([, value]) => value.split(/[\s;,="]+/).some((word) => tokens.has(word)))
  if (inHeaders) return true
  const json = body.kind === 'json' ? asObject(body.value) : null
  // The secret's own place is left out; the rest of the body is searched.
  const rest = kind === 'refresh' ? { ...json, params: { ...params, refreshToken: null } } : json
  return textsWithin(rest).some((text) => tokens.has(text))
}

function textsWithin(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsWithin)
}

/** Looks for the secrets of a story in a text, also as BASE64 of `id:secret` and with percent signs taken out. */
function holdsSecret(text: string, { secrets, keys }: Story): boolean {
  const basic = keys.flatMap((key) =>
    key.kind === 'secret' ? [Buffer.from(`${key.id}:${key.secret}`).toString('base64').replace(/=+$/, '')] : [],
  )
  const plain = percentDecoded(text)
  return [...secrets, ...basic].some((secret) => text.includes(secret) || plain.includes(secret))
}

export const secretChecks: readonly Check[] = [notInUrl, notAfterRedirect, refreshTokenOnlyToAuth]
