import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey, Session, TokenKind, TokenPair } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import { before, meets } from '../around.ts'
import { sessionIn } from '../call.ts'
import { onGrant, onRefresh, onRefused, onRemoval, onUse } from '../events.ts'
import { meet, meeting, someMicrotasks, tenMs, tornApart, twoMs, type Wait } from '../in-flight.ts'
import { every, forKeysMade } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, counts, day, hour, marks, minute, type Seen, table } from '../rows.ts'
import { asks, inSession, ofCreatedKey, ofRefresh, ofSolution, withAddress, withApikey, withLifetime } from './pairs.ts'

type Removes = (live: Session[], surplus: number) => Session[]

/** Other sessions make room at the limit. */
const removes = (sessionsRemoved: Removes): Change => ({ sessionsRemoved })
/** The oldest sessions make room, but more or fewer of them. */
const removesMany = (howMany: (surplus: number, live: Session[]) => number): Change => ({
  sessionsRemoved: (live, surplus, profile) => right.sessionsRemoved(live, howMany(surplus, live), profile),
})
/** The sessions that come first in another order make room. */
const removesFirst = (order: (session: Session) => number | string): Change =>
  removes((live, surplus) =>
    [...live]
      .sort((one, other) => Number(order(one) > order(other)) - Number(order(one) < order(other)))
      .slice(0, surplus),
  )
/** Some tokens of a removed session work. */
const outlives = (use: 'access' | 'refresh', fits: (pair: TokenPair) => boolean): Change => ({
  removedSessionWorks: (used, pair) => used === use && fits(pair),
})
const isLive = ({ context: { state }, nowMs }: Pick<Seen, 'context' | 'nowMs'>): Session[] =>
  [...state.sessions.values()].flat().filter(({ removed, expiryMs }) => !removed && expiryMs > nowMs)

/** A grant that removes a session gives a token of this kind that does not work. */
const deadBehindRemoval =
  (dead: TokenKind) =>
  (_seen: Seen, removed = false, pairs = marks()): Change => ({
    ...onRemoval(() => {
      removed = true
    }),
    ...onGrant((pair) => {
      if (removed) pairs.add(pair)
      removed = false
    }),
    issuedTokenWorks: (kind, pair) => kind !== dead || !pairs.has(pair),
  })

/** The server counts the sessions of a user, waits, and then creates one more without counting again. */
const tornSessions =
  (wait: Wait) =>
  (seen: Seen, counted = 0, asking?: ApiKey): Change => ({
    secretsOf: (key) => {
      asking = key
      return [key.secret]
    },
    beforeEffect: (effect) => {
      if (effect !== 'session') return undefined
      const user = asking && right.sessionUser(asking, seen.context.profile)
      const atDecision = isLive(seen).filter((session) => session.user === user).length
      return wait().then(() => {
        counted = atDecision
      })
    },
    sessionLimit: () => (counted < 16 ? Number.POSITIVE_INFINITY : 16),
  })

const looksLikeNumber = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i

/** Parts 2, 3 and 5.4: session:NAME. */
export const sessions: BrokenRows = {
  'sessions/created': {
    'tokens-of-a-session-do-not-work': { issuedTokenWorks: (_kind, pair) => !inSession(pair) },
    // A new session with the name of a removed one gets tokens that do not work.
    'name-of-removed-session-stays-dead': by.first((_seen, dead = marks()) => ({
      ...onRemoval((removed) => {
        for (const { name } of removed) dead.add(name)
      }),
      issuedTokenWorks: (_kind, { session }) => session === undefined || session.removed || !dead.has(session.name),
    })),
    // The text `0` counts as empty.
    'session-named-0-makes-no-session': by.ninth({ sessionCreated: (name) => name !== '0' }),
    // The second one then replaces the first, as a session of the same name does.
    'sessions-in-flight-share-their-name': by.tenth((_seen, latest?: string) => ({
      around: meeting((call) => {
        const name = sessionIn(call.scope)
        latest = name ?? latest
        return name !== undefined
      }),
      sessionName: (name) => name && latest,
    })),
    // The sessions of a user are read before a grant and written back as a whole after it: of several at once one stays.
    'sessions-in-flight-written-back-without-others': by.reported({
      around: meets(async (call, next) => {
        const name = sessionIn(call.scope)
        if (name === undefined) return next()
        const before = new Set(isLive(call))
        await meet()
        const answer = await next()
        for (const one of isLive(call)) if (!before.has(one) && one.name !== name) one.removed = true
        return answer
      }),
    }),
  },
  'sessions/sixteen-live': {
    'fifteen-sessions-kept': { sessionLimit: () => 15 },
    'created-key-has-fifteen-sessions': by.first({ sessionLimit: ({ initial }) => (initial ? 16 : 15) }),
    // Long names that begin alike are one session.
    'session-names-cut-at-sixteen-characters': by.first({ sessionName: (name) => name?.slice(0, 16) }),
    // The names 10, 010 and 1e1 are one session.
    'session-names-like-numbers-compared-as-numbers': by.second({
      sessionName: (name) => (name !== undefined && looksLikeNumber.test(name) ? String(Number(name)) : name),
    }),
    'session-with-expires-in-removes-two-at-the-limit': by.third((seen) =>
      removesMany((surplus) => (asks(seen, 'expiresIn:') ? surplus + 1 : surplus)),
    ),
    'sixteenth-session-with-address-removes-the-first': by.fourth((seen) => ({
      sessionLimit: () => (asks(seen, 'ipAddr:') ? 15 : 16),
    })),
    'session-names-cut-at-first-hyphen': by.fifth({ sessionName: (name) => name?.split('-')[0] }),
    // The session of the same name ends, and is still counted.
    'session-whose-name-returned-keeps-its-place': by.fifth((seen, lost = table<number>()) => ({
      sessionLimit: ({ id }) => {
        const live = seen.state.sessions.get(id)?.filter(({ removed }) => !removed)
        if (live?.some(({ name }) => name === sessionIn(seen.scope))) lost.set(id, (lost.get(id) ?? 0) + 1)
        return Math.max(16 - (lost.get(id) ?? 0), 1)
      },
    })),
    // The letters of a name are sorted before it is looked up, and a new session replaces the one of its name.
    'session-names-with-same-letters-are-one': by.ninth({ sessionName: (name) => name && [...name].sort().join('') }),
    // It splits the entry at its colons and takes the second part.
    'session-names-cut-at-colon': by.tenth({ sessionName: (name) => name && (name.split(':')[0] || name) }),
    // The count goes down when a session is removed, and not when its time is over.
    'ended-sessions-keep-their-places': by.tenth((seen, known = new Set<Session>()) => ({
      ...onGrant(({ session }) => session && known.add(session)),
      sessionLimit: (key) => {
        const user = right.sessionUser(key, seen.context.profile)
        const ended = [...known].filter((one) => one.user === user && !one.removed && one.expiryMs <= seen.nowMs)
        return Math.max(1, 16 - ended.length)
      },
    })),
    // A job in the background still has the limit of an earlier version.
    'sessions-beyond-eight-removed-each-minute': by.twelfth((_seen, last = Number.NaN) => ({
      around: before(({ state, nowMs }) => {
        const now = Math.floor(nowMs / minute)
        for (const sessions of now > last ? state.sessions.values() : []) {
          const live = sessions.filter((session) => !session.removed)
          for (const session of live.slice(0, Math.max(live.length - 8, 0))) session.removed = true
        }
        last = now
        return undefined
      }),
    })),
    'eight-sessions-kept': { sessionLimit: () => 8 },
    'four-sessions-of-created-keys-kept': { sessionLimit: ({ initial }) => (initial ? 16 : 4) },
  },
  'sessions/at-most-sixteen': {
    'seventeen-sessions-kept': { sessionLimit: () => 17 },
    'sessions-never-created': { sessionCreated: () => false },
    // Of seventeen long names that begin alike each joins the session of the first.
    'long-session-names-are-one-session': by.reported({
      sessionName: (name) => name?.slice(0, 32),
      profile: { reusedSessionName: 'joins' },
    }),
    'created-key-has-seventeen-sessions': by.first({ sessionLimit: ({ initial }) => (initial ? 16 : 17) }),
    'sessions-counted-two-ms-before-creation': by.first(tornSessions(twoMs)),
    // Only calls made inside one process show it; calls through sockets come too far apart.
    'sessions-counted-some-microtasks-before-creation': by.first(tornSessions(someMicrotasks)),
    // Two processes decide over one store; each new session removes one, so what a lost race left stays for ever.
    'two-processes-keep-what-a-lost-race-left': by.reported({
      profile: { sessionUser: 'all-keys', delayMs: 40 },
      accessLifeMs: (_askedMs, profile) => profile.accessLifeMs,
      beforeEffect: (effect) => (effect === 'listing' ? undefined : tenMs()),
      sessionsRemoved: (live, surplus) => live.slice(0, Math.min(surplus, 1)),
    }),
    // The sessions are counted for one key, and the oldest one of all keys is removed.
    'session-beyond-limit-removes-oldest-of-any-user': by.second((seen) =>
      removes((_live, surplus) =>
        isLive(seen)
          .sort((one, other) => one.createdMs - other.createdMs)
          .slice(0, surplus),
      ),
    ),
    'address-beside-session-makes-no-session': by.second((seen) => ({ sessionCreated: () => !asks(seen, 'ipAddr:') })),
    // Connections go to two workers in turn, and each counts the sessions that it has made.
    'sessions-counted-by-each-of-two-workers': by.third((seen) => ({
      sessionUser: (key, profile) => `${right.sessionUser(key, profile)} ${(seen.connection ?? 0) % 2}`,
    })),
    'sessions-counted-for-each-set-of-scopes': by.third((seen) => ({
      sessionUser: (key, profile) => {
        const areas = seen.scope.filter((word) => !word.includes(':'))
        return `${right.sessionUser(key, profile)} ${areas.sort().join(' ')}`
      },
    })),
    // The sessions are members of an object, in which a name such as "constructor" seems to be there already.
    'sessions-named-like-members-of-objects-not-counted': by.third((seen) => ({
      sessionUser: (key, profile) => {
        const user = right.sessionUser(key, profile)
        const name = sessionIn(seen.scope) ?? ''
        return name in {} ? `${user} ${name}` : user
      },
    })),
    // The sessions are counted in a number of its own, from which a removed session is taken twice.
    'each-removed-session-makes-room-for-two': by.third((seen, missed = table<number>()) => ({
      ...onRemoval(() => missed.set(seen.params.apiKeyId, (missed.get(seen.params.apiKeyId) ?? 0) + 1)),
      sessionLimit: ({ id }) => 16 + (missed.get(id) ?? 0),
    })),
    // Sessions are counted by their first pairs of tokens.
    'session-not-counted-once-its-pair-is-refreshed': by.fourth((seen) =>
      onRefresh(({ session }) => {
        const { sessions } = seen.state
        const counted = sessions.get(session?.user ?? '')?.filter((one) => one !== session)
        if (session && counted) sessions.set(session.user, counted)
      }),
    ),
    'fourth-overflow-removes-no-session': by.fourth(every(4, 'sessionsRemoved', () => [])),
    'no-session-limit-for-keys-created-by-signature': by.fourth(
      forKeysMade('by-signature', (made) => ({ sessionLimit: (key) => (made(key) ? 1000 : 16) })),
    ),
    'session-with-expires-in-removes-none-at-the-limit': by.fifth((seen) => ({
      sessionLimit: () => (asks(seen, 'expiresIn:') ? 1000 : 16),
    })),
    'no-session-limit-for-keys-made-by-created-keys': by.fifth(
      forKeysMade('by-created-key', (made) => ({ sessionLimit: (key) => (made(key) ? 1000 : 16) })),
    ),
    // The places are a ring, and its end is reached.
    'seventeenth-overflow-removes-no-session': by.fifth((_seen, overflows = counts()) =>
      removesMany((surplus, [oldest]) => (overflows(oldest?.user) === 17 ? 0 : surplus)),
    ),
    'sessions-with-address-not-counted': by.eighth((seen, bound = marks()) => ({
      ...onGrant((pair) => withAddress(pair) && bound.add(pair.session)),
      sessionLimit: (key) => {
        if (asks(seen, 'ipAddr:')) return Number.POSITIVE_INFINITY
        const live = seen.state.sessions.get(right.sessionUser(key, seen.context.profile)) ?? []
        return 16 + live.filter((session) => bound.has(session) && !session.removed).length
      },
      ...removes((live, surplus) => live.filter((session) => !bound.has(session)).slice(0, surplus)),
    })),
    // The way back from an error lowers a count that was not raised.
    'refused-grant-frees-a-session-place': by.ninth((_seen, freed = table<number>()) => ({
      ...onRefused(({ isGrant, scope, keyId: id }) => {
        if (isGrant && sessionIn(scope) !== undefined) freed.set(id, (freed.get(id) ?? 0) + 1)
      }),
      sessionLimit: ({ id }) => 16 + (freed.get(id) ?? 0),
    })),
    // They are counted in a copy of the database that is a second behind.
    'sessions-of-last-second-not-counted-at-limit': by.twelfth((seen) =>
      removesMany((surplus, live) => {
        const young = live.filter(({ createdMs }) => seen.nowMs - createdMs < 1000)
        return Math.max(surplus - young.length, 0)
      }),
    ),
    'any-number-of-sessions-kept': { sessionLimit: () => 1000 },
    'any-number-of-sessions-of-created-keys-kept': { sessionLimit: ({ initial }) => (initial ? 16 : 1000) },
  },
  'sessions/next-works': {
    'seventeenth-session-refused': { beyondSessionLimit: () => 'refused' },
    'seventeenth-session-does-not-work': {
      issuedTokenWorks: (_kind, { session }) => !/^s17/.test(session?.name ?? ''),
    },
    // No session is created when the oldest one was used within the last second.
    'seventeenth-session-refused-while-oldest-is-in-use': by.first((seen, usedMs = Number.NEGATIVE_INFINITY) => ({
      ...onUse(({ session }, nowMs) => {
        const oldest = seen.state.sessions.get(session?.user ?? '')?.[0]
        if (oldest !== undefined && session === oldest) usedMs = nowMs
      }),
      beyondSessionLimit: () => (seen.nowMs - usedMs < 1000 ? 'refused' : 'oldest-removed'),
    })),
    // The tokens of the removed session are deleted late, and take the new access token with them.
    'first-access-token-of-seventeenth-session-is-dead': by.second(deadBehindRemoval('access')),
    'session-that-removed-another-cannot-be-refreshed': by.fourth(deadBehindRemoval('refresh')),
  },
  'sessions/oldest-removed': {
    'newest-session-removed': removes((live, surplus) => live.slice(-surplus)),
    'first-session-by-name-removed': removesFirst(({ name }) => name ?? ''),
    'sessions-that-begin-like-the-oldest-removed': removes((live, surplus) =>
      live.filter(({ name }, index) => index < surplus || name?.startsWith(live[0]?.name ?? 'unnamed') === true),
    ),
    'session-that-ends-first-removed': (_seen, endMs = table<number>()) => ({
      reportedAccessExpiry: ({ session, accessExpiryMs }) => {
        endMs.set(session, accessExpiryMs)
        return accessExpiryMs
      },
      ...removesFirst((session) => endMs.get(session) ?? 0),
    }),
    'refused-grant-opens-a-session': { refusedGrantOpensSession: () => true },
    'refresh-opens-a-session': { refreshOpensSession: () => true },
    'all-sessions-removed': removes((live) => live),
    'two-sessions-removed': removes((live, surplus) => live.slice(0, surplus + 1)),
    'second-oldest-session-removed': removes((live, surplus) => live.slice(1, surplus + 1)),
    'access-through-a-removed-session': outlives('access', () => true),
    'second-overflow-removes-newest-session': by.first((_seen, overflows = counts()) =>
      removes((live, surplus) => (overflows() > 1 ? live.slice(-surplus) : live.slice(0, surplus))),
    ),
    // An access token that was used before its session was removed still works.
    'used-access-token-outlives-removed-session': by.first((_seen, used = marks()) => ({
      ...onUse((pair) => pair.session?.removed === false && used.add(pair)),
      ...outlives('access', (pair) => used.has(pair)),
    })),
    'refreshed-access-token-outlives-removed-session': by.first(outlives('access', ofRefresh)),
    'token-of-removed-session-creates-keys': by.first((seen) => outlives('access', () => seen.creates)),
    // Sessions are looked up by name, so the tokens of a removed one work again once the name is used again.
    'removed-session-works-again-when-name-returns': by.first((seen) => ({
      removedSessionWorks: (_use, { session }) =>
        [...seen.state.sessions.values()]
          .flat()
          .some((one) => !one.removed && one.name === session?.name && one.user === session?.user),
    })),
    'every-second-refresh-takes-a-session-place': by.first(every(2, 'refreshOpensSession', () => true)),
    // Sessions are the members of a JavaScript object, which puts names like 3 and 12 first, the smallest before all.
    'oldest-session-is-first-member-of-an-object': by.second(
      removes((live, surplus) =>
        Object.values(Object.fromEntries(live.map((session) => [session.name ?? '', session]))).slice(0, surplus),
      ),
    ),
    // Only sessions with a live access token are looked at, so a younger one leaves instead.
    'session-with-expired-access-token-is-not-removed': by.second((seen) =>
      removes((live, surplus) => {
        const inUse = live.filter((session) =>
          pairsOf(seen.context).some(
            (pair) => pair.session === session && !pair.accessRevoked && !right.accessExpired(pair, seen.nowMs),
          ),
        )
        return (inUse.length >= surplus ? inUse : live).slice(0, surplus)
      }),
    ),
    // A session that was just used works for up to five seconds after it was removed.
    'session-looked-up-every-five-seconds': by.second((seen, checkedMs = table<number>()) => ({
      ...onUse(({ session }, nowMs) => session?.removed === false && checkedMs.set(session, nowMs)),
      ...outlives('access', ({ session }) => seen.nowMs - (checkedMs.get(session) ?? Number.NEGATIVE_INFINITY) < 5000),
    })),
    // The column of the creation holds a time without a date.
    'session-with-the-earliest-time-of-day-removed': by.fourth(removesFirst(({ createdMs }) => createdMs % day)),
    'access-token-with-expires-in-outlives-removed-session': by.fourth(outlives('access', withLifetime)),
    // The refresh writes the session that it has read before it was removed.
    'refresh-in-flight-brings-its-removed-session-back': by.fourth((_seen, taken = marks()) => ({
      // A refresh token still works only once.
      tokenNamed: (text, find, _all, use) => {
        if (use === 'access') return find(text)
        if (taken.has(text)) return undefined
        taken.add(text)
        return find(text)
      },
      ...tornApart('refresh', meet),
      refreshedSession: ({ session }) => {
        if (session) session.removed = false
        return session
      },
    })),
    'session-with-apikey-scope-keeps-its-place': by.fifth((_seen, kept = marks()) => ({
      ...onGrant((pair) => withApikey(pair) && kept.add(pair.session)),
      ...removes((live, surplus) => live.filter((session) => !kept.has(session)).slice(0, surplus)),
    })),
    // A refresh puts its session at the wrong end of the list.
    'refreshed-session-counts-as-oldest': by.eighth((_seen, refreshed = marks()) => ({
      ...onRefresh(({ session }) => refreshed.add(session)),
      ...removes((live, surplus) => {
        const first = live.filter((session) => refreshed.has(session))
        return [...first, ...live.filter((session) => !refreshed.has(session))].slice(0, surplus)
      }),
    })),
    // The pairs to revoke are those whose session is not among the live ones.
    'removal-ends-pairs-without-session': by.reported((seen) =>
      onRemoval((removed) => {
        for (const { pair } of seen.state.tokens.values())
          if (pair.session === undefined && removed.some(({ user }) => user === pair.key.id))
            pair.accessRevoked = pair.refreshRevoked = true
      }),
    ),
    // The rows to remove are those with the smallest time of creation.
    'sessions-of-same-millisecond-removed-together': by.eighth(
      removes((live, surplus) => {
        const removed = live.slice(0, surplus)
        return live.filter(({ createdMs }) => removed.some((session) => session.createdMs === createdMs))
      }),
    ),
    // Until then there are seventeen.
    'oldest-session-removed-when-next-grant-arrives': by.ninth((_seen, leaving: Session[] = []) => ({
      around: meets((call, next) => {
        for (const session of call.isGrant ? leaving.splice(0) : []) session.removed = true
        return next()
      }),
      ...removes((live, surplus) => {
        leaving.push(...live.slice(0, surplus))
        return []
      }),
    })),
    // The time of the last use is written before the check, and writing it stores the session again.
    'refused-refresh-brings-removed-session-back': by.ninth(
      onRefused(({ namedPair }) => namedPair?.session && Object.assign(namedPair.session, { removed: false })),
    ),
    // The first removal is right; then 10 comes before 2.
    'session-numbers-compared-as-text': by.ninth((_seen, numbers = table<number>()) =>
      removes((live, surplus) => {
        for (const session of live) if (!numbers.has(session)) numbers.set(session, numbers.size + 1)
        const textOf = (session: Session) => String(numbers.get(session))
        return [...live].sort((one, other) => (textOf(one) < textOf(other) ? -1 : 1)).slice(0, surplus)
      }),
    ),
    'removed-session-works-for-token-of-one-solution': by.tenth(outlives('access', ofSolution)),
  },
  'sessions/removed-refresh': {
    'refresh-through-a-removed-session': outlives('refresh', () => true),
    'refreshed-refresh-token-outlives-removed-session': by.first(outlives('refresh', ofRefresh)),
    'removed-session-refreshes-after-access-expiry': by.second((seen) =>
      outlives('refresh', (pair) => right.accessExpired(pair, seen.nowMs)),
    ),
    // The refresh leaves the session that is gone.
    'removed-session-with-address-refreshes': by.fourth({
      ...outlives('refresh', withAddress),
      refreshedSession: ({ session }) => (session?.removed ? undefined : session),
    }),
    'removed-session-works-again-after-two-hours': by.fifth((seen, removedMs = table<number>()) => ({
      ...onRemoval((removed) => {
        for (const session of removed) removedMs.set(session, seen.nowMs)
      }),
      removedSessionWorks: (_use, { session }) =>
        seen.nowMs >= (removedMs.get(session) ?? Number.POSITIVE_INFINITY) + 2 * hour,
    })),
    'removed-session-of-created-key-refreshes': by.eighth(outlives('refresh', ofCreatedKey)),
  },
}
