import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Parts 3, 5.3 and 5.4: when tokens end, and what is reported about it. */
export const expiryMutants: IndependentMutant[] = [
  {
    id: 'expiry-compared-in-seconds',
    breaks: 'expires-in/enforced',
    about: 'An access token works until the end of the second after its expiry.',
    create: () => ({
      rules: { accessExpired: (pair, nowMs) => Math.floor(nowMs / 1000) > Math.ceil(pair.accessExpiryMs / 1000) },
    }),
  },
  {
    id: 'expires-in-below-a-second-ignored',
    breaks: 'expires-in/reported',
    about: 'The lifetime is stored in whole seconds, and 0 counts as not given.',
    create: () => ({
      rules: {
        accessLifeMs: (expiresInMs, profile) =>
          right.accessLifeMs(expiresInMs !== undefined && expiresInMs < 1000 ? undefined : expiresInMs, profile),
      },
    }),
  },
  {
    id: 'whole-days-of-expires-in-lost',
    breaks: 'expires-in/reported',
    about: 'The lifetime is kept as a time of day, so 25 hours become one.',
    create: () => ({
      rules: {
        accessLifeMs: (expiresInMs, profile) => {
          const lifeMs = right.accessLifeMs(expiresInMs, profile)
          return expiresInMs !== undefined && lifeMs > dayMs ? lifeMs % dayMs || dayMs : lifeMs
        },
      },
    }),
  },
  {
    id: 'expires-in-above-an-hour-enforced-after-an-hour',
    breaks: 'expires-in/enforced',
    needsState: true,
    about: 'The reported expiry is right; the access token is refused before it.',
    create: () => ({
      rules: { accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) || nowMs >= pair.issuedMs + hourMs },
    }),
  },
  {
    id: 'expires-in-above-two-to-the-31-ends-at-once',
    breaks: 'expires-in/enforced',
    about: 'A timer of Node.js with a longer delay fires at once. Refresh tokens of this server live for 60 days.',
    create: () => ({
      rules: {
        refreshLifeMs: () => 60 * dayMs,
        accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) || (pair.expiresInMs ?? 0) >= 2 ** 31,
      },
    }),
  },
  {
    id: 'expires-in-above-an-hour-never-ends',
    breaks: 'expires-in/enforced',
    needsState: true,
    create: () => ({
      rules: {
        accessExpired: (pair, nowMs) => right.accessExpired(pair, nowMs) && (pair.expiresInMs ?? 0) <= hourMs,
      },
    }),
  },
  {
    id: 'default-lifetime-not-enforced',
    breaks: 'tokens/expire-by-default',
    needsState: true,
    create: () => ({
      rules: {
        accessExpired: (pair, nowMs) => pair.expiresInMs !== undefined && right.accessExpired(pair, nowMs),
      },
    }),
  },
  {
    id: 'expires-in-compared-as-text',
    breaks: 'expires-in/within-refresh-lifetime',
    about: 'A number that is above the lifetime of the refresh token, but before it in the order of texts, is taken.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          expiresInTooLong: (profile) => {
            const [, text = ''] = /expiresIn:(\d+)/.exec(seen.request.body.toString()) ?? []
            const limit = right.refreshLifeMs(profile)
            return text !== '' && Number(text) > limit && text < String(limit)
              ? 'taken'
              : right.expiresInTooLong(profile)
          },
        },
      }
    },
  },
  {
    id: 'expires-in-limit-a-minute-too-high',
    breaks: 'expires-in/within-refresh-lifetime',
    about: 'NUMBER is compared with the lifetime of the refresh token in minutes, rounded down.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          expiresInTooLong: (profile) => {
            const [, text = '0'] = /expiresIn:(\d+)/.exec(seen.request.body.toString()) ?? []
            const overMs = Number(text) - right.refreshLifeMs(profile)
            return overMs > 0 && overMs < 60_000 ? 'taken' : right.expiresInTooLong(profile)
          },
        },
      }
    },
  },
  {
    id: 'expires-in-ignored-with-address',
    breaks: 'expires-in/reported',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) =>
            right.accessLifeMs(seen.bodyHas('ipAddr:') ? undefined : expiresInMs, profile),
        },
      }
    },
  },
  {
    id: 'each-use-extends-access-token',
    breaks: 'expires-in/enforced',
    needsState: true,
    about: 'Sliding expiry: an access token ends its whole lifetime after its last use.',
    create: () => {
      const seen = watch(() => ({ ends: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const { ends } = seen.memory
            if (nowMs >= (ends.get(pair.id) ?? pair.accessExpiryMs)) return true
            ends.set(pair.id, nowMs + pair.accessExpiryMs - pair.issuedMs)
            return false
          },
        },
      }
    },
  },
  {
    id: 'use-of-access-token-extends-refresh-token',
    breaks: 'refresh/own-expiry',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ usedMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            if (right.accessExpired(pair, nowMs)) return true
            seen.memory.usedMs.set(pair.id, nowMs)
            return false
          },
          refreshExpired: (pair, nowMs) => {
            const fromMs = seen.memory.usedMs.get(pair.id) ?? pair.issuedMs
            return nowMs >= fromMs + pair.refreshExpiryMs - pair.issuedMs
          },
        },
      }
    },
  },
  {
    id: 'access-token-works-when-checked-before-expiry',
    breaks: 'expires-in/enforced',
    needsState: true,
    about: 'The verdict about a token is cached for a minute.',
    create: () => {
      const seen = watch(() => ({ goodUntilMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const { goodUntilMs } = seen.memory
            if (nowMs < (goodUntilMs.get(pair.id) ?? 0)) return false
            const expired = right.accessExpired(pair, nowMs)
            if (!expired) goodUntilMs.set(pair.id, nowMs + 60_000)
            return expired
          },
        },
      }
    },
  },
  {
    id: 'third-access-token-never-expires',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'From the second refresh on, the expiry of the access token is not checked.',
    create: () => ({
      rules: { accessExpired: (pair, nowMs) => pair.generation < 2 && right.accessExpired(pair, nowMs) },
    }),
  },
  {
    id: 'expiry-of-first-pair-reported-after-refresh',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'The access token of a refresh still works after the expiry that its result reports.',
    create: () => {
      const seen = watch(() => ({ firstExpiry: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          reportedAccessExpiry: (pair) => {
            const first = seen.memory.firstExpiry.get(pair.family.id) ?? pair.accessExpiryMs
            seen.memory.firstExpiry.set(pair.family.id, first)
            return first
          },
        },
      }
    },
  },
  {
    id: 'refreshed-refresh-token-never-expires',
    breaks: 'refresh/own-expiry',
    needsState: true,
    create: () => ({
      rules: { refreshExpired: (pair, nowMs) => pair.generation === 0 && right.refreshExpired(pair, nowMs) },
    }),
  },
  {
    id: 'refresh-expiry-reported-at-most-a-day-ahead',
    breaks: 'grants/expiry-order',
    about: 'With a longer expiresIn the refresh token seems to end before the access token.',
    create: () => ({
      rules: { reportedRefreshExpiry: (pair) => Math.min(pair.refreshExpiryMs, pair.issuedMs + dayMs) },
    }),
  },
]
