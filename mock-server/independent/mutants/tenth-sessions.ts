import { rules as right } from '../../rules.ts'
import type { Session } from '../../state.ts'
import { endPair, pairsOf } from '../../token-state.ts'
import { chain } from '../answers.ts'
import { meet, scopeOf } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 2, 3 and 5.4: sessions. */
export const tenthSessionMutants: IndependentMutant[] = [
  {
    // "`session:NAME` | Creates a session with the given name"
    id: 'session-names-cut-at-colon',
    breaks: 'sessions/sixteen-live',
    about:
      'It splits the entry at its colons and takes the second part, and a new session replaces the one of its name.',
    create: () => ({ rules: { sessionName: (name) => name && (name.split(':')[0] || name) } }),
  },
  {
    // "One user can have up to 16 sessions"
    id: 'ended-sessions-keep-their-places',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    about: 'The count goes down when a session is removed, and not when its time is over.',
    create: () => {
      const seen = watch(() => ({ known: new Set<Session>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { session }) => {
            if (session !== undefined) seen.memory.known.add(session)
            return result
          },
          sessionLimit: (key) => {
            const user = right.sessionUser(key, seen.context.profile)
            const ended = [...seen.memory.known].filter(
              (session) => session.user === user && !session.removed && session.expiryMs <= seen.nowMs,
            )
            return Math.max(1, right.sessionLimit(key) - ended.length)
          },
        },
      }
    },
  },
  {
    // "oldest session removed": and no token beside it
    id: 'session-removal-ends-tokens-without-session',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'It deletes the tokens of the user that are in none of the sessions that stay.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            for (const pair of pairsOf(seen.context)) {
              if (pair.session === undefined && pair.key.id === namedKeyId(seen.request)) endPair(pair)
            }
            return right.sessionsRemoved(live, surplus, profile)
          },
        },
      }
    },
  },
  {
    // "Creates a session with the given name; tokens are bound to it"
    id: 'sessions-in-flight-share-their-name',
    breaks: 'sessions/created',
    needsState: true,
    about: 'The second one then replaces the first, as a session of the same name does.',
    create: () => {
      const seen = watch(() => ({ name: '' }))
      const wait: Around = (handle) => (request) => {
        const entry = scopeOf(request).find((word) => word.startsWith('session:'))
        if (entry === undefined) return handle(request)
        seen.memory.name = entry.slice('session:'.length)
        return meet().then(() => handle(request))
      }
      return {
        around: chain(seen.around, wait),
        rules: { sessionName: (name) => name && seen.memory.name },
      }
    },
  },
  {
    // "access lasts for the session's lifetime"
    id: 'removed-session-works-for-token-of-one-solution',
    breaks: 'sessions/oldest-removed',
    create: () => ({
      rules: {
        removedSessionWorks: (use, { scope }) => use === 'access' && scope.some((word) => /^solution:[^*]/.test(word)),
      },
    }),
  },
]
