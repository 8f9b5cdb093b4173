import type { Session } from '../../../mock-server/state.ts'
import { before, calls, meets } from '../around.ts'
import { type Call, decodeEscapes, isAccepted, sessionIn } from '../call.ts'
import { onGrant } from '../events.ts'
import { type Change, type Changing, counts, day, hour, minute, table } from '../rows.ts'
import { waitAnswer } from './answers.ts'
import { errorAnswer } from './errors.ts'
import { by, type ConformingRows, noGrantWith, sessionWord } from './rows.ts'

/** Sessions are over at a time of their own, whatever the tokens of the session say. */
const endsAt =
  (endMs: (session: Session) => number): Changing =>
  (seen) => {
    const isOver = (session: Session | undefined) => session !== undefined && seen.nowMs >= endMs(session)
    return {
      // Checked before a session is opened, because a session that has ended cannot be joined.
      sessionName: (name) => {
        for (const session of [...seen.state.sessions.values()].flat()) {
          if (isOver(session)) session.removed = true
        }
        return name
      },
      issuedTokenWorks: (_kind, { session }) => !isOver(session),
    }
  }
const afterCreation = (lifeMs: number) => endsAt(({ createdMs }) => createdMs + lifeMs)
const nameRefused: Change = { reusedSessionName: () => 'refused' }
/** The live sessions that leave first. */
const leaves = (placeOf: (session: Session) => number): Change => ({
  sessionsRemoved: (live, surplus) => [...live].sort((one, other) => placeOf(one) - placeOf(other)).slice(0, surplus),
})
const wanted = (call: Call): string => sessionWord(call)?.slice('session:'.length) ?? ''

/** The names that another client gave to its sessions, the oldest one first. */
const namesOfOthers = 'main default test session web mobile app demo one two a b c s1 s2 my-session'.split(' ')

/** Parts 2, 3 and 5.4: who a user is, what counts as a session, and how long one lasts. */
export const sessionsRows: ConformingRows = {
  'every-grant-a-session': by.own('sessions/counting unnamedCountAsSessions=true'),
  'session-names-add': by.own('sessions/reused-name reusedSessionName=adds'),
  'session-names-join': by.own('sessions/reused-name reusedSessionName=joins'),
  'one-user-for-all-keys': by.own('sessions/user sessionUser=all-keys'),
  'longest-unused-session-removed': by.own('sessions/age oldestSession=longest-unused'),
  // All unnamed grants of a key join one session without a name, which counts as one of the sixteen.
  'sessions-one-default-session-joined': by.first(
    'sessions/counting sessions/reused-name unnamedCountAsSessions=true reusedSessionName=joins',
    [{ sessionName: (name) => name ?? '' }],
  ),
  // An unnamed grant opens the session without a name, and the next unnamed grant of the key replaces it.
  'sessions-one-default-session-replaced': by.first(
    'sessions/counting sessions/reused-name unnamedCountAsSessions=true reusedSessionName=replaces',
    [{ sessionName: (name) => name ?? '' }],
  ),
  // A name that a live session has is refused until that session is gone.
  'sessions-name-in-use-refused': by.first('sessions/reused-name sessions/age oldestSession=longest-unused', [
    nameRefused,
  ]),
  // Session names are compared without case and spaces at the ends, across all keys; the same name replaces.
  'sessions-names-in-any-case': by.first(
    'sessions/name-rules sessions/reused-name sessions/user reusedSessionName=replaces sessionUser=all-keys',
    [{ sessionName: (name) => name?.trim().toLowerCase() }],
  ),
  // A session ends when it was not used for 30 minutes; a refresh is a use of it.
  'sessions-end-when-idle': by.first(
    'sessions/lifetime sessions/age sessions/reused-name reusedSessionName=joins oldestSession=longest-unused',
    endsAt(({ lastUsedMs }) => lastUsedMs + 30 * minute),
    (seen) => ({
      refreshedSession: ({ session }) => {
        if (session) session.lastUsedMs = seen.nowMs
        return session
      },
    }),
  ),
  // The session that leaves is the one whose last pair of tokens was issued first; calls do not make it younger.
  'sessions-oldest-is-longest-without-refresh': by.first('sessions/age sessions/reused-name reusedSessionName=joins', [
    leaves(({ expiryMs }) => expiryMs),
  ]),
  'sessions-belong-to-an-address': by.third('sessions/user', (seen) => ({ sessionUser: () => seen.address })),
  // A grant for the name of a live session ends its tokens, but the session is as old as before.
  'session-opened-again-keeps-its-age': by.third(
    'sessions/age sessions/reused-name',
    (seen, next = counts(), named = table<Session>(), left = new WeakSet<Session>()) => {
      const ages = table<number>()
      const ageOf = (session: Session) => ages.get(session) ?? 0
      return {
        ...onGrant(({ session }) => {
          if (session === undefined) return
          const name = `${session.user} ${session.name}`
          const earlier = named.get(name)
          const isRenewed = earlier?.removed === true && earlier.expiryMs > seen.nowMs && !left.has(earlier)
          const age = next()
          ages.set(session, isRenewed ? ageOf(earlier) : age)
          named.set(name, session)
        }),
        sessionsRemoved: (live, surplus) => {
          const oldest = [...live].sort((one, other) => ageOf(one) - ageOf(other)).slice(0, surplus)
          for (const session of oldest) left.add(session)
          return oldest
        },
      }
    },
  ),
  // The tokens of a session are reported to end with it at the latest.
  'session-names-add-and-sessions-end-after-two-hours': by.third(
    'sessions/reused-name sessions/lifetime reusedSessionName=adds',
    [
      afterCreation(2 * hour),
      {
        reportedAccessExpiry: ({ accessExpiryMs, session }) =>
          Math.min(accessExpiryMs, (session?.createdMs ?? accessExpiryMs) + 2 * hour),
        reportedRefreshExpiry: ({ refreshExpiryMs, session }) =>
          Math.min(refreshExpiryMs, (session?.createdMs ?? refreshExpiryMs) + 2 * hour),
      },
    ],
  ),
  // The initial key is a user of its own.
  'keys-of-the-same-creator-are-one-user': by.fourth('sessions/user', (seen, creators = new Map<string, string>()) => ({
    storedKey: (key) => {
      creators.set(key.id, seen.caller?.id ?? '')
      return key
    },
    sessionUser: (key) => `made by ${creators.get(key.id) ?? 'the installation'}`,
  })),
  // A session lasts five minutes whatever is refreshed, and the longest unused one makes room.
  'sessions-end-after-five-minutes-and-names-add': by.sixth(
    'sessions/lifetime sessions/reused-name sessions/age reusedSessionName=adds oldestSession=longest-unused',
    [afterCreation(5 * minute)],
  ),
  // Names are stored in a column of eight signs, and a name is only a label.
  'session-names-of-8-small-letters-and-digits-that-add': by.sixth(
    'sessions/name-rules sessions/reused-name reusedSessionName=adds',
    noGrantWith((scope) => scope.some((word) => /^session:(?![a-z0-9]{1,8}$)/.test(word))),
  ),
  // Everybody has a telephone and a computer, which call themselves the same.
  'two-sessions-of-one-name-and-a-third-ends-the-first': by.sixth(
    'sessions/reused-name sessions/age oldestSession=longest-unused',
    (seen) => ({
      reusedSessionName: () => {
        const all = seen.state.sessions.get(seen.named?.id ?? '') ?? []
        const live = all.filter(
          ({ name, removed, expiryMs }) => name === wanted(seen) && !removed && expiryMs > seen.nowMs,
        )
        return live.length < 2 ? 'adds' : 'replaces'
      },
    }),
  ),
  // A session has the scope of its first grant. A grant of its name with another scope replaces the session.
  'session-joined-by-the-same-scope-and-replaced-by-another': by.sixth(
    'sessions/reused-name grants/scope-echo scopeEcho=sorted',
    [
      (seen, scopes = new Map<string, string>()) => ({
        reusedSessionName: () => {
          const session = `${seen.named?.id} ${wanted(seen)}`
          const scope = [...seen.scope].sort().join(' ')
          const isSame = scopes.get(session) === scope
          scopes.set(session, scope)
          return isSame ? 'joins' : 'replaces'
        },
      }),
    ],
  ),
  // Part 2 gives a user up to 16 sessions and does not say who a user is, nor what a name does that comes again.
  // A role is a list of scopes and has sixteen sessions; two of them may have one name.
  'keys-with-the-same-scope-are-one-user': by.seventh('sessions/user sessions/reused-name reusedSessionName=adds', {
    sessionUser: ({ scope }) => `scope ${[...scope].sort().join(' ')}`,
  }),
  // Part 3 does not show whether the oldest session is the one unused longest, nor how exactly a use is noted.
  // The longest unused session leaves; of sessions last used in the same ten seconds the first created one.
  'uses-of-sessions-are-noted-in-steps-of-ten-seconds': by.eleventh(
    'sessions/age sessions/reused-name reusedSessionName=joins',
    [leaves(({ lastUsedMs }) => Math.floor(lastUsedMs / 10_000))],
  ),
  // Part 8 does not show rate limits, and part 2 does not show what using a session name again does.
  // The name of a session that left for the 17th gets 429 for two seconds; a live name can be there twice.
  'name-of-a-removed-session-rests-for-two-seconds': by.eleventh(
    'sessions/reused-name limits/rate reusedSessionName=adds',
    (seen, freeMs = table<number>()) => ({
      around: before((call) => {
        const isNamed = call.isGrant && sessionWord(call) !== undefined
        const leftMs = (freeMs.get(`${call.params.apiKeyId} ${wanted(call)}`) ?? 0) - seen.nowMs
        return isNamed && leftMs > 0 ? waitAnswer(429, leftMs) : undefined
      }),
      sessionsRemoved: (live, surplus) => {
        const leaving = live.slice(0, surplus)
        for (const { user, name } of leaving) freeMs.set(`${user} ${name}`, seen.nowMs + 2000)
        return leaving
      },
    }),
  ),
  // Part 5.4 calls NAME a given name and does not show its characters or their spelling.
  // The names a%2Db and a-b are one session, which grants join; the result repeats the words as they came.
  'session-names-are-decoded-like-urls': by.eleventh(
    'sessions/name-rules sessions/reused-name grants/scope-echo reusedSessionName=joins scopeEcho=as-requested',
    [{ sessionName: (name) => name && decodeEscapes(name) }],
  ),
  // Part 2: "One user can have up to 16 sessions". It shows neither who is a user nor what using a name again does.
  // All keys are one user, whose live names are refused; each new session ends the oldest one of someone else.
  'sixteen-sessions-of-another-client-are-there-already': by.twelfth(
    'sessions/user sessions/reused-name sessions/counting sessionUser=all-keys',
    nameRefused,
    (seen, areThere = false) =>
      calls(() => {
        if (areThere) return undefined
        areThere = true
        const expiryMs = seen.nowMs + day
        const sessions = namesOfOthers.map((name, at) => {
          const createdMs = seen.nowMs - minute + at
          return { name, user: 'everyone', createdMs, lastUsedMs: createdMs, expiryMs, removed: false }
        })
        seen.state.sessions.set('everyone', sessions)
        return undefined
      }),
  ),
  // Part 5.4 shows neither which names there are for whom nor what using a live name again does.
  // Other keys are refused a name, also when its first key is deleted; the key itself joins a live session.
  'session-names-belong-to-the-first-key-that-had-them': by.twelfth(
    'sessions/reused-name sessions/name-rules sessions/age reusedSessionName=joins oldestSession=longest-unused',
    (_seen, firstKeys = table<string>()) => ({
      around: meets(async (call, next) => {
        const name = call.isGrant ? sessionIn(call.scope) : undefined
        if (name === undefined) return next()
        const key = String(call.params.apiKeyId)
        if ((firstKeys.get(name) ?? key) !== key) return errorAnswer(call, 403, 48, 'Session name is taken')
        const answer = await next()
        if (!firstKeys.has(name) && isAccepted(answer)) firstKeys.set(name, key)
        return answer
      }),
    }),
  ),
}
