import type { ServerContext } from './context.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import { type ApiKey, makeRoom, type Session, type Token, type TokenKind, type TokenPair } from './state.ts'

/** The token with this text if it is good for `use`. Stages: `token/unknown`, `kind`, `revoked`, `expired`, `session`, `spent`. */
export function findToken(context: ServerContext, text: string, use: TokenKind): Outcome<Token> {
  const { rules, state } = context
  const token = rules.tokenNamed(
    text,
    (exact) => state.tokens.get(exact),
    () => [...state.tokens.values()],
    use,
  )
  if (!token) return refuse('token', 'token/unknown')
  if (!rules.tokenKindTaken(token.kind, use)) return refuse('token', 'token/kind')
  const stage = pairProblem(context, token, use)
  return stage === undefined ? succeed(token) : refuse('token', stage)
}

function pairProblem({ rules, now }: ServerContext, { kind, pair }: Token, use: TokenKind): string | undefined {
  if (!rules.issuedTokenWorks(kind, pair)) return 'token/spent'
  const revoked = pair.family.revoked || (kind === 'access' ? pair.accessRevoked : pair.refreshRevoked)
  if (revoked && !rules.revokedTokenWorks(kind, pair)) return 'token/revoked'
  const nowMs = now()
  const expired = kind === 'access' ? rules.accessExpired(pair, nowMs) : rules.refreshExpired(pair, nowMs)
  if (expired) return 'token/expired'
  if (use === 'refresh' && rules.refreshNeedsLiveAccess() && rules.accessExpired(pair, nowMs)) return 'token/expired'
  if (pair.session?.removed && !rules.removedSessionWorks(use, pair)) return 'token/session'
  return undefined
}

/** What is fixed about a pair before it is issued. */
interface PairPlan extends Pick<TokenPair, 'key' | 'scope' | 'scopeEcho' | 'addresses' | 'session' | 'expiresInMs'> {
  /** The pair that is refreshed. */
  old?: TokenPair
}

/** Issues a pair of tokens and stores it. */
export function issuePair(context: ServerContext, plan: PairPlan): TokenPair {
  const { rules, profile, state, bounds } = context
  const { old } = plan
  const issuedMs = context.now()
  const fresh = () =>
    context
      .random(Math.ceil((profile.tokenLength * 3) / 4))
      .toString('base64url')
      .slice(0, profile.tokenLength)
  const renewed = old === undefined || profile.refreshLifetime === 'new'
  const pair: TokenPair = {
    id: context.random(8).toString('hex'),
    family: old?.family ?? { id: context.random(8).toString('hex'), revoked: false },
    key: plan.key,
    accessToken: rules.tokenText('access', fresh(), old),
    refreshToken: rules.tokenText('refresh', fresh(), old),
    scope: plan.scope,
    scopeEcho: plan.scopeEcho,
    addresses: plan.addresses,
    session: plan.session,
    expiresInMs: plan.expiresInMs,
    issuedMs,
    accessExpiryMs: 0,
    refreshExpiryMs: renewed ? rules.expiry(issuedMs + rules.refreshLifeMs(profile), profile) : old.refreshExpiryMs,
    accessRevoked: false,
    refreshRevoked: false,
    generation: old === undefined ? 0 : old.generation + 1,
  }
  if (old) pair.parent = old.id
  const accessExpiryMs = rules.expiry(issuedMs + rules.accessLifeMs(plan.expiresInMs, profile), profile)
  const capped = plan.expiresInMs === undefined || rules.expiresInTooLong(profile) !== 'taken'
  pair.accessExpiryMs = capped ? Math.min(accessExpiryMs, pair.refreshExpiryMs) : accessExpiryMs
  if (pair.session) keepSessionFor(pair.session, pair)

  dropExpired(context, issuedMs)
  makeRoom(state.tokens, bounds.tokens - 1)
  state.tokens.set(pair.accessToken, { kind: 'access', text: pair.accessToken, pair })
  state.tokens.set(pair.refreshToken, { kind: 'refresh', text: pair.refreshToken, pair })
  return pair
}

/** A session lasts as long as the last of its refresh tokens. */
function keepSessionFor(session: Session, { refreshExpiryMs }: TokenPair): void {
  const isNew = session.expiryMs === Number.POSITIVE_INFINITY
  session.expiryMs = isNew ? refreshExpiryMs : Math.max(session.expiryMs, refreshExpiryMs)
}

/** All pairs that are stored, oldest first. */
export function pairsOf({ state }: ServerContext): TokenPair[] {
  return [...new Set([...state.tokens.values()].map(({ pair }) => pair))]
}

/** Revokes both tokens of a pair. */
export function endPair(pair: TokenPair): void {
  pair.accessRevoked = true
  pair.refreshRevoked = true
}

/** Takes out the tokens at the old end whose pair is over; once in a while, so that not every call looks for them. */
function dropExpired({ state }: ServerContext, nowMs: number): void {
  state.issued += 1
  if (state.issued % 256 !== 0) return
  for (const [text, { pair }] of state.tokens) {
    if (Math.max(pair.refreshExpiryMs, pair.accessExpiryMs) > nowMs) break
    state.tokens.delete(text)
  }
}

/** What a grant does to the sessions of its user. Made first and carried out later, so that a race can be lost in between. */
interface SessionPlan {
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
