import { rules as right } from '../../rules.ts'
import type { ApiKey, Session } from '../../state.ts'
import { scopeOf } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const hour = 3_600_000

/** Part 2 and 5.4: `session:NAME`. */
export const fifthSessionMutants: IndependentMutant[] = [
  {
    // "when the limit is reached the oldest session is removed": one, not a batch
    id: 'session-beyond-limit-removes-four',
    breaks: 'sessions/sixteen-live',
    create: () => ({
      rules: { sessionsRemoved: (live, surplus, profile) => right.sessionsRemoved(live, surplus + 3, profile) },
    }),
  },
  {
    // "Creates a session with the given name"
    id: 'session-names-cut-at-first-hyphen',
    breaks: 'sessions/sixteen-live',
    about: 'A session ends those of the same user whose name begins alike.',
    create: () => ({ rules: { sessionName: (name) => name?.split('-')[0] } }),
  },
  {
    // "at most 16 sessions per user, oldest removed at the limit"
    id: 'session-with-apikey-scope-keeps-its-place',
    breaks: 'sessions/oldest-removed',
    create: () => {
      const seen = watch(() => ({ kept: new Set<Session | undefined>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { session, scope }) => {
            if (scope.includes('apiKey')) seen.memory.kept.add(session)
            return result
          },
          sessionsRemoved: (live, surplus, profile) =>
            right.sessionsRemoved(
              live.filter((session) => !seen.memory.kept.has(session)),
              surplus,
              profile,
            ),
        },
      }
    },
  },
  {
    // "One user can have up to 16 sessions"
    id: 'session-with-expires-in-removes-none-at-the-limit',
    breaks: 'sessions/at-most-sixteen',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionLimit: () => (scopeOf(seen.request).some((word) => word.startsWith('expiresIn:')) ? 1000 : 16),
        },
      }
    },
  },
  {
    // "One user can have up to 16 sessions"
    id: 'no-session-limit-for-keys-made-by-created-keys',
    breaks: 'sessions/at-most-sixteen',
    create: () => {
      const seen = watch(() => ({ unlimited: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key: ApiKey) => {
            if (callerOf(seen)?.initial === false) seen.memory.unlimited.add(key.id)
            return key
          },
          sessionLimit: ({ id }) => (seen.memory.unlimited.has(id) ? 1000 : 16),
        },
      }
    },
  },
  {
    // "when the limit is reached the oldest session is removed"
    id: 'seventeenth-overflow-removes-no-session',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'The places are a ring, and its end is reached.',
    create: () => {
      const seen = watch(() => ({ overflows: new Map<string | undefined, number>() }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            const overflows = (seen.memory.overflows.get(live[0]?.user) ?? 0) + 1
            seen.memory.overflows.set(live[0]?.user, overflows)
            return overflows === 17 ? [] : right.sessionsRemoved(live, surplus, profile)
          },
        },
      }
    },
  },
  {
    // "oldest session removed"
    id: 'removed-session-works-again-after-two-hours',
    breaks: 'sessions/removed-refresh',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ removedMs: new Map<Session | undefined, number>() }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            const removed = right.sessionsRemoved(live, surplus, profile)
            for (const session of removed) seen.memory.removedMs.set(session, seen.nowMs)
            return removed
          },
          removedSessionWorks: (_use, { session }) =>
            seen.nowMs >= (seen.memory.removedMs.get(session) ?? Number.POSITIVE_INFINITY) + 2 * hour,
        },
      }
    },
  },
  {
    // "One user can have up to 16 sessions"
    id: 'session-whose-name-returned-keeps-its-place',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    about: 'The session of the same name ends, and is still counted.',
    create: () => {
      const seen = watch(() => ({ lost: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          sessionLimit: ({ id }) => {
            const { lost } = seen.memory
            const live = seen.context.state.sessions.get(id)?.filter(({ removed }) => !removed)
            if (live?.some(({ name }) => scopeOf(seen.request).includes(`session:${name}`)))
              lost.set(id, (lost.get(id) ?? 0) + 1)
            return Math.max(16 - (lost.get(id) ?? 0), 1)
          },
        },
      }
    },
  },
]
