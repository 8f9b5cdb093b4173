import { createHash } from 'node:crypto'
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import type { TokenResult } from '../../../mock-server/rules.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import { effectiveKeyScope } from '../../../mock-server/scopes.ts'
import type { TokenKind, TokenPair } from '../../../mock-server/state.ts'
import { endPair, pairsOf } from '../../../mock-server/token-state.ts'
import {
  type Around,
  answerFor,
  answerThrough,
  type BrokenRows,
  type Change,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  isMethod,
  meet,
  mergeInFlight,
  ninth,
  own,
  paramsOf,
  readCall,
  type Seen,
  second,
  tenth,
  third,
  tokenText,
  twelfth,
  withMembers,
} from '../operators.ts'
import {
  type Changed,
  forgivesOnCreation,
  hour,
  isOneSolution,
  likeTokensTaken,
  minute,
  namedPair,
  newestFor,
  oneTurn,
  race,
  seconds,
  shownPair,
  someMicrotasks,
  tornApart,
  twoMs,
} from './changes.ts'

/** True once for every pair. */
function once(): (pair: TokenPair) => boolean {
  const seen = new WeakSet<TokenPair>()
  return (pair) => {
    const first = !seen.has(pair)
    seen.add(pair)
    return first
  }
}

const takenTwice = once()

/** Kinds of pairs by what they are bound to. */
const withSession = ({ session }: TokenPair) => session !== undefined

const withAddress = ({ addresses }: TokenPair) => addresses.length > 0

const withLifetime = ({ expiresInMs }: TokenPair) => expiresInMs !== undefined

/** Tokens of some pairs are not revoked. */
const lives = (kind: TokenKind, fits: (pair: TokenPair) => boolean): Change => ({
  revokedTokenWorks: (revoked, pair) => revoked === kind && fits(pair),
})

/** Scopes become those of the key. */
const widened = (fits: (pair: TokenPair) => boolean): Change => ({
  refreshedScope: (old) => (fits(old) ? right.initialKeyScope() : old.scope),
})

/** Repeats the answer to a call that was just answered. */
function answeredAgain(): Change {
  let latest = ''
  let again = false
  return {
    parseBody: (text) => {
      again = text === latest
      latest = text
      return right.parseBody(text)
    },
    revokedTokenWorks: (kind) => kind === 'refresh' && again,
  }
}

/** Members of every refresh's result replaced. */
const refreshed = (change: (result: TokenResult) => Changed): Change => ({
  refreshResult: (result) => ({ ...result, ...change(result) }),
})

/** Undoes a part of what a refresh has just revoked. */
const leave = (part: 'accessRevoked' | 'refreshRevoked', isLeft: (old: TokenPair) => boolean) => ({
  endedBesideRefresh: (_all: unknown, old: TokenPair): TokenPair[] => {
    if (isLeft(old)) old[part] = false
    return []
  },
})

/** Undoes a part of what a refresh has just revoked. */
const fifthLeave = (isLeft: (old: TokenPair) => boolean, part: 'accessRevoked' | 'refreshRevoked') => ({
  endedBesideRefresh: (_all: unknown, old: TokenPair): TokenPair[] => {
    if (isLeft(old)) old[part] = false
    return []
  },
})

const cut = (scopes: string[]): string[] => scopes.join(' ').slice(0, 32).split(' ')

/** The generation of the newest pair of the grant that `pair` comes from. */
const newestGeneration = ({ context }: Seen, { family }: TokenPair) => {
  const tokens = [...context.state.tokens.values()]
  return Math.max(...tokens.map(({ pair }) => (pair.family === family ? pair.generation : 0)))
}

/** How long ago a refresh ended the pair. */
const revokedForMs = ({ nowMs }: Seen, { revokedMs = nowMs }: TokenPair) => nowMs - revokedMs

/** Rows are read when a refresh arrives, and written back as a whole when it ends. */
const writeBackRows: Around = (handle, context) => async (request) => {
  const { grantType, refreshToken } = paramsOf(request)
  const token = context.state.tokens.get(String(refreshToken))
  if (grantType !== 'refresh_token' || token === undefined) return handle(request)
  const rows = pairsOf(context)
    .filter((pair) => pair.key === token.pair.key && pair !== token.pair)
    .map((pair) => ({ pair, accessRevoked: pair.accessRevoked, refreshRevoked: pair.refreshRevoked }))
  await meet()
  const answer = await handle(request)
  if (isAccepted(answer)) {
    for (const { pair, accessRevoked, refreshRevoked } of rows) Object.assign(pair, { accessRevoked, refreshRevoked })
  }
  return answer
}

export const refresh: BrokenRows = {
  'refresh/new-pair': {
    'nothing-can-be-refreshed': own({ refreshesAllowed: () => 0 }),
    'only-one-refresh-of-a-grant': own({ refreshesAllowed: () => 1 }),
    'ten-refreshes-of-a-grant': own({ refreshesAllowed: () => 10 }),
    'refreshed-access-token-does-not-work': own({
      issuedTokenWorks: (kind, pair) => kind === 'refresh' || pair.generation === 0,
    }),
    'refreshed-refresh-token-does-not-work': own({
      issuedTokenWorks: (kind, pair) => kind === 'access' || pair.generation === 0,
    }),
    // A refresh token is refused after its access token has created a key.
    'key-creation-spends-refresh-token': first((seen, spent = new Set<string>()) => ({
      storedKey: (key) => {
        if (seen.pair) spent.add(seen.pair.id)
        return key
      },
      issuedTokenWorks: (kind, pair) => kind === 'access' || !spent.has(pair.id),
    })),
    'fifth-refresh-refused': first({
      refreshesAllowed: () => 4,
    }),
    // The access token of the second refresh is refused; the refresh token beside it works.
    'third-access-token-does-not-work': first({
      issuedTokenWorks: (kind, pair) => kind === 'refresh' || pair.generation !== 2,
    }),
    // Refreshes of one API key that are in flight together all get the pair of the first.
    'refreshes-in-flight-merged-by-key': second({
      around: mergeInFlight((request, context) => {
        const { grantType, refreshToken } = paramsOf(request)
        return grantType === 'refresh_token' ? context.state.tokens.get(String(refreshToken))?.pair.key.id : undefined
      }),
    }),
    // "a new pair of access token and refresh token is issued", for "the Authorization header of a call": of any call
    'refreshed-token-known-on-connection-of-its-refresh-only': fourth(
      (seen, connections = new Map<string, number>()) => ({
        refreshResult: (result) => {
          const { connection } = seen
          if (connection !== undefined) connections.set(result.accessToken, connection)
          return result
        },
        issuedTokenWorks: (kind, pair) => {
          const connection = connections.get(pair.accessToken)
          return kind === 'refresh' || connection === undefined || connection === seen.connection
        },
      }),
    ),
    'refreshed-access-token-begins-when-the-old-one-would-end': fourth((seen, beginMs = new Map<string, number>()) => ({
      refreshResult: (result, old) => {
        beginMs.set(result.accessToken, old.accessExpiryMs)
        return result
      },
      issuedTokenWorks: (kind, pair) => kind === 'refresh' || seen.nowMs >= (beginMs.get(pair.accessToken) ?? 0),
    })),
    // "`refresh_token` | refreshToken | string | yes": no other param
    'refresh-needs-id-of-key': fifth({
      around: (handle) => (request) => {
        const { apiKeyId, refreshToken, ...others } = paramsOf(request)
        if (others.grantType !== 'refresh_token') return handle(request)
        const params = { ...others, ...(apiKeyId === undefined ? {} : { refreshToken }) }
        return handle(withMembers(request, { ...readCall(request), params }))
      },
    }),
    'refresh-answers-with-its-tokens-swapped': eighth({
      refreshResult: (result) => ({
        ...result,
        accessToken: result.refreshToken,
        refreshToken: result.accessToken,
      }),
    }),
    // The new expiry is reported, and the old one is still in force.
    'refreshed-access-token-ends-with-the-old-one': eighth((seen) => ({
      accessExpired: (pair, nowMs) => {
        const old = pairsOf(seen.context).find(({ id }) => id === pair.parent)
        return right.accessExpired(pair, nowMs) || (old !== undefined && right.accessExpired(old, nowMs))
      },
    })),
    'pair-that-was-never-used-cannot-be-refreshed': ninth((_seen, used = new WeakSet<TokenPair>()) => ({
      accessExpired: (pair, nowMs) => {
        used.add(pair)
        return right.accessExpired(pair, nowMs)
      },
      issuedTokenWorks: (kind, pair) => kind === 'access' || used.has(pair),
    })),
    // It revokes the old pair before it looks at the other params, such as a scope.
    'refresh-refused-for-its-params-ends-its-pair': ninth({
      around: answerThrough((answer, request, { state }) => {
        const { grantType, refreshToken } = paramsOf(request)
        const token = state.tokens.get(typeof refreshToken === 'string' ? refreshToken : '')
        if (grantType === 'refresh_token' && token?.kind === 'refresh' && !isAccepted(answer)) endPair(token.pair)
        return answer
      }),
    }),
    // A refresh token that was issued in the present second counts as not yet valid.
    'refreshed-pair-cannot-be-refreshed-in-its-first-second': tenth((seen) => ({
      issuedTokenWorks: (kind, { generation, issuedMs }) =>
        kind === 'access' || generation === 0 || seen.nowMs - issuedMs >= 1000,
    })),
  },
  'refresh/pair-differs': {
    'access-token-kept-over-a-refresh': own({
      tokenText: (kind, fresh, old) => (old && kind === 'access' ? old.accessToken : fresh),
    }),
    'refresh-token-kept-over-a-refresh': own({
      tokenText: (kind, fresh, old) => (old && kind === 'refresh' ? old.refreshToken : fresh),
    }),
    // The tokens of a refresh are made from the grant and the second of the clock.
    'refreshes-in-same-second-repeat-tokens': first((seen) => ({
      tokenText: (kind, fresh, old) => {
        if (old === undefined) return fresh
        const seed = `${kind} ${old.family.id} ${Math.floor(seen.nowMs / 1000)}`
        return createHash('sha512').update(seed).digest('base64url').slice(0, 43)
      },
    })),
    // A refresh keeps the access token while it has more than ten minutes to live.
    'young-access-token-handed-out-again': first((seen) => ({
      tokenText: (kind, fresh, old) =>
        old && kind === 'access' && old.accessExpiryMs - seen.nowMs > 600_000 ? old.accessToken : fresh,
    })),
    'refresh-token-stays-the-same-after-access-expiry': fourth((seen) => ({
      tokenText: (kind, fresh, old) =>
        kind === 'refresh' && old !== undefined && seen.nowMs >= old.accessExpiryMs ? old.refreshToken : fresh,
    })),
  },
  'refresh/result': {
    'refresh-without-token-type': own(refreshed(() => ({ tokenType: undefined }))),
    'refresh-without-scope': own(refreshed(() => ({ scope: undefined }))),
    'refresh-without-refresh-token': own(refreshed(() => ({ refreshToken: undefined, refreshTokenExpiry: undefined }))),
    'refresh-with-expiries-in-seconds': own(
      refreshed(({ accessTokenExpiry, refreshTokenExpiry }) => ({
        accessTokenExpiry: seconds(accessTokenExpiry),
        refreshTokenExpiry: seconds(refreshTokenExpiry),
      })),
    ),
    'second-refresh-without-token-type': own({
      refreshResult: (result, old) => (old.generation > 0 ? { ...result, tokenType: undefined } : result),
    }),
    'refresh-of-a-session-without-token-type': own({
      refreshResult: (result, old) => (withSession(old) ? { ...result, tokenType: undefined } : result),
    }),
    'refresh-of-a-lifetime-with-its-expiry-in-seconds': own({
      refreshResult: (result, old) =>
        withLifetime(old) ? { ...result, accessTokenExpiry: seconds(result.accessTokenExpiry) } : result,
    }),
    'token-type-in-lower-case-on-refresh': first({
      refreshResult: (result) => ({ ...result, tokenType: 'bearer' }),
    }),
    'refresh-expiry-missing-after-second-refresh': first({
      refreshResult: (result, old) => {
        const { refreshTokenExpiry, ...rest } = result
        return old.generation === 0 ? { ...rest, refreshTokenExpiry } : rest
      },
    }),
    'refreshed-scope-reported-as-one-text': eighth({
      refreshResult: (result) => ({ ...result, scope: result.scope.join(' ') }),
    }),
    // "scope | array of string | Scopes granted", for both grant types
    'refresh-result-without-scope': ninth({
      refreshResult: (result) => ({ ...result, scope: undefined }),
    }),
    // The two results have structures of their own, and one of them turns a large number into text.
    'refresh-expiry-as-text-in-refreshed-pair': tenth({
      refreshResult: (result) => ({ ...result, refreshTokenExpiry: String(result.refreshTokenExpiry) }),
    }),
  },
  'refresh/no-scope': {
    'refresh-needs-scope': own({ refreshNeedsScope: () => true }),
    'second-refresh-needs-scope': first((seen) => ({
      refreshNeedsScope: () => (shownPair(seen)?.generation ?? 0) > 0,
    })),
    'refresh-of-token-with-expires-in-needs-scope': fourth((seen) => ({
      refreshNeedsScope: () => namedPair(seen)?.expiresInMs !== undefined,
    })),
  },
  'refresh/token': {
    ...likeTokensTaken('refresh'),
    'any-refresh-token-taken': own({
      tokenNamed: (text, find, all, use) => find(text) ?? (use === 'refresh' ? all().at(-1) : undefined),
    }),
    'percent-is-any-refresh-token': own(newestFor('%', () => false)),
    'refresh-token-without-last-character-accepted': first({
      tokenNamed: (text, find, all, use) =>
        find(text) ?? (use === 'refresh' ? all().find((token) => token.text.slice(0, -1) === text) : undefined),
    }),
    // The first half finds the record, and nothing checks the other.
    'second-half-of-refresh-token-not-compared': ninth({
      tokenNamed: (text, find, all, use) => {
        const half = text.slice(0, Math.ceil(text.length / 2))
        const isAlike = (other: string) => other.length === text.length && other.startsWith(half)
        return find(text) ?? all().find(({ kind, text: other }) => use === 'refresh' && kind === use && isAlike(other))
      },
    }),
  },
  'refresh/revokes-access': {
    'keys-created-with-a-revoked-token': own(forgivesOnCreation('token/revoked')),
    'old-access-token-lives-on': own({ revokedByRefresh: () => ['refresh'] }),
    'old-access-token-works-once-more': own({
      revokedTokenWorks: (kind, pair) => kind === 'access' && takenTwice(pair),
    }),
    'access-token-of-a-refreshed-pair-lives-on': own(lives('access', ({ generation }) => generation === 1)),
    'access-token-of-an-address-lives-on': own(lives('access', withAddress)),
    'access-token-of-a-created-key-lives-on': own(lives('access', ({ key }) => !key.initial)),
    'old-access-token-works-for-two-seconds': first((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'access' && revokedForMs(seen, pair) < 2000,
    })),
    // manager/createApiKey does not look at the revocation of an access token.
    'old-access-token-creates-keys': first((seen) => ({
      revokedTokenWorks: (kind) => kind === 'access' && seen.bodyHas('manager/createApiKey'),
    })),
    'second-refresh-keeps-old-access-token': first({
      revokedTokenWorks: (kind, pair) => kind === 'access' && pair.generation === 1,
    }),
    // A revoked access token works again after the next refresh of the same grant.
    'only-last-revoked-access-token-remembered': first((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'access' && pair.generation < newestGeneration(seen, pair) - 1,
    })),
    // The list of revoked tokens forgets an entry after an hour, and some tokens live longer.
    'revoked-access-token-works-again-after-an-hour': first((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'access' && revokedForMs(seen, pair) >= hour,
    })),
    // The second refresh gives the tokens of the first grant again, which so come back to life.
    'tokens-alternate-between-two-texts': second(
      (_seen, texts = new Map<string, { access: string; refresh: string }>()) => ({
        tokenText: (kind, fresh, old) => {
          if (old === undefined) return fresh
          texts.set(old.id, { access: old.accessToken, refresh: old.refreshToken })
          return texts.get(old.parent ?? '')?.[kind] ?? fresh
        },
      }),
    ),
    // In case the answer of the refresh was lost, the old access token works until the new one is used.
    'old-access-token-ends-at-first-use-of-new-one': second((_seen, replaced = new Set<string>()) => ({
      accessExpired: (pair, nowMs) => {
        if (pair.parent !== undefined) replaced.add(pair.parent)
        return right.accessExpired(pair, nowMs)
      },
      revokedTokenWorks: (kind, pair) => kind === 'access' && !replaced.has(pair.id),
    })),
    // The list of revoked tokens has one entry for each API key; the next refresh overwrites it.
    'one-revoked-access-token-remembered-for-each-key': second((_seen, latest = new Map<string, string>()) => ({
      refreshResult: (result, old) => {
        latest.set(old.key.id, old.id)
        return result
      },
      revokedTokenWorks: (kind, pair) => kind === 'access' && latest.get(pair.key.id) !== pair.id,
    })),
    // Entries of the list of revoked tokens live shorter than the tokens.
    'revocation-forgotten-after-a-minute': second((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'access' && seen.nowMs - (pair.revokedMs ?? seen.nowMs) >= minute,
    })),
    // The old access token works again after the next grant for the same key.
    'grant-clears-revocations-of-its-key': second((_seen, revoked = new Map<string, Set<string>>()) => ({
      grantResult: (result, pair) => {
        revoked.delete(pair.key.id)
        return result
      },
      refreshResult: (result, old) => {
        revoked.set(old.key.id, (revoked.get(old.key.id) ?? new Set()).add(old.id))
        return result
      },
      revokedTokenWorks: (kind, pair) => kind === 'access' && revoked.get(pair.key.id)?.has(pair.id) !== true,
    })),
    'revoked-access-token-still-creates-keys': second((seen) => ({
      revokedTokenWorks: (kind) => kind === 'access' && seen.bodyHas('manager/createApiKey'),
    })),
    // A connection remembers the access tokens that it has checked.
    'revoked-access-token-works-where-it-was-used': second((seen, used = new Set<string>()) => {
      const place = (id: string) => `${seen.connection} ${id}`
      return {
        accessExpired: (pair, nowMs) => {
          if (seen.connection !== undefined) used.add(place(pair.id))
          return right.accessExpired(pair, nowMs)
        },
        revokedTokenWorks: (kind, pair) => kind === 'access' && used.has(place(pair.id)),
      }
    }),
    // A used refresh token is refused, and what was changed for its pair is rolled back too far.
    'refused-second-refresh-undoes-revocation': third({
      around: answerThrough((answer, request, { state }) => {
        const { refreshToken } = paramsOf(request)
        const token = isAccepted(answer) ? undefined : state.tokens.get(String(refreshToken))
        if (token?.kind === 'refresh' && token.pair.refreshRevoked) token.pair.accessRevoked = false
        return answer
      }),
    }),
    // An access token gets its record, in which the revocation is noted, at its first use.
    'access-token-that-was-never-used-survives-refresh': third(
      (_seen, used = new WeakSet<TokenPair>(), kept = new WeakSet<TokenPair>()) => ({
        accessExpired: (pair, nowMs) => {
          used.add(pair)
          return right.accessExpired(pair, nowMs)
        },
        refreshResult: (result, old) => {
          if (!used.has(old)) kept.add(old)
          return result
        },
        revokedTokenWorks: (kind, pair) => kind === 'access' && kept.has(pair),
      }),
    ),
    // Tokens issued before the moment of the refresh are revoked, and not those of the same millisecond.
    'access-token-refreshed-in-its-first-millisecond-lives-on': third({
      revokedTokenWorks: (kind, pair) => kind === 'access' && pair.revokedMs === pair.issuedMs,
    }),
    // A revoked access token with a longer expiresIn works again when its entry in the cache has ended.
    'revocation-kept-for-the-default-lifetime-only': fourth((seen) => ({
      revokedTokenWorks: (kind, pair) =>
        kind === 'access' &&
        pair.revokedMs !== undefined &&
        seen.nowMs >= pair.revokedMs + seen.context.profile.accessLifeMs,
    })),
    // The load balancer sends addresses to replicas, and a revocation reaches only the own replica.
    'refresh-from-another-address-leaves-old-access-token': fourth((seen, addresses = new Map<string, string>()) => ({
      grantResult: (result, pair) => {
        addresses.set(pair.family.id, seen.request.remoteAddress)
        return result
      },
      endedBesideRefresh: (_all, old) => {
        old.accessRevoked = addresses.get(old.family.id) === seen.request.remoteAddress
        return []
      },
    })),
    // At the end of a call the row of its token is written as it was read at the beginning.
    'listing-in-flight-brings-its-revoked-pair-back': fourth((seen) => ({
      around: (inner) => (request) => {
        const answer = inner(request)
        const { pair } = seen
        if (pair === undefined || tokenText(request) === '' || !(answer instanceof Promise)) return answer
        return answer.then((late) => {
          if (isAccepted(late)) pair.accessRevoked = false
          return late
        })
      },
      beforeEffect: (effect) => (effect === 'listing' ? meet() : undefined),
    })),
    // A proxy repeats the answer to a token that it knows, with the id of the call.
    'accepted-listing-cached-by-token-for-a-minute': fourth(
      (_seen, answers = new Map<string, { answer: MockAnswer; untilMs: number }>()) => ({
        around: (inner, context) => async (request) => {
          const token = isMethod(request, 'solution/listSolutions') ? tokenText(request) : ''
          const known = answers.get(token)
          if (known && context.now() < known.untilMs) return answerFor(known.answer, request)
          const answer = await inner(request)
          if (token !== '' && isAccepted(answer)) answers.set(token, { answer, untilMs: context.now() + 60_000 })
          return answer
        },
      }),
    ),
    'refresh-leaves-old-access-token-with-apikey-scope': fifth(
      fifthLeave(({ scope }) => scope.includes('apiKey'), 'accessRevoked'),
    ),
    // Each refresh turns the mark of all earlier pairs of its grant over.
    'first-access-token-works-again-after-second-refresh': fifth({
      endedBesideRefresh: (all, old) => {
        const earlier = all().filter(({ family, generation }) => family === old.family && generation < old.generation)
        for (const pair of earlier) pair.accessRevoked = !pair.accessRevoked
        return []
      },
    }),
    // "old pair revoked": that of the refresh token presented
    'refresh-revokes-latest-pair-of-key-instead': fifth({
      endedBesideRefresh: (all, old) => {
        const latest = all().findLast(({ key }) => key === old.key)
        if (latest === undefined || latest === old) return []
        old.accessRevoked = false
        old.refreshRevoked = false
        return [latest]
      },
    }),
    // The error of the refused refresh is still set when the old pair is to be revoked.
    'refresh-behind-refused-refresh-revokes-nothing': fifth((_seen, failed = false) => ({
      endedByRefusal: (_all, key) => {
        if (key === undefined) failed = true
        return []
      },
      endedBesideRefresh: (_all, old) => {
        if (failed) {
          old.accessRevoked = false
          old.refreshRevoked = false
        }
        failed = false
        return []
      },
    })),
    'refresh-leaves-old-access-token-with-address': eighth(
      leave('accessRevoked', ({ addresses }) => addresses.length > 0),
    ),
    'refresh-leaves-old-access-token-of-one-solution': ninth({
      revokedTokenWorks: (kind, { scope }) => kind === 'access' && scope.some((word) => /^solution:[^*]/.test(word)),
    }),
    // The old access token gets the new expiry.
    'refresh-after-access-expiry-renews-old-access-token': ninth((seen) => ({
      refreshResult: (result, old) => {
        if (seen.nowMs >= old.accessExpiryMs) {
          old.accessRevoked = false
          old.accessExpiryMs = result.accessTokenExpiry
        }
        return result
      },
    })),
  },
  'refresh/revokes-refresh': {
    'old-refresh-token-lives-on': own({ revokedByRefresh: () => ['access'] }),
    'refresh-token-good-twice': own({ revokedTokenWorks: (kind, pair) => kind === 'refresh' && takenTwice(pair) }),
    'refresh-token-of-a-refreshed-pair-lives-on': own(lives('refresh', ({ generation }) => generation === 1)),
    'refresh-token-of-an-address-lives-on': own(lives('refresh', withAddress)),
    'refreshed-session-pair-lives-on': own(lives('refresh', (pair) => withSession(pair) && pair.generation > 0)),
    'same-refresh-answered-again': own(answeredAgain()),
    'refreshes-race': own({ beforeEffect: race('refresh') }),
    'refresh-decided-two-ms-before-revocation': first(tornApart('refresh', twoMs)),
    'refresh-decided-a-turn-before-revocation': first(tornApart('refresh', oneTurn)),
    // Only calls made inside one process show it; calls through sockets come too far apart.
    'refresh-decided-some-microtasks-before-revocation': first(tornApart('refresh', someMicrotasks)),
    // The first refresh of a grant is safe; the next ones are torn apart.
    'second-refresh-decided-two-ms-before-revocation': first((seen) => ({
      beforeEffect: (effect) => {
        if (effect !== 'refresh') return undefined
        const tokens = [...seen.context.state.tokens.values()]
        const shown = tokens.find(({ kind, text }) => kind === 'refresh' && seen.bodyHas(text))
        return (shown?.pair.generation ?? 0) > 0 ? twoMs() : undefined
      },
    })),
    'third-refresh-keeps-old-refresh-token': first({
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && pair.generation === 2,
    }),
    // A used refresh token works again after the next refresh of the same grant.
    'only-last-revoked-refresh-token-remembered': first((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && pair.generation < newestGeneration(seen, pair) - 1,
    })),
    'used-refresh-token-works-again-after-an-hour': first((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && revokedForMs(seen, pair) >= hour,
    })),
    // The revocation of a pair is forgotten when its access token would have expired.
    'used-refresh-token-works-again-when-access-token-expired': first((seen) => ({
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && seen.nowMs >= pair.accessExpiryMs,
    })),
    'every-tenth-refresh-keeps-old-refresh-token': first((_seen, refreshes = 0) => ({
      revokedByRefresh: () => {
        refreshes += 1
        return refreshes % 10 === 0 ? ['access'] : ['access', 'refresh']
      },
    })),
    // A pair is revoked through its access token, which is not found any more once it expired.
    'refresh-after-access-expiry-keeps-old-refresh-token': first({
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && (pair.revokedMs ?? 0) >= pair.accessExpiryMs,
    }),
    'refresh-repeated-within-two-seconds-gives-same-pair': second(
      (_seen, answers = new Map<string, { untilMs: number; answer: MockAnswer }>()) => {
        const refreshToken = (request: Parameters<typeof paramsOf>[0]) => String(paramsOf(request).refreshToken)
        return {
          around: (handle, context) => {
            const inner = answerThrough((answer, request) => {
              const kept = { untilMs: context.now() + 2000, answer }
              if (isAccepted(answer)) answers.set(refreshToken(request), kept)
              return answer
            })(handle, context)
            return (request) => {
              if (paramsOf(request).grantType !== 'refresh_token') return handle(request)
              const kept = answers.get(refreshToken(request))
              return kept && context.now() < kept.untilMs ? answerFor(kept.answer, request) : inner(request)
            }
          },
        }
      },
    ),
    // The pair to revoke is found by its access token, which has gone by then.
    'refresh-after-access-expiry-leaves-old-refresh-token': second({
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && (pair.revokedMs ?? 0) >= pair.accessExpiryMs,
    }),
    // The list of revoked tokens has sixteen entries for all keys together.
    'sixteen-revoked-refresh-tokens-remembered': second((_seen, revoked: string[] = []) => ({
      refreshResult: (result, old) => {
        revoked = [...revoked, old.id].slice(-16)
        return result
      },
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && !revoked.includes(pair.id),
    })),
    // Connections go to two workers in turn, and the one that did not see the refresh goes on with the old pair.
    'revocation-known-to-one-of-two-workers': third((seen, workers = new WeakMap<TokenPair, number>()) => {
      const worker = () => (seen.connection ?? 0) % 2
      return {
        refreshResult: (result, old) => {
          workers.set(old, worker())
          return result
        },
        revokedTokenWorks: (_kind, pair) => (workers.get(pair) ?? worker()) !== worker(),
      }
    }),
    // The note of the revocation is deleted together with the access token that took the place of the old one.
    'old-refresh-token-works-when-successor-has-expired': third((seen, untilMs = new WeakMap<TokenPair, number>()) => ({
      refreshResult: (result, old) => {
        untilMs.set(old, result.accessTokenExpiry)
        return result
      },
      revokedTokenWorks: (kind, pair) =>
        kind === 'refresh' && seen.nowMs >= (untilMs.get(pair) ?? Number.POSITIVE_INFINITY),
    })),
    // A client that did not get the answer may ask again.
    'old-refresh-token-works-until-new-pair-is-used': fifth((seen, used = new Set<string>()) => ({
      accessExpired: (pair, nowMs) => {
        used.add(pair.id)
        return right.accessExpired(pair, nowMs)
      },
      refreshResult: (result, old) => {
        used.add(old.id)
        return result
      },
      revokedTokenWorks: (kind, { id }) =>
        kind === 'refresh' && !pairsOf(seen.context).some((pair) => pair.parent === id && used.has(pair.id)),
    })),
    'second-refresh-in-session-leaves-old-refresh-token': fifth(
      fifthLeave(({ session, generation }) => session !== undefined && generation === 1, 'refreshRevoked'),
    ),
    'refresh-leaves-old-refresh-token-with-expires-in': eighth(
      leave('refreshRevoked', ({ expiresInMs }) => expiresInMs !== undefined),
    ),
    // Revocations are kept in a cache, and a new key empties it.
    'key-creation-clears-revocations': ninth((seen) => ({
      createKeyResult: (result) => {
        for (const pair of pairsOf(seen.context)) {
          pair.accessRevoked = false
          pair.refreshRevoked = false
        }
        return result
      },
    })),
    // The pairs of a key are one record, which each refresh reads first and writes back at its end.
    'last-of-refreshes-in-flight-undoes-revocations-of-the-others': tenth({
      around: writeBackRows,
    }),
    // "old pair revoked", both tokens of it, whoever created the key
    'old-refresh-token-of-key-created-by-token-lives-on': twelfth((seen, ids = new Set<string>()) => ({
      storedKey: (key) => {
        if (seen.pair !== undefined) ids.add(key.id)
        return key
      },
      revokedTokenWorks: (kind, pair) => kind === 'refresh' && ids.has(pair.key.id),
    })),
  },
  'refresh/after-access-expiry': {
    'refresh-needs-a-live-access-token': own({ refreshNeedsLiveAccess: () => true }),
    'refresh-token-refused-an-hour-after-access-expiry': first({
      refreshExpired: (pair, nowMs) => right.refreshExpired(pair, nowMs) || nowMs >= pair.accessExpiryMs + hour,
    }),
    // A grant cleans up: it drops every pair whose access token expired, with its refresh token.
    'grant-clears-pairs-with-expired-access-token': first((seen, dropped = new Set<string>()) => ({
      grantResult: (result) => {
        for (const { pair } of seen.context.state.tokens.values())
          if (pair.accessExpiryMs <= seen.nowMs) dropped.add(pair.id)
        return result
      },
      refreshExpired: (pair, nowMs) => right.refreshExpired(pair, nowMs) || dropped.has(pair.id),
    })),
    // After one refresh with expiresIn, the next refresh token ends together with its access token.
    'refreshed-short-access-token-ends-its-refresh-token': second({
      refreshExpired: (pair, nowMs) =>
        right.refreshExpired(pair, nowMs) ||
        (pair.generation > 0 && pair.expiresInMs !== undefined && right.accessExpired(pair, nowMs)),
    }),
    'refresh-in-session-refused-after-access-expiry': fourth((seen) => ({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        const over = token?.pair.session !== undefined && seen.nowMs >= token.pair.accessExpiryMs
        return use === 'refresh' && over ? undefined : token
      },
    })),
    'refresh-token-with-address-ends-with-access-token': tenth({
      refreshExpired: (pair, nowMs) =>
        right.refreshExpired(pair, nowMs) || (pair.addresses.length > 0 && nowMs >= pair.accessExpiryMs),
    }),
  },
  'refresh/own-expiry': {
    'refresh-token-never-expires': own({ refreshExpired: () => false }),
    'refresh-token-lives-twice-as-long': own({
      refreshExpired: (pair, nowMs) => nowMs >= 2 * pair.refreshExpiryMs - pair.issuedMs,
    }),
    'refresh-token-ends-early': own({ refreshExpired: (pair, nowMs) => nowMs >= pair.refreshExpiryMs - 10_000 }),
    'use-of-access-token-extends-refresh-token': first((_seen, usedMs = new Map<string, number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (right.accessExpired(pair, nowMs)) return true
        usedMs.set(pair.id, nowMs)
        return false
      },
      refreshExpired: (pair, nowMs) => {
        const fromMs = usedMs.get(pair.id) ?? pair.issuedMs
        return nowMs >= fromMs + pair.refreshExpiryMs - pair.issuedMs
      },
    })),
    'refreshed-refresh-token-never-expires': first({
      refreshExpired: (pair, nowMs) => pair.generation === 0 && right.refreshExpired(pair, nowMs),
    }),
    // A new time is reported, and the time of the first grant is in force.
    'refreshed-refresh-token-ends-with-the-first-one': fourth((_seen, endMs = new Map<string, number>()) => ({
      grantResult: (result, pair) => {
        endMs.set(pair.family.id, pair.refreshExpiryMs)
        return result
      },
      refreshExpired: (pair, nowMs) => nowMs >= (endMs.get(pair.family.id) ?? pair.refreshExpiryMs),
    })),
    'access-expiry-reported-as-refresh-expiry': ninth({
      reportedRefreshExpiry: ({ accessExpiryMs }) => accessExpiryMs,
    }),
  },
  'refresh/scopes-kept': {
    'scopes-lost-by-a-refresh': own({ refreshedScope: () => [] }),
    'last-scope-lost-by-a-refresh': own({
      refreshedScope: (old) => (old.scope.length > 1 ? old.scope.slice(0, -1) : old.scope),
    }),
    'scopes-widened-by-a-refresh': own({ refreshedScope: () => right.initialKeyScope() }),
    'scopes-of-a-session-widened-by-a-refresh': own(widened(withSession)),
    'scopes-of-an-address-widened-by-a-refresh': own(widened(withAddress)),
    'scopes-of-a-lifetime-widened-by-a-refresh': own(widened(withLifetime)),
    'scope-widened-to-key-by-second-refresh': first({
      refreshedScope: (old) =>
        old.generation === 0 ? old.scope : old.key.scope.map((scope) => (scope === 'apikey' ? 'apiKey' : scope)),
    }),
    'last-scope-lost-by-second-refresh': first({
      refreshedScope: (old) => (old.generation === 0 ? old.scope : old.scope.slice(0, -1)),
    }),
    // The granted scope is kept by key, so a grant for another purpose changes all later refreshes.
    'refreshed-scope-is-that-of-latest-grant-of-key': second((_seen, scopes = new Map<string, string[]>()) => ({
      grantResult: (result, pair) => {
        scopes.set(pair.key.id, pair.scope)
        return result
      },
      refreshedScope: (old) => scopes.get(old.key.id) ?? old.scope,
      refreshedScopeEcho: (old) => scopes.get(old.key.id) ?? old.scopeEcho,
    })),
    // The scope apikey is still reported, but no longer in force.
    'second-refresh-drops-apikey': second({
      refreshedScope: (old) =>
        old.generation > 0 ? old.scope.filter((scope) => scope !== 'apiKey') : right.refreshedScope(old),
    }),
    // "a new pair of access token and refresh token is issued"; `scope` is not sent, so that it cannot change
    'apikey-lost-by-refresh-after-access-expiry': third((seen) => {
      const kept = (old: TokenPair, scope: string[]) =>
        seen.nowMs < old.accessExpiryMs ? scope : scope.filter((word) => word !== 'apiKey')
      return {
        refreshedScope: (old) => kept(old, old.scope),
        refreshedScopeEcho: (old) => kept(old, old.scopeEcho),
      }
    }),
    // The pair to renew is kept in a variable of the server while a refresh waits.
    'refreshes-in-flight-share-scopes': third((_seen, last?: TokenPair) => ({
      tokenNamed: (text, find, _all, use) => {
        const found = find(text)
        if (use === 'refresh' && found !== undefined) last = found.pair
        return found
      },
      beforeEffect: (effect) => (effect === 'refresh' ? meet() : undefined),
      refreshedScope: (old) => (last ?? old).scope,
      refreshedScopeEcho: (old) => (last ?? old).scopeEcho,
    })),
    // The result: "scope | array of string | Scopes granted"
    // The answer is built in a record that is used again, and the scopes are put in after it was sent.
    'refresh-reports-scopes-of-previous-refresh': third((_seen, last?: string[]) => ({
      refreshResult: (result) => {
        const scope = last ?? result.scope
        last = result.scope
        return { ...result, scope }
      },
    })),
    // The scope is stored as one text; what does not fit is cut off.
    'refreshed-scope-cut-at-32-characters': fourth({
      refreshedScope: (old) => cut(old.scope),
      refreshedScopeEcho: (old) => cut(old.scopeEcho),
    }),
    'refreshed-token-of-narrow-key-creates-keys': fifth({
      refreshedScope: ({ key, scope }) =>
        key.scope.some((word) => /^apikey$/i.test(word)) ? scope : [...scope, 'apiKey'],
    }),
    // "a new pair of access token and refresh token is issued": with the scopes that were granted
    'refresh-in-session-loses-last-scope': eighth({
      refreshedScope: ({ session, scope }) => (session !== undefined && scope.length > 1 ? scope.slice(0, -1) : scope),
    }),
    // The result still names the scopes of the old pair.
    'refresh-of-token-with-address-gives-scope-of-key': tenth((seen) => ({
      refreshedScope: ({ addresses, key, scope }) =>
        addresses.length === 0 ? scope : effectiveKeyScope(key.scope, seen.context.profile),
    })),
    // The result still names the one solution.
    'refresh-widens-one-solution-to-any': tenth({
      refreshedScope: ({ scope }) => scope.map((word) => (isOneSolution(word) ? 'solution:*' : word)),
    }),
  },
  'refresh/address-kept': {
    'address-lost-by-a-refresh': own({ refreshedAddresses: () => [] }),
    'address-changed-by-a-refresh': own({
      refreshedAddresses: (old) => (old.addresses.length === 0 ? [] : ['192.0.2.1']),
    }),
    'address-of-a-session-lost-by-a-refresh': own({
      refreshedAddresses: (old) => (withSession(old) ? [] : old.addresses),
    }),
    'address-of-a-lifetime-lost-by-a-refresh': own({
      refreshedAddresses: (old) => (withLifetime(old) ? [] : old.addresses),
    }),
    'address-moved-here-by-a-refresh': own({ refreshedAddresses: (old) => old.addresses.map(() => '127.0.0.1') }),
    'address-lost-by-second-refresh': first({
      refreshedAddresses: (old) => (old.generation === 0 ? old.addresses : []),
    }),
    // The address is read from the access token, which has gone by then.
    'refresh-after-access-expiry-loses-address': second((seen) => ({
      refreshedAddresses: (old) => (seen.nowMs >= old.accessExpiryMs ? [] : old.addresses),
    })),
    'refresh-moves-address-to-that-of-its-caller': second((seen) => ({
      refreshedAddresses: (old) =>
        old.addresses.length > 0 ? [seen.request.remoteAddress.replace(/^::ffff:/, '')] : [],
    })),
    'address-lost-by-fourth-refresh': fourth({
      refreshedAddresses: (old) => (old.generation < 3 ? old.addresses : []),
    }),
    // The new pair takes its restrictions from the session, which knows no address.
    'refresh-in-session-loses-address': tenth({
      refreshedAddresses: ({ session, addresses }) => (session === undefined ? addresses : []),
    }),
  },
  'refresh/session-kept': {
    'session-of-an-address-lost-by-a-refresh': own({
      refreshedSession: (old) => (withAddress(old) ? undefined : old.session),
    }),
    'session-of-a-lifetime-lost-by-a-refresh': own({
      refreshedSession: (old) => (withLifetime(old) ? undefined : old.session),
    }),
    'session-lost-by-a-refresh': own({ refreshedSession: () => undefined }),
    'session-lost-by-second-refresh': first({
      refreshedSession: (old) => (old.generation === 0 ? old.session : undefined),
    }),
    // The session is looked up by its user, and the newest one is found.
    'refreshed-pair-joins-newest-session': second((seen) => ({
      refreshedSession: (old) =>
        old.session && (seen.context.state.sessions.get(old.session.user)?.at(-1) ?? old.session),
    })),
    'pair-that-was-never-used-leaves-its-session-at-refresh': fourth((_seen, used = new Set<TokenPair>()) => ({
      accessExpired: (pair, nowMs) => {
        used.add(pair)
        return right.accessExpired(pair, nowMs)
      },
      refreshedSession: (old) => (used.has(old) ? old.session : undefined),
    })),
    // The session is read from the access token, which is gone then.
    'session-lost-by-refresh-after-access-expiry': ninth((seen) => ({
      refreshedSession: ({ accessExpiryMs, session }) => (seen.nowMs < accessExpiryMs ? session : undefined),
    })),
  },
}
