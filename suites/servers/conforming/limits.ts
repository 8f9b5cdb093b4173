import { letPass } from '../../../mock-server/handler.ts'
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import { answeredAgain, calls, meets } from '../around.ts'
import { type Call, isAccepted } from '../call.ts'
import { meet } from '../in-flight.ts'
import type { Change, Changing } from '../rows.ts'
import { counts, table } from '../rows.ts'
import { answers, html, httpDate, json, ownAnswer, waitAnswer } from './answers.ts'
import { errorAnswer, errorCode } from './errors.ts'
import { auth, by, type ConformingRows, create, sessionWord, signatureFields } from './rows.ts'

/** Calls take `ms`; those that `isSlow` names, where it is given. */
const takes = (ms: number, isSlow: (call: Call) => boolean = () => true): Change =>
  calls((call) => (isSlow(call) ? letPass(call.context, ms) : undefined))

type Group = (call: Call) => string | undefined

interface Throttle {
  /** So many calls of a group are let through in any `withinMs`, 1000 by default. */
  calls: number
  withinMs?: number
  /** Calls with the same name share the calls; undefined: the call is not counted. */
  of?: Group
  status?: number
  locked?: (call: Call, waitMs: number) => MockAnswer
}

/** Limits the rate of calls. */
export const throttle =
  ({ calls: most, withinMs = 1000, of = () => 'all', status = 429, locked }: Throttle): Changing =>
  (_seen, groups = new Map<string, number[]>()) =>
    calls((call) => {
      const name = of(call)
      if (name === undefined) return undefined
      const nowMs = call.nowMs
      const recentMs = (groups.get(name) ?? []).filter((ms) => ms > nowMs - withinMs)
      if (recentMs.length < most) {
        groups.set(name, [...recentMs, nowMs])
        return undefined
      }
      const waitMs = (recentMs[0] ?? nowMs) + withinMs - nowMs
      return locked?.(call, waitMs) ?? waitAnswer(status, waitMs)
    })

/** A group of calls that only those of these methods belong to. */
export const ofMethod =
  (...methods: string[]): Group =>
  (call) =>
    methods.find((method) => call.is(method))

interface Lock {
  /** Whose wrong tries are counted, and who is locked; undefined: nobody. By default the named key. */
  of?: Group
  /** By default a refused authorization, which gets an HTTP status for it. */
  isWrong?: (answer: MockAnswer, call: Call) => boolean
  tries: number
  /** Wrong tries are forgotten after this time; without it, they are forgotten after a right one. */
  withinMs?: number
  /** How long a lock lasts, by how many came before it without a right try in between. */
  lockMs: number | ((earlier: number) => number)
  locked?: (call: Call, leftMs: number) => MockAnswer
}

/** Locks a group of callers out for a time, after wrong tries. */
const lock =
  ({ of = ({ keyId }) => keyId, isWrong, tries, withinMs, lockMs, locked }: Lock): Changing =>
  (_seen, records = new Map<string, { wrongMs: number[]; locks: number; untilMs: number }>()) => ({
    ...(isWrong === undefined ? { profile: { refusalStatus: 'http' } } : {}),
    around: meets(async (call, next) => {
      const name = of(call)
      if (name === undefined) return next()
      const record = records.get(name) ?? { wrongMs: [], locks: 0, untilMs: 0 }
      records.set(name, record)
      const leftMs = record.untilMs - call.nowMs
      if (leftMs > 0) return locked?.(call, leftMs) ?? waitAnswer(429, leftMs)
      const answer = await next()
      if (withinMs === undefined && isAccepted(answer)) Object.assign(record, { wrongMs: [], locks: 0 })
      if (!(isWrong?.(answer, call) ?? answer.status === 401)) return answer
      const nowMs = call.nowMs
      record.wrongMs = [...record.wrongMs.filter((ms) => ms > nowMs - (withinMs ?? Number.POSITIVE_INFINITY)), nowMs]
      if (record.wrongMs.length < tries) return answer
      const forMs = typeof lockMs === 'number' ? lockMs : lockMs(record.locks)
      Object.assign(record, { wrongMs: [], locks: record.locks + 1, untilMs: nowMs + forMs })
      return answer
    }),
  })

/** Of calls of a group in flight together, `most` are carried out, and the others get an answer at once. */
const atOnce =
  (most: number, of: Group, busy: (call: Call) => MockAnswer): Changing =>
  (_seen, inWork = new Map<string, number>()) => ({
    around: meets(async (call, next) => {
      const name = of(call)
      if (name === undefined) return next()
      if ((inWork.get(name) ?? 0) >= most) return busy(call)
      inWork.set(name, (inWork.get(name) ?? 0) + 1)
      try {
        await meet()
        return await next()
      } finally {
        inWork.set(name, (inWork.get(name) ?? 1) - 1)
      }
    }),
  })

/** Five wrong tries in a row lock a key for a second, the next five for two seconds, and so on up to eight. */
export const lockLongerEachTime = lock({ tries: 5, lockMs: (earlier) => Math.min(1000 * 2 ** earlier, 8000) })

const addressOf = (call: Call): string => call.request.remoteAddress
const keyIdOf = (call: Call): string | undefined => call.state.tokens.get(call.token)?.pair.key.id ?? call.keyId
const signer = (call: Call): string | undefined => (signatureFields(call).length > 0 ? call.keyId : undefined)

/** Retry-After of a throttled answer as the server writes it, after 25 ms, so that who tries again at once gets on. */
const retryAfter = (write: (nowMs: number) => { [name: string]: string }): Change => ({
  around: meets(async (call, next) => {
    const answer = await next()
    if (answer.status !== 429) return answer
    await letPass(call.context, 25)
    const { 'retry-after': _, ...headers } = answer.headers
    return { ...answer, headers: { ...headers, ...write(call.nowMs) } }
  }),
})

/** A throttled call whose error says something else. */
const waitLike =
  (code: number, message: string) =>
  (call: Call, waitMs: number): MockAnswer => ({
    ...errorAnswer(call, 429, code, message),
    headers: { ...waitAnswer(429, waitMs).headers, 'content-type': json },
  })
const locked =
  (code: number, message: string) =>
  (call: Call): MockAnswer =>
    errorAnswer(call, 401, code, message)

/** The key for which a grant, a refresh or a creation writes something. */
function writerOf(call: Call): string | undefined {
  if (call.creates) return keyIdOf(call)
  if (!call.is(auth)) return undefined
  const { apiKeyId, refreshToken } = call.params
  const id = call.state.tokens.get(String(refreshToken))?.pair.key.id ?? apiKeyId
  return id === undefined ? undefined : String(id)
}

/** Parts 7 and 8: rates, locks and calls that wait. */
export const limitsRows: ConformingRows = {
  slow: by.own('limits/rate delayMs=80'),
  'rate-limited': by.own('limits/rate callsPerSecond=20'),
  'rate-20-retry-after-zero': by.first('limits/rate', [
    throttle({ calls: 20 }),
    retryAfter(() => ({ 'retry-after': '0' })),
  ]),
  'rate-20-without-retry-after': by.first('limits/rate', [throttle({ calls: 20 }), retryAfter(() => ({}))]),
  // Retry-After is an HTTP date, and refusals have HTTP statuses of their own.
  'rate-40-retry-after-date': by.first('limits/rate errors/http-status refusalStatus=http', [
    throttle({ calls: 40 }),
    retryAfter((nowMs) => ({ 'retry-after': httpDate(nowMs + 1000) })),
  ]),
  // Five wrong tries for a key within ten seconds lock it for five seconds: 429 with Retry-After.
  'lockout-of-key-after-five-throttled': by.first('errors/outcomes limits/rate', [
    lock({ tries: 5, withinMs: 10_000, lockMs: 5000 }),
  ]),
  // Eight wrong tries for a key, one after another, lock it for ten seconds; its tokens are not concerned.
  'key-is-locked-for-ten-seconds-after-eight-wrong-tries': by.own('limits/lock-out errors/http-status alone', [
    lock({ tries: 8, lockMs: 10_000, locked: locked(24879, 'Unauthorized') }),
  ]),
  // Thirty refused calls from an address within ten seconds lock it for two seconds: 503 with Retry-After.
  'lockout-of-address-after-thirty': by.first('errors/outcomes limits/rate errors/http-status', [
    lock({
      of: addressOf,
      tries: 30,
      withinMs: 10_000,
      lockMs: 2000,
      locked: (_request, leftMs) => waitAnswer(503, leftMs),
    }),
  ]),
  // Further calls of the key get 503 with Retry-After; other keys are not concerned.
  'every-key-has-thirty-calls-a-second': by.second('limits/rate', [throttle({ calls: 30, of: keyIdOf, status: 503 })]),
  // HTTP 429 with a JSON-RPC error in the body, whose id is null.
  'thirty-calls-a-second-and-then-a-json-rpc-error': by.third('limits/rate errors/shape errors/id callsPerSecond=30', [
    answers((answer, call) => (answer.status === 429 ? waitLike(-32029, 'Slow down')(call, 1000) : answer)),
  ]),
  // The server goes to sleep after ten seconds without a call.
  'first-call-after-a-pause-takes-300-ms': by.third('limits/rate', (seen, last = { ms: Number.NEGATIVE_INFINITY }) =>
    takes(300, () => {
      const pauseMs = seen.nowMs - last.ms
      last.ms = seen.nowMs
      return pauseMs > 10_000
    }),
  ),
  // For three seconds, callers with a token at the same address have to wait.
  'fifteen-wrong-tokens-lock-token-callers-out': by.fourth('limits/lock-out errors/outcomes', [
    lock({
      of: (call) => (call.authorization?.startsWith('Bearer ') ? addressOf(call) : undefined),
      tries: 15,
      lockMs: 3000,
    }),
  ]),
  // Guesses of refresh tokens are slowed down for everyone.
  'six-wrong-refreshes-make-refreshes-wait-two-seconds': by.sixth('limits/lock-out limits/rate', [
    lock({
      of: (call) => (call.isRefresh ? 'refreshes' : undefined),
      isWrong: (answer) => !isAccepted(answer),
      tries: 6,
      withinMs: 600_000,
      lockMs: 2000,
    }),
  ]),
  // What is written goes to three places, and a refresh keeps the end of the refresh token.
  'refreshes-and-creations-take-700-ms': by.sixth('limits/rate refresh/lifetime-renewed refreshLifetime=kept', [
    takes(700, (call) => call.isRefresh || call.creates),
  ]),
  // Each key has one worker, which takes 15 ms for a call and looks at the caller first.
  'calls-of-one-key-wait-for-each-other': by.sixth(
    'limits/rate envelope/method-not-found methodCheckedFirst=false',
    (_seen, lines = table<Promise<unknown>>()) => ({
      around: meets((call, next) => {
        const name = keyIdOf(call) ?? ''
        const earlier = lines.get(name) ?? Promise.resolve()
        const answer = earlier.then(() => letPass(call.context, 15)).then(() => next())
        lines.set(
          name,
          answer.catch(() => undefined),
        )
        return answer
      }),
    }),
  ),
  // A small server has four threads and no queue.
  'four-calls-in-work-at-once': by.sixth('limits/rate errors/http-status refusalStatus=http closeConnections=true', [
    atOnce(
      4,
      () => 'all',
      () => waitAnswer(503, 1000),
    ),
  ]),
  // Part 8 does not show rate limits; Basic credentials and tokens go on, and the key works again after the wait.
  // Signatures that name such a key get 429 for four seconds.
  'eight-wrong-signatures-make-signers-of-the-key-wait': by.seventh('limits/lock-out limits/rate', [
    lock({ of: signer, isWrong: (answer) => errorCode(answer) === 24879, tries: 8, lockMs: 4000 }),
  ]),
  // Part 8 does not show rate limits, and no sentence says that the service answers at every time.
  // For one second of each minute there is a page with 503 and Retry-After; refusals have no body.
  'second-thirty-of-each-minute-is-for-maintenance': by.seventh(
    'limits/rate errors/shape errors/http-status errorBody=none',
    [
      calls((call) =>
        Math.floor(call.nowMs / 1000) % 60 === 30 ? waitAnswer(503, 1000, '<h1>Back soon</h1>') : undefined,
      ),
    ],
  ),
  // Part 8 does not show rate limits, and part 7 does not show what an error says.
  // The seventh grant of a key in two seconds gets 429 with the error of a wrong secret.
  'throttled-grants-look-like-a-wrong-secret': by.tenth('limits/rate errors/codes errors/shape', [
    throttle({
      calls: 6,
      withinMs: 2000,
      of: (call) => (call.isGrant ? String(call.params.apiKeyId) : undefined),
      locked: waitLike(24876, 'Invalid credentials'),
    }),
  ]),
  // Part 8 does not show rate limits. The limit of ten keys is another one, though the error is the same.
  // The fourth creation in five seconds gets 429 and the error of the eleventh key.
  'throttled-creations-look-like-the-key-limit': by.tenth('limits/rate keys/limit-exceeded errors/codes', [
    throttle({ calls: 3, withinMs: 5000, of: ofMethod(create), locked: waitLike(24877, 'Api keys limit exceeded') }),
  ]),
  // Part 8 does not show rate limits, and part 2 does not show what using a session name again does.
  // The name of a session joins it, and a fifth grant of this name in five seconds gets 429.
  'session-name-granted-four-times-in-five-seconds': by.tenth(
    'limits/rate sessions/reused-name reusedSessionName=joins',
    [
      throttle({
        calls: 4,
        withinMs: 5000,
        of: (call) => (call.is(auth) ? sessionWord(call) : undefined),
      }),
    ],
  ),
  // Part 7 does not show the outcome of rejected credentials; the lock ends by itself.
  // A key waits one second after five wrong tries, then two, four and eight, until a right one comes.
  'lock-doubles-with-every-five-wrong-tries': by.tenth('limits/lock-out limits/rate errors/http-status', [
    lockLongerEachTime,
  ]),
  // Part 8 does not show rate limits. Whoever comes again at once is served.
  'every-fiftieth-call-must-come-again-at-once': by.reported('limits/rate', (_seen, next = counts()) =>
    calls(() => (next() % 50 === 0 ? { status: 503, headers: { 'retry-after': '0' }, body: '' } : undefined)),
  ),
  // Part 7 does not show the outcome of rejected credentials, nor what its error says.
  // For two seconds after seven wrong tries in a row, a key is refused like one that was deleted.
  'locked-key-is-said-not-to-exist': by.tenth('limits/lock-out errors/outcomes errors/codes', [
    lock({ tries: 7, lockMs: 2000, locked: locked(24875, 'Api key does not exist') }),
  ]),
  // Part 7 does not show the outcome of rejected credentials. Basic, signatures and tokens go on during the lock.
  // After six wrong grants in a row, even a right grant of the key has a wrong secret for two seconds.
  'wrong-grants-lock-only-the-grants-of-a-key': by.tenth('limits/lock-out errors/outcomes', [
    lock({
      of: (call) => (call.isGrant ? call.keyId : undefined),
      tries: 6,
      lockMs: 2000,
      locked: locked(24876, 'Invalid credentials'),
    }),
  ]),
  // Part 7 does not show the outcome of a credential that names no key.
  // Eight unknown key ids within ten seconds close the service to their address for two seconds, with 403.
  'guessed-key-ids-ban-their-address': by.tenth('limits/lock-out errors/http-status errors/shape', [
    lock({
      of: addressOf,
      isWrong: (answer, call) =>
        !isAccepted(answer) && call.keyId !== undefined && !call.state.keys.has(call.keyId ?? ''),
      tries: 8,
      withinMs: 10_000,
      lockMs: 2000,
      locked: () => ownAnswer(403, '<h1>Access from your address denied</h1>', html),
    }),
  ]),
  // Part 8 does not show rate limits. Of several refreshes with one token one succeeds, and the rest fail when they come again.
  // A refresh locks its row, and others with the same token get 503; the end of the line stays.
  'refresh-in-work-makes-the-others-come-again': by.tenth(
    'limits/rate refresh/lifetime-renewed errors/http-status refreshLifetime=kept',
    [
      atOnce(
        1,
        (call) => (call.isRefresh ? String(call.params.refreshToken) : undefined),
        () => waitAnswer(503, 1000),
      ),
    ],
  ),
  // Part 8 shows neither rate limits nor lifetimes. The token is not refused, and short-lived ones need not wait.
  // Tokens take 300 ms to reach every node; until then there is 503. Access lasts for five minutes.
  'young-tokens-must-come-again-a-moment-later': by.eleventh('limits/rate limits/token-lifetimes accessLifeMs=300000', [
    calls((call) => {
      const pair = call.shownPair
      const leftMs = (pair?.issuedMs ?? 0) + 300 - call.nowMs
      return pair && leftMs > 0 && pair.accessExpiryMs - pair.issuedMs >= 10_000 ? waitAnswer(503, leftMs) : undefined
    }),
  ]),
  // Part 7 does not show the outcome of a rejected token, scope or address. The refresh token goes on.
  // A token that was refused for its scope or address gets the same refusal for two seconds, everywhere.
  'gateway-remembers-refused-tokens-for-two-seconds': by.eleventh('tokens/after-misuse errors/outcomes', [
    answeredAgain({
      forMs: 2000,
      as: (call) => (call.is(auth) ? undefined : call.token || undefined),
      stored: (answer) => errorCode(answer) === 24878 || errorCode(answer) === 24879,
    }),
  ]),
  // Part 8 does not show rate limits, nor which answers count; right calls are not limited.
  // The sixth refusal with the same error code in two seconds is 429; other refusals have a count of their own.
  'five-refusals-of-one-kind-in-two-seconds': by.eleventh(
    'limits/rate limits/lock-out errors/http-status refusalStatus=http',
    (seen, kinds = table<number[]>()) =>
      answers((answer) => {
        if (isAccepted(answer)) return answer
        const kind = errorCode(answer)
        const recentMs = (kinds.get(kind) ?? []).filter((ms) => ms > seen.nowMs - 2000)
        if (recentMs.length >= 5) return waitAnswer(429, (recentMs[0] ?? seen.nowMs) + 2000 - seen.nowMs)
        kinds.set(kind, [...recentMs, seen.nowMs])
        return answer
      }),
  ),
  // Part 8 does not show rate limits, and part 7 no outcome of a refused call that comes again.
  // The same header and bytes as those of a call refused within the last second get 429.
  'refused-call-sent-again-unchanged-must-wait': by.eleventh('limits/rate errors/outcomes', [
    answeredAgain({
      forMs: 1000,
      as: ({ authorization, request: { body } }) => JSON.stringify([authorization, body.toString('base64')]),
      stored: (answer) => !isAccepted(answer),
      give: () => waitAnswer(429, 1000),
    }),
  ]),
  // Part 8 shows neither rate limits nor request size limits.
  // Everyone together sends 6,000 bytes in two seconds, and a body has at most 16 KiB.
  'bytes-of-bodies-are-limited-and-not-calls': by.eleventh(
    'limits/rate limits/request-size signatures/large-body maxBodyBytes=16384',
    // A body above 6,000 bytes must come alone.
    (seen, recent: { atMs: number; bytes: number }[] = []) =>
      calls(({ request: { body } }) => {
        recent = recent.filter(({ atMs }) => atMs > seen.nowMs - 2000)
        const sum = recent.reduce((total, { bytes }) => total + bytes, body.length)
        if (recent.length > 0 && sum > 6000) return waitAnswer(429, 2000)
        recent.push({ atMs: seen.nowMs, bytes: body.length })
        return undefined
      }),
  ),
  // Part 8 does not show rate limits, nor what they count.
  // A fourth key id from one address within two seconds gets 429, whether the key exists or not.
  'an-address-works-for-three-keys-in-two-seconds': by.eleventh(
    'limits/rate limits/lock-out',
    (seen, addresses = table<Map<string, number>>()) =>
      calls((call) => {
        const id = call.keyId
        if (id === undefined) return undefined
        const known = [...(addresses.get(addressOf(call)) ?? [])]
        const recent = new Map(known.filter(([, ms]) => ms > seen.nowMs - 2000))
        addresses.set(addressOf(call), recent)
        if (!recent.has(id) && recent.size >= 3)
          return waitAnswer(429, Math.min(...recent.values()) + 2000 - seen.nowMs)
        recent.set(id, seen.nowMs)
        return undefined
      }),
  ),
  // Part 8 does not show limits of calls in flight. One of the calls is carried out, and the others change nothing.
  // Of grants, refreshes and creations that a key has in flight together, one is carried out; the rest get 409.
  'writes-of-one-key-in-flight-together-conflict': by.eleventh('limits/rate errors/http-status errors/codes', [
    atOnce(1, writerOf, (call) => errorAnswer(call, 409, 40901, 'The record was changed by another call')),
  ]),
}
