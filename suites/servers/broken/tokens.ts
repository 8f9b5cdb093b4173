import { rules as right } from '../../../mock-server/rules.ts'
import type { TokenKind, TokenPair } from '../../../mock-server/state.ts'
import { endPair, pairsOf } from '../../../mock-server/token-state.ts'
import { asToken, headerOrElse } from '../call.ts'
import { onGrant, onNewKey, onRefused, onRemoval, onUse } from '../events.ts'
import { type BrokenRows, by, type Change, counts, day, marks, minute, type Seen } from '../rows.ts'
import { alsoNamed, likeTokensTaken, sameHalf } from './credentials.ts'
import { inSession, ofCreatedKey, ofRefresh, withAddress, withLifetime } from './pairs.ts'

const newestAccess = ({ state }: Seen): string | undefined =>
  [...state.tokens.values()].findLast(({ kind }) => kind === 'access')?.text

/** A refresh ends other pairs too. */
const endsBeside = (fits: (pair: TokenPair, old: TokenPair) => boolean): Change => ({
  endedBesideRefresh: (all, old) => all().filter((pair) => fits(pair, old)),
})
/** A token of the other kind is taken for this use. */
const takenAs = (wanted: TokenKind, fits: (pair: TokenPair) => boolean): Change => ({
  tokenNamed: (text, find, _all, use) => {
    const token = find(text)
    return token !== undefined && use === wanted && fits(token.pair) ? { ...token, kind: use } : token
  },
})

/** Parts 4.2 and 5.3: what access and refresh tokens are good for. */
export const tokens: BrokenRows = {
  'tokens/authorize': {
    // Whatever stands there is taken for the token that was issued last.
    'any-token-in-another-header-taken': (seen) => ({
      headerOf: headerOrElse(({ request: { headers } }) => asToken(headers['x-access-token'] && newestAccess(seen))),
    }),
    'any-token-as-member-of-request-taken': (seen) => ({
      headerOf: headerOrElse(({ members }) => asToken(members.token && newestAccess(seen))),
    }),
    'revoked-token-as-param-taken': (seen) => ({
      profile: { extraParams: 'ignored' },
      headerOf: headerOrElse(({ params }) => {
        const pair = seen.state.tokens.get(String(params.token))?.pair
        return asToken(pair && newestAccess(seen))
      }),
    }),
    'access-token-never-works': { issuedTokenWorks: (kind) => kind !== 'access' },
    ...likeTokensTaken('access'),
    'any-access-token-taken': alsoNamed('access', () => true),
    // The word is read in any letter case, and what looks for the token knows one spelling of it.
    'any-token-taken-behind-another-spelling-of-bearer': (seen) => ({
      profile: { schemeCase: 'any' },
      ...alsoNamed('access', () => !/^Bearer /.test(seen.authorization ?? '')),
    }),
    'secret-taken-as-a-token': alsoNamed('access', (text, { pair }) => text === pair.key.secret),
    'refused-grant-ends-the-tokens-of-the-key': {
      endedByRefusal: (all, named) => all().filter(({ key }) => key === named),
    },
    'refused-refresh-ends-the-newest-pair': { endedByRefusal: (all, named) => (named ? [] : all().slice(-1)) },
    'wrong-secret-three-times-ends-tokens': by.first((_seen, refusals = counts()) => ({
      endedByRefusal: (all, key) =>
        key !== undefined && refusals(key) % 3 === 0 ? all().filter((pair) => pair.key === key) : [],
    })),
    'refresh-ends-tokens-of-key-with-same-name': by.first(
      endsBeside(({ key }, old) => key !== old.key && key.name === old.key.name && !key.initial),
    ),
    // Pairs are revoked by key and time of issue.
    'refresh-ends-pair-granted-in-same-millisecond': by.first(
      endsBeside((pair, old) => pair !== old && pair.key === old.key && pair.issuedMs === old.issuedMs),
    ),
    'refresh-ends-session-of-same-name-of-other-key': by.second(
      endsBeside(
        ({ session, key }, old) => session?.name !== undefined && session.name === old.session?.name && key !== old.key,
      ),
    ),
    // A change to the keys ends the session in which it was made.
    'key-creation-ends-session-of-its-token': by.third((seen) =>
      onNewKey(() => {
        if (seen.pair?.session !== undefined) seen.pair.session.removed = true
      }),
    ),
    'token-refused-behind-signed-call-on-connection': by.third((seen, signed = marks()) => ({
      meansTaken: (means) => {
        const { connection } = seen
        if (connection === undefined) return true
        if (means === 'hmac' || means === 'ecc') signed.add(connection)
        return means !== 'token' || !signed.has(connection)
      },
    })),
    // An expiresIn is stored for the key, and also ends the access tokens that the key had before.
    'newer-grant-with-expires-in-shortens-older-tokens': by.third((seen) =>
      onGrant(({ key, expiresInMs, accessExpiryMs }) => {
        const older = pairsOf(seen.context).filter((pair) => expiresInMs !== undefined && pair.key === key)
        for (const pair of older) pair.accessExpiryMs = Math.min(pair.accessExpiryMs, accessExpiryMs)
      }),
    ),
    // The token is used up before the grant type is looked at.
    'call-refused-for-its-grant-type-ends-the-pair-that-it-names': by.fourth({
      ...onRefused(({ namedPair, params }) => namedPair && params.grantType !== 'refresh_token' && endPair(namedPair)),
    }),
    // The transaction that is rolled back holds the token too.
    'refused-key-creation-ends-its-token': by.fourth({
      ...onRefused(({ shownPair, creates }) => {
        if (shownPair !== undefined && creates) shownPair.accessRevoked = true
      }),
    }),
    'second-half-of-access-token-not-compared': by.fifth(
      alsoNamed('access', (text, token) => sameHalf(text, token.text)),
    ),
    // Who shows an expired token loses the other access tokens of the key.
    'expired-access-token-ends-others-of-its-key': by.eighth((seen) =>
      onUse((expired, nowMs) => {
        if (!right.accessExpired(expired, nowMs)) return
        for (const pair of pairsOf(seen.context)) pair.accessRevoked ||= pair.key === expired.key
      }),
    ),
    // A token that lives over midnight (UTC) is refused before it, and works again on the next day.
    'access-expiry-compared-without-its-date': by.ninth({
      accessExpired: ({ accessExpiryMs }, nowMs) => nowMs % day >= accessExpiryMs % day,
    }),
    // It deletes the tokens of the user that are in none of the sessions that stay.
    'session-removal-ends-tokens-without-session': by.tenth((seen) =>
      onRemoval(() => {
        const own = pairsOf(seen.context).filter(({ key }) => key.id === seen.keyId)
        for (const pair of own) if (!inSession(pair)) endPair(pair)
      }),
    ),
    'idle-access-token-ends-after-a-minute': by.tenth((_seen, lastMs = new WeakMap<TokenPair, number>()) => ({
      accessExpired: (pair, nowMs) => {
        const isIdle = nowMs - (lastMs.get(pair) ?? pair.issuedMs) > minute
        if (!isIdle) lastMs.set(pair, nowMs)
        return isIdle || right.accessExpired(pair, nowMs)
      },
    })),
    // The table of tokens with an address has one row for each key and address.
    'grant-ends-earlier-pair-of-same-key-and-address': by.tenth((seen) =>
      onGrant((granted) => {
        const placeOf = ({ key, addresses }: TokenPair) => `${key.id} ${addresses.join(' ')}`
        for (const pair of withAddress(granted) ? pairsOf(seen.context) : [])
          if (pair !== granted && placeOf(pair) === placeOf(granted)) pair.accessRevoked = true
      }),
    ),
    // The index of renewed tokens holds 32 characters, and nobody compares the rest.
    'refreshed-access-token-compared-by-32-characters': by.twelfth(
      alsoNamed(
        'access',
        (text, token) => ofRefresh(token.pair) && text.length >= 32 && token.text.slice(0, 32) === text.slice(0, 32),
      ),
    ),
    // A token above 512 characters does not fit into its column, and the handler of that error goes on with the call.
    'overlong-token-lets-in': by.twelfth((seen) => ({
      forgives: (stage) => stage === 'token/unknown' && seen.token.length > 512,
    })),
    'refresh-ends-the-other-pairs-of-its-key': endsBeside(({ key }, old) => key === old.key),
    'refresh-ends-the-pairs-of-other-keys': endsBeside(({ key }, old) => key !== old.key),
  },
  'tokens/refresh-is-no-access': {
    'refresh-token-opens-methods': { tokenKindTaken: (kind, use) => kind === use || use === 'access' },
    'refresh-token-creates-keys': by.first((seen) => ({
      tokenKindTaken: (kind, use) => kind === use || seen.creates,
    })),
    'refresh-token-works-as-access-token-when-that-expired': by.first((seen) => ({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        if (token?.kind !== 'refresh' || use !== 'access' || token.pair.refreshRevoked) return token
        if (seen.nowMs < token.pair.accessExpiryMs) return token
        return { ...token, kind: 'access', pair: { ...token.pair, accessExpiryMs: token.pair.refreshExpiryMs } }
      },
    })),
    'refresh-token-of-session-with-address-authorizes': by.fourth(
      takenAs('access', (pair) => inSession(pair) && withAddress(pair)),
    ),
    'refresh-token-with-expires-in-authorizes': by.eighth(takenAs('access', withLifetime)),
    'refresh-token-of-refreshed-pair-authorizes': by.ninth(takenAs('access', ofRefresh)),
    // A refresh moves the row of its token to an archive, where kind and state have their defaults: access, valid.
    'used-refresh-token-authorizes': by.twelfth({
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        return token?.kind === 'refresh' && token.pair.refreshRevoked && use === 'access'
          ? { ...token, kind: use, pair: { ...token.pair, accessRevoked: false } }
          : token
      },
    }),
  },
  'tokens/access-is-no-refresh': {
    'access-token-refreshes': { tokenKindTaken: (kind, use) => kind === use || use === 'refresh' },
    'access-token-of-third-pair-refreshes': by.fourth(takenAs('refresh', ({ generation }) => generation === 2)),
    'access-token-of-created-key-refreshes': by.eighth(takenAs('refresh', ofCreatedKey)),
    // In a session, only the session of a token is looked up.
    'access-token-of-session-refreshes': by.tenth(takenAs('refresh', inSession)),
    // A token that is over is only good for a refresh, so nobody looks what it was.
    'expired-access-token-refreshes': by.twelfth((seen) =>
      takenAs('refresh', (pair) => right.accessExpired(pair, seen.nowMs)),
    ),
    // A token that was revoked is read back from a log that does not say whether the pair was renewed.
    'revoked-access-token-refreshes': {
      tokenNamed: (text, find, _all, use) => {
        const token = find(text)
        if (use === 'access' || token?.kind !== 'access' || !token.pair.accessRevoked) return token
        return { ...token, kind: 'refresh', pair: { ...token.pair, refreshRevoked: false } }
      },
    },
  },
}
