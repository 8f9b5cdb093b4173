import type { ServerContext } from './context.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import type { ApiKey, Session } from './state.ts'

/**
 * Creates a session and removes the oldest ones beyond the limit. `asked` is undefined where an unnamed grant counts as one.
 * Refused with stage `session/limit` or `session/name` only under a replaced rule.
 */
export function openSession(context: ServerContext, key: ApiKey, asked: string | undefined): Outcome<Session> {
  const { rules, profile, state } = context
  const nowMs = context.now()
  const name = rules.sessionName(asked)
  const user = rules.sessionUser(key, profile)
  const live = (state.sessions.get(user) ?? []).filter((session) => !session.removed && session.expiryMs > nowMs)
  const same = name === undefined ? undefined : live.find((session) => session.name === name)
  const reuse = rules.reusedSessionName(profile)
  if (same && reuse === 'refused') return refuse('denied', 'session/name')
  if (same && reuse === 'joins') {
    same.lastUsedMs = nowMs
    return succeed(same)
  }
  const replaced = same && reuse === 'replaces' ? [same] : []
  const others = live.filter((session) => !replaced.includes(session))
  const surplus = others.length + 1 - rules.sessionLimit(key)
  if (surplus > 0 && rules.beyondSessionLimit() === 'refused') return refuse('denied', 'session/limit')
  const leaving = surplus > 0 ? [...replaced, ...rules.sessionsRemoved(others, surplus, profile)] : replaced
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
  state.sessions.set(user, [...others.filter((other) => !other.removed), session])
  return succeed(session)
}
