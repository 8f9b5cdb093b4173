import type { ApiKey } from '../../state.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

type Wait = () => Promise<void>

const twoMs: Wait = () => new Promise((resolve) => setTimeout(resolve, 2))
const oneTurn: Wait = () => new Promise((resolve) => setImmediate(resolve))
/** Shorter than the way of a call through a socket: only calls made inside one process meet in this window. */
const someMicrotasks: Wait = async () => {
  for (let turn = 0; turn < 4; turn++) await undefined
}

/** The server waits between the decision about a refresh or a key and its effect. */
const tornApart = (wanted: 'refresh' | 'key', wait: Wait): ReturnType<IndependentMutant['create']> => ({
  rules: { beforeEffect: (effect) => (effect === wanted ? wait() : undefined) },
})

/** The server counts the sessions of a user, waits, and then creates one more without counting again. */
function tornSessions(wait: Wait): ReturnType<IndependentMutant['create']> {
  const seen = watch()
  let asking: ApiKey | undefined
  let counted = 0
  const countLive = () => {
    const { context } = seen
    const user = asking === undefined ? '' : context.rules.sessionUser(asking, context.profile)
    const sessions = context.state.sessions.get(user) ?? []
    return sessions.filter((session) => !session.removed && session.expiryMs > seen.nowMs).length
  }
  return {
    around: seen.around,
    rules: {
      secretsOf: (key) => {
        asking = key
        return [key.secret]
      },
      beforeEffect: (effect) => {
        if (effect !== 'session') return undefined
        const atDecision = countLive()
        return wait().then(() => {
          counted = atDecision
        })
      },
      sessionLimit: () => (counted < 16 ? Number.POSITIVE_INFINITY : 16),
    },
  }
}

/** Parts 3 and 8: calls that come at the same time. */
export const raceMutants: IndependentMutant[] = [
  {
    id: 'refresh-decided-two-ms-before-revocation',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    create: () => tornApart('refresh', twoMs),
  },
  {
    id: 'refresh-decided-a-turn-before-revocation',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    create: () => tornApart('refresh', oneTurn),
  },
  {
    id: 'refresh-decided-some-microtasks-before-revocation',
    breaks: 'refresh/revokes-refresh',
    about: 'Only calls made inside one process show it; calls through sockets come too far apart.',
    needsState: true,
    create: () => tornApart('refresh', someMicrotasks),
  },
  {
    id: 'second-refresh-decided-two-ms-before-revocation',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'The first refresh of a grant is safe; the next ones are torn apart.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          beforeEffect: (effect) => {
            if (effect !== 'refresh') return undefined
            const tokens = [...seen.context.state.tokens.values()]
            const shown = tokens.find(({ kind, text }) => kind === 'refresh' && seen.bodyHas(text))
            return (shown?.pair.generation ?? 0) > 0 ? twoMs() : undefined
          },
        },
      }
    },
  },
  {
    id: 'keys-counted-two-ms-before-creation',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => tornApart('key', twoMs),
  },
  {
    id: 'keys-counted-a-turn-before-creation',
    breaks: 'limits/ten-keys',
    needsState: true,
    create: () => tornApart('key', oneTurn),
  },
  {
    id: 'keys-counted-some-microtasks-before-creation',
    breaks: 'limits/ten-keys',
    about: 'Only calls made inside one process show it; calls through sockets come too far apart.',
    needsState: true,
    create: () => tornApart('key', someMicrotasks),
  },
  {
    id: 'sessions-counted-two-ms-before-creation',
    breaks: 'sessions/at-most-sixteen',
    needsState: true,
    create: () => tornSessions(twoMs),
  },
  {
    id: 'sessions-counted-some-microtasks-before-creation',
    breaks: 'sessions/at-most-sixteen',
    about: 'Only calls made inside one process show it; calls through sockets come too far apart.',
    needsState: true,
    create: () => tornSessions(someMicrotasks),
  },
]
