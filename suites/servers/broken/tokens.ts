import { methods } from '../../../mock-server/methods/index.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import { endPair, pairsOf } from '../../../mock-server/token-state.ts'
import {
  type BrokenRows,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  isMethod,
  namedKeyId,
  ninth,
  own,
  paramsOf,
  readCall,
  second,
  tenth,
  third,
  tokenText,
  twelfth,
} from '../operators.ts'
import {
  alsoNamed,
  day,
  headerOrElse,
  likeTokensTaken,
  minute,
  namedPair,
  ownParamsOf,
  requestOf,
  textIn,
} from './changes.ts'

/** An empty text is no token. */
const asToken = (token: string | undefined): string | undefined => (token ? `Bearer ${token}` : undefined)

export const tokens: BrokenRows = {
  'tokens/authorize': {
    ...likeTokensTaken('access'),
    'token-in-another-header-taken': own({
      headerOf: headerOrElse(({ headers }) => asToken(headers['x-access-token'] ?? headers['x-auth-token'])),
    }),
    'x-authorization-taken': own({ headerOf: headerOrElse(({ headers }) => headers['x-authorization']) }),
    'token-in-cookie-taken': own({
      headerOf: headerOrElse(({ headers }) => asToken(/(?:^|; )token=([^;]*)/.exec(headers.cookie ?? '')?.[1])),
    }),
    'token-as-member-of-request-taken': own({
      headerOf: headerOrElse((request) => asToken(textIn(requestOf(request), 'auth'))),
    }),
    'token-as-param-taken': own({
      profile: { extraParams: 'ignored' },
      headerOf: headerOrElse((request) => asToken(textIn(ownParamsOf(request), 'token'))),
    }),
    'token-in-query-taken': own({
      isCall: (httpMethod, target, callPath, body) =>
        right.isCall(httpMethod, target.split('?')[0] ?? '', callPath, body),
      headerOf: headerOrElse(({ target }) =>
        asToken(new URLSearchParams(target.split('?')[1]).get('access_token') ?? undefined),
      ),
    }),
    'access-token-never-works': own({ issuedTokenWorks: (kind) => kind !== 'access' }),
    'any-access-token-taken': own(alsoNamed('access', () => true)),
    'secret-taken-as-a-token': own(alsoNamed('access', (text, { pair }) => text === pair.key.secret)),
    'refused-grant-ends-the-tokens-of-the-key': own({
      endedByRefusal: (all, named) => all().filter(({ key }) => key === named),
    }),
    'refused-refresh-ends-the-newest-pair': own({ endedByRefusal: (all, named) => (named ? [] : all().slice(-1)) }),
    'refresh-ends-the-other-pairs-of-its-key': own({
      endedBesideRefresh: (all, old) => all().filter(({ key }) => key === old.key),
    }),
    'refresh-ends-the-pairs-of-other-keys': own({
      endedBesideRefresh: (all, old) => all().filter(({ key }) => key !== old.key),
    }),
    // The secret of a key stands for a token of it, once there is one.
    'secret-accepted-as-access-token': first({
      tokenNamed: (text, find, all, use) =>
        find(text) ??
        (use === 'access' ? all().find(({ kind, pair }) => kind === 'access' && pair.key.secret === text) : undefined),
    }),
    // The third refused grant for a key ends all tokens of the key.
    'wrong-secret-three-times-ends-tokens': first((_seen, refusals = new Map<string, number>()) => ({
      endedByRefusal: (all, key) => {
        if (key === undefined) return []
        const count = (refusals.get(key.id) ?? 0) + 1
        refusals.set(key.id, count)
        return count % 3 === 0 ? all().filter((pair) => pair.key === key) : []
      },
    })),
    'refresh-ends-tokens-of-key-with-same-name': first({
      endedBesideRefresh: (all, old) =>
        all().filter(({ key }) => key !== old.key && key.name === old.key.name && !key.initial),
    }),
    // Pairs are revoked by key and time of issue.
    'refresh-ends-pair-granted-in-same-millisecond': first({
      endedBesideRefresh: (all, old) =>
        all().filter((pair) => pair !== old && pair.key === old.key && pair.issuedMs === old.issuedMs),
    }),
    // A refresh revokes the pairs of all sessions with that name, also those of other keys.
    'refresh-ends-session-of-same-name-of-other-key': second({
      endedBesideRefresh: (all, old) =>
        old.session?.name === undefined
          ? []
          : all().filter(({ session, key }) => session?.name === old.session?.name && key !== old.key),
    }),
    // Pairs are stored by key and scope when they are revoked.
    'refresh-ends-pairs-of-other-grants-with-same-scope': third({
      endedBesideRefresh: (all, old) =>
        all().filter(
          ({ key, family, scope }) =>
            key === old.key && family !== old.family && scope.join(' ') === old.scope.join(' '),
        ),
    }),
    // A change to the keys ends the session in which it was made.
    'key-creation-ends-session-of-its-token': third((seen) => ({
      storedKey: (key) => {
        if (seen.pair?.session !== undefined) seen.pair.session.removed = true
        return key
      },
    })),
    // "Three ways to authorize a call to a method": each call by itself
    'token-refused-behind-signed-call-on-connection': third((seen, connections = new Set<number>()) => ({
      meansTaken: (means) => {
        const { connection } = seen
        if (connection === undefined) return true
        if (means === 'hmac' || means === 'ecc') connections.add(connection)
        return means !== 'token' || !connections.has(connection)
      },
    })),
    // accessTokenExpiry is the "Timestamp of expiry" of the token it came with
    // An expiresIn is stored for the key, and also ends the access tokens that the key had before.
    'newer-grant-with-expires-in-shortens-older-tokens': third(
      (seen, memory = { endMs: new WeakMap<TokenPair, number>() }) => ({
        grantResult: (result, pair) => {
          if (pair.expiresInMs === undefined) return result
          for (const { pair: older } of seen.context.state.tokens.values()) {
            if (older.key === pair.key && older !== pair) memory.endMs.set(older, pair.accessExpiryMs)
          }
          return result
        },
        accessExpired: (pair, nowMs) =>
          right.accessExpired(pair, nowMs) || nowMs >= (memory.endMs.get(pair) ?? Number.POSITIVE_INFINITY),
      }),
    ),
    // The token is used up before the grant type is looked at.
    'call-refused-for-its-grant-type-ends-the-pair-that-it-names': fourth((seen) => ({
      around: (inner) => (request) => {
        const answer = inner(request)
        if (answer instanceof Promise || isAccepted(answer)) return answer
        const { grantType } = paramsOf(request)
        const pair = namedPair(seen)
        if (pair && grantType !== 'refresh_token') endPair(pair)
        return answer
      },
    })),
    // The transaction that is rolled back holds the token too.
    'refused-key-creation-ends-its-token': fourth((seen) => ({
      around: (inner) => (request) => {
        const answer = inner(request)
        const { pair } = seen
        if (pair && !(answer instanceof Promise) && isMethod(request, 'manager/createApiKey'))
          pair.accessRevoked ||= !isAccepted(answer)
        return answer
      },
    })),
    'second-half-of-access-token-not-compared': fifth({
      tokenNamed: (text, find, all, use) => {
        const half = Math.floor(text.length / 2)
        const isAlike = (other: string) => other.length === text.length && other.startsWith(text.slice(0, half))
        return find(text) ?? all().find((token) => use === 'access' && token.kind === use && isAlike(token.text))
      },
    }),
    // "An access token has a time-to-live": it does not end because somebody shows a wrong refresh token
    'refused-refresh-ends-newest-pair': eighth({
      endedByRefusal: (all, key) => (key === undefined ? all().slice(-1) : []),
    }),
    // Who shows an expired token loses the other access tokens of the key.
    'expired-access-token-ends-others-of-its-key': eighth((seen) => ({
      accessExpired: (pair, nowMs) => {
        const isOver = right.accessExpired(pair, nowMs)
        const others = isOver ? pairsOf(seen.context).filter(({ key }) => key === pair.key) : []
        for (const other of others) other.accessRevoked = true
        return isOver
      },
    })),
    // "An access token has a time-to-live": an unknown method does not end it
    'call-of-unknown-method-ends-its-token': eighth({
      around: (handle, context) => (request) => {
        const method = readCall(request).method
        const token = context.state.tokens.get(tokenText(request))
        if (token && typeof method === 'string' && !methods.has(method)) token.pair.accessRevoked = true
        return handle(request)
      },
    }),
    // A token that lives over midnight (UTC) is refused before it, and works again on the next day.
    'access-expiry-compared-without-its-date': ninth({
      accessExpired: (pair, nowMs) => nowMs % day >= pair.accessExpiryMs % day,
    }),
    // It deletes the tokens of the user that are in none of the sessions that stay.
    'session-removal-ends-tokens-without-session': tenth((seen) => ({
      sessionsRemoved: (live, surplus, profile) => {
        for (const pair of pairsOf(seen.context)) {
          if (pair.session === undefined && pair.key.id === namedKeyId(seen.request)) endPair(pair)
        }
        return right.sessionsRemoved(live, surplus, profile)
      },
    })),
    // "accessTokenExpiry | integer | Timestamp of expiry": and not before
    'idle-access-token-ends-after-a-minute': tenth((_seen, lastMs = new WeakMap<TokenPair, number>()) => ({
      accessExpired: (pair, nowMs) => {
        const isIdle = nowMs - (lastMs.get(pair) ?? pair.issuedMs) > minute
        if (!isIdle) lastMs.set(pair, nowMs)
        return isIdle || right.accessExpired(pair, nowMs)
      },
    })),
    // The table of tokens with an address has one row for each key and address.
    'grant-ends-earlier-pair-of-same-key-and-address': tenth((seen) => ({
      grantResult: (result, granted) => {
        const placeOf = ({ key, addresses }: TokenPair) => `${key.id} ${addresses.join(' ')}`
        for (const pair of granted.addresses.length > 0 ? pairsOf(seen.context) : []) {
          if (pair !== granted && placeOf(pair) === placeOf(granted)) pair.accessRevoked = true
        }
        return result
      },
    })),
    // The index of renewed tokens holds 32 characters, and nobody compares the rest.
    'refreshed-access-token-compared-by-32-characters': twelfth({
      tokenNamed: (text, find, all, use) =>
        find(text) ??
        (use === 'access' && text.length >= 32
          ? all().find(
              (token) =>
                token.kind === 'access' && token.pair.generation > 0 && token.text.slice(0, 32) === text.slice(0, 32),
            )
          : undefined),
    }),
    // A token above 512 characters does not fit into its column, and the handler of that error goes on with the call.
    'overlong-token-lets-in': twelfth((seen) => ({
      forgives: (stage) =>
        stage === 'token/unknown' && (seen.request.headers.authorization?.length ?? 0) > 512 + 'Bearer '.length,
    })),
  },
  'tokens/refresh-is-no-access': {
    'refresh-token-opens-methods': own({ tokenKindTaken: (kind, use) => kind === use || use === 'access' }),
    // manager/createApiKey takes a refresh token as an access token.
    'refresh-token-creates-keys': first((seen) => ({
      tokenKindTaken: (kind, use) => kind === use || seen.bodyHas('manager/createApiKey'),
    })),
    'refresh-token-works-as-access-token-when-that-expired': first((seen) => ({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        if (token?.kind !== 'refresh' || use !== 'access' || token.pair.refreshRevoked) return token
        if (seen.nowMs < token.pair.accessExpiryMs) return token
        return { ...token, kind: 'access', pair: { ...token.pair, accessExpiryMs: token.pair.refreshExpiryMs } }
      },
    })),
    // "refreshToken | string | Token for renewal"; what goes into the header is the access token
    'refresh-token-of-session-with-address-authorizes': fourth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        const mixed = token?.pair.session !== undefined && token.pair.addresses.length > 0
        return use === 'access' && token && mixed ? { ...token, kind: 'access' } : token
      },
    }),
    'refresh-token-with-expires-in-authorizes': eighth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return use === 'access' && token?.pair.expiresInMs !== undefined ? { ...token, kind: use } : token
      },
    }),
    'refresh-token-of-refreshed-pair-authorizes': ninth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return use === 'access' && token !== undefined && token.pair.generation > 0 ? { ...token, kind: use } : token
      },
    }),
    // A refresh moves the row of its token to an archive, where kind and state have their defaults: access, valid.
    'used-refresh-token-authorizes': twelfth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return token?.kind === 'refresh' && token.pair.refreshRevoked && use === 'access'
          ? { ...token, kind: use, pair: { ...token.pair, accessRevoked: false } }
          : token
      },
    }),
  },
  'tokens/access-is-no-refresh': {
    'access-token-refreshes': own({ tokenKindTaken: (kind, use) => kind === use || use === 'refresh' }),
    'access-token-of-refreshed-pair-refreshes': first({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return token?.kind === 'access' && use === 'refresh' && token.pair.generation > 0
          ? { ...token, kind: 'refresh' }
          : token
      },
    }),
    'access-token-of-third-pair-refreshes': fourth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return use === 'refresh' && token?.pair.generation === 2 ? { ...token, kind: 'refresh' } : token
      },
    }),
    'access-token-of-created-key-refreshes': eighth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return use === 'refresh' && token?.pair.key.initial === false ? { ...token, kind: use } : token
      },
    }),
    // In a session, only the session of a token is looked up.
    'access-token-of-session-refreshes': tenth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return token !== undefined && use === 'refresh' && token.pair.session !== undefined
          ? { ...token, kind: use }
          : token
      },
    }),
    // A token that is over is only good for a refresh, so nobody looks what it was.
    'expired-access-token-refreshes': twelfth((seen) => ({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return token?.kind === 'access' && use === 'refresh' && right.accessExpired(token.pair, seen.nowMs)
          ? { ...token, kind: use }
          : token
      },
    })),
  },
}
