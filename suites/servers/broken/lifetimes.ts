import { rules as right } from '../../../mock-server/rules.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import {
  type BrokenRows,
  type Change,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  meet,
  ninth,
  own,
  type Seen,
  second,
  tenth,
  third,
  twelfth,
} from '../operators.ts'
import { day, forgivesOnCreation, hour, minute } from './changes.ts'

/** Grants, named by their scopes, for which expiresIn does not count. */
const withoutLifetime =
  (isMeant: (scope: string[]) => boolean) =>
  (seen: Seen): Change => ({
    accessLifeMs: (expiresInMs, profile) => right.accessLifeMs(isMeant(seen.scope) ? undefined : expiresInMs, profile),
  })

/** Only some access tokens end by default. */
const endless = (fits: (pair: TokenPair) => boolean): Change => ({
  accessExpired: (pair, nowMs) => (pair.expiresInMs !== undefined || !fits(pair)) && right.accessExpired(pair, nowMs),
})

export const lifetimes: BrokenRows = {
  'tokens/expire-by-default': {
    'keys-created-with-an-expired-token': own(forgivesOnCreation('token/expired')),
    'default-expiry-not-enforced-for-session-tokens': own(endless(({ session }) => session !== undefined)),
    'default-expiry-not-enforced-for-address-tokens': own(endless(({ addresses }) => addresses.length > 0)),
    'default-expiry-not-enforced-for-created-key-tokens': own(endless(({ key }) => !key.initial)),
    'default-expiry-not-enforced': own({
      accessExpired: (pair, nowMs) => pair.expiresInMs !== undefined && nowMs >= pair.accessExpiryMs,
    }),
    'refreshed-access-token-never-expires': own({
      accessExpired: (pair, nowMs) => pair.generation === 0 && nowMs >= pair.accessExpiryMs,
    }),
    'access-token-ends-a-minute-early': own({
      accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs - (pair.expiresInMs === undefined ? 60_000 : 0),
    }),
    'expiry-beyond-the-enforced-one-reported': own({
      reportedAccessExpiry: (pair) => pair.accessExpiryMs + (pair.expiresInMs === undefined ? 3_600_000 : 0),
    }),
    'default-lifetime-not-enforced': first({
      accessExpired: (pair, nowMs) => pair.expiresInMs !== undefined && right.accessExpired(pair, nowMs),
    }),
  },
  'tokens/expire': {
    'access-token-never-expires': own({ accessExpired: () => false }),
    'access-token-lives-a-minute-longer': own({
      accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs + 60_000,
    }),
    // From the second refresh on, the expiry of the access token is not checked.
    'third-access-token-never-expires': first({
      accessExpired: (pair, nowMs) => pair.generation < 2 && right.accessExpired(pair, nowMs),
    }),
    // The access token of a refresh still works after the expiry that its result reports.
    'expiry-of-first-pair-reported-after-refresh': first((_seen, firstExpiry = new Map<string, number>()) => ({
      reportedAccessExpiry: (pair) => {
        const first = firstExpiry.get(pair.family.id) ?? pair.accessExpiryMs
        firstExpiry.set(pair.family.id, first)
        return first
      },
    })),
    // manager/createApiKey does not look at the expiry of an access token.
    'expired-token-creates-keys': first((seen) => ({
      accessExpired: (pair, nowMs) => !seen.bodyHas('manager/createApiKey') && right.accessExpired(pair, nowMs),
    })),
    // Only a job that runs every full ten seconds ends expired access tokens.
    'expired-tokens-removed-every-ten-seconds': second({
      accessExpired: (pair, nowMs) => nowMs >= Math.ceil(pair.accessExpiryMs / 10_000) * 10_000,
    }),
    // Each check of the expiry is remembered for thirty seconds.
    'used-access-token-works-thirty-seconds-longer': second((_seen, checked = new Map<string, number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (right.accessExpired(pair, nowMs)) return nowMs - (checked.get(pair.id) ?? 0) >= 30_000
        checked.set(pair.id, nowMs)
        return false
      },
    })),
    'access-token-of-second-refresh-does-not-expire': second({
      accessExpired: (pair, nowMs) => pair.generation < 2 && right.accessExpired(pair, nowMs),
    }),
    // The time of expiry is kept with the key.
    'access-tokens-of-key-end-with-the-latest-of-them': third((_seen, untilMs = new Map<string, number>()) => ({
      grantResult: (result, pair) => {
        const known = untilMs.get(pair.key.id) ?? 0
        untilMs.set(pair.key.id, Math.max(known, pair.accessExpiryMs))
        return result
      },
      accessExpired: (pair, nowMs) => nowMs >= Math.max(pair.accessExpiryMs, untilMs.get(pair.key.id) ?? 0),
    })),
    // The times of expiry are in a table of twenty places; a token that is not in it is taken for a live one.
    'expiry-forgotten-after-twenty-further-tokens': third((seen, latest: TokenPair[] = []) => {
      const note = (pair: TokenPair | undefined) => {
        if (pair === undefined) return
        latest.push(pair)
        latest.splice(0, latest.length - 20)
      }
      return {
        grantResult: (result, pair) => {
          note(pair)
          return result
        },
        refreshResult: (result) => {
          note(seen.context.state.tokens.get(result.accessToken)?.pair)
          return result
        },
        accessExpired: (pair, nowMs) => latest.includes(pair) && right.accessExpired(pair, nowMs),
      }
    }),
    // The error path writes the time of the last use, from which the lifetime counts.
    'refused-call-keeps-its-token-alive': fourth((seen, keptUsedMs = new Map<TokenPair, number>()) => ({
      around: (inner, context) => (request) => {
        const answer = inner(request)
        const { pair } = seen
        if (pair && !(answer instanceof Promise) && !isAccepted(answer)) keptUsedMs.set(pair, context.now())
        return answer
      },
      accessExpired: (pair, nowMs) => {
        const usedMs = keptUsedMs.get(pair) ?? pair.issuedMs
        return nowMs >= pair.accessExpiryMs - pair.issuedMs + usedMs
      },
    })),
    'access-tokens-of-key-made-by-created-key-never-expire': fourth((seen, keys = new Set<string>()) => ({
      storedKey: (key) => {
        if (seen.caller?.initial === false) keys.add(key.id)
        return key
      },
      accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) && !keys.has(pair.key.id),
    })),
    // The ids of expired tokens are kept for a day, and nothing else tells that they have expired.
    'expired-access-token-works-again-after-a-day': fifth({
      accessExpired: ({ accessExpiryMs }, nowMs) => nowMs >= accessExpiryMs && nowMs < accessExpiryMs + day,
    }),
    // A tolerance for clocks that differ, although the server made the expiry itself.
    'access-token-works-a-minute-beyond-its-expiry': eighth({
      accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs + minute,
    }),
    // The update has the key as its only condition.
    'refresh-extends-other-access-tokens-of-its-key': ninth((seen) => ({
      endedBesideRefresh: (all, old) => {
        const expiryMs = seen.nowMs + right.accessLifeMs(undefined, seen.context.profile)
        for (const pair of all()) {
          if (pair.key === old.key) pair.accessExpiryMs = Math.max(pair.accessExpiryMs, expiryMs)
        }
        return []
      },
    })),
    // The expiry is reported. A refresh copies the row of a token with an address without its time.
    'refreshed-token-with-address-never-expires': twelfth({
      accessExpired: (pair, nowMs) =>
        right.accessExpired(pair, nowMs) && (pair.generation === 0 || pair.addresses.length === 0),
    }),
  },
  'expires-in/reported': {
    'lifetime-above-an-hour-wraps-around': own({
      accessLifeMs: (expiresInMs, profile) => (expiresInMs ?? profile.accessLifeMs) % 3_600_000,
    }),
    'default-expiry-reported-for-expires-in': own({ reportedAccessExpiry: (pair) => pair.issuedMs + 900_000 }),
    'expires-in-ignored': own({ accessLifeMs: (_expiresInMs, profile) => profile.accessLifeMs }),
    'expires-in-taken-for-seconds': own({
      accessLifeMs: (expiresInMs, profile) => (expiresInMs === undefined ? profile.accessLifeMs : expiresInMs * 1000),
    }),
    // The lifetime is stored in whole seconds, and 0 counts as not given.
    'expires-in-below-a-second-ignored': first({
      accessLifeMs: (expiresInMs, profile) =>
        right.accessLifeMs(expiresInMs !== undefined && expiresInMs < 1000 ? undefined : expiresInMs, profile),
    }),
    // The lifetime is kept as a time of day, so 25 hours become one.
    'whole-days-of-expires-in-lost': first({
      accessLifeMs: (expiresInMs, profile) => {
        const lifeMs = right.accessLifeMs(expiresInMs, profile)
        return expiresInMs !== undefined && lifeMs > day ? lifeMs % day || day : lifeMs
      },
    }),
    'expires-in-ignored-with-address': first((seen) => ({
      accessLifeMs: (expiresInMs, profile) =>
        right.accessLifeMs(seen.bodyHas('ipAddr:') ? undefined : expiresInMs, profile),
    })),
    // expiresIn is forgotten when ipAddr follows it in the scope.
    'address-behind-expires-in-resets-lifetime': second((seen) => ({
      accessLifeMs: (expiresInMs, profile) => {
        const place = seen.request.body.indexOf('"expiresIn:')
        const isReset = place >= 0 && seen.request.body.indexOf('"ipAddr:') > place
        return right.accessLifeMs(isReset ? undefined : expiresInMs, profile)
      },
    })),
    // Of grants that are in flight together, all get the lifetime that the last one asked for.
    'grants-in-flight-share-expires-in': second(() => {
      const shared: { askedMs?: number; hasWaited?: boolean } = {}
      return {
        expiresInMs: (text) => {
          const ms = right.expiresInMs(text)
          if (ms !== undefined) shared.askedMs = ms
          return ms
        },
        beforeEffect: (effect) => {
          if (effect !== 'session') return undefined
          return meet().then(() => {
            shared.hasWaited = true
          })
        },
        accessLifeMs: (expiresInMs, profile) => {
          const isGrant = shared.hasWaited === true
          shared.hasWaited = false
          return right.accessLifeMs(isGrant && expiresInMs !== undefined ? shared.askedMs : expiresInMs, profile)
        },
      }
    }),
    'first-expires-in-of-key-holds-for-its-later-grants': third((seen, first = new Map<unknown, number>()) => ({
      accessLifeMs: (expiresInMs, profile) => {
        const { apiKeyId } = seen.params
        if (expiresInMs === undefined || apiKeyId === undefined) return right.accessLifeMs(expiresInMs, profile)
        const ms = first.get(apiKeyId) ?? expiresInMs
        first.set(apiKeyId, ms)
        return ms
      },
    })),
    // The number is in a column of six characters.
    'expires-in-cut-to-six-digits': fourth({
      accessLifeMs: (expiresInMs, profile) =>
        right.accessLifeMs(expiresInMs === undefined ? undefined : Number(String(expiresInMs).slice(0, 6)), profile),
    }),
    'expires-in-below-ten-thousand-taken-for-seconds': fourth({
      accessLifeMs: (expiresInMs, profile) =>
        right.accessLifeMs(
          expiresInMs !== undefined && expiresInMs < 10_000 ? expiresInMs * 1000 : expiresInMs,
          profile,
        ),
    }),
    // The sum is made in local time.
    'expires-in-reported-an-hour-late': fifth({
      reportedAccessExpiry: ({ accessExpiryMs, expiresInMs }) =>
        accessExpiryMs + (expiresInMs === undefined ? 0 : hour),
    }),
    'expires-in-added-to-default-lifetime': fifth({
      accessLifeMs: (expiresInMs, profile) => profile.accessLifeMs + (expiresInMs ?? 0),
    }),
    'expires-in-as-last-scope-entry-ignored': fifth(
      withoutLifetime((scope) => scope.length > 1 && scope.at(-1)?.startsWith('expiresIn:') === true),
    ),
    'expires-in-ignored-with-apikey-scope': fifth(
      withoutLifetime((scope) => scope.some((word) => /^apikey$/i.test(word))),
    ),
    'expires-in-rounded-up-to-whole-minutes': ninth({
      accessLifeMs: (expiresInMs, profile) =>
        expiresInMs === undefined ? right.accessLifeMs(expiresInMs, profile) : Math.ceil(expiresInMs / minute) * minute,
    }),
    'expires-in-of-created-key-in-seconds': ninth((seen) => ({
      expiresInMs: (text) => {
        const ms = right.expiresInMs(text)
        const isCreated = seen.named?.initial === false
        return ms !== undefined && isCreated ? ms * 1000 : ms
      },
    })),
    // Grants use a clock that is read again only when ten seconds have passed.
    'expires-in-counted-from-clock-read-every-ten-seconds': tenth(
      (seen, memory = { readMs: Number.NEGATIVE_INFINITY }) => ({
        accessLifeMs: (expiresInMs, profile) => {
          const { nowMs } = seen
          if (nowMs - memory.readMs >= 10_000) memory.readMs = nowMs
          return right.accessLifeMs(expiresInMs, profile) - (expiresInMs === undefined ? 0 : nowMs - memory.readMs)
        },
      }),
    ),
    // An entry with a colon is the one or the other, and the search ends with the solution.
    'expires-in-ignored-beside-one-solution': tenth((seen) => ({
      accessLifeMs: (expiresInMs, profile) =>
        right.accessLifeMs(seen.scope.some((word) => /^solution:[^*]/.test(word)) ? undefined : expiresInMs, profile),
    })),
  },
  'expires-in/enforced': {
    'expires-in-reported-and-not-enforced': own({
      accessExpired: (pair, nowMs) =>
        nowMs >= (pair.expiresInMs === undefined ? pair.accessExpiryMs : pair.issuedMs + 900_000),
    }),
    'expires-in-ends-at-half-time': own({
      accessExpired: (pair, nowMs) =>
        nowMs >= (pair.expiresInMs === undefined ? pair.accessExpiryMs : pair.issuedMs + pair.expiresInMs / 2),
    }),
    // An access token works until the end of the second after its expiry.
    'expiry-compared-in-seconds': first({
      accessExpired: (pair, nowMs) => Math.floor(nowMs / 1000) > Math.ceil(pair.accessExpiryMs / 1000),
    }),
    // The reported expiry is right; the access token is refused before it.
    'expires-in-above-an-hour-enforced-after-an-hour': first({
      accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) || nowMs >= pair.issuedMs + hour,
    }),
    // A timer of Node.js with a longer delay fires at once. Refresh tokens of this server live for 60 days.
    'expires-in-above-two-to-the-31-ends-at-once': first({
      refreshLifeMs: () => 60 * day,
      accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) || (pair.expiresInMs ?? 0) >= 2 ** 31,
    }),
    'expires-in-above-an-hour-never-ends': first({
      accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) && (pair.expiresInMs ?? 0) <= hour,
    }),
    // Sliding expiry: an access token ends its whole lifetime after its last use.
    'each-use-extends-access-token': first((_seen, ends = new Map<string, number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (nowMs >= (ends.get(pair.id) ?? pair.accessExpiryMs)) return true
        ends.set(pair.id, nowMs + pair.accessExpiryMs - pair.issuedMs)
        return false
      },
    })),
    // The verdict about a token is cached for a minute.
    'access-token-works-when-checked-before-expiry': first((_seen, goodUntilMs = new Map<string, number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (nowMs < (goodUntilMs.get(pair.id) ?? 0)) return false
        const expired = right.accessExpired(pair, nowMs)
        if (!expired) goodUntilMs.set(pair.id, nowMs + 60_000)
        return expired
      },
    })),
    // An access token works for 99 calls, however long it lives.
    'hundredth-use-ends-access-token': first((_seen, keptUses = new Map<string, number>()) => ({
      accessExpired: (pair, nowMs) => {
        const uses = (keptUses.get(pair.id) ?? 0) + 1
        keptUses.set(pair.id, uses)
        return uses >= 100 || right.accessExpired(pair, nowMs)
      },
    })),
    // A token that is first used after its reported expiry works.
    'expires-in-counted-from-first-use': second((_seen, firstUse = new Map<string, number>()) => ({
      accessExpired: (pair, nowMs) => {
        if (pair.expiresInMs === undefined) return right.accessExpired(pair, nowMs)
        const fromMs = firstUse.get(pair.id) ?? nowMs
        firstUse.set(pair.id, fromMs)
        return nowMs >= fromMs + pair.expiresInMs
      },
    })),
    // The longer lifetime is reported, but not kept.
    'expires-in-beyond-an-hour-ends-after-an-hour': second({
      accessExpired: (pair, nowMs) =>
        right.accessExpired(pair, nowMs) || ((pair.expiresInMs ?? 0) > hour && nowMs >= pair.issuedMs + hour),
    }),
    // It is reported, and the default lifetime is in force.
    'expires-in-not-enforced-in-sessions': fourth((seen) => ({
      accessExpired: (pair, nowMs) =>
        pair.session === undefined
          ? right.accessExpired(pair, nowMs)
          : nowMs >= pair.issuedMs + seen.context.profile.accessLifeMs,
    })),
    // "Access token expires after NUMBER milliseconds": and not before
    'grant-clears-access-tokens-that-end-within-a-minute': ninth((seen) => ({
      grantResult: (result, granted) => {
        for (const pair of pairsOf(seen.context)) {
          if (pair !== granted && pair.accessExpiryMs < seen.nowMs + minute) pair.accessRevoked = true
        }
        return result
      },
    })),
    // A floating point number of 32 bits; the token ends up to 65 seconds before or after its reported expiry.
    'access-expiry-kept-in-single-precision': tenth({
      accessExpired: (pair, nowMs) => nowMs >= Math.fround(pair.accessExpiryMs),
    }),
  },
  'expires-in/within-refresh-lifetime': {
    'expires-in-beyond-the-refresh-token': own({ expiresInTooLong: () => 'taken' }),
    // A number that is above the lifetime of the refresh token, but before it in the order of texts, is taken.
    'expires-in-compared-as-text': first((seen) => ({
      expiresInTooLong: (profile) => {
        const [, text = ''] = /expiresIn:(\d+)/.exec(seen.request.body.toString()) ?? []
        const limit = right.refreshLifeMs(profile)
        return text !== '' && Number(text) > limit && text < String(limit) ? 'taken' : right.expiresInTooLong(profile)
      },
    })),
    // NUMBER is compared with the lifetime of the refresh token in minutes, rounded down.
    'expires-in-limit-a-minute-too-high': first((seen) => ({
      expiresInTooLong: (profile) => {
        const [, text = '0'] = /expiresIn:(\d+)/.exec(seen.request.body.toString()) ?? []
        const overMs = Number(text) - right.refreshLifeMs(profile)
        return overMs > 0 && overMs < 60_000 ? 'taken' : right.expiresInTooLong(profile)
      },
    })),
    // NUMBER may be up to 59,999 ms above the lifetime of the refresh token.
    'expires-in-compared-with-refresh-lifetime-in-minutes': second((_seen, askedMs = 0) => ({
      expiresInMs: (text) => {
        const ms = right.expiresInMs(text)
        askedMs = ms ?? 0
        return ms
      },
      expiresInTooLong: (profile) => {
        const isTaken = Math.floor(askedMs / minute) <= Math.floor(profile.refreshLifeMs / minute)
        return isTaken ? 'taken' : right.expiresInTooLong(profile)
      },
    })),
    // In a session, the lifetime is to be compared with that of the session, which is not set yet.
    'expires-in-beyond-refresh-lifetime-taken-in-session': twelfth((seen) => ({
      expiresInTooLong: (profile) =>
        seen.scope.some((word) => word.startsWith('session:')) ? 'taken' : right.expiresInTooLong(profile),
    })),
  },
}
