import type { ServerContext } from '../../context.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import type { ApiKey, TokenPair } from '../../state.ts'
import { endPair } from '../../token-state.ts'
import { changeAnswers, httpDate } from '../answers.ts'
import { answerFor, answerThrough, isAccepted, paramsOf, readMembers, scopeOf } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Ends the oldest pairs of a key outside of sessions, so that `most` of them live. */
function keepNewestPairs({ state, now }: ServerContext, key: ApiKey, most: number): void {
  const live = [...state.tokens.values()].filter(
    ({ kind, pair }) =>
      kind === 'refresh' && pair.key === key && !pair.session && !pair.refreshRevoked && pair.refreshExpiryMs > now(),
  )
  for (const { pair } of live.slice(0, -most)) endPair(pair)
}

/** A key has at most `most` live pairs outside of sessions. */
function livePairs(most: number): ReturnType<NonNullable<IndependentVariant['create']>> {
  const seen = watch()
  return {
    around: seen.around,
    rules: {
      grantResult: (result, pair) => {
        keepNewestPairs(seen.context, pair.key, most)
        return result
      },
    },
  }
}

/** A text that is the same for grants that ask for the same; undefined where a session or a lifetime is asked for. */
function sameGrant(request: MockRequest): string | undefined {
  const { grantType, apiKeyId } = paramsOf(request)
  const scope = scopeOf(request)
  const own = scope.some((word) => /^(session|expiresIn):/i.test(word))
  return own || grantType !== 'api_key_credentials' ? undefined : JSON.stringify([apiKeyId, scope])
}

function pairIn({ state }: ServerContext, { body }: MockAnswer): TokenPair | undefined {
  const { accessToken } = (readMembers(body)?.result ?? {}) as { accessToken?: string }
  return state.tokens.get(accessToken ?? '')?.pair
}

/** The same grant gets its pair again while the pair is good and half of its access lifetime is left. */
function giveLivePairAgain(): Around {
  const grants = createMemory(() => new Map<string, MockAnswer>())
  return answerThrough((answer, request, context) => {
    const same = sameGrant(request)
    if (same === undefined || !isAccepted(answer)) return answer
    const first = grants(context).get(same)
    const pair = first && pairIn(context, first)
    const nowMs = context.now()
    const young = pair !== undefined && 2 * nowMs < pair.issuedMs + pair.accessExpiryMs
    if (first && young && !pair.accessRevoked && !pair.refreshRevoked && !pair.family.revoked) {
      const spare = pairIn(context, answer)
      if (spare !== undefined && spare !== pair) endPair(spare)
      return answerFor(first, request)
    }
    grants(context).set(same, answer)
    return answer
  })
}

/** A pair and those that came from it can be refreshed once in `everyMs`; more get 429. */
function refreshLinesSlowly(everyMs: number): Around {
  const lines = createMemory(() => new Map<object, number>())
  return (handle, context) => (request) => {
    const token = context.state.tokens.get(String(paramsOf(request).refreshToken))
    if (!isMethod(request, 'manager/auth') || token?.kind !== 'refresh') return handle(request)
    const { family } = token.pair
    if (context.now() - (lines(context).get(family) ?? 0) < everyMs)
      return { status: 429, headers: { 'retry-after': String(Math.ceil(everyMs / 1000)) }, body: '' }
    lines(context).set(family, context.now())
    return handle(request)
  }
}

/** Uses up the nonce of every request that has one, whatever becomes of it. */
const useEveryNonceUp: Around = changeAnswers((answer, { headers }, { state, now }) => {
  const nonce = headers.authorization?.split(';')[3]
  if (nonce !== undefined) state.nonces.add(nonce, now() + day, now())
  return answer
})

/** Changes the Date of an answer; `count` is the number of answers so far. */
function changeDate(ms: (nowMs: number, count: number) => number): Around {
  const answers = createMemory(() => ({ count: 0 }))
  return changeAnswers((answer, _request, context) => {
    const memory = answers(context)
    memory.count += 1
    return { ...answer, headers: { ...answer.headers, date: httpDate(ms(context.now(), memory.count)) } }
  })
}

/** Parts 3, 4.2, 5.1, 5.3 and 5.4: tokens, refreshes, nonces and times, between calls. */
export const sixthMoreTokenVariants: IndependentVariant[] = [
  {
    id: 'default-lives-reach-to-a-full-minute',
    questions: ['limits/token-lifetimes', 'expires-in/too-long'],
    about: 'A job ends tokens once a minute; only who asks for a lifetime gets it to the millisecond.',
    profile: { expiresInTooLong: 'capped' },
    create() {
      const seen = watch()
      const toFullMinute = (ms: number) => Math.ceil((seen.nowMs + ms) / minute) * minute - seen.nowMs
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) => expiresInMs ?? toFullMinute(profile.accessLifeMs),
          refreshLifeMs: (profile) => toFullMinute(profile.refreshLifeMs),
        },
      }
    },
  },
  {
    id: 'access-for-two-seconds-unless-asked-otherwise',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept'],
    about: 'A default token is for one call; who wants more says so in each grant, and a refresh says nothing.',
    profile: { accessLifeMs: 2000, refreshLifeMs: hour, expiresInKept: false },
  },
  {
    id: 'both-tokens-end-twenty-hours-after-the-grant',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'expires-in/too-long'],
    about: 'A working day ends for everyone who came in, however often they refresh.',
    profile: { accessLifeMs: 20 * hour, refreshLifeMs: 20 * hour, refreshLifetime: 'kept', expiresInTooLong: 'capped' },
  },
  {
    id: 'clock-that-ticks-once-a-second',
    questions: ['limits/token-lifetimes', 'signatures/time-window'],
    about: 'Times are stored and compared in full seconds, so every expiry is one.',
    profile: { timeWindowMs: 30_000, expiryRounding: 'up-to-second' },
    create: () => ({
      around: (handle, context) => {
        const exact = context.now
        context.now = () => Math.floor(exact() / 1000) * 1000
        return handle
      },
    }),
  },
  {
    id: 'three-live-pairs-of-a-key-outside-sessions',
    questions: ['limits/live-tokens'],
    about: 'A fourth grant ends the oldest pair with its refresh token; sessions are for who needs more.',
    create: () => livePairs(3),
  },
  {
    id: 'one-live-pair-of-a-key-outside-sessions',
    questions: ['limits/live-tokens', 'grants/scope-echo'],
    about: 'The pair stands in the record of the key, where the next grant writes over it.',
    profile: { scopeEcho: 'as-requested' },
    create: () => livePairs(1),
  },
  {
    id: 'each-refresh-halves-the-refresh-lifetime',
    questions: ['refresh/lifetime-renewed', 'limits/token-lifetimes'],
    about: 'Who refreshes for long has to show the secret again, so each refresh token is for half the time.',
    profile: { refreshLifeMs: day },
    create() {
      let old: TokenPair | undefined
      return {
        rules: {
          tokenText: (_kind, fresh, refreshed) => {
            old = refreshed
            return fresh
          },
          refreshLifeMs: (profile) => {
            const before = old
            old = undefined
            return before ? Math.ceil((before.refreshExpiryMs - before.issuedMs) / 2) : profile.refreshLifeMs
          },
        },
      }
    },
  },
  {
    id: 'default-access-lifetime-is-what-the-key-last-asked-for',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept'],
    about: 'The server takes the last NUMBER of a key, five seconds at least, for its habit.',
    profile: { expiresInKept: false },
    create() {
      const seen = watch(() => new Map<string, number>())
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) => {
            const id = namedKeyId(seen.request) ?? ''
            if (expiresInMs !== undefined) seen.memory.set(id, Math.max(expiresInMs, 5000))
            return expiresInMs ?? seen.memory.get(id) ?? profile.accessLifeMs
          },
        },
      }
    },
  },
  {
    id: 'same-grant-gets-its-pair-until-half-its-life-is-over',
    questions: ['limits/live-tokens', 'limits/rate'],
    about: 'Callers who never keep a token get the one that they have.',
    create: () => ({ around: giveLivePairAgain() }),
  },
  {
    id: 'one-refresh-of-a-line-each-second',
    questions: ['limits/rate', 'refresh/family'],
    about: 'Refreshes in a loop come from broken callers, and a refresh token that comes twice ends its line.',
    profile: { reuseRevokesFamily: true },
    create: () => ({ around: refreshLinesSlowly(1000) }),
  },
  {
    id: 'every-nonce-that-arrives-is-used-up',
    questions: ['signatures/nonce-burnt', 'signatures/nonce-reuse'],
    about: 'A filter in front keeps all nonces for a day, also those beside unknown keys and wrong versions.',
    create: () => ({ around: useEveryNonceUp }),
  },
  {
    id: 'timestamps-one-second-old-or-three-ahead',
    questions: ['signatures/time-window', 'signatures/timestamp-spelling'],
    about: 'Machines in one rack have one time, and a few of them are fast.',
    create: () => ({
      rules: {
        timestampTaken: (timestamp, nowMs) =>
          /^[0-9]{13}$/.test(timestamp) && Number(timestamp) >= nowMs - 1000 && Number(timestamp) <= nowMs + 3000,
      },
    }),
  },
  {
    id: 'timestamps-may-be-any-integer',
    questions: ['signatures/time-window', 'signatures/timestamp-spelling', 'signatures/nonce-reuse'],
    about: 'A timestamp is only signed: it has a sign or not and any number of digits, and nonces may repeat.',
    profile: { nonceReuse: 'accepted' },
    create: () => ({ rules: { timestampTaken: (timestamp) => /^[+-]?[0-9]+$/.test(timestamp) } }),
  },
  {
    id: 'two-nodes-with-clocks-four-minutes-apart',
    questions: ['signatures/time-window', 'envelope/content-type'],
    about: 'Every second answer comes from a node that is fast; both share the times of tokens.',
    create() {
      const seen = watch(() => ({ count: 0 }))
      const date = changeDate((nowMs, count) => (count % 2 === 0 ? nowMs + 4 * minute : nowMs))
      return {
        around: (handle, context) => {
          const watched = seen.around(handle, context)
          return date((request) => {
            seen.memory.count += 1
            return watched(request)
          }, context)
        },
        rules: {
          timestampTaken: (timestamp, nowMs, profile) => {
            const nodeMs = seen.memory.count % 2 === 0 ? nowMs + 4 * minute : nowMs
            return /^[0-9]{13}$/.test(timestamp) && Math.abs(Number(timestamp) - nodeMs) < profile.timeWindowMs
          },
        },
      }
    },
  },
  {
    id: 'date-header-jumps-back-an-hour-after-thirty-answers',
    questions: ['signatures/time-window', 'errors/id'],
    about: 'Somebody sets the clock of the front end; the server has the right time and takes two hours either way.',
    profile: { timeWindowMs: 2 * hour, errorId: 'none' },
    create: () => ({ around: changeDate((nowMs, count) => (count > 30 ? nowMs - hour : nowMs)) }),
  },
  {
    id: 'restrictions-in-scope-of-grant-and-not-of-refresh',
    questions: ['grants/scope-echo', 'grants/scope-with-refresh'],
    about: 'A grant repeats its list, a refresh reads the scopes from the record; a scope beside it is ignored.',
    profile: { scopeEcho: 'as-requested', scopeOnRefresh: 'ignored' },
    create: () => ({ rules: { refreshedScopeEcho: ({ scope }) => scope } }),
  },
]
