import { rules as referenceRules } from '../../rules.ts'
import type { Session, TokenPair } from '../../state.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'

const minute = 60_000
const hour = 60 * minute

const sessionOver = (pair: TokenPair, nowMs: number): boolean =>
  pair.session !== undefined && nowMs >= pair.session.expiryMs

/** Tokens end with their session, whatever their own expiry. */
const endWithSession = {
  accessExpired: (pair: TokenPair, nowMs: number) =>
    referenceRules.accessExpired(pair, nowMs) || sessionOver(pair, nowMs),
  refreshExpired: (pair: TokenPair, nowMs: number) =>
    referenceRules.refreshExpired(pair, nowMs) || sessionOver(pair, nowMs),
}

/** Sets the end of a session each time a pair of it is issued. */
function setSessionEnd(endOf: (session: Session) => number) {
  const set = (session: Session | undefined) => {
    if (session) session.expiryMs = endOf(session)
  }
  return {
    grantResult: <T>(result: T, pair: TokenPair): T => {
      set(pair.session)
      return result
    },
    refreshResult: <T>(result: T, old: TokenPair): T => {
      set(old.session)
      return result
    },
  }
}

/** Parts 2 and 3: who a user is, what counts as a session, and how long one lasts. */
export const sessionVariants: IndependentVariant[] = [
  {
    id: 'sessions-of-everyone-unnamed-counted-longest-unused',
    questions: ['sessions/user', 'sessions/counting', 'sessions/reused-name', 'sessions/age'],
    about:
      'All keys share sixteen sessions, every grant is one, a name can be there twice, and the longest unused one leaves.',
    profile: {
      sessionUser: 'all-keys',
      unnamedCountAsSessions: true,
      reusedSessionName: 'adds',
      oldestSession: 'longest-unused',
    },
  },
  {
    id: 'sessions-unnamed-counted-names-join',
    questions: ['sessions/counting', 'sessions/reused-name', 'sessions/age'],
    about: 'Every unnamed grant is a session of its own, a re-used name joins its session and makes it young again.',
    profile: { unnamedCountAsSessions: true, reusedSessionName: 'joins', oldestSession: 'longest-unused' },
  },
  {
    id: 'sessions-one-default-session-joined',
    questions: ['sessions/counting', 'sessions/reused-name'],
    about: 'All unnamed grants of a key join one session without a name, which counts as one of the sixteen.',
    profile: { unnamedCountAsSessions: true, reusedSessionName: 'joins' },
    create: () => ({ rules: { sessionName: (name) => name ?? '' } }),
  },
  {
    id: 'sessions-one-default-session-longest-unused',
    questions: ['sessions/counting', 'sessions/reused-name', 'sessions/age', 'sessions/user'],
    about: 'All unnamed grants of all keys join one session without a name; the longest unused session leaves.',
    profile: {
      unnamedCountAsSessions: true,
      reusedSessionName: 'joins',
      oldestSession: 'longest-unused',
      sessionUser: 'all-keys',
    },
    create: () => ({ rules: { sessionName: (name) => name ?? 'default' } }),
  },
  {
    id: 'sessions-one-default-session-replaced',
    questions: ['sessions/counting', 'sessions/reused-name'],
    about: 'An unnamed grant opens the session without a name, and the next unnamed grant of the key replaces it.',
    profile: { unnamedCountAsSessions: true, reusedSessionName: 'replaces' },
    create: () => ({ rules: { sessionName: (name) => name ?? '' } }),
  },
  {
    id: 'sessions-user-is-key-name',
    questions: ['sessions/user', 'sessions/reused-name'],
    about: 'Keys with one name are one user and share its sessions, which a re-used name joins.',
    profile: { reusedSessionName: 'joins' },
    create: () => ({ rules: { sessionUser: (key) => `name ${key.name}` } }),
  },
  {
    id: 'sessions-user-is-kind-of-key',
    questions: ['sessions/user', 'sessions/age', 'sessions/reused-name'],
    about:
      'The initial key is one user and all created keys are another; names add, and the longest unused session leaves.',
    profile: { reusedSessionName: 'adds', oldestSession: 'longest-unused' },
    create: () => ({ rules: { sessionUser: (key) => (key.initial ? 'owner' : 'members') } }),
  },
  {
    id: 'sessions-name-in-use-refused',
    questions: ['sessions/reused-name', 'sessions/age'],
    about: 'A name that a live session has is refused until that session is gone.',
    profile: { oldestSession: 'longest-unused' },
    create: () => ({ rules: { reusedSessionName: () => 'refused' } }),
  },
  {
    id: 'sessions-names-in-any-case',
    questions: ['sessions/name-rules', 'sessions/reused-name', 'sessions/user'],
    about: 'Session names are compared without case and spaces at the ends, across all keys; the same name replaces.',
    profile: { reusedSessionName: 'replaces', sessionUser: 'all-keys' },
    create: () => ({ rules: { sessionName: (name) => name?.trim().toLowerCase() } }),
  },
  {
    id: 'sessions-names-of-32-word-characters',
    questions: ['sessions/name-rules'],
    about: 'A session name has 1 to 32 letters, digits, dots, dashes and underscores.',
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid &&
          !(method === 'manager/auth' && name === 'scope' && Array.isArray(value) && value.some(isOddSessionName)),
      },
    }),
  },
  {
    id: 'sessions-end-after-eight-hours',
    questions: ['sessions/lifetime', 'refresh/lifetime-renewed'],
    about:
      'A session lasts for eight hours from its creation, while each refresh begins a new refresh lifetime of days.',
    create: () => ({
      rules: { ...endWithSession, ...setSessionEnd((session) => session.createdMs + 8 * hour) },
    }),
  },
  {
    id: 'sessions-end-after-one-hour-names-join',
    questions: ['sessions/lifetime', 'sessions/reused-name', 'sessions/age'],
    about: 'A session lasts for one hour, whoever joins it; the longest unused one makes room.',
    profile: { reusedSessionName: 'joins', oldestSession: 'longest-unused' },
    create: () => ({
      rules: { ...endWithSession, ...setSessionEnd((session) => session.createdMs + hour) },
    }),
  },
  {
    id: 'sessions-end-when-idle',
    questions: ['sessions/lifetime', 'sessions/age', 'sessions/reused-name'],
    about: 'A session ends when it was not used for 30 minutes; a refresh is a use of it.',
    profile: { reusedSessionName: 'joins', oldestSession: 'longest-unused' },
    create() {
      const held = holdContext()
      const isIdle = (session: Session, nowMs: number) => nowMs - session.lastUsedMs >= 30 * minute
      const idle = ({ session }: TokenPair, nowMs: number) => session !== undefined && isIdle(session, nowMs)
      return {
        around: held.around,
        rules: {
          // Checked before a session is opened, because a session that has ended cannot be joined.
          sessionName(name) {
            const { state, now } = held.get()
            for (const session of [...state.sessions.values()].flat()) {
              if (isIdle(session, now())) session.removed = true
            }
            return name
          },
          accessExpired: (pair, nowMs) => referenceRules.accessExpired(pair, nowMs) || idle(pair, nowMs),
          refreshExpired: (pair, nowMs) => referenceRules.refreshExpired(pair, nowMs) || idle(pair, nowMs),
          refreshResult(result, old) {
            if (old.session) old.session.lastUsedMs = held.get().now()
            return result
          },
        },
      }
    },
  },
  {
    id: 'sessions-last-as-long-as-their-first-refresh-token',
    questions: ['sessions/lifetime', 'sessions/reused-name', 'limits/token-lifetimes'],
    about: 'A session lasts as long as its first refresh token; whoever joins it later ends with it.',
    profile: { reusedSessionName: 'joins', refreshLifeMs: 2 * hour },
    create() {
      const ends = new WeakMap<Session, number>()
      const firstEnd = (session: Session) => {
        const endMs = ends.get(session) ?? session.expiryMs
        ends.set(session, endMs)
        return endMs
      }
      return { rules: { ...endWithSession, ...setSessionEnd(firstEnd) } }
    },
  },
  {
    id: 'sessions-oldest-is-longest-without-refresh',
    questions: ['sessions/age', 'sessions/reused-name'],
    about:
      'The session that leaves is the one whose last pair of tokens was issued first; calls do not make it younger.',
    profile: { reusedSessionName: 'joins' },
    create: () => ({
      rules: {
        sessionsRemoved: (live, surplus) => [...live].sort((a, b) => a.expiryMs - b.expiryMs).slice(0, surplus),
      },
    }),
  },
  {
    id: 'sessions-lose-place-when-longest-unused-of-everyone',
    questions: ['sessions/user', 'sessions/age', 'sessions/reused-name', 'refresh/family'],
    about: 'All keys share sixteen sessions, a name replaces, and a used refresh token ends the whole family.',
    profile: {
      sessionUser: 'all-keys',
      oldestSession: 'longest-unused',
      reusedSessionName: 'replaces',
      reuseRevokesFamily: true,
    },
  },
]

function isOddSessionName(scope: unknown): boolean {
  return typeof scope === 'string' && scope.startsWith('session:') && !/^session:[\w.-]{1,32}$/.test(scope)
}
