import type { Session, TokenPair } from '../../state.ts'
import { chain } from '../answers.ts'
import { paramsOf, scopeOf } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'
import { waitAnswer } from './eleventh-limits.ts'

type Parts = ReturnType<NonNullable<IndependentVariant['create']>>

/** Uses of sessions are noted in steps of this length, as where a database should not be written in every call. */
const stepMs = 10_000

const lastStep = ({ lastUsedMs }: Session): number => Math.floor(lastUsedMs / stepMs)

/** The name of a session that had to leave can be granted again after `restMs`. */
function restNames(restMs: number): Parts {
  const seen = watch(() => new Map<string, number>())
  const nameOf = (user: string, name: string): string => JSON.stringify([user, name])
  const rest: Around = (handle) => (request) => {
    const word = scopeOf(request).find((one) => one.startsWith('session:'))
    if (word === undefined || !isMethod(request, 'manager/auth')) return handle(request)
    const name = nameOf(String(paramsOf(request).apiKeyId), word.slice('session:'.length))
    const leftMs = (seen.memory.get(name) ?? 0) - seen.nowMs
    return leftMs > 0 ? waitAnswer(429, leftMs) : handle(request)
  }
  return {
    around: chain(rest, seen.around),
    rules: {
      sessionsRemoved: (live, surplus) => {
        const leaving = live.slice(0, surplus)
        for (const { user, name = '' } of leaving) seen.memory.set(nameOf(user, name), seen.nowMs + restMs)
        return leaving
      },
    },
  }
}

/** Reads a text like a part of a URL; a text that is not one stays as it is. */
function decodePercents(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The clock of this server runs fast by a twentieth and is set right every five seconds. */
const setClockBack: Around = (handle, context) => {
  const { now } = context
  context.now = () => {
    const nowMs = now()
    return nowMs + Math.floor((nowMs % 5000) / 20)
  }
  return handle
}

/** A token that was refused as expired stays so when the clock is set back. */
function keepExpired(): Parts {
  const ended = { access: new WeakSet<TokenPair>(), refresh: new WeakSet<TokenPair>() }
  const isOver = (pairs: WeakSet<TokenPair>, pair: TokenPair, isExpired: boolean): boolean => {
    if (isExpired) pairs.add(pair)
    return pairs.has(pair)
  }
  return {
    around: setClockBack,
    rules: {
      accessExpired: (pair, nowMs) => isOver(ended.access, pair, nowMs >= pair.accessExpiryMs),
      refreshExpired: (pair, nowMs) => isOver(ended.refresh, pair, nowMs >= pair.refreshExpiryMs),
    },
  }
}

/** Parts 2, 3, 5.1 and 5.4: sessions, and the clock by which they age. */
export const eleventhSessionVariants: IndependentVariant[] = [
  // Part 3 does not show whether the oldest session is the one unused longest, nor how exactly a use is noted.
  {
    id: 'uses-of-sessions-are-noted-in-steps-of-ten-seconds',
    questions: ['sessions/age', 'sessions/reused-name'],
    about: 'The longest unused session leaves; of sessions last used in the same ten seconds the first created one.',
    profile: { reusedSessionName: 'joins' },
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus) =>
          [...live].sort((one, other) => lastStep(one) - lastStep(other)).slice(0, surplus),
      },
    }),
  },
  // Part 8 does not show rate limits, and part 2 does not show what using a session name again does.
  {
    id: 'name-of-a-removed-session-rests-for-two-seconds',
    questions: ['sessions/reused-name', 'limits/rate'],
    about: 'The name of a session that left for the 17th gets 429 for two seconds; a live name can be there twice.',
    profile: { reusedSessionName: 'adds' },
    create: () => restNames(2000),
  },
  // Part 5.4 calls NAME a given name and does not show its characters or their spelling.
  {
    id: 'session-names-are-decoded-like-urls',
    questions: ['sessions/name-rules', 'sessions/reused-name', 'grants/scope-echo'],
    about: 'The names a%2Db and a-b are one session, which grants join; the result repeats the words as they came.',
    profile: { reusedSessionName: 'joins', scopeEcho: 'as-requested' },
    create: () => ({
      rules: { sessionName: (name) => (name === undefined ? undefined : decodePercents(name)) },
    }),
  },
  // Part 5.1 does not show how exact the clock of the server is; every moment is off by less than a quarter of a second.
  {
    id: 'clock-set-back-a-quarter-second-every-five-seconds',
    questions: ['signatures/time-window', 'limits/token-lifetimes', 'signatures/nonce-reuse'],
    about: 'A later grant may report an earlier end, and a timestamp is at most twenty seconds off; nonces may repeat.',
    profile: { timeWindowMs: 20_000, nonceReuse: 'accepted', accessLifeMs: 120_000 },
    create: keepExpired,
  },
]
