import type { NonceMemory } from '../../nonces.ts'
import { rules as referenceRules } from '../../rules.ts'
import { chain, changeAnswers, httpDate } from '../answers.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'

const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

/** Replaces the memory of nonces before the first call, and again after a reset. */
function replaceNonces(replace: (nonces: NonceMemory) => Pick<NonceMemory, 'has' | 'add'>): Around {
  const replaced = createMemory(({ state }) => {
    const nonces = state.nonces
    state.nonces = { ...replace(nonces), size: 0, forgotten: 0 }
    return {}
  })
  return (handle, context) => (request) => {
    replaced(context)
    return handle(request)
  }
}

const rememberFor = (ms: number) =>
  replaceNonces((nonces) => ({
    has: nonces.has,
    add: (nonce, _untilMs, nowMs) => nonces.add(nonce, nowMs + ms, nowMs),
  }))

const withoutDate = changeAnswers((answer) => {
  const { date: _date, ...headers } = answer.headers
  return { ...answer, headers }
})

const isInteger = (timestamp: string) => /^[0-9]{1,15}$/.test(timestamp)

/** Part 5.1: nonces, timestamps and the clock of the server. */
export const signatureVariants: IndependentVariant[] = [
  {
    id: 'nonce-8-to-64-of-base64',
    questions: ['signatures/nonce-length', 'signatures/nonce-padding'],
    about: 'A nonce has 8 to 64 characters of BASE64, and the padding pair is taken.',
    profile: { noncePadding: 'accepted', nonceMaxLength: 64 },
    create: () => ({ rules: { nonceTaken: (nonce) => /^[A-Za-z0-9+/]{8,64}={0,2}$/.test(nonce) } }),
  },
  {
    id: 'nonce-any-text-of-any-length',
    questions: ['signatures/nonce-length', 'signatures/nonce-reuse', 'signatures/time-window'],
    about: 'A nonce may be empty or long and be used again, and no timestamp is too far off.',
    profile: { nonceReuse: 'accepted', nonceMaxLength: 8000 },
    create: () => ({
      rules: { nonceTaken: (nonce) => nonce.length <= 8000, timestampTaken: isInteger },
    }),
  },
  {
    id: 'nonce-remembered-for-five-seconds',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'A nonce is refused again for five seconds, unless its signature was wrong.',
    profile: { nonceBurntByBadSignature: false },
    create: () => ({ around: rememberFor(5 * second) }),
  },
  {
    id: 'nonce-remembered-for-a-day-window-of-a-day',
    questions: ['signatures/nonce-reuse', 'signatures/time-window'],
    profile: { timeWindowMs: day },
    create: () => ({ around: rememberFor(2 * day) }),
  },
  {
    id: 'nonce-once-for-each-key',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt', 'signatures/nonce-padding'],
    about: 'Two keys may use one nonce; the padding pair is taken, and both spellings are one nonce.',
    profile: { noncePadding: 'accepted', nonceBurntByBadSignature: false },
    create() {
      let keyId = ''
      const named = (nonce: string) => `${keyId} ${nonce.replace(/=+$/, '')}`
      return {
        around: replaceNonces((nonces) => ({
          has: (nonce, nowMs) => nonces.has(named(nonce), nowMs),
          add: (nonce, untilMs, nowMs) => nonces.add(named(nonce), untilMs, nowMs),
        })),
        rules: {
          // A signature is verified without a pause, so the nonce that follows belongs to this key.
          headerFields(credentials) {
            const fields = referenceRules.headerFields(credentials)
            keyId = fields[0] ?? ''
            return fields
          },
        },
      }
    },
  },
  {
    id: 'nonce-reused-after-wrong-signature-unpadded-signature',
    questions: ['signatures/nonce-burnt', 'signatures/base64-padding', 'signatures/nonce-padding'],
    profile: { nonceBurntByBadSignature: false, unpaddedSignatures: 'accepted', noncePadding: 'accepted' },
  },
  {
    id: 'nonce-replay-accepted-in-short-window',
    questions: ['signatures/nonce-reuse', 'signatures/time-window', 'signatures/nonce-padding'],
    about: 'Within five seconds either way a request may be repeated.',
    profile: { nonceReuse: 'accepted', timeWindowMs: 5 * second, noncePadding: 'accepted' },
  },
  {
    id: 'timestamp-not-in-future',
    questions: ['signatures/time-window', 'signatures/nonce-length'],
    about: 'A timestamp is at most a minute old and at most a second ahead; a nonce has at least eight characters.',
    create: () => ({
      rules: {
        nonceTaken: (nonce, profile) => nonce.length >= 8 && referenceRules.nonceTaken(nonce, profile),
        timestampTaken(timestamp, nowMs) {
          const ageMs = nowMs - Number(timestamp)
          return isInteger(timestamp) && ageMs <= minute && ageMs >= -second
        },
      },
    }),
  },
  {
    id: 'timestamp-13-digits-exactly',
    questions: ['signatures/time-window'],
    about: 'A timestamp has 13 digits and is less than a minute off.',
    profile: { timeWindowMs: minute },
    create: () => ({
      rules: {
        timestampTaken: (timestamp, nowMs, profile) =>
          timestamp.length === 13 &&
          !timestamp.startsWith('0') &&
          referenceRules.timestampTaken(timestamp, nowMs, profile),
      },
    }),
  },
  {
    id: 'timestamp-with-leading-zeros',
    questions: ['signatures/time-window'],
    about: 'Any number of leading zeros is taken, and a time of seconds as well as of milliseconds.',
    create: () => ({
      rules: {
        timestampTaken(timestamp, nowMs, profile) {
          const digits = timestamp.replace(/^0+(?=.)/, '')
          return [digits, `${digits}000`].some((ms) => referenceRules.timestampTaken(ms, nowMs, profile))
        },
      },
    }),
  },
  {
    id: 'timestamp-of-any-time',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'No timestamp is too far off, and a nonce is good once.',
    create: () => ({ rules: { timestampTaken: isInteger }, around: rememberFor(3650 * day) }),
  },
  {
    id: 'clock-four-minutes-behind-window-30-seconds',
    questions: ['signatures/time-window', 'limits/token-lifetimes'],
    about: 'The clock is four minutes behind, as the Date header shows, and timestamps may be 30 seconds off.',
    profile: { clockOffsetMs: -4 * minute, timeWindowMs: 30 * second },
  },
  {
    id: 'clock-four-minutes-behind-without-date',
    questions: ['signatures/time-window', 'limits/token-lifetimes', 'refresh/expires-in-kept'],
    about: 'The clock is four minutes behind and no Date header shows it; timestamps may be ten minutes off.',
    profile: { clockOffsetMs: -4 * minute, expiresInKept: false },
    create: () => ({ around: withoutDate }),
  },
  {
    id: 'date-header-absent-time-of-any-kind',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'No Date header, timestamps of any time, and nonces as often as wanted.',
    profile: { nonceReuse: 'accepted' },
    create: () => ({ around: withoutDate, rules: { timestampTaken: isInteger } }),
  },
  {
    id: 'date-header-behind-window-five-seconds',
    questions: ['signatures/time-window', 'signatures/nonce-reuse'],
    about: 'The Date header is 1.2 seconds behind, timestamps may be five seconds off, nonces are remembered for ten.',
    profile: { timeWindowMs: 5 * second },
    create: () => ({
      around: chain(
        rememberFor(10 * second),
        changeAnswers((answer, _request, context) => ({
          ...answer,
          headers: { ...answer.headers, date: httpDate(context.now() - 1200) },
        })),
      ),
    }),
  },
  {
    id: 'signed-bodies-of-2-kib',
    questions: ['signatures/large-body', 'limits/request-size', 'errors/shape'],
    about: 'A body above 2 KiB is refused with 413, signed or not; refusals have no body.',
    profile: { maxBodyBytes: 2048, errorBody: 'none' },
  },
]
