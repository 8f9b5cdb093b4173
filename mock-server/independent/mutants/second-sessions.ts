import { rules as right } from '../../rules.ts'
import type { Session } from '../../state.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const looksLikeNumber = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i

/** Parts 2, 3 and 5.4: sessions. */
export const secondSessionMutants: IndependentMutant[] = [
  {
    // "One user can have up to 16 sessions"
    id: 'session-names-like-numbers-compared-as-numbers',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    about: 'The names 10, 010 and 1e1 are one session.',
    create: () => ({
      rules: {
        sessionName: (name) => (name !== undefined && looksLikeNumber.test(name) ? String(Number(name)) : name),
      },
    }),
  },
  {
    // "when the limit is reached the oldest session is removed"
    id: 'oldest-session-is-first-member-of-an-object',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about:
      'Sessions are the members of a JavaScript object, which puts names like 3 and 12 first, the smallest before all.',
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus) =>
          Object.values(Object.fromEntries(live.map((session) => [session.name ?? '', session]))).slice(0, surplus),
      },
    }),
  },
  {
    // "One user can have up to 16 sessions"
    id: 'session-beyond-limit-removes-oldest-of-any-user',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'The sessions are counted for one key, and the oldest one of all keys is removed.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (_live, surplus) =>
            [...seen.context.state.sessions.values()]
              .flat()
              .filter((session) => !session.removed && session.expiryMs > seen.nowMs)
              .sort((a, b) => a.createdMs - b.createdMs)
              .slice(0, surplus),
        },
      }
    },
  },
  {
    // "when the limit is reached the oldest session is removed"
    id: 'session-with-expired-access-token-is-not-removed',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'Only sessions with a live access token are looked at, so a younger one leaves instead.',
    create: () => {
      const seen = watch()
      const isInUse = (session: Session) =>
        [...seen.context.state.tokens.values()].some(
          ({ pair }) => pair.session === session && !pair.accessRevoked && !right.accessExpired(pair, seen.nowMs),
        )
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            const inUse = live.filter(isInUse)
            return right.sessionsRemoved(inUse.length >= surplus ? inUse : live, surplus, profile)
          },
        },
      }
    },
  },
  {
    // "Creates a session with the given name; tokens are bound to it"
    id: 'address-beside-session-makes-no-session',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'A grant with both session and ipAddr gives tokens that are bound to no session.',
    create: () => {
      const seen = watch()
      return { around: seen.around, rules: { sessionCreated: () => !seen.bodyHas('"ipAddr:') } }
    },
  },
  {
    // "tokens are bound to it; access lasts for the session's lifetime"
    id: 'removed-session-refreshes-after-access-expiry',
    breaks: 'sessions/removed-refresh',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          removedSessionWorks: (use, pair) => use === 'refresh' && right.accessExpired(pair, seen.nowMs),
        },
      }
    },
  },
  {
    // "oldest session removed"
    id: 'session-looked-up-every-five-seconds',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'A session that was just used works for up to five seconds after it was removed.',
    create: () => {
      const seen = watch(() => ({ checked: new Map<Session, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            if (pair.session?.removed === false) seen.memory.checked.set(pair.session, nowMs)
            return right.accessExpired(pair, nowMs)
          },
          removedSessionWorks: (use, { session }) => {
            const checkedMs = session && seen.memory.checked.get(session)
            return use === 'access' && checkedMs !== undefined && seen.nowMs - checkedMs < 5000
          },
        },
      }
    },
  },
  {
    // "the new session is created"
    id: 'first-access-token-of-seventeenth-session-is-dead',
    breaks: 'sessions/next-works',
    needsState: true,
    about: 'The tokens of the removed session are deleted late, and take the new access token with them.',
    create: () => {
      const seen = watch(() => ({ hasRemoved: false, dead: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            seen.memory.hasRemoved = true
            return right.sessionsRemoved(live, surplus, profile)
          },
          grantResult: (result, pair) => {
            if (seen.memory.hasRemoved) seen.memory.dead.add(pair.id)
            seen.memory.hasRemoved = false
            return result
          },
          issuedTokenWorks: (kind, pair) => kind !== 'access' || !seen.memory.dead.has(pair.id),
        },
      }
    },
  },
]
