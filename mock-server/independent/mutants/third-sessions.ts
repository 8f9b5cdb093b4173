import { rules as right } from '../../rules.ts'
import { openSession } from '../../token-state.ts'
import { answerThrough, isAccepted, paramsOf, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const sessionIn = (scope: string[]): string | undefined =>
  scope.find((word) => word.startsWith('session:'))?.slice('session:'.length)

/** Parts 2, 3 and 5.4: sessions. */
export const thirdSessionMutants: IndependentMutant[] = [
  {
    // "at most 16 sessions per user, oldest removed at the limit"
    id: 'sessions-counted-by-each-of-two-workers',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'Connections go to two workers in turn, and each counts the sessions that it has made.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionUser: (key, profile) => `${right.sessionUser(key, profile)} ${(seen.request.connection ?? 0) % 2}`,
        },
      }
    },
  },
  {
    // "One user can have up to 16 sessions", whatever their scopes
    id: 'sessions-counted-for-each-set-of-scopes',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionUser: (key, profile) => {
            const areas = scopeOf(seen.request).filter((word) => !word.includes(':'))
            return `${right.sessionUser(key, profile)} ${areas.sort().join(' ')}`
          },
        },
      }
    },
  },
  {
    // "when the limit is reached the oldest session is removed": by a session that is created, not by a refused grant
    id: 'grant-refused-for-its-scope-takes-session-place',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The session is opened when the secret is found right, before the scopes are looked at.',
    create: () => ({
      around: answerThrough((answer, request, context) => {
        const { grantType, apiKeyId, apiKeySecret } = paramsOf(request)
        const key = context.state.keys.get(String(apiKeyId))
        const name = sessionIn(scopeOf(request))
        const isRight = grantType === 'api_key_credentials' && key?.secret === apiKeySecret
        if (isRight && key?.publicKey === undefined && key && name !== undefined && !isAccepted(answer))
          openSession(context, key, name)
        return answer
      }),
    }),
  },
  {
    // "One user can have up to 16 sessions; when the limit is reached the oldest session is removed"
    id: 'session-with-expires-in-removes-two-at-the-limit',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            const isBrief = scopeOf(seen.request).some((word) => word.startsWith('expiresIn:'))
            return right.sessionsRemoved(live, isBrief ? surplus + 1 : surplus, profile)
          },
        },
      }
    },
  },
  {
    // "at most 16 sessions per user"
    id: 'sessions-named-like-members-of-objects-not-counted',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'The sessions are members of an object, in which a name such as "constructor" seems to be there already.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionUser: (key, profile) => {
            const user = right.sessionUser(key, profile)
            const name = sessionIn(scopeOf(seen.request)) ?? ''
            return name in {} ? `${user} ${name}` : user
          },
        },
      }
    },
  },
  {
    // "when the limit is reached the oldest session is removed"
    id: 'each-removed-session-makes-room-for-two',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'The sessions are counted in a number of its own, from which a removed session is taken twice.',
    create: () => {
      const seen = watch(() => ({ missed: new Map<string, number>() }))
      const missed = (id: string) => seen.memory.missed.get(id) ?? 0
      return {
        around: seen.around,
        rules: {
          sessionLimit: (key) => right.sessionLimit(key) + missed(key.id),
          sessionsRemoved: (live, surplus, profile) => {
            const id = String(paramsOf(seen.request).apiKeyId)
            seen.memory.missed.set(id, missed(id) + 1)
            return right.sessionsRemoved(live, surplus, profile)
          },
        },
      }
    },
  },
  {
    // "access lasts for the session's lifetime"
    id: 'key-creation-ends-session-of-its-token',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'A change to the keys ends the session in which it was made.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair?.session !== undefined) seen.pair.session.removed = true
            return key
          },
        },
      }
    },
  },
]
