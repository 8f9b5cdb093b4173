import { rules as right } from '../../rules.ts'
import type { Session } from '../../state.ts'
import { chain } from '../answers.ts'
import { answerThrough, isAccepted, paramsOf, scopeOf } from '../calls.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

/** Calls `act` before each grant of api_key_credentials. */
const beforeGrants =
  (act: () => void): Around =>
  (handle) =>
  (request) => {
    if (paramsOf(request).grantType === 'api_key_credentials') act()
    return handle(request)
  }

/** Parts 2, 3 and 5.4: sessions. */
export const ninthSessionMutants: IndependentMutant[] = [
  {
    // "when the limit is reached the oldest session is removed"
    id: 'oldest-session-removed-when-next-grant-arrives',
    breaks: 'sessions/oldest-removed',
    about: 'Until then there are seventeen.',
    create: () => {
      const seen = watch(() => ({ leaving: new Set<Session>() }))
      const clear = beforeGrants(() => {
        for (const session of seen.memory.leaving) session.removed = true
        seen.memory.leaving.clear()
      })
      return {
        around: chain(clear, seen.around),
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            for (const session of right.sessionsRemoved(live, surplus, profile)) seen.memory.leaving.add(session)
            return []
          },
        },
      }
    },
  },
  {
    // "`session:NAME` | Creates a session with the given name"
    id: 'session-named-0-makes-no-session',
    breaks: 'sessions/created',
    about: 'The text `0` counts as empty.',
    create: () => ({ rules: { sessionCreated: (name) => name !== '0' } }),
  },
  {
    // "One user can have up to 16 sessions"
    id: 'session-names-with-same-letters-are-one',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    about:
      'It sorts the letters of a name before it looks the name up, and a new session replaces the one of its name.',
    create: () => ({ rules: { sessionName: (name) => name && [...name].sort().join('') } }),
  },
  {
    // "at most 16 sessions per user"
    id: 'refused-grant-frees-a-session-place',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'The way back from an error lowers a count that was not raised.',
    create: () => {
      const seen = watch(() => ({ freed: new Map<string, number>() }))
      const note = answerThrough((answer, request) => {
        const { freed } = seen.memory
        const id = namedKeyId(request)
        const isGrant = paramsOf(request).grantType === 'api_key_credentials'
        const asked = isGrant && scopeOf(request).some((word) => word.startsWith('session:'))
        if (id !== undefined && asked && !isAccepted(answer)) freed.set(id, (freed.get(id) ?? 0) + 1)
        return answer
      })
      return {
        around: chain(seen.around, note),
        rules: { sessionLimit: (key) => 16 + (seen.memory.freed.get(key.id) ?? 0) },
      }
    },
  },
  {
    // "16 sessions already exist | oldest session removed"
    id: 'refused-refresh-brings-removed-session-back',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The time of the last use is written before the check, and writing it stores the session again.',
    create: () => ({
      around: answerThrough((answer, request, { state }) => {
        const { refreshToken } = paramsOf(request)
        const token = state.tokens.get(typeof refreshToken === 'string' ? refreshToken : '')
        if (token?.kind === 'refresh' && token.pair.session && !isAccepted(answer)) token.pair.session.removed = false
        return answer
      }),
    }),
  },
  {
    // "oldest removed at the limit"
    id: 'session-numbers-compared-as-text',
    breaks: 'sessions/oldest-removed',
    needsState: true,
    about: 'The first removal is right; then 10 comes before 2.',
    create: () => {
      const seen = watch(() => ({ numbers: new Map<Session, number>() }))
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus) => {
            const { numbers } = seen.memory
            for (const session of live) if (!numbers.has(session)) numbers.set(session, numbers.size + 1)
            const textOf = (session: Session) => String(numbers.get(session))
            return [...live].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1)).slice(0, surplus)
          },
        },
      }
    },
  },
]
