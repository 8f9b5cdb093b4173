import type { MockRequest } from '../../http-server.ts'
import type { Session } from '../../state.ts'
import { answerThrough, isAccepted, paramsOf, scopeOf } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { errorAnswer } from './eleventh-limits.ts'

/** The names that another client gave to its sessions, the oldest one first. */
const namesOfOthers = 'main default test session web mobile app demo one two a b c s1 s2 my-session'.split(' ')

/** Another client, who is the same user, opened sixteen sessions before the first call. */
function openSessionsOfOthers(): Around {
  const others = createMemory(({ state, now }) => {
    const nowMs = now()
    const sessions = namesOfOthers.map((name, at): Session => {
      const createdMs = nowMs - 60_000 + at
      return { name, user: 'everyone', createdMs, lastUsedMs: createdMs, expiryMs: nowMs + 86_400_000, removed: false }
    })
    state.sessions.set('everyone', sessions)
    return sessions
  })
  return (handle, context) => (request) => {
    others(context)
    return handle(request)
  }
}

/** The name of the session that a grant asks for. */
function askedName(request: MockRequest): string | undefined {
  if (!isMethod(request, 'manager/auth') || paramsOf(request).grantType !== 'api_key_credentials') return undefined
  return scopeOf(request)
    .find((word) => word.startsWith('session:'))
    ?.slice('session:'.length)
}

/** Keeps for ever which key had a session of a name first, and refuses the name where `isFree` says so. */
function keepNames(isFree: (firstKey: string, key: string) => boolean): Around {
  const names = createMemory(() => new Map<string, string>())
  return (handle, context) => {
    const noted = answerThrough((answer, request) => {
      const name = askedName(request)
      const key = String(paramsOf(request).apiKeyId)
      if (name !== undefined && isAccepted(answer) && !names(context).has(name)) names(context).set(name, key)
      return answer
    })(handle, context)
    return (request) => {
      const firstKey = names(context).get(askedName(request) ?? '')
      if (firstKey === undefined || isFree(firstKey, String(paramsOf(request).apiKeyId))) return noted(request)
      return errorAnswer(request, 403, 48, 'Session name is taken')
    }
  }
}

/** Parts 2, 3 and 5.4: sessions of others, and of those who were here before. */
export const twelfthSessionVariants: IndependentVariant[] = [
  // Part 2: "One user can have up to 16 sessions". It shows neither who is a user nor what using a name again does.
  {
    id: 'sixteen-sessions-of-another-client-are-there-already',
    questions: ['sessions/user', 'sessions/reused-name', 'sessions/counting'],
    about: 'All keys are one user, whose live names are refused; each new session ends the oldest one of someone else.',
    profile: { sessionUser: 'all-keys' },
    create: () => ({ around: openSessionsOfOthers(), rules: { reusedSessionName: () => 'refused' } }),
  },
  // Part 5.4: "Creates a session with the given name". It does not show which names are given a second time.
  {
    id: 'session-names-are-given-once-for-ever',
    questions: ['sessions/reused-name', 'sessions/name-rules'],
    about: 'A name that any key has ever had for a session is refused, also when the session or the key is gone.',
    create: () => ({ around: keepNames(() => false) }),
  },
  // Part 5.4 shows neither which names there are for whom nor what using a live name again does.
  {
    id: 'session-names-belong-to-the-first-key-that-had-them',
    questions: ['sessions/reused-name', 'sessions/name-rules', 'sessions/age'],
    about: 'Other keys are refused a name, also when its first key is deleted; the key itself joins a live session.',
    profile: { reusedSessionName: 'joins', oldestSession: 'longest-unused' },
    create: () => ({ around: keepNames((firstKey, key) => firstKey === key) }),
  },
]
