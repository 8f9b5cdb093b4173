import { rules as right } from '../../rules.ts'
import type { Session } from '../../state.ts'
import { scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 2 and 5.4: `session:NAME`. */
export const eighthSessionMutants: IndependentMutant[] = [
  {
    // "when the limit is reached the oldest session is removed"
    id: 'second-oldest-session-removed',
    breaks: 'sessions/oldest-removed',
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus, profile) => right.sessionsRemoved(live, surplus + 1, profile).slice(-surplus),
      },
    }),
  },
  {
    // "Tokens are bound to the session; access lasts for the session's lifetime."
    id: 'removed-session-of-created-key-refreshes',
    breaks: 'sessions/removed-refresh',
    create: () => ({ rules: { removedSessionWorks: (use, { key }) => use === 'refresh' && !key.initial } }),
  },
  {
    // "at most 16 sessions per user, oldest removed at the limit"
    id: 'sessions-with-address-not-counted',
    breaks: 'sessions/at-most-sixteen',
    create: () => {
      const seen = watch(() => ({ bound: new Set<Session | undefined>() }))
      const isBound = (session: Session) => seen.memory.bound.has(session)
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { session, addresses }) => {
            if (addresses.length > 0) seen.memory.bound.add(session)
            return result
          },
          sessionLimit: (key) => {
            if (scopeOf(seen.request).some((word) => word.startsWith('ipAddr:'))) return Number.POSITIVE_INFINITY
            const live = seen.context.state.sessions.get(right.sessionUser(key, seen.context.profile)) ?? []
            return 16 + live.filter((session) => isBound(session) && !session.removed).length
          },
          sessionsRemoved: (live, surplus, profile) =>
            right.sessionsRemoved(
              live.filter((session) => !isBound(session)),
              surplus,
              profile,
            ),
        },
      }
    },
  },
  {
    // "when the limit is reached the oldest session is removed"
    id: 'refreshed-session-counts-as-oldest',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'A refresh puts its session at the wrong end of the list.',
    create: () => {
      const seen = watch(() => ({ refreshed: new Set<Session | undefined>() }))
      return {
        around: seen.around,
        rules: {
          refreshedSession: ({ session }) => {
            seen.memory.refreshed.add(session)
            return session
          },
          sessionsRemoved: (live, surplus, profile) => {
            const first = live.filter((session) => seen.memory.refreshed.has(session))
            const others = live.filter((session) => !first.includes(session))
            return [...first, ...right.sessionsRemoved(others, surplus, profile)].slice(0, surplus)
          },
        },
      }
    },
  },
  {
    // "oldest session removed", and "access lasts for the session's lifetime"
    id: 'removed-session-works-on-connection-that-used-it',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ used: new Map<number | undefined, Set<Session>>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const { session } = pair
            const { connection } = seen.request
            if (session && !session.removed && connection !== undefined)
              seen.memory.used.set(connection, (seen.memory.used.get(connection) ?? new Set()).add(session))
            return right.accessExpired(pair, nowMs)
          },
          removedSessionWorks: (use, { session }) =>
            use === 'access' && session !== undefined && !!seen.memory.used.get(seen.request.connection)?.has(session),
        },
      }
    },
  },
  {
    // "when the limit is reached the oldest session is removed": one
    id: 'sessions-of-same-millisecond-removed-together',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The rows to remove are those with the smallest time of creation.',
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus, profile) => {
          const removed = right.sessionsRemoved(live, surplus, profile)
          return live.filter(({ createdMs }) => removed.some((session) => session.createdMs === createdMs))
        },
      },
    }),
  },
]
