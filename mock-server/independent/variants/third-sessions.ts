import { callerAddress } from '../../caller.ts'
import { rules as right } from '../../rules.ts'
import type { Session, TokenPair } from '../../state.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { watch } from '../watch.ts'

const twoHours = 2 * 3_600_000

/** When a pair is over because its session is. */
const endMs = ({ session }: TokenPair): number =>
  session === undefined ? Number.POSITIVE_INFINITY : session.createdMs + twoHours

/** A user is the address that a grant comes from. */
function userIsAddress() {
  const seen = watch()
  return {
    around: seen.around,
    rules: { sessionUser: () => callerAddress(seen.context, seen.request) },
  }
}

/** Parts 2, 3 and 5.4: sessions. */
export const thirdSessionVariants: IndependentVariant[] = [
  {
    id: 'session-names-trimmed-composed-and-joined',
    questions: ['sessions/name-rules', 'sessions/reused-name'],
    about: 'Names that differ only in spaces around them or in composed letters are one session, which grants join.',
    profile: { reusedSessionName: 'joins' },
    create: () => ({ rules: { sessionName: (name) => name?.trim().normalize('NFC') } }),
  },
  {
    id: 'sessions-belong-to-an-address',
    questions: ['sessions/user'],
    create: userIsAddress,
  },
  {
    id: 'sessions-belong-to-an-address-and-unused-ones-leave',
    questions: ['sessions/user', 'sessions/counting', 'sessions/age'],
    about: 'Grants without a name count too, and the session that was unused for the longest time makes room.',
    profile: { unnamedCountAsSessions: true, oldestSession: 'longest-unused' },
    create: userIsAddress,
  },
  {
    id: 'session-opened-again-keeps-its-age',
    questions: ['sessions/age', 'sessions/reused-name'],
    about: 'A grant for the name of a live session ends its tokens, but the session is as old as before.',
    create() {
      const seen = watch(() => ({
        begun: 0,
        ages: new WeakMap<Session, number>(),
        named: new Map<string, Session>(),
        left: new WeakSet<Session>(),
      }))
      const ageOf = (session: Session) => seen.memory.ages.get(session) ?? 0
      return {
        around: seen.around,
        rules: {
          grantResult: (result, { session }) => {
            if (session === undefined) return result
            const { ages, named, left } = seen.memory
            const name = `${session.user} ${session.name}`
            const before = named.get(name)
            const isRenewed = before?.removed === true && before.expiryMs > seen.nowMs && !left.has(before)
            seen.memory.begun += 1
            ages.set(session, isRenewed ? ageOf(before) : seen.memory.begun)
            named.set(name, session)
            return result
          },
          sessionsRemoved: (live, surplus) => {
            const oldest = [...live].sort((one, other) => ageOf(one) - ageOf(other)).slice(0, surplus)
            for (const session of oldest) seen.memory.left.add(session)
            return oldest
          },
        },
      }
    },
  },
  {
    id: 'session-names-add-and-sessions-end-after-two-hours',
    questions: ['sessions/reused-name', 'sessions/lifetime'],
    about: 'The tokens of a session are reported to end with it at the latest.',
    profile: { reusedSessionName: 'adds' },
    create: () => ({
      rules: {
        accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) || nowMs >= endMs(pair),
        refreshExpired: (pair, nowMs) => right.refreshExpired(pair, nowMs) || nowMs >= endMs(pair),
        reportedAccessExpiry: (pair) => Math.min(right.reportedAccessExpiry(pair), endMs(pair)),
        reportedRefreshExpiry: (pair) => Math.min(right.reportedRefreshExpiry(pair), endMs(pair)),
      },
    }),
  },
]
