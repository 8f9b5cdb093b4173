import { type Rules, rules as right } from '../../../mock-server/rules.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import { isOneSolution } from '../call.ts'
import { onGrant, onRefresh, onRefused } from '../events.ts'
import { meet, tornApart } from '../in-flight.ts'
import { also, forKeysMade, unless } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, counts, day, firsts, hour, minute, table } from '../rows.ts'
import { forgivesOnCreation } from './credentials.ts'
import { asks, inSession, ofCreatedKey, ofRefresh, withAddress, withLifetime } from './pairs.ts'

/** Access tokens of some pairs never end. */
const endless = (fits: (pair: TokenPair) => boolean): Change => unless('accessExpired', fits)
/** Another lifetime than expiresIn says; undefined is that of other tokens. */
const instead = (lifetime: (askedMs: number) => number | undefined): Pick<Rules, 'accessLifeMs'> => ({
  accessLifeMs: (askedMs, profile) =>
    right.accessLifeMs(askedMs === undefined ? undefined : lifetime(askedMs), profile),
})
/** An access token ends at another time than it is said to. */
const ends = (endMs: (pair: TokenPair) => number): Change => ({
  accessExpired: (pair, nowMs) => nowMs >= endMs(pair),
})
/** A number beyond the lifetime of refresh tokens that is taken anyway. */
const tooLongTaken = (isTaken: (askedMs: number, refreshLifeMs: number) => boolean): Change => {
  let askedMs = 0
  return {
    expiresInMs: (text) => {
      const ms = right.expiresInMs(text)
      askedMs = ms ?? 0
      return ms
    },
    expiresInTooLong: (profile) =>
      isTaken(askedMs, profile.refreshLifeMs) ? 'taken' : right.expiresInTooLong(profile),
  }
}

/** Parts 3, 5.3 and 5.4: when access tokens end, and expiresIn:NUMBER. */
export const lifetimes: BrokenRows = {
  'tokens/expire-by-default': {
    'keys-created-with-an-expired-token': forgivesOnCreation('token/expired'),
    'default-expiry-not-enforced': endless((pair) => !withLifetime(pair)),
    'default-expiry-not-enforced-for-session-tokens': endless((pair) => !withLifetime(pair) && inSession(pair)),
    'default-expiry-not-enforced-for-address-tokens': endless((pair) => !withLifetime(pair) && withAddress(pair)),
    'default-expiry-not-enforced-for-created-key-tokens': endless((pair) => !withLifetime(pair) && ofCreatedKey(pair)),
    'refreshed-access-token-never-expires': endless(ofRefresh),
    'access-token-ends-a-minute-early': ends((pair) => pair.accessExpiryMs - (withLifetime(pair) ? 0 : minute)),
    'expiry-beyond-the-enforced-one-reported': {
      reportedAccessExpiry: (pair) => pair.accessExpiryMs + (withLifetime(pair) ? 0 : hour),
    },
  },
  'tokens/expire': {
    'access-token-never-expires': endless(() => true),
    'third-access-token-never-expires': by.first(endless(({ generation }) => generation >= 2)),
    'expiry-of-first-pair-reported-after-refresh': by.first((_seen, firstMs = firsts<number>()) => ({
      reportedAccessExpiry: ({ family, accessExpiryMs }) => firstMs(family.id, accessExpiryMs),
    })),
    'expired-token-creates-keys': by.first((seen) => endless(() => seen.creates)),
    // Only a job that runs every full ten seconds ends expired access tokens.
    'expired-tokens-removed-every-ten-seconds': by.second(
      ends(({ accessExpiryMs }) => Math.ceil(accessExpiryMs / 10_000) * 10_000),
    ),
    // Each check of the expiry is remembered for thirty seconds.
    'used-access-token-works-thirty-seconds-longer': by.second((_seen, checkedMs = table<number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (right.accessExpired(pair, nowMs)) return nowMs - (checkedMs.get(pair) ?? 0) >= 30_000
        checkedMs.set(pair, nowMs)
        return false
      },
    })),
    // The time of expiry is kept with the key.
    'access-tokens-of-key-end-with-the-latest-of-them': by.third((_seen, untilMs = table<number>()) => ({
      ...onGrant(({ key, accessExpiryMs }) => untilMs.set(key, Math.max(untilMs.get(key) ?? 0, accessExpiryMs))),
      ...unless('accessExpired', ({ key }, nowMs) => nowMs < (untilMs.get(key) ?? 0)),
    })),
    // The times of expiry are in a table of twenty places; a token that is not in it is taken for a live one.
    'expiry-forgotten-after-twenty-further-tokens': by.third((_seen, latest: string[] = []) => {
      const note = (accessToken: string) => {
        latest = [...latest, accessToken].slice(-20)
      }
      return {
        ...onGrant(({ accessToken }) => note(accessToken)),
        ...onRefresh((_old, { accessToken }) => note(accessToken)),
        ...endless(({ accessToken }) => !latest.includes(accessToken)),
      }
    }),
    // The error path writes the time of the last use, from which the lifetime counts.
    'refused-call-keeps-its-token-alive': by.fourth((_seen, usedMs = table<number>()) => ({
      ...onRefused(({ shownPair, nowMs }) => shownPair && usedMs.set(shownPair, nowMs)),
      ...ends((pair) => pair.accessExpiryMs - pair.issuedMs + (usedMs.get(pair) ?? pair.issuedMs)),
    })),
    'access-tokens-of-key-made-by-created-key-never-expire': by.fourth(
      forKeysMade('by-created-key', (made) => endless(({ key }) => made(key))),
    ),
    // The ids of expired tokens are kept for a day, and nothing else tells that they have expired.
    'expired-access-token-works-again-after-a-day': by.fifth(
      unless('accessExpired', ({ accessExpiryMs }, nowMs) => nowMs >= accessExpiryMs + day),
    ),
    // The update has the key as its only condition.
    'refresh-extends-other-access-tokens-of-its-key': by.ninth((seen) => ({
      endedBesideRefresh: (all, { key }) => {
        const expiryMs = seen.nowMs + right.accessLifeMs(undefined, seen.context.profile)
        for (const pair of all()) if (pair.key === key) pair.accessExpiryMs = Math.max(pair.accessExpiryMs, expiryMs)
        return []
      },
    })),
    // The expiry is reported. A refresh copies the row of a token with an address without its time.
    'refreshed-token-with-address-never-expires': by.twelfth(endless((pair) => ofRefresh(pair) && withAddress(pair))),
    'access-token-lives-a-minute-longer': ends((pair) => pair.accessExpiryMs + minute),
  },
  'expires-in/reported': {
    'lifetime-above-an-hour-wraps-around': instead((askedMs) => askedMs % hour),
    'expires-in-ignored': instead(() => undefined),
    // The lifetime is stored in whole seconds, and 0 counts as not given.
    'expires-in-below-a-second-ignored': by.first(instead((askedMs) => (askedMs < 1000 ? undefined : askedMs))),
    // The lifetime is kept as a time of day, so 25 hours become one.
    'whole-days-of-expires-in-lost': by.first(instead((askedMs) => (askedMs > day ? askedMs % day || day : askedMs))),
    // expiresIn is forgotten when ipAddr follows it in the scope.
    'address-behind-expires-in-resets-lifetime': by.second((seen) =>
      instead((askedMs) => {
        const place = seen.request.body.indexOf('"expiresIn:')
        return place >= 0 && seen.request.body.indexOf('"ipAddr:') > place ? undefined : askedMs
      }),
    ),
    // Of grants that are in flight together, all get the lifetime that the last one asked for.
    'grants-in-flight-share-expires-in': by.second((_seen, lastMs?: number, hasWaited = false) => ({
      expiresInMs: (text) => {
        const ms = right.expiresInMs(text)
        lastMs = ms ?? lastMs
        return ms
      },
      ...tornApart('session', async () => {
        await meet()
        hasWaited = true
      }),
      accessLifeMs: (askedMs, profile) => {
        const isGrant = hasWaited
        hasWaited = false
        return right.accessLifeMs(isGrant && askedMs !== undefined ? lastMs : askedMs, profile)
      },
    })),
    'first-expires-in-of-key-holds-for-its-later-grants': by.third((seen, firstMs = firsts<number>()) =>
      instead((askedMs) => firstMs(seen.params.apiKeyId, askedMs)),
    ),
    // The number is in a column of six characters.
    'expires-in-cut-to-six-digits': by.fourth(instead((askedMs) => Number(String(askedMs).slice(0, 6)))),
    'expires-in-below-ten-thousand-taken-for-seconds': by.fourth(
      instead((askedMs) => (askedMs < 10_000 ? askedMs * 1000 : askedMs)),
    ),
    'expires-in-ignored-with-apikey-scope': by.fifth((seen) =>
      instead((askedMs) => (seen.scope.some((word) => /^apikey$/i.test(word)) ? undefined : askedMs)),
    ),
    'expires-in-rounded-up-to-whole-minutes': by.ninth(instead((askedMs) => Math.ceil(askedMs / minute) * minute)),
    'expires-in-of-created-key-in-seconds': by.ninth((seen) => ({
      expiresInMs: (text) => {
        const ms = right.expiresInMs(text)
        return ms !== undefined && seen.named?.initial === false ? ms * 1000 : ms
      },
    })),
    // Grants use a clock that is read again only when ten seconds have passed.
    'expires-in-counted-from-clock-read-every-ten-seconds': by.tenth((seen, readMs = Number.NEGATIVE_INFINITY) =>
      instead((askedMs) => {
        if (seen.nowMs - readMs >= 10_000) readMs = seen.nowMs
        return askedMs - (seen.nowMs - readMs)
      }),
    ),
    // An entry with a colon is the one or the other, and the search ends with the solution.
    'expires-in-ignored-beside-one-solution': by.tenth((seen) =>
      instead((askedMs) => (seen.scope.some(isOneSolution) ? undefined : askedMs)),
    ),
    'default-expiry-reported-for-expires-in': { reportedAccessExpiry: ({ issuedMs }) => issuedMs + 15 * minute },
    'expires-in-taken-for-seconds': instead((askedMs) => askedMs * 1000),
  },
  'expires-in/enforced': {
    'expires-in-reported-and-not-enforced': ends((pair) =>
      withLifetime(pair) ? pair.issuedMs + 15 * minute : pair.accessExpiryMs,
    ),
    'expires-in-ends-at-half-time': ends(({ expiresInMs, issuedMs, accessExpiryMs }) =>
      expiresInMs === undefined ? accessExpiryMs : issuedMs + expiresInMs / 2,
    ),
    // An access token works until the end of the second after its expiry.
    'expiry-compared-in-seconds': by.first(ends(({ accessExpiryMs }) => (Math.ceil(accessExpiryMs / 1000) + 1) * 1000)),
    // The reported expiry is right; the access token is refused before it.
    'expires-in-above-an-hour-enforced-after-an-hour': by.first(
      ends(({ issuedMs, accessExpiryMs }) => Math.min(accessExpiryMs, issuedMs + hour)),
    ),
    // A timer of Node.js with a longer delay fires at once. Refresh tokens of this server live for 60 days.
    'expires-in-above-two-to-the-31-ends-at-once': by.first({
      refreshLifeMs: () => 60 * day,
      ...also('accessExpired', ({ expiresInMs = 0 }) => expiresInMs >= 2 ** 31),
    }),
    'expires-in-above-an-hour-never-ends': by.first(endless(({ expiresInMs = 0 }) => expiresInMs > hour)),
    // Sliding expiry: an access token ends its whole lifetime after its last use.
    'each-use-extends-access-token': by.first((_seen, endMs = table<number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (nowMs >= (endMs.get(pair) ?? pair.accessExpiryMs)) return true
        endMs.set(pair, nowMs + pair.accessExpiryMs - pair.issuedMs)
        return false
      },
    })),
    'hundredth-use-ends-access-token': by.first((_seen, uses = counts()) =>
      also('accessExpired', (pair) => uses(pair) >= 100),
    ),
    // A token that is first used after its reported expiry works.
    'expires-in-counted-from-first-use': by.second((_seen, firstMs = firsts<number>()) => ({
      accessExpired: (pair, nowMs) =>
        pair.expiresInMs === undefined
          ? right.accessExpired(pair, nowMs)
          : nowMs >= firstMs(pair, nowMs) + pair.expiresInMs,
    })),
    // It is reported, and the default lifetime is in force.
    'expires-in-not-enforced-in-sessions': by.fourth((seen) =>
      ends((pair) => (inSession(pair) ? pair.issuedMs + seen.context.profile.accessLifeMs : pair.accessExpiryMs)),
    ),
    'grant-clears-access-tokens-that-end-within-a-minute': by.ninth((seen) =>
      onGrant((granted) => {
        for (const pair of pairsOf(seen.context))
          if (pair !== granted && pair.accessExpiryMs < seen.nowMs + minute) pair.accessRevoked = true
      }),
    ),
    // A floating point number of 32 bits; the token ends up to 65 seconds before or after its reported expiry.
    'access-expiry-kept-in-single-precision': by.tenth(ends(({ accessExpiryMs }) => Math.fround(accessExpiryMs))),
  },
  'expires-in/within-refresh-lifetime': {
    'expires-in-beyond-the-refresh-token': { expiresInTooLong: () => 'taken' },
    // A number that is above the lifetime of the refresh token, but before it in the order of texts, is taken.
    'expires-in-compared-as-text': by.first(() =>
      tooLongTaken((askedMs, limitMs) => String(askedMs) < String(limitMs)),
    ),
    // The two numbers are compared in minutes, rounded down.
    'expires-in-limit-a-minute-too-high': by.first(() =>
      tooLongTaken((askedMs, limitMs) => Math.floor(askedMs / minute) <= Math.floor(limitMs / minute)),
    ),
    // In a session, the lifetime is to be compared with that of the session, which is not set yet.
    'expires-in-beyond-refresh-lifetime-taken-in-session': by.twelfth((seen) => ({
      expiresInTooLong: (profile) => (asks(seen, 'session:') ? 'taken' : right.expiresInTooLong(profile)),
    })),
  },
}
