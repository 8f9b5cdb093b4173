import { rules as reference } from '../../../mock-server/rules.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import { endPair, pairsOf } from '../../../mock-server/token-state.ts'
import { answeredAgain, calls } from '../around.ts'
import { asBasic, asToken, type Call, headerOrElse, readMembers } from '../call.ts'
import { onGrant, onRefused } from '../events.ts'
import { type Change, type Changing, day } from '../rows.ts'
import { errorCode } from './errors.ts'
import { auth, by, type ConformingRows } from './rows.ts'

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const hex = (text: string): string => Buffer.from(text, 'base64url').toString('hex')

/** What tokens look like. */
const texts = (access: (fresh: string) => string, refresh = access): Change => ({
  tokenText: (kind, fresh) => (kind === 'access' ? access(fresh) : refresh(fresh)),
})

/** The releases of a server that follow each other; each has a form of tokens, and takes those of the others. */
const releases: readonly ((fresh: string) => string)[] = [
  (fresh) => fresh,
  (fresh) => `v2.${fresh.slice(0, 12)}.${fresh.slice(12)}`,
  (fresh) => Buffer.from(fresh).toString('hex').toUpperCase(),
  (fresh) => `~/${fresh}+/${fresh}==`,
]

const isGood = (pair: TokenPair, nowMs: number): boolean =>
  !pair.accessRevoked &&
  !pair.refreshRevoked &&
  !pair.family.revoked &&
  !pair.session?.removed &&
  pair.accessExpiryMs > nowMs
const endAccess = (pair: TokenPair): void => {
  pair.accessRevoked = true
}

/** Keeps at most `most` live pairs of each key, or of a group; `end` ends the oldest ones. */
const keepNewest =
  (most: number, end: (pair: TokenPair) => void, isCounted: (pair: TokenPair) => boolean = () => true): Changing =>
  (seen) => {
    const drop = (issued: TokenPair): void => {
      if (!isCounted(issued)) return
      const live = pairsOf(seen.context).filter((pair) => pair.key === issued.key && isCounted(pair))
      for (const pair of live.filter((one) => isGood(one, seen.nowMs)).slice(0, -most)) end(pair)
    }
    return {
      ...onGrant(drop),
      refreshResult: (result) => {
        const pair = seen.state.tokens.get(result.accessToken)?.pair
        if (pair) drop(pair)
        return result
      },
    }
  }
const isOutsideSessions = ({ session }: TokenPair): boolean => session === undefined

const usedPair = (call: Call): TokenPair | undefined => {
  const token = call.isRefresh ? call.state.tokens.get(String(call.params.refreshToken)) : undefined
  return token?.kind === 'refresh' && token.pair.refreshRevoked ? token.pair : undefined
}

/** An access token that comes from another address than its own is withdrawn; its refresh token stays. */
export const withdrawAtForeignAddress = onRefused((call) => {
  const pair = call.shownPair
  if (pair?.addresses.length && !pair.addresses.includes(call.address)) endAccess(pair)
})
/** A refresh token in the Authorization header may have been seen by others, so its pair is withdrawn. */
export const withdrawShownRefreshToken = onRefused((call) => {
  const token = call.is(auth) ? undefined : call.state.tokens.get(call.token)
  if (token?.kind === 'refresh') endPair(token.pair)
})
/** An access token that is used for an API outside of its scope is withdrawn; its refresh token stays. */
export const withdrawOutsideScope = onRefused((call, answer) => {
  const pair = call.shownPair
  if (pair && errorCode(answer) === 24878) endAccess(pair)
})

/** What a pair is good for, as a text. */
const purposeOf = ({ key, scope, addresses, expiresInMs }: TokenPair): string =>
  JSON.stringify([key.id, [...scope].sort(), addresses, expiresInMs])

/** Keeps `most` pairs of everyone outside of sessions; the one that was unused longest is dropped. */
export const dropLongestUnused =
  (most: number): Changing =>
  (seen, usedMs = new WeakMap<TokenPair, number>()) => ({
    accessExpired: (pair, nowMs) => {
      if (nowMs < pair.accessExpiryMs) usedMs.set(pair, nowMs)
      return nowMs >= pair.accessExpiryMs
    },
    ...onGrant(() => {
      const lastUsedMs = (pair: TokenPair) => usedMs.get(pair) ?? pair.issuedMs
      const live = pairsOf(seen.context)
        .filter((pair) => !pair.session && !pair.refreshRevoked && pair.refreshExpiryMs > seen.nowMs)
        .sort((one, other) => lastUsedMs(one) - lastUsedMs(other))
      for (const pair of live.slice(0, -most)) endPair(pair)
    }),
  })

/** Parts 3, 5.3 and 7: how tokens look, how many there may be, and what ends them. */
export const tokensRows: ConformingRows = {
  'token-word': by.own('tokens/prefix tokenPrefix=Token'),
  'no-token-word': by.own('tokens/prefix tokenPrefix='),
  'long-tokens': by.own('tokens/format tokenLength=400'),
  'tokens-decoded-first': by.own('tokens/format tokens/spelling alone', {
    tokenText: (_kind, fresh) => hex(fresh),
    // Buffer takes hex in any case and ignores what is no whole byte.
    tokenNamed: (text, find) => find(Buffer.from(text, 'hex').toString('hex')),
  }),
  'tokens-in-any-case': by.own('tokens/spelling alone', {
    tokenNamed: (text, find, all) =>
      find(text) ?? all().find((token) => token.text.toLowerCase() === text.toLowerCase()),
  }),
  'anything-behind-a-token': by.own('tokens/spelling alone', {
    tokenNamed: (text, find, all) => find(text) ?? all().find((token) => text.startsWith(token.text)),
  }),
  // Part 5 shows where a credential is placed; that no other place may exist it does not say.
  'token-in-another-header-taken': by.own('tokens/other-places', {
    headerOf: headerOrElse(({ request: { headers } }) => asToken(headers['x-access-token'] ?? headers['x-auth-token'])),
  }),
  'x-authorization-taken': by.own('tokens/other-places', {
    headerOf: headerOrElse(({ request: { headers } }) => headers['x-authorization']),
  }),
  'token-in-cookie-taken': by.own('tokens/other-places', {
    headerOf: headerOrElse(({ request: { headers } }) =>
      asToken(/(?:^|; )token=([^;]*)/.exec(headers.cookie ?? '')?.[1]),
    ),
  }),
  'token-as-member-of-request-taken': by.own('tokens/other-places', {
    headerOf: headerOrElse(({ members }) => asToken(members.auth) ?? asToken(members.token)),
  }),
  'token-as-param-taken': by.own('tokens/other-places extraParams=ignored', {
    headerOf: headerOrElse(({ params }) => asToken(params.token) ?? asToken(params.accessToken)),
  }),
  'token-in-query-taken': by.own('tokens/other-places envelope/other-path', {
    isCall: (httpMethod, target, callPath, body) =>
      reference.isCall(httpMethod, target.split('?')[0] ?? '', callPath, body),
    headerOf: headerOrElse(({ request: { target } }) =>
      asToken(new URLSearchParams(target.split('?')[1]).get('access_token')),
    ),
  }),
  'key-in-another-header-taken': by.own('tokens/other-places', {
    headerOf: headerOrElse(({ request: { headers } }) => asBasic(headers['x-api-key-id'], headers['x-api-key'])),
  }),
  'key-in-params-taken': by.own('tokens/other-places extraParams=ignored', {
    headerOf: headerOrElse(({ params: { grantType, apiKeyId, apiKeySecret } }) =>
      grantType === undefined ? asBasic(apiKeyId, apiKeySecret) : undefined,
    ),
  }),
  'tokens-in-three-parts': by.own('tokens/format', {
    tokenText: (kind, fresh) => `${part({ alg: 'HS256', typ: kind })}.${part({ sub: fresh.slice(0, 8) })}.${fresh}`,
  }),
  'tokens-of-one-beginning': by.own('tokens/format', {
    tokenText: (kind, fresh) => `svc_${kind === 'access' ? 'at' : 'rt'}_${fresh}`,
  }),
  'eight-live-tokens': by.own('limits/token-lifetimes', {
    tokenNamed: (text, find, all) => {
      const found = find(text)
      if (!found || found.pair.session) return found
      const live = all().filter(({ kind, pair }) => kind === found.kind && pair.key === found.pair.key && !pair.session)
      return live.slice(-8).includes(found) ? found : undefined
    },
  }),
  // They never stand in a header.
  'refresh-tokens-with-accents-quotes-and-spaces': by.fourth('tokens/format', [
    texts(
      (fresh) => fresh,
      (fresh) => `é "${fresh}" \\ ü`,
    ),
  ]),
  'tokens-look-like-the-fields-of-a-signature': by.fifth('tokens/format', [
    texts((fresh) => `${fresh.slice(0, 9)};1;1767225600000;${fresh.slice(9, 20)};${fresh.slice(20)}`),
  ]),
  'tokens-begin-with-their-word-and-words-in-any-case': by.fifth(
    'tokens/format signatures/scheme-case schemeCase=any',
    [texts((fresh) => `Bearer:${fresh}`)],
  ),
  // An access token has three spaces inside, which a header may have.
  'access-tokens-are-four-words': by.sixth('tokens/format', [
    texts(
      (fresh) => (fresh.match(/.{1,11}/g) ?? [fresh]).join(' '),
      (fresh) => fresh,
    ),
  ]),
  // Callers wrote Bearer, Token and nothing at all, so the server looks at the token only.
  'tokens-of-16-letters-behind-any-word-or-none': by.sixth('tokens/format tokens/prefix tokenLength=16', [
    calls((call) => {
      const { authorization = '' } = call
      const text = authorization.slice(authorization.indexOf(' ') + 1).trim()
      if (!call.state.tokens.has(text) || /^(basic|svc-hmac-sha256) /i.test(authorization)) return undefined
      return call.withAuthorization(`Bearer ${text}`)
    }),
  ]),
  // Both tokens carry the rights of the key, and only their last letters are random.
  'tokens-of-6000-letters-with-one-beginning': by.sixth('tokens/format', {
    tokenText: (kind, fresh) => `${'eyJyaWdodHMiOlsi'.repeat(372)}.${kind}.${fresh}`,
  }),
  // Tokens have every sign that a header and a JSON text must treat with care.
  'tokens-with-quotes-backslashes-and-commas': by.sixth('tokens/format', {
    tokenText: (kind, fresh) => `"${fresh}\\",'${kind}'=<%00>{}`,
  }),
  // A refresh token that comes twice is taken for stolen, and the session with all that joined it is over.
  'used-refresh-token-ends-its-line-and-its-session': by.sixth(
    'refresh/family sessions/reused-name reuseRevokesFamily=true reusedSessionName=joins',
    [
      onRefused((call) => {
        const session = usedPair(call)?.session
        if (session) session.removed = true
      }),
    ],
  ),
  // A fourth grant ends the oldest pair with its refresh token; sessions are for who needs more.
  'three-live-pairs-of-a-key-outside-sessions': by.sixth('limits/live-tokens', [
    keepNewest(3, endPair, isOutsideSessions),
  ]),
  // The pair stands in the record of the key, where the next grant writes over it.
  'one-live-pair-of-a-key-outside-sessions': by.sixth('limits/live-tokens grants/scope-echo scopeEcho=as-requested', [
    keepNewest(1, endPair, isOutsideSessions),
  ]),
  // Callers who never keep a token get the one that they have.
  'same-grant-gets-its-pair-until-half-its-life-is-over': by.sixth('limits/live-tokens limits/rate', [
    // Not for a session or a lifetime.
    answeredAgain({
      forMs: 7 * day,
      as: (call) =>
        call.isGrant && !call.scope.some((word) => /^(session|expiresIn):/i.test(word))
          ? JSON.stringify(call.params)
          : undefined,
      isGood: ({ body }, { state, nowMs }) => {
        const { accessToken = '' } = (readMembers(body)?.result ?? {}) as { accessToken?: string }
        const pair = state.tokens.get(accessToken)?.pair
        return pair && isGood(pair, nowMs) && 2 * nowMs < pair.issuedMs + pair.accessExpiryMs && pair.key.enabled
      },
    }),
  ]),
  // Part 4.2 says that both tokens are strings; that one of them says nothing about the other is not said.
  // The refresh token is the first 32 letters of the access token of its pair.
  'access-token-begins-with-its-refresh-token': by.seventh('tokens/format', (_seen, last = '') => ({
    tokenText: (kind, fresh) => {
      if (kind === 'refresh') return last.slice(0, 32)
      last = fresh
      return fresh
    },
  })),
  // Part 7 does not show the outcome of a rejected token. The altered token is refused; what it does to the right one is open.
  // A refresh token with the right first half and a wrong second half counts as a theft.
  'altered-refresh-token-ends-the-line-that-it-names': by.tenth('refresh/family errors/outcomes tokens/format', [
    texts(
      (fresh) => fresh,
      (fresh) => `${fresh.slice(0, 16)}.${fresh.slice(16)}`,
    ),
    onRefused((call) => {
      const { tokens } = call.state
      const text = call.isRefresh ? String(call.params.refreshToken) : ''
      if (text === '' || tokens.has(text)) return
      const named = [...tokens.values()].filter(
        ({ kind, text: known }) => kind === 'refresh' && known.startsWith(`${text.split('.')[0]}.`),
      )
      for (const { pair } of named) pair.family.revoked = true
    }),
  ]),
  // Part 7 does not show the outcome of a rejected address restriction. The pair can still be refreshed.
  // A token that was used from the wrong address is refused from the right one too, until it is refreshed there.
  'access-token-from-a-foreign-address-is-withdrawn': by.tenth(
    'errors/outcomes refresh/foreign-address refreshChecksAddress=true',
    [withdrawAtForeignAddress],
  ),
  // Part 7 does not show the outcome of a rejected token, such as a refresh token where an access token belongs.
  // Headers are logged, so a refresh token in one is not secret any more, and its pair ends.
  'refresh-token-shown-as-access-token-is-withdrawn': by.tenth(
    'errors/outcomes refresh/family errors/http-status refusalStatus=http reuseRevokesFamily=true',
    [withdrawShownRefreshToken],
  ),
  // Part 7 does not show the outcome of a rejected scope. The refresh token goes on.
  // A call to an API that the token does not open ends the access token, and a refresh gives a new one.
  'access-token-used-outside-its-scope-is-withdrawn': by.tenth('errors/outcomes errors/codes', [withdrawOutsideScope]),
  // Parts 3 and 7 do not show what a used refresh token does besides being refused.
  // After a reuse, all tokens of the key outside of sessions are over, also those of other grants.
  'used-refresh-token-ends-every-line-of-its-key': by.tenth(
    'refresh/family limits/live-tokens refresh/lifetime-renewed refreshLifetime=kept',
    [
      onRefused((call) => {
        const used = usedPair(call)
        if (used === undefined) return
        used.family.revoked = true
        for (const pair of pairsOf(call.context)) if (pair.key === used.key && !pair.session) endPair(pair)
      }),
    ],
  ),
  // No part says how many pairs of tokens a key may have at once. The 16 sessions are not touched.
  // A key has one pair for each list of scopes, addresses and lifetime; sessions have their own.
  'same-grant-again-ends-the-pair-before': by.tenth('limits/live-tokens grants/scope-echo scopeEcho=sorted', [
    (seen) =>
      onGrant((pair) => {
        if (pair.session) return
        const earlier = pairsOf(seen.context).filter((other) => other !== pair && !other.session)
        for (const other of earlier) if (purposeOf(other) === purposeOf(pair)) endPair(other)
      }),
  ]),
  // No part says how many pairs of tokens there may be at once. The 16 sessions are not touched.
  // Tokens outside of sessions are in one cache for all keys, with room for 32 pairs.
  'cache-of-32-pairs-drops-the-longest-unused': by.tenth('limits/live-tokens errors/outcomes', [dropLongestUnused(32)]),
  // Part 4.2 calls tokens strings and shows no form, nor that it stays; part 3 not that a refresh begins a new lifetime.
  // Tokens get another length and other characters with each release; older ones are taken as before.
  'form-of-tokens-changes-every-ten-seconds': by.twelfth(
    'tokens/format refresh/lifetime-renewed refreshLifetime=kept',
    [(seen) => texts((fresh) => releases[Math.floor(seen.nowMs / 10_000) % releases.length]?.(fresh) ?? fresh)],
  ),
}
