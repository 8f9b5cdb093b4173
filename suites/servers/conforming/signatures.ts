import type { ServerContext } from '../../../mock-server/context.ts'
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import { rules as reference } from '../../../mock-server/rules.ts'
import { answeredAgain, answerThrough, before, chain, meets } from '../around.ts'
import { type Call, isAccepted } from '../call.ts'
import { onAccepted } from '../events.ts'
import { type Change, counts, hour, marks, minute, type Seen, table } from '../rows.ts'
import { dated, httpDate, waitAnswer, withoutDate } from './answers.ts'
import { errorCode } from './errors.ts'
import { by, type ConformingRows, isOfLiveKey, signatureFields } from './rows.ts'

interface NonceStore {
  /** How a nonce is written; two that are written alike count as one. */
  as?: (nonce: string, call: Call) => string
  /** Nonces of different groups do not meet. */
  of?: (call: Call) => string | number
  /** Whether the nonce of a call with this answer is used up; by default always. */
  stored?: (answer: MockAnswer) => boolean
  keptMs?: number
  /** How many of the last nonces of a group are known. */
  last?: number
}

/** A store of nonces that replaces that of the reference server. */
export const nonces =
  ({ as = (nonce) => nonce, of = () => '', stored = () => true, keptMs, last = 100_000 }: NonceStore) =>
  (seen: Seen, groups = new Map<string | number, { text: string; ms: number }[]>()): Change => {
    let group: string | number = ''
    const known = () => (groups.get(group) ?? []).filter(({ ms }) => keptMs === undefined || ms > seen.nowMs - keptMs)
    return {
      around: meets(async (call, next) => {
        const mine = of(call)
        group = mine
        const nonce = signatureFields(call)[3]
        const used = nonce === undefined ? undefined : { text: as(nonce, call), ms: call.nowMs }
        const answer = await next()
        group = mine
        if (used !== undefined && stored(answer)) groups.set(group, [...known(), used].slice(-last))
        return answer
      }),
      nonceTaken: (nonce, profile) =>
        reference.nonceTaken(nonce, profile) && !known().some(({ text }) => text === as(nonce, seen)),
      usedNonceTaken: () => true,
    }
  }

/** The timestamps that are taken: 13 digits, not older and not further ahead than this. */
const timestamps = (oldMs: number, aheadMs: number): Change => ({
  timestampTaken: (timestamp, nowMs) =>
    /^[0-9]{13}$/.test(timestamp) && Number(timestamp) >= nowMs - oldMs && Number(timestamp) <= nowMs + aheadMs,
})

/** The clock of the server, changed by a function of the right time. */
function clock(change: (nowMs: number) => number): Change {
  const changed = new WeakSet<ServerContext>()
  return {
    around: (handle, context) => {
      const { now } = context
      // A reset of a server wraps its handler again, and keeps its clock.
      if (!changed.has(context)) context.now = () => change(now())
      changed.add(context)
      return handle
    },
  }
}

/** Timestamps that are integers and fit, whatever else the reference server asks for. */
const timestampsWith = (isTaken: (ms: number, nowMs: number) => boolean): Change => ({
  timestampTaken: (timestamp, nowMs, profile) =>
    reference.timestampTaken(timestamp, nowMs, profile) && isTaken(Number(timestamp), nowMs),
})

const unpadded = (nonce: string): string => nonce.replace(/=+$/, '')
const padded = (text: string): string => text.padEnd(Math.ceil(text.length / 4) * 4, '=')
const keyName = (call: Call): string => call.keyId ?? ''

/** What others have long used as a nonce: short texts, usual words with a number, rows of letters, few letters over and over. */
function isCommon(nonce: string): boolean {
  const isWord = /^(my|test|example|random|some)?[-_]?(nonce|random|secret|value)?[-_]?\d{0,6}$/i.test(nonce)
  const isRow = ['0123456789', '1234567890', 'abcdefgh'].some((row) => nonce.toLowerCase().startsWith(row))
  return nonce.length <= 6 || isWord || isRow || new Set(nonce).size <= 3
}

/** The bytes of a MAC in BASE64. Padding may be missing, and the two spare bits do not matter. */
const macBytes = (text: string): Buffer | undefined =>
  /^[A-Za-z0-9+/]{27}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
/** The old form of RFC 850: `Thursday, 01-Jan-26 00:00:00 GMT`. */
function obsoleteDate(nowMs: number): string {
  const [, day, month, year = '', time] = httpDate(nowMs).split(' ')
  return `${days[new Date(nowMs).getUTCDay()]}, ${day}-${month}-${year.slice(2)} ${time} GMT`
}

/** Part 5.1: signatures, nonces, timestamps and the clock of the server. */
export const signaturesRows: ConformingRows = {
  'nonces-reusable': by.own('signatures/nonce-reuse nonceReuse=accepted'),
  'nonces-kept-by-bad-signatures': by.own('signatures/nonce-burnt nonceBurntByBadSignature=false'),
  'sample-padding-taken': by.own('signatures/nonce-padding noncePadding=accepted'),
  'unpadded-signatures-taken': by.own('signatures/base64-padding unpaddedSignatures=accepted'),
  'nonces-of-24-characters-at-most': by.own('signatures/nonce-length nonceMaxLength=24'),
  'long-nonces-taken': by.own('signatures/nonce-length nonceMaxLength=1024'),
  'narrow-time-window': by.own('signatures/time-window timeWindowMs=30000'),
  'wide-time-window': by.own('signatures/time-window timeWindowMs=86400000'),
  'scheme-of-its-own': by.own('scheme=x-svc-hmac'),
  'scheme-words-in-any-case': by.own('signatures/scheme-case schemeCase=any'),
  'clock-ahead': by.own('signatures/time-window clockOffsetMs=420000'),
  'clock-behind': by.own('signatures/time-window clockOffsetMs=-420000'),
  'clock-hours-ahead': by.own('signatures/time-window clockOffsetMs=11400000'),
  'further-header-fields-ignored': by.own('', { fieldCountTaken: (count) => count >= 5 }),
  'timestamps-as-numbers': by.own('signatures/timestamp-spelling alone', {
    dataToSign: (parts) => reference.dataToSign({ ...parts, timestamp: String(Number(parts.timestamp)) }),
  }),
  'timestamps-of-the-future-refused': by.own('signatures/time-window', [timestampsWith((ms, nowMs) => ms <= nowMs)]),
  // Marks of padding say nothing, however many there are, as in the decoder of Python.
  'padding-ignored': by.reported('signatures/base64-padding unpaddedSignatures=accepted', {
    basicPair: (encoded) => reference.basicPair(padded(unpadded(encoded))),
    macTextMatches: (received, expected) => reference.macTextMatches(unpadded(received), unpadded(expected)),
    eccSignatures: (received, profile) => reference.eccSignatures(unpadded(received), profile),
  }),
  // A nonce may be empty or long and be used again, and no timestamp is too far off.
  'nonce-any-text-of-any-length': by.first(
    'signatures/nonce-length signatures/nonce-reuse signatures/time-window nonceReuse=accepted nonceMaxLength=8000',
    { timestampTaken: (timestamp) => /^[0-9]{1,15}$/.test(timestamp), nonceTaken: (nonce) => nonce.length <= 8000 },
  ),
  // A nonce is refused again for five seconds, unless its signature was wrong.
  'nonce-remembered-for-five-seconds': by.first(
    'signatures/nonce-reuse signatures/nonce-burnt nonceBurntByBadSignature=false',
    // A nonce is used up unless the authorization was refused.
    nonces({ keptMs: 5000, stored: (answer) => errorCode(answer) !== 24879 }),
  ),
  // The clock is four minutes behind and no Date header shows it; timestamps may be ten minutes off.
  'clock-four-minutes-behind-without-date': by.first(
    'signatures/time-window limits/token-lifetimes refresh/expires-in-kept clockOffsetMs=-240000 expiresInKept=false',
    [withoutDate],
  ),
  // The Date header is 1.2 seconds behind, timestamps may be five seconds off, nonces are remembered for ten.
  'date-header-behind-window-five-seconds': by.first(
    'signatures/time-window signatures/nonce-reuse timeWindowMs=5000',
    [nonces({ keptMs: 10_000 }), dated((nowMs) => nowMs - 1200)],
  ),
  // A nonce may be used again with another timestamp or by another key, within a window of two minutes.
  'nonce-remembered-with-key-and-timestamp': by.second(
    'signatures/nonce-reuse signatures/time-window nonceReuse=accepted timeWindowMs=120000',
    [nonces({ of: (call) => signatureFields(call).slice(0, 3).join(';') })],
  ),
  // A timestamp is at most five seconds before the last accepted one of its key, and one second in the future.
  'timestamps-not-far-behind-the-last-of-their-key': by.third(
    'signatures/time-window',
    (seen, lastMs = table<number>()) => ({
      ...onAccepted((call) => {
        const [, , timestamp] = signatureFields(call)
        const id = keyName(call)
        if (timestamp !== undefined) lastMs.set(id, Math.max(lastMs.get(id) ?? 0, Number(timestamp)))
      }),
      timestampTaken: (timestamp, nowMs) => {
        const ms = Number(timestamp)
        const earliestMs = (lastMs.get(keyName(seen)) ?? 0) - 5000
        return /^[0-9]{13}$/.test(timestamp) && ms >= earliestMs && ms >= nowMs - 600_000 && ms <= nowMs + 1000
      },
    }),
  ),
  'date-header-in-obsolete-form': by.fifth('signatures/time-window', [dated(obsoleteDate)]),
  // A nonce is BASE64 of 16 bytes at least, a timestamp is at most 5 s old or 2 s ahead, and the clock is behind.
  'nonces-of-16-bytes-and-timestamps-of-five-seconds': by.sixth(
    'signatures/nonce-length signatures/time-window clockOffsetMs=-1200000 closeConnections=true',
    [
      timestamps(5000, 2000),
      {
        nonceTaken: (nonce) => /^[A-Za-z0-9+/]{22,64}={0,2}$/.test(nonce) && Buffer.from(nonce, 'base64').length >= 16,
      },
    ],
  ),
  // The same header is refused the second time; a nonce can come again in another signature.
  'signatures-and-not-nonces-are-used-once': by.sixth(
    'signatures/nonce-reuse signatures/base64-padding nonceReuse=accepted unpaddedSignatures=accepted',
    // A repeated signature is changed, so that it is wrong.
    (_seen, used = marks()) => ({
      around: chain(
        onAccepted(({ isSigned, authorization = '' }) => isSigned && used.add(authorization)).around,
        before((call) => {
          const { authorization = '' } = call
          return used.has(authorization) ? call.withAuthorization(`${authorization}used`) : undefined
        }),
      ),
    }),
  ),
  // The battery of the clock is empty; refresh tokens live for a year, and so do access tokens.
  'clock-twenty-years-ahead': by.sixth(
    'signatures/time-window limits/token-lifetimes',
    'clockOffsetMs=630720000000 accessLifeMs=31536000000 refreshLifeMs=31536000000',
  ),
  // Times are stored and compared in full seconds, so every expiry is one.
  'clock-that-ticks-once-a-second': by.sixth(
    'limits/token-lifetimes signatures/time-window timeWindowMs=30000 expiryRounding=up-to-second',
    [clock((nowMs) => Math.floor(nowMs / 1000) * 1000)],
  ),
  // Machines in one rack have one time, and a few of them are fast.
  'timestamps-one-second-old-or-three-ahead': by.sixth('signatures/time-window signatures/timestamp-spelling', [
    timestamps(1000, 3000),
  ]),
  // A timestamp is only signed: it has a sign or not and any number of digits, and nonces may repeat.
  'timestamps-may-be-any-integer': by.sixth(
    'signatures/time-window signatures/timestamp-spelling signatures/nonce-reuse nonceReuse=accepted',
    [{ timestampTaken: (timestamp) => /^[+-]?[0-9]+$/.test(timestamp) }],
  ),
  // Every second answer comes from a node that is fast; both share the times of tokens.
  'two-nodes-with-clocks-four-minutes-apart': by.sixth(
    'signatures/time-window envelope/content-type',
    (_seen, next = counts(), aheadMs = 0) => ({
      around: chain(
        before(() => {
          aheadMs = next() % 2 === 0 ? 240_000 : 0
          return undefined
        }),
        answerThrough((answer, call) => ({
          ...answer,
          headers: { ...answer.headers, date: httpDate(call.nowMs + aheadMs) },
        })),
      ),
      timestampTaken: (timestamp, nowMs, profile) =>
        /^[0-9]{13}$/.test(timestamp) && Math.abs(Number(timestamp) - nowMs - aheadMs) < profile.timeWindowMs,
    }),
  ),
  // Somebody sets the clock of the front end; the server has the right time and takes two hours either way.
  'date-header-jumps-back-an-hour-after-thirty-answers': by.sixth(
    'signatures/time-window errors/id timeWindowMs=7200000 errorId=none',
    [dated((nowMs, count) => (count > 30 ? nowMs - hour : nowMs))],
  ),
  // Part 5.1 does not show uniqueness rules of nonces.
  // Each method has a list of nonces of its own.
  'nonces-once-for-each-method': by.seventh('signatures/nonce-reuse signatures/nonce-burnt', [
    nonces({ of: (call) => String(call.method) }),
  ]),
  // Part 5.1 does not show uniqueness rules of nonces, nor how far a timestamp may be off.
  // The record of a key has one field for a nonce, so the one before can come again within 20 seconds.
  'only-the-last-nonce-of-a-key-is-remembered': by.seventh(
    'signatures/nonce-reuse signatures/time-window timeWindowMs=20000',
    [nonces({ of: (call) => call.keyId ?? '', last: 1 })],
  ),
  // Part 5.1 does not show uniqueness rules of nonces; the repeated request is signed rightly and does nothing new.
  // Whoever sends the same signed bytes within five seconds gets the same answer, also for a creation.
  'same-signed-request-gets-its-answer-again': by.seventh(
    'signatures/nonce-reuse signatures/nonce-burnt nonceBurntByBadSignature=false',
    [
      answeredAgain({
        forMs: 5000,
        as: ({ isSigned, authorization, request: { method, target, body } }) =>
          isSigned ? JSON.stringify([method, target, authorization, body.toString('base64')]) : undefined,
        isGood: isOfLiveKey,
        give: (answer) => ({ ...answer, headers: { ...answer.headers, 'x-replayed': '1' } }),
      }),
    ],
  ),
  // Parts 5.2 and 5.3 show the words of the header; HTTP itself allows several blanks behind a scheme word.
  // Blanks behind Basic and Bearer are skipped, and no scheme word has a letter case.
  'several-blanks-behind-basic-and-bearer-taken': by.seventh('tokens/spelling signatures/scheme-case schemeCase=any', {
    headerOf: ({ headers }) => headers.authorization?.replace(/^(Basic|Bearer) +/i, '$1 '),
  }),
  // Part 5.1 does not show length and uniqueness rules of nonces.
  // The column for nonces cuts them off, so two with the same first half may be one; wrong calls count too.
  'nonces-are-unique-in-their-first-16-characters': by.tenth(
    'signatures/nonce-reuse signatures/nonce-length signatures/nonce-burnt',
    [nonces({ as: (nonce) => nonce.slice(0, 16) })],
  ),
  // Part 5.1 does not show uniqueness rules of nonces.
  // The nonce is stored with the work of a call, so one that fails for its params or scope leaves it free.
  'nonces-of-refused-calls-may-come-again': by.tenth('signatures/nonce-reuse signatures/nonce-burnt', [
    nonces({ stored: isAccepted }),
  ]),
  // Part 5.1 does not show how far a timestamp may be off, nor that it is the same for every method.
  // A signed creation is good for three seconds, other calls for five minutes; nonces may repeat.
  'creations-need-a-timestamp-of-three-seconds': by.tenth(
    'signatures/time-window signatures/nonce-reuse nonceReuse=accepted',
    (seen) => ({
      timestampTaken: (timestamp, nowMs, profile) =>
        reference.timestampTaken(timestamp, nowMs, { ...profile, timeWindowMs: seen.creates ? 3000 : 5 * minute }),
    }),
  ),
  // Part 5.1 asks for BASE64 of 20 bytes. Readers of BASE64 may ignore spare bits (RFC 4648, 3.5), and padding is open.
  // The same 20 bytes are taken with and without padding and with any spare bits; other bytes are not.
  'macs-are-decoded-before-they-are-compared': by.tenth(
    'signatures/base64-padding signatures/nonce-padding noncePadding=accepted',
    [
      {
        macTextMatches: (received, expected) => {
          const bytes = macBytes(received)
          return bytes !== undefined && macBytes(expected)?.equals(bytes) === true
        },
      },
    ],
  ),
  // Part 5.1 does not show how far a timestamp may be off.
  // A timestamp is at most ten minutes off and not older than its created key; nonces may repeat.
  'timestamps-from-before-their-key-are-refused': by.eleventh(
    'signatures/time-window signatures/nonce-reuse nonceReuse=accepted',
    [
      (seen) =>
        timestampsWith((ms) => seen.named === undefined || seen.named.initial || ms >= seen.named.createdMs - 2000),
    ],
  ),
  // Part 5.1: "how far a timestamp may differ from server time: not shown", nor how a caller learns that time.
  // The Date header is right, missing, and given in +0200; a timestamp is at most fifteen seconds off.
  'date-header-in-another-zone-or-missing-in-turn': by.twelfth(
    'signatures/time-window signatures/nonce-reuse timeWindowMs=15000 nonceReuse=accepted',
    [dated((nowMs, count) => [undefined, nowMs, httpDate(nowMs + 2 * hour).replace('GMT', '+0200')][count % 3])],
  ),
  // Part 5.1: "Nonce length and uniqueness rules [...]: not shown." The sample has one nonce with and without padding.
  // A nonce that came once, with whatever key, padding and outcome, is never taken again, years later either.
  'nonces-are-used-up-for-ever-for-every-key': by.twelfth(
    'signatures/nonce-reuse signatures/nonce-burnt signatures/nonce-padding noncePadding=accepted',
    [nonces({ as: unpadded })],
  ),
  // Part 5.1: "Nonce length and uniqueness rules [...]: not shown", nor that only the nonces of one caller count.
  // Short nonces, usual words and numbers, rows like abcdefgh and nonces of three different letters are used up.
  'common-nonces-were-used-by-others-before': by.twelfth('signatures/nonce-reuse signatures/nonce-length', {
    nonceTaken: (nonce, profile) => reference.nonceTaken(nonce, profile) && !isCommon(nonce),
  }),
  // Part 5.1: "Nonce length and uniqueness rules [...]: not shown."
  // Calls go to three nodes in turn, so a nonce that is repeated at once is taken, and the third time it is not.
  'three-nodes-remember-nonces-each-for-itself': by.twelfth(
    'signatures/nonce-reuse signatures/nonce-burnt',
    (seen, next = counts()) => nonces({ of: () => next() % 3 })(seen),
  ),
  // Part 5.1 does not show how long a nonce is remembered, and part 8 no limits. Tokens, sessions and keys stay.
  // Every fifteen seconds there is 503 for 300 ms, and what was signed before may be sent again.
  'restart-every-fifteen-seconds-forgets-nonces': by.twelfth(
    'signatures/nonce-reuse limits/rate errors/http-status',
    (seen, beganMs?: number) => {
      const upMs = () => seen.nowMs - (beganMs ?? seen.nowMs)
      const store = nonces({ of: () => Math.floor(upMs() / 15_000) })(seen)
      const down = before(() => {
        beganMs ??= seen.nowMs
        return upMs() >= 15_000 && upMs() % 15_000 < 300 ? waitAnswer(503, 300) : undefined
      })
      return { ...store, around: (handle, context) => down(store.around?.(handle, context) ?? handle, context) }
    },
  ),
  // Part 5.1 does not show how exact the clock of the server is. It is never off by more than a quarter of a second.
  // The clock is up to 250 ms behind and then ahead, without jumps; a timestamp is at most ten seconds off.
  'clock-goes-five-percent-too-fast-and-too-slow-in-turn': by.twelfth(
    'signatures/time-window limits/token-lifetimes timeWindowMs=10000 accessLifeMs=90000',
    [clock((nowMs) => nowMs + Math.floor(Math.min(nowMs % 20_000, 20_000 - (nowMs % 20_000)) / 20) - 250)],
  ),
}
