import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { meet } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const dayMs = 24 * 3_600_000

/** Parts 2, 3 and 5.4: sessions. */
export const fourthSessionMutants: IndependentMutant[] = [
  {
    // "when the limit is reached the oldest session is removed"
    id: 'session-with-the-earliest-time-of-day-removed',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The column of the creation holds a time without a date.',
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus) =>
          [...live].sort((a, b) => (a.createdMs % dayMs) - (b.createdMs % dayMs)).slice(0, surplus),
      },
    }),
  },
  {
    // "Tokens are bound to the session; access lasts for the session's lifetime"
    id: 'access-token-with-expires-in-outlives-removed-session',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => ({
      rules: { removedSessionWorks: (use, pair) => use === 'access' && pair.expiresInMs !== undefined },
    }),
  },
  {
    // "One user can have up to 16 sessions"
    id: 'session-not-counted-once-its-pair-is-refreshed',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'Sessions are counted by their first pairs of tokens.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, { session }) => {
            const { sessions } = seen.context.state
            if (session) {
              const counted = (sessions.get(session.user) ?? []).filter((one) => one !== session)
              sessions.set(session.user, counted)
            }
            return result
          },
        },
      }
    },
  },
  {
    // "at most 16 sessions per user, oldest removed at the limit"
    id: 'fourth-overflow-removes-no-session',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ overflows: 0 }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            seen.memory.overflows += 1
            return seen.memory.overflows % 4 === 0 ? [] : right.sessionsRemoved(live, surplus, profile)
          },
        },
      }
    },
  },
  {
    // "One user can have up to 16 sessions"
    id: 'no-session-limit-for-keys-created-by-signature',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            if (seen.request.headers.authorization?.includes(';')) seen.memory.keys.add(key.id)
            return key
          },
          sessionLimit: (key) => (seen.memory.keys.has(key.id) ? Number.POSITIVE_INFINITY : 16),
        },
      }
    },
  },
  {
    // "16 sessions already exist | oldest session removed | the new session is created", and its refresh token is "valid"
    id: 'session-that-removed-another-cannot-be-refreshed',
    breaks: 'sessions/next-works',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ pairs: new Set<TokenPair>() }))
      let removes = false
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            removes = true
            return right.sessionsRemoved(live, surplus, profile)
          },
          grantResult: (result, pair) => {
            if (removes) seen.memory.pairs.add(pair)
            removes = false
            return result
          },
          tokenNamed: (text, find, _all, use) => {
            const token = find(text)
            return use === 'refresh' && token && seen.memory.pairs.has(token.pair) ? undefined : token
          },
        },
      }
    },
  },
  {
    // "oldest session removed", and "access lasts for the session's lifetime"
    id: 'refresh-in-flight-brings-its-removed-session-back',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The refresh writes the session that it has read before it was removed.',
    create: () => {
      const seen = watch(() => ({ taken: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          // A refresh token still works only once.
          tokenNamed: (text, find, _all, use) => {
            if (use === 'access') return find(text)
            if (seen.memory.taken.has(text)) return undefined
            seen.memory.taken.add(text)
            return find(text)
          },
          beforeEffect: (effect) => (effect === 'refresh' ? meet() : undefined),
          refreshedSession: ({ session }) => {
            if (session) session.removed = false
            return session
          },
        },
      }
    },
  },
]
