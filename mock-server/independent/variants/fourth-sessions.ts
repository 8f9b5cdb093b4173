import { callerOf } from '../creators.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

const dayMs = 24 * 3_600_000

/** Parts 2, 3 and 5.4: sessions. */
export const fourthSessionVariants: IndependentVariant[] = [
  {
    id: 'session-name-of-any-key-refused-while-it-lives',
    questions: ['sessions/user', 'sessions/reused-name'],
    profile: { sessionUser: 'all-keys' },
    create: () => ({ rules: { reusedSessionName: () => 'refused' } }),
  },
  {
    id: 'sessions-of-everyone-join-unnamed-count-unused-first',
    questions: ['sessions/user', 'sessions/reused-name', 'sessions/counting', 'sessions/age'],
    profile: {
      sessionUser: 'all-keys',
      reusedSessionName: 'joins',
      unnamedCountAsSessions: true,
      oldestSession: 'longest-unused',
    },
  },
  {
    id: 'keys-of-the-same-creator-are-one-user',
    questions: ['sessions/user'],
    about: 'The initial key is a user of its own.',
    create() {
      const seen = watch(() => ({ creators: new Map<string, string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            seen.memory.creators.set(key.id, callerOf(seen)?.id ?? '')
            return key
          },
          sessionUser: (key) => `made by ${seen.memory.creators.get(key.id) ?? 'the installation'}`,
        },
      }
    },
  },
  {
    id: 'session-names-add-unused-first-and-have-40-letters-at-most',
    questions: ['sessions/reused-name', 'sessions/age', 'sessions/name-rules'],
    profile: { reusedSessionName: 'adds', oldestSession: 'longest-unused' },
    create: () => ({
      rules: {
        paramTaken: (method, name, value, valid) =>
          valid &&
          !(
            method === 'manager/auth' &&
            name === 'scope' &&
            Array.isArray(value) &&
            value.some((word) => /^session:.{41}/s.test(String(word)))
          ),
      },
    }),
  },
  {
    id: 'sessions-join-and-end-a-day-after-they-began',
    questions: ['sessions/lifetime', 'sessions/own-end', 'sessions/reused-name'],
    profile: { reusedSessionName: 'joins' },
    create() {
      const seen = watch()
      const isOver = (session: { createdMs: number } | undefined) =>
        session !== undefined && seen.nowMs >= session.createdMs + dayMs
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { session }) => {
            if (session) session.expiryMs = session.createdMs + dayMs
            return result
          },
          refreshResult: (result, { session }) => {
            if (session) session.expiryMs = session.createdMs + dayMs
            return result
          },
          issuedTokenWorks: (_kind, { session }) => !isOver(session),
        },
      }
    },
  },
]
