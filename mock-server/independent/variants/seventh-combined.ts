import { chain, changeAnswers, changeRefusals, textAnswer } from '../answers.ts'
import { isAccepted } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'
import { refuseFirst, sendRefusedBack, spellNumbersOtherwise } from './seventh-answers.ts'
import { lastNonceOfEachKey, nonceOnceForEachMethod } from './seventh-keys.ts'
import { sessionUserByScope, slidingRefreshLife, solutionsExist } from './seventh-tokens.ts'

const hour = 60 * 60_000

/** At most `most` refusals in `windowMs`; a further refused call is told to wait, while right calls go on. */
function limitRefusals({ most, windowMs }: { most: number; windowMs: number }): Around {
  const windows = createMemory(() => ({ sinceMs: 0, refused: 0 }))
  return changeAnswers((answer, _request, context) => {
    if (isAccepted(answer)) return answer
    const window = windows(context)
    if (context.now() - window.sinceMs >= windowMs) Object.assign(window, { sinceMs: context.now(), refused: 0 })
    window.refused += 1
    if (window.refused <= most) return answer
    const waitMs = window.sinceMs + windowMs - context.now()
    return textAnswer(answer, 429, 'Too many mistakes', { 'retry-after': String(Math.ceil(waitMs / 1000)) })
  })
}

/** Answers nothing but 503 in the given second of each minute. */
const closeInSecond = (second: number): Around => {
  return (handle, context) => (request) => {
    if (Math.floor(context.now() / 1000) % 60 !== second) return handle(request)
    return { status: 503, headers: { 'retry-after': '1', 'content-type': 'text/html' }, body: '<h1>Back soon</h1>' }
  }
}

const takesJson = (accept: string | undefined): boolean =>
  accept === undefined || /(\*\/\*|application\/(\*|json))/i.test(accept)

/** Servers with several habits of their own. */
export const seventhCombinedVariants: IndependentVariant[] = [
  // Part 8 does not show rate limits; only calls that are refused anyway are counted and told to wait.
  {
    id: 'refusals-limited-to-ten-in-two-seconds',
    questions: ['limits/rate', 'errors/http-status', 'errors/shape'],
    about: 'The eleventh mistake of everyone together in two seconds gets 429, and a right call its answer.',
    create: () => ({ around: limitRefusals({ most: 10, windowMs: 2000 }) }),
  },
  // Part 8 does not show rate limits, and no sentence says that the service answers at every time.
  {
    id: 'second-thirty-of-each-minute-is-for-maintenance',
    questions: ['limits/rate', 'errors/shape', 'errors/http-status'],
    about: 'For one second of each minute there is a page with 503 and Retry-After; refusals have no body.',
    profile: { errorBody: 'none' },
    create: () => ({ around: closeInSecond(30) }),
  },
  // Part 1 shows application/json and integers as ids; part 4.2 sends grants without the header; Accept is not shown.
  {
    id: 'post-office-that-minds-headers',
    questions: ['envelope/content-type', 'envelope/id-types', 'grants/authorization-header', 'envelope/extra-members'],
    about: 'JSON must be sent and accepted (else 406), with four members and a whole id, and grants without a header.',
    profile: {
      contentType: 'json-only',
      idTypes: 'integers',
      authHeaderOnGrant: 'refused',
      extraMembers: 'refused',
    },
    create: () => ({
      around: refuseFirst(({ headers }) =>
        takesJson(headers.accept) ? undefined : { status: 406, text: 'Only JSON here' },
      ),
    }),
  },
  // Part 8 shows no lifetimes, parts 3 and 5.3 no fate of a line whose old token comes again, part 2 no user.
  {
    id: 'archive-with-roles-and-four-second-tokens',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'refresh/family', 'sessions/user'],
    about: 'Access lasts for four seconds within six hours, reuse ends a line, roles are users, 5 is written as 5.0.',
    profile: {
      accessLifeMs: 4000,
      refreshLifeMs: 6 * hour,
      refreshLifetime: 'kept',
      reuseRevokesFamily: true,
      expiresInTooLong: 'capped',
    },
    create: () => ({ around: spellNumbersOtherwise, rules: { sessionUser: sessionUserByScope } }),
  },
  // Part 5.4 leaves the case of scopes open, part 4.2 the order of the granted ones, part 5.1 the uniqueness of nonces.
  {
    id: 'mill-with-sorted-scopes-and-nonces-for-each-method',
    questions: ['scopes/apikey-spelling', 'grants/scope-echo', 'grants/empty-scope', 'signatures/nonce-reuse'],
    about: 'Only apikey is known, nobody asks for nothing, scopes come back sorted, nonces are for one method.',
    profile: { apikeySpelling: 'apikey', scopeEcho: 'sorted', emptyScope: 'refused', keyScopeAboveCreator: 'refused' },
    create: nonceOnceForEachMethod,
  },
  // Parts 5.1 and 8 show neither a time window nor rules of nonces nor a size of requests.
  {
    id: 'garage-on-a-small-device',
    questions: ['limits/request-size', 'signatures/large-body', 'signatures/time-window', 'signatures/nonce-reuse'],
    about: 'Bodies have 3 KiB, the clock is 3 s behind with a window of 8 s, and a key has one nonce.',
    profile: { maxBodyBytes: 3072, clockOffsetMs: -3000, timeWindowMs: 8000, closeConnections: true },
    create: lastNonceOfEachKey,
  },
  // Parts 5.4 and 7 do not say when an address is looked at besides in calls, and what a refusal looks like.
  {
    id: 'embassy-that-lets-nobody-ask-for-others',
    questions: ['addresses/foreign-grant', 'refresh/foreign-address', 'refresh/lifetime-renewed', 'errors/shape'],
    about: 'An address is granted and refreshed by its own caller only, lives slide, refused bodies are sent back.',
    profile: { refusalStatus: 'http', refreshChecksAddress: true, refreshLifeMs: 3 * hour },
    create() {
      const sliding = slidingRefreshLife()
      return {
        around: chain(...(sliding.around ? [sliding.around] : []), sendRefusedBack),
        rules: { ...sliding.rules, addressChecked: () => true },
      }
    },
  },
  // Part 2 leaves open who a user is and what counts as a session, part 8 the rate, part 5.4 solutions that are not there.
  {
    id: 'orchard-with-eight-calls-a-second-and-one-guest-book',
    questions: ['limits/rate', 'sessions/user', 'sessions/counting', 'sessions/reused-name', 'grants/unknown-scope'],
    about: 'Everyone shares sixteen sessions, each grant is one, names join, and solutions of a scope must exist.',
    profile: {
      callsPerSecond: 8,
      sessionUser: 'all-keys',
      unnamedCountAsSessions: true,
      reusedSessionName: 'joins',
    },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid && (method !== 'manager/auth' || name !== 'scope' || solutionsExist(seen, value)),
        },
      }
    },
  },
  // Part 7 does not show errors, so every refusal may carry a challenge, with another realm each time.
  {
    id: 'refusals-challenge-with-every-scheme-and-a-new-realm',
    questions: ['errors/shape', 'errors/http-status', 'signatures/nonce-burnt'],
    about: 'A refusal is 401 with a list of challenges and an empty JSON text; a wrong signature keeps its nonce.',
    profile: { refusalStatus: 'http', nonceBurntByBadSignature: false },
    create: () => ({
      around: changeRefusals((answer, _request, context) => {
        const realm = `realm="at ${context.now()}"`
        const challenges = `Basic ${realm}, Bearer ${realm}, error="invalid_token", svc-hmac-sha256`
        return textAnswer(answer, 401, '""', { 'www-authenticate': challenges, 'content-type': 'application/json' })
      }),
    }),
  },
]
