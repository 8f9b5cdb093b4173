import type { ServerContext } from './context.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import type { ApiKey, Session } from './state.ts'

/** What a grant does to the sessions of its user. Made first and carried out later, so that a race can be lost in between. */
export interface SessionPlan {
  user: string
  name: string | undefined
  /** The session that the grant joins instead of creating one. */
  joined: Session | undefined
  leaving: Session[]
}

/**
 * Decides which sessions leave for a new one. `requested` is undefined where an unnamed grant counts as a session.
 * Refused with stage `session/limit` or `session/name` only under a replaced rule.
 */
export function planSession(context: ServerContext, key: ApiKey, requested: string | undefined): Outcome<SessionPlan> {
  const { rules, profile } = context
  const name = rules.sessionName(requested)
  const user = rules.sessionUser(key, profile)
  const live = liveSessions(context, user)
  const same = name === undefined ? undefined : live.find((session) => session.name === name)
  const reuse = rules.reusedSessionName(profile)
  if (same && reuse === 'refused') return refuse('denied', 'session/name')
  if (same && reuse === 'joins') return succeed({ user, name, joined: same, leaving: [] })
  const replaced = same && reuse === 'replaces' ? [same] : []
  const others = live.filter((session) => !replaced.includes(session))
  const surplus = others.length + 1 - rules.sessionLimit(key)
  if (surplus > 0 && rules.beyondSessionLimit() === 'refused') return refuse('denied', 'session/limit')
  const leaving = surplus > 0 ? [...replaced, ...rules.sessionsRemoved(others, surplus, profile)] : replaced
  return succeed({ user, name, joined: undefined, leaving })
}

/** Carries a plan out. */
export function enterSession(context: ServerContext, { user, name, joined, leaving }: SessionPlan): Session {
  const nowMs = context.now()
  if (joined !== undefined) {
    joined.lastUsedMs = nowMs
    return joined
  }
  for (const session of leaving) session.removed = true
  // The expiry is set when the pair of the session is issued; until then it must not look expired.
  const session: Session = {
    name,
    user,
    createdMs: nowMs,
    lastUsedMs: nowMs,
    expiryMs: Number.POSITIVE_INFINITY,
    removed: false,
  }
  context.state.sessions.set(user, [...liveSessions(context, user), session])
  return session
}

/** Creates a session at once. */
export function openSession(context: ServerContext, key: ApiKey, requested: string | undefined): Outcome<Session> {
  const plan = planSession(context, key, requested)
  return plan.ok ? succeed(enterSession(context, plan.value)) : plan
}

function liveSessions({ state, now }: ServerContext, user: string): Session[] {
  const nowMs = now()
  return (state.sessions.get(user) ?? []).filter((session) => !session.removed && session.expiryMs > nowMs)
}
