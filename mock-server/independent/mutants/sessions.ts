import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 2, 3 and 5.4: sessions. */
export const sessionMutants: IndependentMutant[] = [
  {
    id: 'session-removed-by-order-of-names',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The session whose name comes first in the alphabet makes room.',
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus) =>
          [...live].sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1)).slice(0, surplus),
      },
    }),
  },
  {
    id: 'second-overflow-removes-two-sessions',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ overflows: 0 }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            seen.memory.overflows += 1
            return right.sessionsRemoved(live, surplus + (seen.memory.overflows % 2 === 0 ? 1 : 0), profile)
          },
        },
      }
    },
  },
  {
    id: 'second-overflow-removes-newest-session',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ overflows: 0 }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            seen.memory.overflows += 1
            return seen.memory.overflows > 1 ? live.slice(-surplus) : right.sessionsRemoved(live, surplus, profile)
          },
        },
      }
    },
  },
  {
    id: 'created-key-has-fifteen-sessions',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    create: () => ({ rules: { sessionLimit: (key) => (key.initial ? 16 : 15) } }),
  },
  {
    id: 'created-key-has-seventeen-sessions',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    create: () => ({ rules: { sessionLimit: (key) => (key.initial ? 16 : 17) } }),
  },
  {
    id: 'session-names-cut-at-sixteen-characters',
    breaks: 'sessions/sixteen-live',
    about: 'Long names that begin alike are one session.',
    create: () => ({ rules: { sessionName: (name) => name?.slice(0, 16) } }),
  },
  {
    id: 'used-access-token-outlives-removed-session',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'An access token that was used before its session was removed still works.',
    create: () => {
      const seen = watch(() => ({ used: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            if (pair.session?.removed === false) seen.memory.used.add(pair.id)
            return right.accessExpired(pair, nowMs)
          },
          removedSessionWorks: (use, pair) => use === 'access' && seen.memory.used.has(pair.id),
        },
      }
    },
  },
  {
    id: 'refreshed-access-token-outlives-removed-session',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => ({ rules: { removedSessionWorks: (use, pair) => use === 'access' && pair.generation > 0 } }),
  },
  {
    id: 'refreshed-refresh-token-outlives-removed-session',
    breaks: 'sessions/removed-refresh',
    needsState: true,
    create: () => ({ rules: { removedSessionWorks: (use, pair) => use === 'refresh' && pair.generation > 0 } }),
  },
  {
    id: 'refresh-leaves-removed-session',
    breaks: 'sessions/removed-refresh',
    needsState: true,
    about: 'A refresh in a removed session gives a pair without session.',
    create: () => ({
      rules: {
        removedSessionWorks: (use) => use === 'refresh',
        refreshedSession: (old) => (old.session?.removed ? undefined : old.session),
      },
    }),
  },
  {
    id: 'token-of-removed-session-creates-keys',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { removedSessionWorks: (use) => use === 'access' && seen.bodyHas('manager/createApiKey') },
      }
    },
  },
  {
    id: 'removed-session-works-again-when-name-returns',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'Sessions are looked up by name, so the tokens of a removed one work again once the name is used again.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          removedSessionWorks: (_use, { session }) =>
            [...seen.context.state.sessions.values()]
              .flat()
              .some((one) => !one.removed && one.name === session?.name && one.user === session?.user),
        },
      }
    },
  },
  {
    id: 'name-of-removed-session-stays-dead',
    breaks: 'sessions/created',
    needsState: true,
    about: 'A new session with the name of a removed one gets tokens that do not work.',
    create: () => {
      const seen = watch(() => ({ dead: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            const removed = right.sessionsRemoved(live, surplus, profile)
            for (const { name } of removed) seen.memory.dead.add(name ?? '')
            return removed
          },
          issuedTokenWorks: (_kind, { session }) =>
            session === undefined || session.removed || !seen.memory.dead.has(session.name ?? ''),
        },
      }
    },
  },
  {
    id: 'wrong-secret-takes-a-session-place',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'A grant that asks for a session and is refused for its secret removes the oldest session at the limit.',
    create: () => {
      const seen = watch()
      return { around: seen.around, rules: { refusedGrantOpensSession: () => seen.bodyHas('"session:') } }
    },
  },
  {
    id: 'every-second-refresh-takes-a-session-place',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ refreshes: 0 }))
      return {
        around: seen.around,
        rules: {
          refreshOpensSession: () => {
            seen.memory.refreshes += 1
            return seen.memory.refreshes % 2 === 0
          },
        },
      }
    },
  },
  {
    id: 'seventeenth-session-refused-while-oldest-is-in-use',
    breaks: 'sessions/next-works',
    needsState: true,
    about: 'No session is created when the oldest one was used within the last second.',
    create: () => {
      const seen = watch(() => ({ usedMs: Number.NEGATIVE_INFINITY }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const oldest = seen.context.state.sessions.get(pair.session?.user ?? '')?.[0]
            if (oldest !== undefined && pair.session === oldest) seen.memory.usedMs = nowMs
            return right.accessExpired(pair, nowMs)
          },
          beyondSessionLimit: () => (seen.nowMs - seen.memory.usedMs < 1000 ? 'refused' : 'oldest-removed'),
        },
      }
    },
  },
]
