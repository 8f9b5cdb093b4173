import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'

const halfAnHour = 30 * 60_000

const isUnused = ({ session }: TokenPair, nowMs: number) =>
  session !== undefined && nowMs - session.lastUsedMs >= halfAnHour

/** Parts 2, 3 and 5.4: sessions. */
export const secondSessionVariants: IndependentVariant[] = [
  {
    id: 'session-names-join-and-unused-longest-leaves',
    questions: ['sessions/reused-name', 'sessions/age', 'sessions/counting'],
    profile: { reusedSessionName: 'joins', oldestSession: 'longest-unused', unnamedCountAsSessions: true },
  },
  {
    id: 'session-names-of-safe-letters',
    questions: ['sessions/name-rules'],
    about: 'A name has 1 to 64 letters, digits, dots, dashes and underscores; others are refused.',
    create: () => ({
      around: (handle) => (request) => {
        const params = paramsOf(request)
        const scope = scopeOf(request)
        const isRefused = (word: string) => word.startsWith('session:') && !/^session:[A-Za-z0-9._-]{1,64}$/.test(word)
        if (params.grantType !== 'api_key_credentials' || !scope.some(isRefused)) return handle(request)
        // An empty name is refused by the server behind.
        const members = { ...readMembers(request.body.toString('utf8')), params: { ...params, scope: ['session:'] } }
        return handle(withMembers(request, members))
      },
    }),
  },
  {
    id: 'sessions-end-after-half-an-hour-unused',
    questions: ['sessions/lifetime', 'sessions/own-end'],
    about: 'A call and a refresh use a session.',
    create() {
      const held = holdContext()
      return {
        around: held.around,
        rules: {
          accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) || isUnused(pair, nowMs),
          refreshExpired: (pair, nowMs) => right.refreshExpired(pair, nowMs) || isUnused(pair, nowMs),
          refreshedSession: ({ session }) => {
            if (session) session.lastUsedMs = held.get().now()
            return session
          },
        },
      }
    },
  },
  {
    id: 'everyone-shares-sessions-and-names-join',
    questions: ['sessions/user', 'sessions/reused-name', 'grants/scope-echo'],
    about: 'A session belongs to all keys, and the result repeats the requested scope with its restrictions.',
    profile: { sessionUser: 'all-keys', reusedSessionName: 'joins', scopeEcho: 'as-requested' },
  },
]
