import type { ServerContext } from '../../context.ts'
import { letPass } from '../../faults.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import type { ApiKey } from '../../state.ts'
import { answerFor, answerThrough, isAccepted, paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

/** The end of all refresh tokens, long before times have 14 digits. */
const lastMs = Date.UTC(2100, 0, 1)
const day = 86_400_000
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const isRefresh = (request: MockRequest): boolean =>
  isMethod(request, 'manager/auth') && paramsOf(request).grantType === 'refresh_token'

const tooSoon = (waitMs: number): MockAnswer => ({
  status: 429,
  headers: { 'content-type': 'text/plain', 'retry-after': String(Math.ceil(waitMs / 1000)) },
  body: 'Too many attempts',
})

/** After `wrong` refused refreshes, no refresh is looked at for `waitMs`. */
function slowDownRefreshes({ wrong, waitMs }: { wrong: number; waitMs: number }): Around {
  const tries = createMemory(() => ({ wrong: 0, untilMs: 0 }))
  const count = answerThrough((answer, request, context) => {
    if (!isRefresh(request) || isAccepted(answer)) return answer
    const memory = tries(context)
    memory.wrong += 1
    if (memory.wrong < wrong) return answer
    memory.wrong = 0
    memory.untilMs = context.now() + waitMs
    return answer
  })
  return (handle, context) => {
    const counted = count(handle, context)
    return (request) => {
      const leftMs = tries(context).untilMs - context.now()
      return leftMs > 0 && isRefresh(request) ? tooSoon(leftMs) : counted(request)
    }
  }
}

/** A text that is the same for grants that ask for the same; undefined where a grant has a session or a restriction. */
function sameGrant(request: MockRequest): string | undefined {
  const { grantType, apiKeyId } = paramsOf(request)
  if (!isMethod(request, 'manager/auth') || grantType !== 'api_key_credentials') return undefined
  const scope = scopeOf(request)
  return scope.some((word) => /^(session|ipAddr|expiresIn):/i.test(word))
    ? undefined
    : JSON.stringify([apiKeyId, scope])
}

function isLive(context: ServerContext, granted: MockAnswer): boolean {
  const { accessToken } = (readMembers(granted.body)?.result ?? {}) as { accessToken?: string }
  const pair = context.state.tokens.get(accessToken ?? '')?.pair
  return pair !== undefined && !pair.accessRevoked && !pair.family.revoked && pair.accessExpiryMs > context.now()
}

/** A grant that is repeated within `withinMs` gets the pair of the first one, as long as that pair is good. */
function repeatGrants(withinMs: number): Around {
  const grants = createMemory(() => new Map<string, { atMs: number; answer: MockAnswer }>())
  return answerThrough((answer, request, context) => {
    const same = sameGrant(request)
    if (same === undefined || !isAccepted(answer)) return answer
    const first = grants(context).get(same)
    if (first !== undefined && context.now() - first.atMs < withinMs && isLive(context, first.answer))
      return answerFor(first.answer, request)
    grants(context).set(same, { atMs: context.now(), answer })
    return answer
  })
}

/** Ends the oldest access tokens of a key outside of sessions, so that `most` of them live. */
function keepNewest({ state, now }: ServerContext, key: ApiKey, most: number): void {
  const live = [...state.tokens.values()].filter(
    ({ kind, pair }) =>
      kind === 'access' && pair.key === key && !pair.session && !pair.accessRevoked && pair.accessExpiryMs > now(),
  )
  for (const { pair } of live.slice(0, -most)) pair.accessRevoked = true
}

/** The header that the reference server understands, for a token behind any word or none. */
function plainHeader(header: string, { state }: ServerContext): string {
  const text = header.slice(header.indexOf(' ') + 1).trim()
  return state.tokens.has(text) && !/^(basic|svc-hmac-sha256) /i.test(header) ? `Bearer ${text}` : header
}

/** Parts 3, 4.2, 5.3 and 5.4: grants, tokens and refreshes. */
export const sixthTokenVariants: IndependentVariant[] = [
  {
    id: 'access-for-five-seconds-and-refresh-for-eight',
    questions: ['limits/token-lifetimes', 'sessions/lifetime'],
    about: 'Tokens are meant for machines that refresh all the time.',
    profile: { accessLifeMs: 5000, refreshLifeMs: 8000 },
  },
  {
    id: 'refresh-tokens-live-until-the-year-2100',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'expires-in/too-long'],
    about: 'A refresh token never ends, so a far date stands for its expiry.',
    profile: { expiresInTooLong: 'capped' },
    create() {
      const seen = watch()
      return { around: seen.around, rules: { refreshLifeMs: () => Math.max(lastMs - seen.nowMs, 365 * day) } }
    },
  },
  {
    id: 'access-tokens-are-four-words',
    questions: ['tokens/format'],
    about: 'An access token has three spaces inside, which a header may have.',
    create: () => ({
      rules: {
        tokenText: (kind, fresh) => (kind === 'access' ? (fresh.match(/.{1,11}/g) ?? [fresh]).join(' ') : fresh),
      },
    }),
  },
  {
    id: 'tokens-of-16-letters-behind-any-word-or-none',
    questions: ['tokens/format', 'tokens/prefix'],
    about: 'Callers wrote Bearer, Token and nothing at all, so the server looks at the token only.',
    profile: { tokenLength: 16 },
    create: () => ({
      around: (handle, context) => (request) => {
        const { authorization } = request.headers
        if (authorization === undefined) return handle(request)
        return handle({
          ...request,
          headers: { ...request.headers, authorization: plainHeader(authorization, context) },
        })
      },
    }),
  },
  {
    id: 'tokens-of-6000-letters-with-one-beginning',
    questions: ['tokens/format'],
    about: 'Both tokens carry the rights of the key, and only their last letters are random.',
    create: () => ({
      rules: { tokenText: (kind, fresh) => `${'eyJyaWdodHMiOlsi'.repeat(372)}.${kind}.${fresh}` },
    }),
  },
  {
    id: 'tokens-with-quotes-backslashes-and-commas',
    questions: ['tokens/format'],
    about: 'Tokens have every sign that a header and a JSON text must treat with care.',
    create: () => ({ rules: { tokenText: (kind, fresh) => `"${fresh}\\",'${kind}'=<%00>{}` } }),
  },
  {
    id: 'refresh-tokens-of-emoji',
    questions: ['tokens/format', 'refresh/expires-in-kept'],
    about: 'A refresh token is made of letters beyond the first 65,536, and expiresIn holds for one token.',
    profile: { expiresInKept: false },
    create: () => ({
      rules: {
        tokenText: (kind, fresh) =>
          kind === 'access'
            ? fresh
            : [...fresh].map((letter) => String.fromCodePoint(0x1f600 + letters.indexOf(letter))).join(''),
      },
    }),
  },
  {
    id: 'grant-repeated-within-ten-seconds-gives-the-same-pair',
    questions: ['limits/rate', 'limits/live-tokens'],
    about: 'Retries must not make tokens, so the pair of the same grant is given again while it is good.',
    create: () => ({ around: repeatGrants(10_000) }),
  },
  {
    id: 'used-refresh-token-ends-its-line-and-its-session',
    questions: ['refresh/family', 'sessions/reused-name'],
    about: 'A refresh token that comes twice is taken for stolen, and the session with all that joined it is over.',
    profile: { reuseRevokesFamily: true, reusedSessionName: 'joins' },
    create: () => ({
      around: answerThrough((answer, request, { state }) => {
        const token = state.tokens.get(String(paramsOf(request).refreshToken))
        if (!isRefresh(request) || isAccepted(answer) || token?.kind !== 'refresh') return answer
        if (token.pair.refreshRevoked && token.pair.session) token.pair.session.removed = true
        return answer
      }),
    }),
  },
  {
    id: 'five-live-access-tokens-of-a-key-outside-sessions',
    questions: ['limits/live-tokens', 'grants/scope-echo'],
    about: 'A sixth grant ends the oldest access token; its refresh token stays.',
    profile: { scopeEcho: 'sorted' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            keepNewest(seen.context, pair.key, 5)
            return result
          },
        },
      }
    },
  },
  {
    id: 'grants-need-an-api-area-and-ignore-other-params',
    questions: ['grants/empty-scope', 'grants/extra-params', 'grants/scope-with-refresh'],
    about: 'A token for no API is useless, so a list of restrictions alone is refused like an empty one.',
    profile: { emptyScope: 'refused', extraParams: 'ignored', scopeOnRefresh: 'ignored' },
    create: () => ({
      around: (handle) => (request) => {
        const scope = scopeOf(request)
        const restricted = scope.length > 0 && scope.every((word) => /^(session|ipAddr|expiresIn):/.test(word))
        if (!restricted || paramsOf(request).grantType !== 'api_key_credentials') return handle(request)
        const params = { ...paramsOf(request), scope: [] }
        return handle(withMembers(request, { ...readMembers(request.body.toString('utf8')), params }))
      },
    }),
  },
  {
    id: 'six-wrong-refreshes-make-refreshes-wait-two-seconds',
    questions: ['limits/lock-out', 'limits/rate'],
    about: 'Guesses of refresh tokens are slowed down for everyone.',
    create: () => ({ around: slowDownRefreshes({ wrong: 6, waitMs: 2000 }) }),
  },
  {
    id: 'refreshes-and-creations-take-700-ms',
    questions: ['limits/rate', 'refresh/lifetime-renewed'],
    about: 'What is written goes to three places, and a refresh keeps the end of the refresh token.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({
      around: (handle, context) => (request) =>
        isRefresh(request) || isMethod(request, 'manager/createApiKey')
          ? letPass(context, 700).then(() => handle(request))
          : handle(request),
    }),
  },
]
