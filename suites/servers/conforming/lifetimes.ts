import type { Profile } from '../../../mock-server/profile.ts'
import { rules as reference } from '../../../mock-server/rules.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import type { Call } from '../call.ts'
import { type Changing, day, hour, minute, type Seen } from '../rows.ts'
import { by, type ConformingRows } from './rows.ts'

/** The pair that a call wants to refresh. */
const pairToRefresh = (call: Call): TokenPair | undefined =>
  call.isRefresh ? call.state.tokens.get(String(call.params.refreshToken))?.pair : undefined

const toSecond = (ms: number): number => Math.floor(ms / 1000) * 1000
/** The default lifetime of access tokens, where no expiresIn is asked for. */
const access =
  (defaultMs: (seen: Seen, profile: Profile) => number): Changing =>
  (seen) => ({ accessLifeMs: (asked, profile) => asked ?? defaultMs(seen, profile) })
const refreshLife =
  (lifeMs: (seen: Seen, profile: Profile) => number): Changing =>
  (seen) => ({ refreshLifeMs: (profile) => lifeMs(seen, profile) })
const asked = ({ scope }: Seen): number =>
  Number(scope.find((word) => word.startsWith('expiresIn:'))?.slice('expiresIn:'.length) ?? 0) || 0

/** The next midnight in UTC that is at least 30 seconds away. */
function untilMidnight({ nowMs }: Seen): number {
  const restMs = day - (nowMs % day)
  return restMs < 30_000 ? restMs + day : restMs
}

/** Parts 3, 5.4 and 8: when tokens expire, and what a refresh changes. */
export const lifetimesRows: ConformingRows = {
  'short-access-lifetime': by.own('limits/token-lifetimes accessLifeMs=30000'),
  'long-access-lifetime': by.own('limits/token-lifetimes accessLifeMs=86400000'),
  'short-refresh-lifetime': by.own('limits/token-lifetimes sessions/lifetime refreshLifeMs=60000'),
  'long-refresh-lifetime': by.own('limits/token-lifetimes sessions/lifetime refreshLifeMs=31536000000'),
  'expires-in-cut': by.own('expires-in/too-long expiresInTooLong=capped'),
  'expiries-rounded-up': by.own('limits/token-lifetimes expiryRounding=up-to-second'),
  'expires-in-for-one-token': by.own('refresh/expires-in-kept expiresInKept=false'),
  'family-revoked': by.own('refresh/family reuseRevokesFamily=true'),
  'refresh-from-the-bound-address-only': by.own('refresh/foreign-address refreshChecksAddress=true'),
  'refresh-lifetime-kept': by.own('refresh/lifetime-renewed refreshLifetime=kept'),
  'expiries-rounded-down': by.own('limits/token-lifetimes', { expiry: toSecond }),
  'one-lifetime-for-both-tokens': by.own('limits/token-lifetimes', {
    accessLifeMs: (expiresInMs, profile) => expiresInMs ?? reference.refreshLifeMs(profile),
  }),
  'refresh-lifetime-of-20-seconds': by.own(
    'limits/token-lifetimes sessions/lifetime refreshLifeMs=20000 expiresInTooLong=refused alone',
  ),
  // The clock is read once for each of the two expiries.
  'access-expiry-a-moment-later': by.own('expires-in/too-long expiresInTooLong=capped', {
    reportedAccessExpiry: (pair) => pair.accessExpiryMs + 1,
  }),
  // The exact moment is enforced, the second before it is reported, and a refresh returns to the default lifetime.
  'expiry-reported-down-to-second': by.first('limits/token-lifetimes refresh/expires-in-kept expiresInKept=false', {
    reportedAccessExpiry: (pair) => toSecond(pair.accessExpiryMs),
    reportedRefreshExpiry: (pair) => toSecond(pair.refreshExpiryMs),
  }),
  // expiresIn can only shorten the default lifetime, which a refresh restores.
  'access-never-above-default': by.first(
    'limits/token-lifetimes refresh/expires-in-kept refresh/lifetime-renewed expiresInKept=false refreshLifetime=kept',
    { accessLifeMs: (askedMs, profile) => Math.min(askedMs ?? profile.accessLifeMs, 15 * minute) },
  ),
  // Every refresh token ends at the next midnight in UTC that is at least 30 seconds away.
  'refresh-ends-at-utc-midnight': by.first('limits/token-lifetimes refresh/lifetime-renewed expires-in/too-long', [
    refreshLife(untilMidnight),
    access((seen, { accessLifeMs }) => Math.min(accessLifeMs, Math.floor(untilMidnight(seen) / 2))),
  ]),
  // Access lasts for 90 days and refresh tokens for ten years, unless expiresIn says less.
  'lifetimes-of-years': by.first(
    'limits/token-lifetimes refresh/expires-in-kept',
    'accessLifeMs=7776000000 refreshLifeMs=315360000000 expiresInKept=false',
  ),
  // Without expiresIn each access token gets between 10 and 20 minutes, so that clients do not all refresh at once.
  'lifetimes-vary': by.first('limits/token-lifetimes refresh/lifetime-renewed', [
    access(({ context }) => 10 * minute + (context.random(4).readUInt32LE() % (10 * minute))),
  ]),
  // A sign, leading zeros, a fraction and an exponent are read as a number; a word gets the default lifetime.
  'expires-in-lenient-forms': by.first('expires-in/forms expires-in/too-long expiresInTooLong=capped', {
    expiresInMs: (text) => {
      const ms = text.trim() === '' ? Number.NaN : Math.floor(Number(text))
      if (Number.isNaN(ms)) return 15 * minute
      return ms >= 1 && Number.isSafeInteger(ms) ? ms : undefined
    },
  }),
  // expiresIn:0 gives an access token that is over, and a refresh token that gives a usable one.
  'expires-in-zero-is-over-at-once': by.first('expires-in/forms refresh/expires-in-kept expiresInKept=false', {
    expiresInMs: (text) => (/^[0-9]{1,13}$/.test(text) ? Number(text) : undefined),
  }),
  // At least an hour and at most 30 days, which a longer expiresIn is cut to.
  'refresh-token-lives-ten-times-as-long-as-asked-for-access': by.third(
    'limits/token-lifetimes expires-in/too-long expiresInTooLong=capped',
    [refreshLife((seen) => Math.min(Math.max(10 * asked(seen), hour), 30 * day))],
  ),
  'expires-in-above-ten-minutes-refused-unknown-words-left-out': by.fourth(
    'expires-in/maximum grants/unknown-scope unknownScopes=left-out',
    {
      expiresInMs: (text) => {
        const askedMs = reference.expiresInMs(text)
        return askedMs === undefined || askedMs > 10 * minute ? undefined : askedMs
      },
    },
  ),
  'refreshed-access-tokens-live-six-times-as-long': by.fifth(
    'limits/token-lifetimes refresh/expires-in-kept expiresInKept=false accessLifeMs=300000',
    access((seen, { accessLifeMs }) => accessLifeMs * (pairToRefresh(seen) === undefined ? 1 : 6)),
  ),
  'expires-in-of-other-forms-is-the-default-and-unknown-words-left-out': by.fifth(
    'expires-in/forms grants/unknown-scope unknownScopes=left-out',
    [{ expiresInMs: (text) => reference.expiresInMs(text) ?? 15 * minute }],
  ),
  // Tokens are meant for machines that refresh all the time.
  'access-for-five-seconds-and-refresh-for-eight': by.sixth(
    'limits/token-lifetimes sessions/lifetime accessLifeMs=5000 refreshLifeMs=8000',
  ),
  // A default token is for one call; who wants more says so in each grant, and a refresh says nothing.
  'access-for-two-seconds-unless-asked-otherwise': by.sixth(
    'limits/token-lifetimes refresh/expires-in-kept accessLifeMs=2000 refreshLifeMs=3600000 expiresInKept=false',
  ),
  // Who refreshes for long has to show the secret again, so each refresh token is for half the time.
  'each-refresh-halves-the-refresh-lifetime': by.sixth(
    'refresh/lifetime-renewed limits/token-lifetimes refreshLifeMs=86400000',
    [
      refreshLife((seen, { refreshLifeMs }) => {
        const old = pairToRefresh(seen)
        return old ? Math.ceil((old.refreshExpiryMs - old.issuedMs) / 2) : refreshLifeMs
      }),
    ],
  ),
  // The server takes the last NUMBER of a key, five seconds at least, for its habit.
  'default-access-lifetime-is-what-the-key-last-asked-for': by.sixth(
    'limits/token-lifetimes refresh/expires-in-kept expiresInKept=false',
    [
      (seen, habits = new Map<string, number>()) => ({
        accessLifeMs: (expiresInMs, profile) => {
          const id = seen.keyId ?? ''
          if (expiresInMs !== undefined) habits.set(id, Math.max(expiresInMs, 5000))
          return expiresInMs ?? habits.get(id) ?? profile.accessLifeMs
        },
      }),
    ],
  ),
  // Part 8 does not show default lifetimes, so they may depend on what a token can do; expiresIn holds as documented.
  // An access token with apiKey lives for a minute, another for six hours, also after a refresh.
  'tokens-that-manage-keys-live-for-a-minute': by.seventh(
    'limits/token-lifetimes refresh/expires-in-kept expiresInKept=false',
    access((seen) => {
      const { scope } = pairToRefresh(seen) ?? seen
      return scope.some((word) => word.toLowerCase() === 'apikey') ? minute : 6 * hour
    }),
  ),
  // Part 3 gives a new pair for a refresh token, and part 8 does not show when the new one ends.
  // A refresh token lives for two hours. A refresh in the first hour keeps its end; a later one starts two new hours.
  'refresh-lifetime-slides-when-half-of-it-is-over': by.seventh(
    'refresh/lifetime-renewed limits/token-lifetimes refreshLifeMs=7200000',
    refreshLife((seen, { refreshLifeMs }) => {
      const leftMs = (pairToRefresh(seen)?.refreshExpiryMs ?? 0) - seen.nowMs
      return leftMs > refreshLifeMs / 2 ? leftMs : refreshLifeMs
    }),
  ),
}
