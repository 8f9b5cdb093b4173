import { rules as right } from '../../rules.ts'
import { meet } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Parts 2, 3 and 5.4: expiry and expiresIn. */
export const secondLifetimeMutants: IndependentMutant[] = [
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-counted-from-first-use',
    breaks: 'expires-in/enforced',
    needsState: true,
    about: 'A token that is first used after its reported expiry works.',
    create: () => {
      const seen = watch(() => ({ firstUse: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            if (pair.expiresInMs === undefined) return right.accessExpired(pair, nowMs)
            const { firstUse } = seen.memory
            const fromMs = firstUse.get(pair.id) ?? nowMs
            firstUse.set(pair.id, fromMs)
            return nowMs >= fromMs + pair.expiresInMs
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expired-tokens-removed-every-ten-seconds',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'Only a job that runs every full ten seconds ends expired access tokens.',
    create: () => ({
      rules: { accessExpired: (pair, nowMs) => nowMs >= Math.ceil(pair.accessExpiryMs / 10_000) * 10_000 },
    }),
  },
  {
    // "the access token's expiry time passed | access token expired"
    id: 'used-access-token-works-thirty-seconds-longer',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'Each check of the expiry is remembered for thirty seconds.',
    create: () => {
      const seen = watch(() => ({ checked: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const { checked } = seen.memory
            if (right.accessExpired(pair, nowMs)) return nowMs - (checked.get(pair.id) ?? 0) >= 30 * second
            checked.set(pair.id, nowMs)
            return false
          },
        },
      }
    },
  },
  {
    // "Access tokens have a time-to-live"
    id: 'access-token-of-second-refresh-does-not-expire',
    breaks: 'tokens/expire',
    needsState: true,
    create: () => ({
      rules: { accessExpired: (pair, nowMs) => pair.generation < 2 && right.accessExpired(pair, nowMs) },
    }),
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'address-behind-expires-in-resets-lifetime',
    breaks: 'expires-in/reported',
    about: 'expiresIn is forgotten when ipAddr follows it in the scope.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) => {
            const place = seen.request.body.indexOf('"expiresIn:')
            const isReset = place >= 0 && seen.request.body.indexOf('"ipAddr:') > place
            return right.accessLifeMs(isReset ? undefined : expiresInMs, profile)
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-beyond-an-hour-ends-after-an-hour',
    breaks: 'expires-in/enforced',
    about: 'The longer lifetime is reported, but not kept.',
    create: () => ({
      rules: {
        accessExpired: (pair, nowMs) =>
          right.accessExpired(pair, nowMs) || ((pair.expiresInMs ?? 0) > hour && nowMs >= pair.issuedMs + hour),
      },
    }),
  },
  {
    // "NUMBER must not exceed the time-to-live of the refresh token"
    id: 'expires-in-compared-with-refresh-lifetime-in-minutes',
    breaks: 'expires-in/within-refresh-lifetime',
    about: 'NUMBER may be up to 59,999 ms above the lifetime of the refresh token.',
    create: () => {
      const seen = watch(() => ({ askedMs: 0 }))
      return {
        around: seen.around,
        rules: {
          expiresInMs: (text) => {
            const ms = right.expiresInMs(text)
            seen.memory.askedMs = ms ?? 0
            return ms
          },
          expiresInTooLong: (profile) => {
            const isTaken = Math.floor(seen.memory.askedMs / minute) <= Math.floor(profile.refreshLifeMs / minute)
            return isTaken ? 'taken' : right.expiresInTooLong(profile)
          },
        },
      }
    },
  },
  {
    // "the refresh token can still be used until its own expiry"
    id: 'refreshed-short-access-token-ends-its-refresh-token',
    breaks: 'refresh/after-access-expiry',
    needsState: true,
    about: 'After one refresh with expiresIn, the next refresh token ends together with its access token.',
    create: () => ({
      rules: {
        refreshExpired: (pair, nowMs) =>
          right.refreshExpired(pair, nowMs) ||
          (pair.generation > 0 && pair.expiresInMs !== undefined && right.accessExpired(pair, nowMs)),
      },
    }),
  },
  {
    // "A key has no time-to-live"
    id: 'created-key-unused-for-thirty-days-ends',
    breaks: 'keys/no-time-to-live',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ usedMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          keyExpired: (key, nowMs) => {
            const { usedMs } = seen.memory
            if (!key.initial && nowMs - (usedMs.get(key.id) ?? key.createdMs) >= 30 * day) return true
            usedMs.set(key.id, nowMs)
            return false
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'grants-in-flight-share-expires-in',
    breaks: 'expires-in/reported',
    needsState: true,
    about: 'Of grants that are in flight together, all get the lifetime that the last one asked for.',
    create: () => {
      const shared: { askedMs?: number; hasWaited?: boolean } = {}
      return {
        rules: {
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
        },
      }
    },
  },
]
