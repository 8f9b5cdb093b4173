import { createHash } from 'node:crypto'
import type { TokenResult } from '../../../mock-server/rules.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import { effectiveKeyScope } from '../../../mock-server/scopes.ts'
import type { TokenKind, TokenPair } from '../../../mock-server/state.ts'
import { endPair, pairsOf } from '../../../mock-server/token-state.ts'
import { answeredAgain, changingParams, meets } from '../around.ts'
import { isAccepted, isOneSolution } from '../call.ts'
import { onAccepted, onGrant, onNewKey, onRefresh, onRefused, onUse } from '../events.ts'
import { meet, mergeInFlight, oneTurn, race, someMicrotasks, tornApart, twoMs } from '../in-flight.ts'
import { also, every, forKeysMade, unless } from '../replaced-rules.ts'
import {
  type Around,
  type BrokenRows,
  by,
  type Change,
  counts,
  hour,
  marks,
  minute,
  type Seen,
  seconds,
  table,
} from '../rows.ts'
import { alsoNamed, forgivesOnCreation, likeTokensTaken, newestFor, sameHalf } from './credentials.ts'
import { inSession, ofCreatedKey, ofRefresh, ofSolution, withAddress, withApikey, withLifetime } from './pairs.ts'

/** Members that are replaced; undefined leaves one out. */
type Changed = { [Member in keyof TokenResult]?: unknown }

const any: Fits = () => true

/** Members of the results of refreshes replaced; `fits` is asked about the old pair. */
const refreshed = (change: (result: TokenResult) => Changed, fits = any): Change => ({
  refreshResult: (result, old) => (fits(old) ? { ...result, ...change(result) } : result),
})

type Fits = (old: TokenPair) => boolean

/** The pair that the call is to renew. */
const renewed = (seen: Seen): TokenPair | undefined => seen.namedPair
/** How long ago a refresh ended the pair. */
const revokedForMs = ({ nowMs }: Seen, { revokedMs = nowMs }: TokenPair) => nowMs - revokedMs

/** A refresh does not revoke this token of some pairs. */
const livesOn = (kind: TokenKind, fits: Fits): Change => ({
  revokedTokenWorks: (revoked, pair) => revoked === kind && fits(pair),
})
/** The tokens of this kind do not work in some pairs. */
const fails = (failing: TokenKind, fits: Fits): Change =>
  unless('issuedTokenWorks', (kind, pair) => kind === failing && fits(pair))
/** A refresh hands a token of the old pair out again. */
const repeats = (repeated: TokenKind, fits: Fits = () => true): Change => ({
  tokenText: (kind, fresh, old) => {
    if (old === undefined || kind !== repeated || !fits(old)) return fresh
    return kind === 'access' ? old.accessToken : old.refreshToken
  },
})
/** The new pair of some old ones has other scopes, no address, no session. */
const rescoped = (change: (scope: string[], old: TokenPair) => string[], fits: Fits = () => true): Change => ({
  refreshedScope: (old) => (fits(old) ? change(old.scope, old) : old.scope),
})
const losesAddress = (fits: Fits): Change => ({ refreshedAddresses: (old) => (fits(old) ? [] : old.addresses) })
const losesSession = (fits: Fits): Change => ({ refreshedSession: (old) => (fits(old) ? undefined : old.session) })
/** Scopes become those of the initial key. */
const widened = (fits?: Fits): Change => rescoped(() => right.initialKeyScope(), fits)
const widenedToKey = (seen: Seen, fits: Fits): Change =>
  rescoped((_scope, { key }) => effectiveKeyScope(key.scope, seen.context.profile), fits)
const withoutApikey = (scope: string[]): string[] => scope.filter((word) => word !== 'apiKey')
const cut = (scope: string[]): string[] => scope.join(' ').slice(0, 32).split(' ')

/** Rows are read when a refresh arrives, and written back as a whole when it ends. */
const writeBackRows: Around = meets(async (call, next) => {
  const renewing = call.renewed
  if (renewing === undefined) return next()
  const rows = pairsOf(call.context)
    .filter((pair) => pair.key === renewing.key && pair !== renewing)
    .map((pair) => ({ pair, accessRevoked: pair.accessRevoked, refreshRevoked: pair.refreshRevoked }))
  await meet()
  const answer = await next()
  if (isAccepted(answer)) {
    for (const { pair, accessRevoked, refreshRevoked } of rows) Object.assign(pair, { accessRevoked, refreshRevoked })
  }
  return answer
})

/** Parts 3 and 4.2: what a refresh takes, gives, keeps and ends. */
export const refresh: BrokenRows = {
  'refresh/new-pair': {
    // From the second refresh on, the new access token ends when the old one does.
    'third-access-token-ends-with-the-second': by.reported((seen, ends = table<number>()) => {
      const endOf = ({ id, accessExpiryMs }: TokenPair) => ends.get(id) ?? accessExpiryMs
      return {
        reportedAccessExpiry: (pair) => {
          const old = renewed(seen)
          if (old !== undefined && pair.generation > 1) ends.set(pair.id, endOf(old))
          return endOf(pair)
        },
        accessExpired: (pair, nowMs) => nowMs >= endOf(pair),
      }
    }),
    'ten-refreshes-of-a-grant': { refreshesAllowed: () => 10 },
    // A refresh token is refused after its access token has created a key.
    'key-creation-spends-refresh-token': by.first((seen, spent = marks()) => ({
      ...onNewKey(() => seen.pair && spent.add(seen.pair)),
      ...fails('refresh', (pair) => spent.has(pair)),
    })),
    // The access token of the second refresh is refused; the refresh token beside it works.
    'third-access-token-does-not-work': by.first(fails('access', ({ generation }) => generation === 2)),
    // Refreshes of one API key that are in flight together all get the pair of the first.
    'refreshes-in-flight-merged-by-key': by.second({
      around: mergeInFlight((call) => (call.isRefresh ? call.namedPair?.key.id : undefined)),
    }),
    'refreshed-token-known-on-connection-of-its-refresh-only': by.fourth((seen, connections = table<number>()) => ({
      ...onRefresh((_old, { accessToken }) => seen.connection && connections.set(accessToken, seen.connection)),
      ...fails('access', ({ accessToken }) => {
        const connection = connections.get(accessToken)
        return connection !== undefined && connection !== seen.connection
      }),
    })),
    'refresh-needs-id-of-key': by.fifth({
      around: changingParams(({ apiKeyId, refreshToken, ...params }) => {
        if (params.grantType !== 'refresh_token') return undefined
        return apiKeyId === undefined ? params : { ...params, refreshToken }
      }),
    }),
    'refresh-answers-with-its-tokens-swapped': by.eighth(
      refreshed(({ accessToken, refreshToken }) => ({ accessToken: refreshToken, refreshToken: accessToken })),
    ),
    // The new expiry is reported, and the old one is still in force.
    'refreshed-access-token-ends-with-the-old-one': by.eighth((seen) =>
      also('accessExpired', ({ parent }, nowMs) => {
        const old = pairsOf(seen.context).find(({ id }) => id === parent)
        return old !== undefined && right.accessExpired(old, nowMs)
      }),
    ),
    'pair-that-was-never-used-cannot-be-refreshed': by.ninth((_seen, used = marks()) => ({
      ...onUse((pair) => used.add(pair)),
      ...fails('refresh', (pair) => !used.has(pair)),
    })),
    // It revokes the old pair before it looks at the other params, such as a scope.
    'refresh-refused-for-its-params-ends-its-pair': by.ninth({
      ...onRefused(({ renewed: pair }) => pair && endPair(pair)),
    }),
    // A refresh token that was issued in the present second counts as not yet valid.
    'refreshed-pair-cannot-be-refreshed-in-its-first-second': by.tenth((seen) =>
      fails('refresh', (pair) => ofRefresh(pair) && seen.nowMs - pair.issuedMs < 1000),
    ),
    'nothing-can-be-refreshed': { refreshesAllowed: () => 0 },
    'only-one-refresh-of-a-grant': { refreshesAllowed: () => 1 },
    'refreshed-access-token-does-not-work': fails('access', ofRefresh),
    'refreshed-refresh-token-does-not-work': fails('refresh', ofRefresh),
  },
  'refresh/pair-differs': {
    'access-token-kept-over-a-refresh': repeats('access'),
    'refresh-token-kept-over-a-refresh': repeats('refresh'),
    // The tokens of a refresh are made from the grant and the second of the clock.
    'refreshes-in-same-second-repeat-tokens': by.first((seen) => ({
      tokenText: (kind, fresh, old) => {
        if (old === undefined) return fresh
        const seed = `${kind} ${old.family.id} ${seconds(seen.nowMs)}`
        return createHash('sha512').update(seed).digest('base64url').slice(0, 43)
      },
    })),
    // A refresh keeps the access token while it has more than ten minutes to live.
    'young-access-token-handed-out-again': by.first((seen) =>
      repeats('access', ({ accessExpiryMs }) => accessExpiryMs - seen.nowMs > 10 * minute),
    ),
    'refresh-token-stays-the-same-after-access-expiry': by.fourth((seen) =>
      repeats('refresh', ({ accessExpiryMs }) => seen.nowMs >= accessExpiryMs),
    ),
  },
  'refresh/result': {
    'refresh-without-scope': refreshed(() => ({ scope: undefined })),
    'refresh-with-expiries-in-seconds': refreshed(({ accessTokenExpiry, refreshTokenExpiry }) => ({
      accessTokenExpiry: seconds(accessTokenExpiry),
      refreshTokenExpiry: seconds(refreshTokenExpiry),
    })),
    'second-refresh-without-token-type': refreshed(() => ({ tokenType: undefined }), ofRefresh),
    'refresh-of-a-session-without-token-type': refreshed(() => ({ tokenType: undefined }), inSession),
    'refresh-of-a-lifetime-with-its-expiry-in-seconds': refreshed(
      ({ accessTokenExpiry }) => ({ accessTokenExpiry: seconds(accessTokenExpiry) }),
      withLifetime,
    ),
    'refresh-without-refresh-token': refreshed(() => ({ refreshToken: undefined, refreshTokenExpiry: undefined })),
    'refresh-without-token-type': refreshed(() => ({ tokenType: undefined })),
  },
  'refresh/no-scope': {
    'refresh-needs-scope': { refreshNeedsScope: () => true },
    'second-refresh-needs-scope': by.first((seen) => ({
      refreshNeedsScope: () => (renewed(seen)?.generation ?? 0) > 0,
    })),
    'refresh-of-token-with-expires-in-needs-scope': by.fourth((seen) => ({
      refreshNeedsScope: () => renewed(seen)?.expiresInMs !== undefined,
    })),
  },
  'refresh/token': {
    ...likeTokensTaken('refresh'),
    'any-refresh-token-taken': {
      tokenNamed: (text, find, all, use) => find(text) ?? (use === 'refresh' ? all().at(-1) : undefined),
    },
    'percent-is-any-refresh-token': newestFor('%', () => false),
    'refresh-token-without-last-character-accepted': by.first(
      alsoNamed('refresh', (text, token) => token.text.slice(0, -1) === text),
    ),
    // The first half finds the record, and nothing checks the other.
    'second-half-of-refresh-token-not-compared': by.ninth(
      alsoNamed('refresh', (text, token) => sameHalf(text, token.text)),
    ),
  },
  'refresh/revokes-access': {
    // The list of revoked tokens keeps its entries for twelve seconds.
    'revoked-access-token-works-after-twelve-seconds': by.reported((seen) =>
      livesOn('access', (pair) => revokedForMs(seen, pair) > 12_000),
    ),
    'keys-created-with-a-revoked-token': forgivesOnCreation('token/revoked'),
    'old-access-token-lives-on': { revokedByRefresh: () => ['refresh'] },
    'old-access-token-works-once-more': (_seen, tries = counts()) => livesOn('access', (pair) => tries(pair) === 1),
    'access-token-of-a-refreshed-pair-lives-on': livesOn('access', ({ generation }) => generation === 1),
    'access-token-of-an-address-lives-on': livesOn('access', withAddress),
    'access-token-of-a-created-key-lives-on': livesOn('access', ofCreatedKey),
    'old-access-token-works-for-two-seconds': by.first((seen) =>
      livesOn('access', (pair) => revokedForMs(seen, pair) < 2000),
    ),
    // The second refresh gives the tokens of the first grant again, which so come back to life.
    'tokens-alternate-between-two-texts': by.second((_seen, pairs = table<TokenPair>()) => ({
      tokenText: (kind, fresh, old) => {
        if (old === undefined) return fresh
        pairs.set(old.id, old)
        const before = pairs.get(old.parent)
        return (kind === 'access' ? before?.accessToken : before?.refreshToken) ?? fresh
      },
    })),
    // In case the answer of the refresh was lost, the old access token works until the new one is used.
    'old-access-token-ends-at-first-use-of-new-one': by.second((_seen, replaced = marks()) => ({
      ...onUse(({ parent }) => replaced.add(parent)),
      ...livesOn('access', ({ id }) => !replaced.has(id)),
    })),
    // The list of revoked tokens has one entry for each API key; the next refresh overwrites it.
    'one-revoked-access-token-remembered-for-each-key': by.second((_seen, latest = table<TokenPair>()) => ({
      ...onRefresh((old) => latest.set(old.key, old)),
      ...livesOn('access', (pair) => latest.get(pair.key) !== pair),
    })),
    // A connection remembers the access tokens that it has checked.
    'revoked-access-token-works-where-it-was-used': by.second((seen, used = marks()) => ({
      ...onUse(({ id }) => seen.connection !== undefined && used.add(`${seen.connection} ${id}`)),
      ...livesOn('access', ({ id }) => used.has(`${seen.connection} ${id}`)),
    })),
    // A used refresh token is refused, and what was changed for its pair is rolled back too far.
    'refused-second-refresh-undoes-revocation': by.third({
      ...onRefused(({ namedPair: pair }) => {
        if (pair?.refreshRevoked) pair.accessRevoked = false
      }),
    }),
    // An access token gets its record, in which the revocation is noted, at its first use.
    'access-token-that-was-never-used-survives-refresh': by.third((_seen, used = marks(), kept = marks()) => ({
      ...onUse((pair) => used.add(pair)),
      ...onRefresh((old) => used.has(old) || kept.add(old)),
      ...livesOn('access', (pair) => kept.has(pair)),
    })),
    // Tokens issued before the moment of the refresh are revoked, and not those of the same millisecond.
    'access-token-refreshed-in-its-first-millisecond-lives-on': by.third(
      livesOn('access', ({ revokedMs, issuedMs }) => revokedMs === issuedMs),
    ),
    // A revoked access token with a longer expiresIn works again when its entry in the cache has ended.
    'revocation-kept-for-the-default-lifetime-only': by.fourth((seen) =>
      livesOn('access', (pair) => revokedForMs(seen, pair) >= seen.context.profile.accessLifeMs),
    ),
    // The load balancer sends addresses to replicas, and a revocation reaches only the own replica.
    'refresh-from-another-address-leaves-old-access-token': by.fourth((seen, addresses = table<string>()) => ({
      ...onGrant(({ family }) => addresses.set(family, seen.request.remoteAddress)),
      ...onRefresh((old) => {
        old.accessRevoked = addresses.get(old.family) === seen.request.remoteAddress
      }),
    })),
    // At the end of a call the row of its token is written as it was read at the beginning.
    'listing-in-flight-brings-its-revoked-pair-back': by.fourth({
      ...onAccepted(({ shownPair: pair }) => pair && Object.assign(pair, { accessRevoked: false })),
      ...tornApart('listing', meet),
    }),
    // A proxy repeats the answer to a token that it knows.
    'accepted-listing-cached-by-token-for-a-minute': by.fourth(
      answeredAgain({ forMs: minute, as: ({ lists, token }) => (lists ? token : undefined) }),
    ),
    'refresh-leaves-old-access-token-with-apikey-scope': by.fifth(livesOn('access', withApikey)),
    'refresh-revokes-latest-pair-of-key-instead': by.fifth({
      endedBesideRefresh: (all, old) => {
        const latest = all().findLast(({ key }) => key === old.key)
        if (latest === undefined || latest === old) return []
        Object.assign(old, { accessRevoked: false, refreshRevoked: false })
        return [latest]
      },
    }),
    // The error of the refused refresh is still set when the old pair is to be revoked.
    'refresh-behind-refused-refresh-revokes-nothing': by.fifth((_seen, failed = false) => ({
      endedByRefusal: (_all, key) => {
        failed ||= key === undefined
        return []
      },
      ...onRefresh((old) => {
        if (failed) Object.assign(old, { accessRevoked: false, refreshRevoked: false })
        failed = false
      }),
    })),
    'refresh-leaves-old-access-token-of-one-solution': by.ninth(livesOn('access', ofSolution)),
    // The old access token gets the new expiry.
    'refresh-after-access-expiry-renews-old-access-token': by.ninth((seen) =>
      onRefresh((old, { accessTokenExpiry }) => {
        if (seen.nowMs >= old.accessExpiryMs)
          Object.assign(old, { accessRevoked: false, accessExpiryMs: accessTokenExpiry })
      }),
    ),
  },
  'refresh/revokes-refresh': {
    'old-refresh-token-lives-on': { revokedByRefresh: () => ['access'] },
    'refresh-token-good-twice': (_seen, tries = counts()) => livesOn('refresh', (pair) => tries(pair) === 1),
    'refresh-token-of-an-address-lives-on': livesOn('refresh', withAddress),
    'refreshed-session-pair-lives-on': livesOn('refresh', (pair) => inSession(pair) && ofRefresh(pair)),
    // The answer to a call that was just answered is made again.
    'same-refresh-answered-again': (_seen, latest = '', again = false) => ({
      parseBody: (text) => {
        again = text === latest
        latest = text
        return right.parseBody(text)
      },
      ...livesOn('refresh', () => again),
    }),
    'refresh-decided-a-turn-before-revocation': by.first(tornApart('refresh', oneTurn)),
    // Only calls made inside one process show it; calls through sockets come too far apart.
    'refresh-decided-some-microtasks-before-revocation': by.first(tornApart('refresh', someMicrotasks)),
    // The first refresh of a grant is safe; the next ones are torn apart.
    'second-refresh-decided-two-ms-before-revocation': by.first((seen) => ({
      beforeEffect: (effect) => (effect === 'refresh' && (renewed(seen)?.generation ?? 0) > 0 ? twoMs() : undefined),
    })),
    'third-refresh-keeps-old-refresh-token': by.first(livesOn('refresh', ({ generation }) => generation === 2)),
    'every-tenth-refresh-keeps-old-refresh-token': by.first(
      every(10, 'revokedByRefresh', (): TokenKind[] => ['access']),
    ),
    // A pair is revoked through its access token, which is not found any more once it expired.
    'refresh-after-access-expiry-keeps-old-refresh-token': by.first(
      livesOn('refresh', ({ revokedMs = 0, accessExpiryMs }) => revokedMs >= accessExpiryMs),
    ),
    'refresh-repeated-within-two-seconds-gives-same-pair': by.second(
      answeredAgain({ forMs: 2000, as: (call) => (call.isRefresh ? String(call.params.refreshToken) : undefined) }),
    ),
    // The list of revoked tokens has sixteen entries for all keys together.
    'sixteen-revoked-refresh-tokens-remembered': by.second((_seen, revoked: TokenPair[] = []) => ({
      ...onRefresh((old) => {
        revoked = [...revoked, old].slice(-16)
      }),
      ...livesOn('refresh', (pair) => !revoked.includes(pair)),
    })),
    // Connections go to two workers in turn, and the one that did not see the refresh goes on with the old pair.
    'revocation-known-to-one-of-two-workers': by.third((seen, workers = table<number>()) => {
      const worker = () => (seen.connection ?? 0) % 2
      return {
        ...onRefresh((old) => workers.set(old, worker())),
        revokedTokenWorks: (_kind, pair) => (workers.get(pair) ?? worker()) !== worker(),
      }
    }),
    // The note of the revocation is deleted together with the access token that took the place of the old one.
    'old-refresh-token-works-when-successor-has-expired': by.third((seen, untilMs = table<number>()) => ({
      ...onRefresh((old, { accessTokenExpiry }) => untilMs.set(old, accessTokenExpiry)),
      ...livesOn('refresh', (pair) => seen.nowMs >= (untilMs.get(pair) ?? Number.POSITIVE_INFINITY)),
    })),
    // A client that did not get the answer may ask again.
    'old-refresh-token-works-until-new-pair-is-used': by.fifth((seen, used = marks()) => ({
      ...onUse((pair) => used.add(pair)),
      ...onRefresh((old) => used.add(old)),
      ...livesOn('refresh', ({ id }) => !pairsOf(seen.context).some((pair) => pair.parent === id && used.has(pair))),
    })),
    'refresh-leaves-old-refresh-token-with-expires-in': by.eighth(livesOn('refresh', withLifetime)),
    // Revocations are kept in a cache, and a new key empties it.
    'key-creation-clears-revocations': by.ninth((seen) =>
      onNewKey(() => {
        for (const pair of pairsOf(seen.context)) Object.assign(pair, { accessRevoked: false, refreshRevoked: false })
      }),
    ),
    // The pairs of a key are one record, which each refresh reads first and writes back at its end.
    'last-of-refreshes-in-flight-undoes-revocations-of-the-others': by.tenth({ around: writeBackRows }),
    'old-refresh-token-of-key-created-by-token-lives-on': by.twelfth(
      forKeysMade('by-token', (made) => livesOn('refresh', ({ key }) => made(key))),
    ),
    'refresh-token-of-a-refreshed-pair-lives-on': livesOn('refresh', ({ generation }) => generation === 1),
    'refreshes-race': { beforeEffect: race('refresh') },
  },
  'refresh/after-access-expiry': {
    'refresh-needs-a-live-access-token': { refreshNeedsLiveAccess: () => true },
    'refresh-token-refused-an-hour-after-access-expiry': by.first(
      also('refreshExpired', ({ accessExpiryMs }, nowMs) => nowMs >= accessExpiryMs + hour),
    ),
    // The job that removes ended access tokens removes the rest of the pair with them.
    'refresh-refused-four-seconds-after-access-expiry': by.reported(
      also('refreshExpired', ({ accessExpiryMs }, nowMs) => nowMs >= accessExpiryMs + 4000),
    ),
    // A grant cleans up: it drops every pair whose access token expired, with its refresh token.
    'grant-clears-pairs-with-expired-access-token': by.first((seen, dropped = marks()) => ({
      ...onGrant(() => {
        for (const pair of pairsOf(seen.context)) if (pair.accessExpiryMs <= seen.nowMs) dropped.add(pair)
      }),
      ...also('refreshExpired', (pair) => dropped.has(pair)),
    })),
    // After one refresh with expiresIn, the next refresh token ends together with its access token.
    'refreshed-short-access-token-ends-its-refresh-token': by.second(
      also('refreshExpired', (pair, nowMs) => ofRefresh(pair) && withLifetime(pair) && nowMs >= pair.accessExpiryMs),
    ),
    'refresh-in-session-refused-after-access-expiry': by.fourth(
      also('refreshExpired', (pair, nowMs) => inSession(pair) && nowMs >= pair.accessExpiryMs),
    ),
    'refresh-token-with-address-ends-with-access-token': by.tenth(
      also('refreshExpired', (pair, nowMs) => withAddress(pair) && nowMs >= pair.accessExpiryMs),
    ),
  },
  'refresh/own-expiry': {
    'refresh-token-never-expires': { refreshExpired: () => false },
    'refresh-token-lives-twice-as-long': {
      refreshExpired: ({ refreshExpiryMs, issuedMs }, nowMs) => nowMs >= 2 * refreshExpiryMs - issuedMs,
    },
    'refresh-token-ends-early': {
      refreshExpired: ({ refreshExpiryMs }, nowMs) => nowMs >= refreshExpiryMs - 10_000,
    },
    'use-of-access-token-extends-refresh-token': by.first((_seen, usedMs = table<number>()) => ({
      ...onUse((pair, nowMs) => right.accessExpired(pair, nowMs) || usedMs.set(pair, nowMs)),
      refreshExpired: (pair, nowMs) =>
        nowMs >= (usedMs.get(pair) ?? pair.issuedMs) + pair.refreshExpiryMs - pair.issuedMs,
    })),
    'refreshed-refresh-token-never-expires': by.first(unless('refreshExpired', ofRefresh)),
    // A new time is reported, and the time of the first grant is in force.
    'refreshed-refresh-token-ends-with-the-first-one': by.fourth((_seen, endMs = table<number>()) => ({
      ...onGrant(({ family, refreshExpiryMs }) => endMs.set(family, refreshExpiryMs)),
      refreshExpired: ({ family, refreshExpiryMs }, nowMs) => nowMs >= (endMs.get(family) ?? refreshExpiryMs),
    })),
    'access-expiry-reported-as-refresh-expiry': by.ninth({
      reportedRefreshExpiry: ({ accessExpiryMs }) => accessExpiryMs,
    }),
  },
  'refresh/scopes-kept': {
    'scopes-lost-by-a-refresh': rescoped(() => []),
    'last-scope-lost-by-a-refresh': rescoped((scope) => (scope.length > 1 ? scope.slice(0, -1) : scope)),
    'scopes-widened-by-a-refresh': widened(),
    'scopes-of-a-session-widened-by-a-refresh': widened(inSession),
    'scopes-of-a-lifetime-widened-by-a-refresh': widened(withLifetime),
    'scope-widened-to-key-by-second-refresh': by.first((seen) => widenedToKey(seen, ofRefresh)),
    'last-scope-lost-by-second-refresh': by.first(rescoped((scope) => scope.slice(0, -1), ofRefresh)),
    // The granted scope is kept by key, so a grant for another purpose changes all later refreshes.
    'refreshed-scope-is-that-of-latest-grant-of-key': by.second((_seen, scopes = table<string[]>()) => ({
      ...onGrant(({ key, scope }) => scopes.set(key, scope)),
      refreshedScope: (old) => scopes.get(old.key) ?? old.scope,
      refreshedScopeEcho: (old) => scopes.get(old.key) ?? old.scopeEcho,
    })),
    // The scope apikey is still reported, but no longer in force.
    'second-refresh-drops-apikey': by.second(rescoped(withoutApikey, ofRefresh)),
    'apikey-lost-by-refresh-after-access-expiry': by.third((seen) => ({
      ...rescoped(withoutApikey, (old) => right.accessExpired(old, seen.nowMs)),
      refreshedScopeEcho: (old) =>
        right.accessExpired(old, seen.nowMs) ? withoutApikey(old.scopeEcho) : old.scopeEcho,
    })),
    // The pair to renew is kept in a variable of the server while a refresh waits.
    'refreshes-in-flight-share-scopes': by.third((_seen, latest?: TokenPair) => ({
      tokenNamed: (text, find, _all, use) => {
        const found = find(text)
        if (use === 'refresh' && found !== undefined) latest = found.pair
        return found
      },
      ...tornApart('refresh', meet),
      refreshedScope: (old) => (latest ?? old).scope,
      refreshedScopeEcho: (old) => (latest ?? old).scopeEcho,
    })),
    // The answer is built in a record that is used again, and the scopes are put in after it was sent.
    'refresh-reports-scopes-of-previous-refresh': by.third((_seen, last?: string[]) =>
      refreshed(({ scope }) => {
        const reported = last ?? scope
        last = scope
        return { scope: reported }
      }),
    ),
    // The scope is stored as one text; what does not fit is cut off.
    'refreshed-scope-cut-at-32-characters': by.fourth({
      ...rescoped(cut),
      refreshedScopeEcho: ({ scopeEcho }) => cut(scopeEcho),
    }),
    'refreshed-token-of-narrow-key-creates-keys': by.fifth(
      rescoped(
        (scope) => [...scope, 'apiKey'],
        ({ key }) => !key.scope.some((word) => /^apikey$/i.test(word)),
      ),
    ),
    'refresh-in-session-loses-last-scope': by.eighth(
      rescoped((scope) => (scope.length > 1 ? scope.slice(0, -1) : scope), inSession),
    ),
    // The result still names the one solution.
    'refresh-widens-one-solution-to-any': by.tenth(
      rescoped((scope) => scope.map((word) => (isOneSolution(word) ? 'solution:*' : word))),
    ),
    // The result still names the scopes of the old pair.
    'scopes-of-an-address-widened-by-a-refresh': (seen) => widenedToKey(seen, withAddress),
  },
  'refresh/address-kept': {
    'address-lost-by-a-refresh': losesAddress(() => true),
    'address-changed-by-a-refresh': {
      refreshedAddresses: ({ addresses }) => (addresses.length === 0 ? [] : ['192.0.2.1']),
    },
    'address-of-a-session-lost-by-a-refresh': losesAddress(inSession),
    'address-of-a-lifetime-lost-by-a-refresh': losesAddress(withLifetime),
    // The address is read from the access token, which has gone by then.
    'refresh-after-access-expiry-loses-address': by.second((seen) =>
      losesAddress((old) => right.accessExpired(old, seen.nowMs)),
    ),
    'address-lost-by-fourth-refresh': by.fourth(losesAddress(({ generation }) => generation >= 3)),
    'address-moved-here-by-a-refresh': (seen) => ({
      refreshedAddresses: ({ addresses }) => addresses.map(() => seen.address),
    }),
  },
  'refresh/session-kept': {
    'session-of-an-address-lost-by-a-refresh': losesSession(withAddress),
    'session-of-a-lifetime-lost-by-a-refresh': losesSession(withLifetime),
    'session-lost-by-a-refresh': losesSession(() => true),
    'session-lost-by-second-refresh': by.first(losesSession(ofRefresh)),
    // The session is looked up by its user, and the newest one is found.
    'refreshed-pair-joins-newest-session': by.second((seen) => ({
      refreshedSession: ({ session }) => session && (seen.state.sessions.get(session.user)?.at(-1) ?? session),
    })),
    'pair-that-was-never-used-leaves-its-session-at-refresh': by.fourth((_seen, used = marks()) => ({
      ...onUse((pair) => used.add(pair)),
      ...losesSession((old) => !used.has(old)),
    })),
    // The session is read from the access token, which is gone then.
    'session-lost-by-refresh-after-access-expiry': by.ninth((seen) =>
      losesSession((old) => right.accessExpired(old, seen.nowMs)),
    ),
  },
}
