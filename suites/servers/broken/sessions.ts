import type { ServerContext } from '../../../mock-server/context.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey, Session, TokenPair } from '../../../mock-server/state.ts'
import { openSession } from '../../../mock-server/token-state.ts'
import {
  type Around,
  answerThrough,
  type BrokenRows,
  type Change,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  meet,
  namedKeyId,
  ninth,
  own,
  paramsOf,
  type Seen,
  scopeOf,
  second,
  tenth,
  third,
  twelfth,
} from '../operators.ts'
import { day, hour, minute, someMicrotasks, twoMs, type Wait } from './changes.ts'

/** The session whose access token ends first is removed. */
function firstToEnd(): Change {
  const ends = new WeakMap<Session, number>()
  return {
    reportedAccessExpiry: (pair) => {
      if (pair.session) ends.set(pair.session, pair.accessExpiryMs)
      return pair.accessExpiryMs
    },
    sessionsRemoved: (live, surplus) =>
      [...live].sort((one, other) => (ends.get(one) ?? 0) - (ends.get(other) ?? 0)).slice(0, surplus),
  }
}

/** Calls `act` before each grant of api_key_credentials. */
const beforeGrants =
  (act: () => void): Around =>
  (handle) =>
  (request) => {
    if (paramsOf(request).grantType === 'api_key_credentials') act()
    return handle(request)
  }

/** The server counts the sessions of a user, waits, and then creates one more without counting again. */
const tornSessions =
  (wait: Wait) =>
  (seen: Seen, counted = 0, asking?: ApiKey): Change => {
    const countLive = () => {
      const { context } = seen
      const user = asking === undefined ? '' : context.rules.sessionUser(asking, context.profile)
      const sessions = context.state.sessions.get(user) ?? []
      return sessions.filter((session) => !session.removed && session.expiryMs > seen.nowMs).length
    }
    return {
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
    }
  }

const looksLikeNumber = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i

const sessionIn = (scope: string[]): string | undefined =>
  scope.find((word) => word.startsWith('session:'))?.slice('session:'.length)

/** Does something in the first call of each minute of the clock, as a job in the background would. */
const eachMinute =
  (job: (context: ServerContext) => void) =>
  (_seen: Seen, last = Number.NaN): Change => ({
    around: (handle, context) => (request) => {
      const now = Math.floor(context.now() / minute)
      if (now > last) job(context)
      last = now
      return handle(request)
    },
  })

export const sessions: BrokenRows = {
  'sessions/created': {
    'tokens-of-a-session-do-not-work': own({ issuedTokenWorks: (_kind, pair) => pair.session === undefined }),
    // A new session with the name of a removed one gets tokens that do not work.
    'name-of-removed-session-stays-dead': first((_seen, dead = new Set<string>()) => ({
      sessionsRemoved: (live, surplus, profile) => {
        const removed = right.sessionsRemoved(live, surplus, profile)
        for (const { name } of removed) dead.add(name ?? '')
        return removed
      },
      issuedTokenWorks: (_kind, { session }) =>
        session === undefined || session.removed || !dead.has(session.name ?? ''),
    })),
    // The text `0` counts as empty.
    'session-named-0-makes-no-session': ninth({
      sessionCreated: (name) => name !== '0',
    }),
    // The second one then replaces the first, as a session of the same name does.
    'sessions-in-flight-share-their-name': tenth((_seen, keptName = '') => {
      const wait: Around = (handle) => (request) => {
        const entry = scopeOf(request).find((word) => word.startsWith('session:'))
        if (entry === undefined) return handle(request)
        keptName = entry.slice('session:'.length)
        return meet().then(() => handle(request))
      }
      return {
        around: wait,
        sessionName: (name) => name && keptName,
      }
    }),
  },
  'sessions/sixteen-live': {
    'fifteen-sessions-kept': own({ sessionLimit: () => 15 }),
    'eight-sessions-kept': own({ sessionLimit: () => 8 }),
    'four-sessions-of-created-keys-kept': own({ sessionLimit: (key) => (key.initial ? 16 : 4) }),
    'created-key-has-fifteen-sessions': first({
      sessionLimit: (key) => (key.initial ? 16 : 15),
    }),
    // Long names that begin alike are one session.
    'session-names-cut-at-sixteen-characters': first({
      sessionName: (name) => name?.slice(0, 16),
    }),
    // The names 10, 010 and 1e1 are one session.
    'session-names-like-numbers-compared-as-numbers': second({
      sessionName: (name) => (name !== undefined && looksLikeNumber.test(name) ? String(Number(name)) : name),
    }),
    'session-with-expires-in-removes-two-at-the-limit': third((seen) => ({
      sessionsRemoved: (live, surplus, profile) => {
        const isBrief = seen.scope.some((word) => word.startsWith('expiresIn:'))
        return right.sessionsRemoved(live, isBrief ? surplus + 1 : surplus, profile)
      },
    })),
    'sixteenth-session-with-address-removes-the-first': fourth((seen) => ({
      sessionLimit: () => (seen.scope.some((word) => word.startsWith('ipAddr:')) ? 15 : 16),
    })),
    // "when the limit is reached the oldest session is removed": one, not a batch
    'session-beyond-limit-removes-four': fifth({
      sessionsRemoved: (live, surplus, profile) => right.sessionsRemoved(live, surplus + 3, profile),
    }),
    // A session ends those of the same user whose name begins alike.
    'session-names-cut-at-first-hyphen': fifth({
      sessionName: (name) => name?.split('-')[0],
    }),
    // The session of the same name ends, and is still counted.
    'session-whose-name-returned-keeps-its-place': fifth((seen, lost = new Map<string, number>()) => ({
      sessionLimit: ({ id }) => {
        const live = seen.context.state.sessions.get(id)?.filter(({ removed }) => !removed)
        if (live?.some(({ name }) => seen.scope.includes(`session:${name}`))) lost.set(id, (lost.get(id) ?? 0) + 1)
        return Math.max(16 - (lost.get(id) ?? 0), 1)
      },
    })),
    // It sorts the letters of a name before it looks the name up, and a new session replaces the one of its name.
    'session-names-with-same-letters-are-one': ninth({
      sessionName: (name) => name && [...name].sort().join(''),
    }),
    // It splits the entry at its colons and takes the second part, and a new session replaces the one of its name.
    'session-names-cut-at-colon': tenth({
      sessionName: (name) => name && (name.split(':')[0] || name),
    }),
    // The count goes down when a session is removed, and not when its time is over.
    'ended-sessions-keep-their-places': tenth((seen, known = new Set<Session>()) => ({
      grantResult: (result, { session }) => {
        if (session !== undefined) known.add(session)
        return result
      },
      sessionLimit: (key) => {
        const user = right.sessionUser(key, seen.context.profile)
        const ended = [...known].filter(
          (session) => session.user === user && !session.removed && session.expiryMs <= seen.nowMs,
        )
        return Math.max(1, right.sessionLimit(key) - ended.length)
      },
    })),
    // A job in the background still has the limit of an earlier version.
    'sessions-beyond-eight-removed-each-minute': twelfth(
      eachMinute(({ state }) => {
        for (const sessions of state.sessions.values()) {
          const live = sessions.filter((session) => !session.removed)
          for (const session of live.slice(0, Math.max(live.length - 8, 0))) session.removed = true
        }
      }),
    ),
  },
  'sessions/at-most-sixteen': {
    'seventeen-sessions-kept': own({ sessionLimit: () => 17 }),
    'any-number-of-sessions-kept': own({ sessionLimit: () => 1000 }),
    'sessions-never-created': own({ sessionCreated: () => false }),
    'any-number-of-sessions-of-created-keys-kept': own({ sessionLimit: (key) => (key.initial ? 16 : 1000) }),
    'sessions-counted-two-ms-before-creation': first(tornSessions(twoMs)),
    // Only calls made inside one process show it; calls through sockets come too far apart.
    'sessions-counted-some-microtasks-before-creation': first(tornSessions(someMicrotasks)),
    'created-key-has-seventeen-sessions': first({
      sessionLimit: (key) => (key.initial ? 16 : 17),
    }),
    // The sessions are counted for one key, and the oldest one of all keys is removed.
    'session-beyond-limit-removes-oldest-of-any-user': second((seen) => ({
      sessionsRemoved: (_live, surplus) =>
        [...seen.context.state.sessions.values()]
          .flat()
          .filter((session) => !session.removed && session.expiryMs > seen.nowMs)
          .sort((a, b) => a.createdMs - b.createdMs)
          .slice(0, surplus),
    })),
    // A grant with both session and ipAddr gives tokens that are bound to no session.
    'address-beside-session-makes-no-session': second((seen) => ({
      sessionCreated: () => !seen.bodyHas('"ipAddr:'),
    })),
    // Connections go to two workers in turn, and each counts the sessions that it has made.
    'sessions-counted-by-each-of-two-workers': third((seen) => ({
      sessionUser: (key, profile) => `${right.sessionUser(key, profile)} ${(seen.connection ?? 0) % 2}`,
    })),
    // "One user can have up to 16 sessions", whatever their scopes
    'sessions-counted-for-each-set-of-scopes': third((seen) => ({
      sessionUser: (key, profile) => {
        const areas = seen.scope.filter((word) => !word.includes(':'))
        return `${right.sessionUser(key, profile)} ${areas.sort().join(' ')}`
      },
    })),
    // The sessions are members of an object, in which a name such as "constructor" seems to be there already.
    'sessions-named-like-members-of-objects-not-counted': third((seen) => ({
      sessionUser: (key, profile) => {
        const user = right.sessionUser(key, profile)
        const name = sessionIn(seen.scope) ?? ''
        return name in {} ? `${user} ${name}` : user
      },
    })),
    // The sessions are counted in a number of its own, from which a removed session is taken twice.
    'each-removed-session-makes-room-for-two': third((seen, keptMissed = new Map<string, number>()) => {
      const missed = (id: string) => keptMissed.get(id) ?? 0
      return {
        sessionLimit: (key) => right.sessionLimit(key) + missed(key.id),
        sessionsRemoved: (live, surplus, profile) => {
          const id = String(seen.params.apiKeyId)
          keptMissed.set(id, missed(id) + 1)
          return right.sessionsRemoved(live, surplus, profile)
        },
      }
    }),
    // Sessions are counted by their first pairs of tokens.
    'session-not-counted-once-its-pair-is-refreshed': fourth((seen) => ({
      refreshResult: (result, { session }) => {
        const { sessions } = seen.context.state
        if (session) {
          const counted = (sessions.get(session.user) ?? []).filter((one) => one !== session)
          sessions.set(session.user, counted)
        }
        return result
      },
    })),
    'fourth-overflow-removes-no-session': fourth((_seen, overflows = 0) => ({
      sessionsRemoved: (live, surplus, profile) => {
        overflows += 1
        return overflows % 4 === 0 ? [] : right.sessionsRemoved(live, surplus, profile)
      },
    })),
    'no-session-limit-for-keys-created-by-signature': fourth((seen, keys = new Set<string>()) => ({
      storedKey: (key) => {
        if (seen.request.headers.authorization?.includes(';')) keys.add(key.id)
        return key
      },
      sessionLimit: (key) => (keys.has(key.id) ? Number.POSITIVE_INFINITY : 16),
    })),
    'session-with-expires-in-removes-none-at-the-limit': fifth((seen) => ({
      sessionLimit: () => (seen.scope.some((word) => word.startsWith('expiresIn:')) ? 1000 : 16),
    })),
    'no-session-limit-for-keys-made-by-created-keys': fifth((seen, unlimited = new Set<string>()) => ({
      storedKey: (key: ApiKey) => {
        if (seen.caller?.initial === false) unlimited.add(key.id)
        return key
      },
      sessionLimit: ({ id }) => (unlimited.has(id) ? 1000 : 16),
    })),
    // The places are a ring, and its end is reached.
    'seventeenth-overflow-removes-no-session': fifth(
      (_seen, keptOverflows = new Map<string | undefined, number>()) => ({
        sessionsRemoved: (live, surplus, profile) => {
          const overflows = (keptOverflows.get(live[0]?.user) ?? 0) + 1
          keptOverflows.set(live[0]?.user, overflows)
          return overflows === 17 ? [] : right.sessionsRemoved(live, surplus, profile)
        },
      }),
    ),
    'sessions-with-address-not-counted': eighth((seen, bound = new Set<Session | undefined>()) => {
      const isBound = (session: Session) => bound.has(session)
      return {
        grantResult: (result, { session, addresses }) => {
          if (addresses.length > 0) bound.add(session)
          return result
        },
        sessionLimit: (key) => {
          if (seen.scope.some((word) => word.startsWith('ipAddr:'))) return Number.POSITIVE_INFINITY
          const live = seen.context.state.sessions.get(right.sessionUser(key, seen.context.profile)) ?? []
          return 16 + live.filter((session) => isBound(session) && !session.removed).length
        },
        sessionsRemoved: (live, surplus, profile) =>
          right.sessionsRemoved(
            live.filter((session) => !isBound(session)),
            surplus,
            profile,
          ),
      }
    }),
    // The way back from an error lowers a count that was not raised.
    'refused-grant-frees-a-session-place': ninth((_seen, freed = new Map<string, number>()) => {
      const note = answerThrough((answer, request) => {
        const id = namedKeyId(request)
        const isGrant = paramsOf(request).grantType === 'api_key_credentials'
        const asked = isGrant && scopeOf(request).some((word) => word.startsWith('session:'))
        if (id !== undefined && asked && !isAccepted(answer)) freed.set(id, (freed.get(id) ?? 0) + 1)
        return answer
      })
      return {
        around: note,
        sessionLimit: (key) => 16 + (freed.get(key.id) ?? 0),
      }
    }),
    // They are counted in a copy of the database that is a second behind.
    'sessions-of-last-second-not-counted-at-limit': twelfth((seen) => ({
      sessionsRemoved: (live, surplus, profile) => {
        const young = live.filter((session) => seen.nowMs - session.createdMs < 1_000)
        return right.sessionsRemoved(live, Math.max(surplus - young.length, 0), profile)
      },
    })),
  },
  'sessions/next-works': {
    'seventeenth-session-refused': own({ beyondSessionLimit: () => 'refused' }),
    'seventeenth-session-does-not-work': own({
      issuedTokenWorks: (_kind, pair) => !/^s17/.test(pair.session?.name ?? ''),
    }),
    // No session is created when the oldest one was used within the last second.
    'seventeenth-session-refused-while-oldest-is-in-use': first((seen, usedMs = Number.NEGATIVE_INFINITY) => ({
      accessExpired: (pair, nowMs) => {
        const oldest = seen.context.state.sessions.get(pair.session?.user ?? '')?.[0]
        if (oldest !== undefined && pair.session === oldest) usedMs = nowMs
        return right.accessExpired(pair, nowMs)
      },
      beyondSessionLimit: () => (seen.nowMs - usedMs < 1000 ? 'refused' : 'oldest-removed'),
    })),
    // The tokens of the removed session are deleted late, and take the new access token with them.
    'first-access-token-of-seventeenth-session-is-dead': second(
      (_seen, hasRemoved = false, dead = new Set<string>()) => ({
        sessionsRemoved: (live, surplus, profile) => {
          hasRemoved = true
          return right.sessionsRemoved(live, surplus, profile)
        },
        grantResult: (result, pair) => {
          if (hasRemoved) dead.add(pair.id)
          hasRemoved = false
          return result
        },
        issuedTokenWorks: (kind, pair) => kind !== 'access' || !dead.has(pair.id),
      }),
    ),
    'session-that-removed-another-cannot-be-refreshed': fourth(
      (_seen, pairs = new Set<TokenPair>(), removes = false) => ({
        sessionsRemoved: (live, surplus, profile) => {
          removes = true
          return right.sessionsRemoved(live, surplus, profile)
        },
        grantResult: (result, pair) => {
          if (removes) pairs.add(pair)
          removes = false
          return result
        },
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return use === 'refresh' && token && pairs.has(token.pair) ? undefined : token
        },
      }),
    ),
  },
  'sessions/oldest-removed': {
    'newest-session-removed': own({ sessionsRemoved: (live, surplus) => live.slice(-surplus) }),
    'first-session-by-name-removed': own({
      sessionsRemoved: (live, surplus) =>
        [...live].sort((one, other) => ((one.name ?? '') < (other.name ?? '') ? -1 : 1)).slice(0, surplus),
    }),
    'sessions-that-begin-like-the-oldest-removed': own({
      sessionsRemoved: (live, surplus) =>
        live.filter(
          (session, index) => index < surplus || (session.name?.startsWith(live[0]?.name ?? 'unnamed') ?? false),
        ),
    }),
    'session-that-ends-first-removed': own(firstToEnd()),
    'refused-grant-opens-a-session': own({ refusedGrantOpensSession: () => true }),
    'refresh-opens-a-session': own({ refreshOpensSession: () => true }),
    'all-sessions-removed': own({ sessionsRemoved: (live) => live }),
    'two-sessions-removed': own({ sessionsRemoved: (live, surplus) => live.slice(0, surplus + 1) }),
    'access-through-a-removed-session': own({ removedSessionWorks: (use) => use === 'access' }),
    // The session whose name comes first in the alphabet makes room.
    'session-removed-by-order-of-names': first({
      sessionsRemoved: (live, surplus) =>
        [...live].sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1)).slice(0, surplus),
    }),
    'second-overflow-removes-two-sessions': first((_seen, overflows = 0) => ({
      sessionsRemoved: (live, surplus, profile) => {
        overflows += 1
        return right.sessionsRemoved(live, surplus + (overflows % 2 === 0 ? 1 : 0), profile)
      },
    })),
    'second-overflow-removes-newest-session': first((_seen, overflows = 0) => ({
      sessionsRemoved: (live, surplus, profile) => {
        overflows += 1
        return overflows > 1 ? live.slice(-surplus) : right.sessionsRemoved(live, surplus, profile)
      },
    })),
    // An access token that was used before its session was removed still works.
    'used-access-token-outlives-removed-session': first((_seen, used = new Set<string>()) => ({
      accessExpired: (pair, nowMs) => {
        if (pair.session?.removed === false) used.add(pair.id)
        return right.accessExpired(pair, nowMs)
      },
      removedSessionWorks: (use, pair) => use === 'access' && used.has(pair.id),
    })),
    'refreshed-access-token-outlives-removed-session': first({
      removedSessionWorks: (use, pair) => use === 'access' && pair.generation > 0,
    }),
    'token-of-removed-session-creates-keys': first((seen) => ({
      removedSessionWorks: (use) => use === 'access' && seen.bodyHas('manager/createApiKey'),
    })),
    // Sessions are looked up by name, so the tokens of a removed one work again once the name is used again.
    'removed-session-works-again-when-name-returns': first((seen) => ({
      removedSessionWorks: (_use, { session }) =>
        [...seen.context.state.sessions.values()]
          .flat()
          .some((one) => !one.removed && one.name === session?.name && one.user === session?.user),
    })),
    // A grant that asks for a session and is refused for its secret removes the oldest session at the limit.
    'wrong-secret-takes-a-session-place': first((seen) => ({
      refusedGrantOpensSession: () => seen.bodyHas('"session:'),
    })),
    'every-second-refresh-takes-a-session-place': first((_seen, refreshes = 0) => ({
      refreshOpensSession: () => {
        refreshes += 1
        return refreshes % 2 === 0
      },
    })),
    // Sessions are the members of a JavaScript object, which puts names like 3 and 12 first, the smallest before all.
    'oldest-session-is-first-member-of-an-object': second({
      sessionsRemoved: (live, surplus) =>
        Object.values(Object.fromEntries(live.map((session) => [session.name ?? '', session]))).slice(0, surplus),
    }),
    // Only sessions with a live access token are looked at, so a younger one leaves instead.
    'session-with-expired-access-token-is-not-removed': second((seen) => {
      const isInUse = (session: Session) =>
        [...seen.context.state.tokens.values()].some(
          ({ pair }) => pair.session === session && !pair.accessRevoked && !right.accessExpired(pair, seen.nowMs),
        )
      return {
        sessionsRemoved: (live, surplus, profile) => {
          const inUse = live.filter(isInUse)
          return right.sessionsRemoved(inUse.length >= surplus ? inUse : live, surplus, profile)
        },
      }
    }),
    // A session that was just used works for up to five seconds after it was removed.
    'session-looked-up-every-five-seconds': second((seen, checked = new Map<Session, number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (pair.session?.removed === false) checked.set(pair.session, nowMs)
        return right.accessExpired(pair, nowMs)
      },
      removedSessionWorks: (use, { session }) => {
        const checkedMs = session && checked.get(session)
        return use === 'access' && checkedMs !== undefined && seen.nowMs - checkedMs < 5000
      },
    })),
    // The session is opened when the secret is found right, before the scopes are looked at.
    'grant-refused-for-its-scope-takes-session-place': third({
      around: answerThrough((answer, request, context) => {
        const { grantType, apiKeyId, apiKeySecret } = paramsOf(request)
        const key = context.state.keys.get(String(apiKeyId))
        const name = sessionIn(scopeOf(request))
        const isRight = grantType === 'api_key_credentials' && key?.secret === apiKeySecret
        if (isRight && key?.publicKey === undefined && key && name !== undefined && !isAccepted(answer))
          openSession(context, key, name)
        return answer
      }),
    }),
    // The column of the creation holds a time without a date.
    'session-with-the-earliest-time-of-day-removed': fourth({
      sessionsRemoved: (live, surplus) =>
        [...live].sort((a, b) => (a.createdMs % day) - (b.createdMs % day)).slice(0, surplus),
    }),
    'access-token-with-expires-in-outlives-removed-session': fourth({
      removedSessionWorks: (use, pair) => use === 'access' && pair.expiresInMs !== undefined,
    }),
    // The refresh writes the session that it has read before it was removed.
    'refresh-in-flight-brings-its-removed-session-back': fourth((_seen, taken = new Set<string>()) => ({
      // A refresh token still works only once.
      tokenNamed: (text, find, _all, use) => {
        if (use === 'access') return find(text)
        if (taken.has(text)) return undefined
        taken.add(text)
        return find(text)
      },
      beforeEffect: (effect) => (effect === 'refresh' ? meet() : undefined),
      refreshedSession: ({ session }) => {
        if (session) session.removed = false
        return session
      },
    })),
    'session-with-apikey-scope-keeps-its-place': fifth((_seen, kept = new Set<Session | undefined>()) => ({
      grantResult: (result, { session, scope }) => {
        if (scope.includes('apiKey')) kept.add(session)
        return result
      },
      sessionsRemoved: (live, surplus, profile) =>
        right.sessionsRemoved(
          live.filter((session) => !kept.has(session)),
          surplus,
          profile,
        ),
    })),
    'second-oldest-session-removed': own({
      sessionsRemoved: (live, surplus, profile) => right.sessionsRemoved(live, surplus + 1, profile).slice(-surplus),
    }),
    // A refresh puts its session at the wrong end of the list.
    'refreshed-session-counts-as-oldest': eighth((_seen, refreshed = new Set<Session | undefined>()) => ({
      refreshedSession: ({ session }) => {
        refreshed.add(session)
        return session
      },
      sessionsRemoved: (live, surplus, profile) => {
        const first = live.filter((session) => refreshed.has(session))
        const others = live.filter((session) => !first.includes(session))
        return [...first, ...right.sessionsRemoved(others, surplus, profile)].slice(0, surplus)
      },
    })),
    'removed-session-works-on-connection-that-used-it': eighth(
      (seen, used = new Map<number | undefined, Set<Session>>()) => ({
        accessExpired: (pair, nowMs) => {
          const { session } = pair
          const { connection } = seen
          if (session && !session.removed && connection !== undefined)
            used.set(connection, (used.get(connection) ?? new Set()).add(session))
          return right.accessExpired(pair, nowMs)
        },
        removedSessionWorks: (use, { session }) =>
          use === 'access' && session !== undefined && !!used.get(seen.connection)?.has(session),
      }),
    ),
    // The rows to remove are those with the smallest time of creation.
    'sessions-of-same-millisecond-removed-together': eighth({
      sessionsRemoved: (live, surplus, profile) => {
        const removed = right.sessionsRemoved(live, surplus, profile)
        return live.filter(({ createdMs }) => removed.some((session) => session.createdMs === createdMs))
      },
    }),
    // Until then there are seventeen.
    'oldest-session-removed-when-next-grant-arrives': ninth((_seen, leaving = new Set<Session>()) => {
      const clear = beforeGrants(() => {
        for (const session of leaving) session.removed = true
        leaving.clear()
      })
      return {
        around: clear,
        sessionsRemoved: (live, surplus, profile) => {
          for (const session of right.sessionsRemoved(live, surplus, profile)) leaving.add(session)
          return []
        },
      }
    }),
    // The time of the last use is written before the check, and writing it stores the session again.
    'refused-refresh-brings-removed-session-back': ninth({
      around: answerThrough((answer, request, { state }) => {
        const { refreshToken } = paramsOf(request)
        const token = state.tokens.get(typeof refreshToken === 'string' ? refreshToken : '')
        if (token?.kind === 'refresh' && token.pair.session && !isAccepted(answer)) token.pair.session.removed = false
        return answer
      }),
    }),
    // The first removal is right; then 10 comes before 2.
    'session-numbers-compared-as-text': ninth((_seen, numbers = new Map<Session, number>()) => ({
      sessionsRemoved: (live, surplus) => {
        for (const session of live) if (!numbers.has(session)) numbers.set(session, numbers.size + 1)
        const textOf = (session: Session) => String(numbers.get(session))
        return [...live].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1)).slice(0, surplus)
      },
    })),
    'removed-session-works-for-token-of-one-solution': tenth({
      removedSessionWorks: (use, { scope }) => use === 'access' && scope.some((word) => /^solution:[^*]/.test(word)),
    }),
  },
  'sessions/removed-refresh': {
    'refresh-through-a-removed-session': own({ removedSessionWorks: (use) => use === 'refresh' }),
    'refreshed-refresh-token-outlives-removed-session': first({
      removedSessionWorks: (use, pair) => use === 'refresh' && pair.generation > 0,
    }),
    // A refresh in a removed session gives a pair without session.
    'refresh-leaves-removed-session': first({
      removedSessionWorks: (use) => use === 'refresh',
      refreshedSession: (old) => (old.session?.removed ? undefined : old.session),
    }),
    'removed-session-refreshes-after-access-expiry': second((seen) => ({
      removedSessionWorks: (use, pair) => use === 'refresh' && right.accessExpired(pair, seen.nowMs),
    })),
    // The refresh leaves the session that is gone.
    'removed-session-with-address-refreshes': fourth({
      removedSessionWorks: (use, pair) => use === 'refresh' && pair.addresses.length > 0,
      refreshedSession: ({ session }) => (session?.removed ? undefined : session),
    }),
    'removed-session-works-again-after-two-hours': fifth(
      (seen, removedMs = new Map<Session | undefined, number>()) => ({
        sessionsRemoved: (live, surplus, profile) => {
          const removed = right.sessionsRemoved(live, surplus, profile)
          for (const session of removed) removedMs.set(session, seen.nowMs)
          return removed
        },
        removedSessionWorks: (_use, { session }) =>
          seen.nowMs >= (removedMs.get(session) ?? Number.POSITIVE_INFINITY) + 2 * hour,
      }),
    ),
    'removed-session-of-created-key-refreshes': eighth({
      removedSessionWorks: (use, { key }) => use === 'refresh' && !key.initial,
    }),
  },
}
