import type { ServerContext } from '../../context.ts'
import { rules as right } from '../../rules.ts'
import { chain } from '../answers.ts'
import type { Around, IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const second = 1000
const minute = 60 * second

/** Does something in the first call of each minute of the clock, as a job in the background would. */
function eachMinute(job: (context: ServerContext) => void): Around {
  const seen = watch(() => ({ minute: Number.NaN }))
  const work: Around = (handle, context) => (request) => {
    const { memory } = seen
    const now = Math.floor(context.now() / minute)
    if (now > memory.minute) job(context)
    memory.minute = now
    return handle(request)
  }
  return chain(work, seen.around)
}

/** Sessions: parts 2, 3 and 5.4. */
export const twelfthSessionMutants: IndependentMutant[] = [
  {
    // "One user can have up to 16 sessions"
    id: 'sessions-beyond-eight-removed-each-minute',
    breaks: 'sessions/sixteen-live',
    needsState: true,
    about: 'A job in the background still has the limit of an earlier version.',
    create: () => ({
      around: eachMinute(({ state }) => {
        for (const sessions of state.sessions.values()) {
          const live = sessions.filter((session) => !session.removed)
          for (const session of live.slice(0, Math.max(live.length - 8, 0))) session.removed = true
        }
      }),
    }),
  },
  {
    // "when the limit is reached the oldest session is removed"
    id: 'sessions-of-last-second-not-counted-at-limit',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    about: 'They are counted in a copy of the database that is a second behind.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          sessionsRemoved: (live, surplus, profile) => {
            const young = live.filter((session) => seen.nowMs - session.createdMs < second)
            return right.sessionsRemoved(live, Math.max(surplus - young.length, 0), profile)
          },
        },
      }
    },
  },
]
