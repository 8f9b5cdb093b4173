import { rules as referenceRules } from '../../rules.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { holdContext } from '../server-memory.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const floor = (ms: number) => Math.floor(ms / second) * second

/** Parts 3, 5.4 and 8: when tokens expire, and how expiresIn changes that. */
export const lifetimeVariants: IndependentVariant[] = [
  {
    id: 'expiry-down-to-second-lifetime-kept',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed'],
    about: 'Both expiries are rounded down to a second, and a refresh keeps the end of the refresh token.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({ rules: { expiry: floor } }),
  },
  {
    id: 'expiry-reported-down-to-second',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept'],
    about:
      'The exact moment is enforced, the second before it is reported, and a refresh returns to the default lifetime.',
    profile: { expiresInKept: false },
    create: () => ({
      rules: {
        reportedAccessExpiry: (pair) => floor(pair.accessExpiryMs),
        reportedRefreshExpiry: (pair) => floor(pair.refreshExpiryMs),
      },
    }),
  },
  {
    id: 'expiry-to-nearest-second-access-at-most-one-hour',
    questions: ['limits/token-lifetimes', 'expires-in/too-long'],
    about: 'Expiries are rounded to the nearest second, and a NUMBER above one hour is shortened to it.',
    profile: { expiresInTooLong: 'capped' },
    create: () => ({
      rules: {
        expiry: (ms) => Math.round(ms / second) * second,
        accessLifeMs: (expiresInMs, profile) => Math.min(expiresInMs ?? profile.accessLifeMs, hour),
      },
    }),
  },
  {
    id: 'expiry-up-to-second-expires-in-dropped-family-revoked',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept', 'refresh/family', 'refresh/lifetime-renewed'],
    profile: {
      expiryRounding: 'up-to-second',
      expiresInKept: false,
      reuseRevokesFamily: true,
      refreshLifetime: 'kept',
    },
  },
  {
    id: 'access-above-one-hour-refused',
    questions: ['expires-in/too-long', 'limits/token-lifetimes', 'refresh/expires-in-kept'],
    about: 'expiresIn above one hour is refused; what was granted does not survive a refresh.',
    profile: { expiresInKept: false },
    create: () => ({
      rules: {
        expiresInMs(text) {
          const ms = referenceRules.expiresInMs(text)
          return ms === undefined || ms > hour ? undefined : ms
        },
      },
    }),
  },
  {
    id: 'access-at-most-one-minute-rounded-down',
    questions: ['limits/token-lifetimes', 'expires-in/too-long', 'refresh/expires-in-kept'],
    about:
      'No access token lives for more than a minute: a longer NUMBER is shortened, and rounding takes less than a second.',
    profile: { accessLifeMs: minute, expiresInTooLong: 'capped' },
    create: () => ({
      rules: {
        expiry: floor,
        accessLifeMs: (expiresInMs, profile) => Math.min(expiresInMs ?? profile.accessLifeMs, minute),
      },
    }),
  },
  {
    id: 'access-never-above-default',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept', 'refresh/lifetime-renewed'],
    about: 'expiresIn can only shorten the default lifetime, which a refresh restores.',
    profile: { expiresInKept: false, refreshLifetime: 'kept' },
    create: () => ({
      rules: {
        accessLifeMs: (expiresInMs, profile) => Math.min(expiresInMs ?? profile.accessLifeMs, profile.accessLifeMs),
      },
    }),
  },
  {
    id: 'refresh-ends-at-utc-midnight',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'expires-in/too-long'],
    about: 'Every refresh token ends at the next midnight in UTC that is at least 30 seconds away.',
    create() {
      const held = holdContext()
      const restMs = () => {
        const rest = day - (held.get().now() % day)
        return rest < 30 * second ? rest + day : rest
      }
      return {
        around: held.around,
        rules: {
          refreshLifeMs: restMs,
          accessLifeMs: (expiresInMs, profile) =>
            expiresInMs ?? Math.min(profile.accessLifeMs, Math.floor(restMs() / 2)),
        },
      }
    },
  },
  {
    id: 'refresh-chain-ends-after-two-minutes',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed', 'refresh/expires-in-kept'],
    about: 'Access lasts for 40 seconds, and no refresh reaches beyond two minutes from the first grant.',
    profile: { accessLifeMs: 40 * second, refreshLifeMs: 2 * minute, refreshLifetime: 'kept', expiresInKept: false },
  },
  {
    id: 'refresh-chain-kept-family-revoked-too-long-capped',
    questions: ['refresh/family', 'refresh/lifetime-renewed', 'expires-in/too-long'],
    profile: {
      refreshLifetime: 'kept',
      reuseRevokesFamily: true,
      expiresInTooLong: 'capped',
      refreshLifeMs: 10 * minute,
    },
    create: () => ({ rules: { accessLifeMs: (ms, profile) => ms ?? profile.accessLifeMs / 3 } }),
  },
  {
    id: 'lifetimes-of-years',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept'],
    about: 'Access lasts for 90 days and refresh tokens for ten years, unless expiresIn says less.',
    profile: { accessLifeMs: 90 * day, refreshLifeMs: 3650 * day, expiresInKept: false },
  },
  {
    id: 'lifetimes-vary',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed'],
    about:
      'Without expiresIn each access token gets between 10 and 20 minutes, so that clients do not all refresh at once.',
    create() {
      const held = holdContext()
      return {
        around: held.around,
        rules: {
          accessLifeMs: (expiresInMs) =>
            expiresInMs ?? 10 * minute + (held.get().random(4).readUInt32LE() % (10 * minute)),
        },
      }
    },
  },
  {
    id: 'expires-in-lenient-forms',
    questions: ['expires-in/forms', 'expires-in/too-long'],
    about: 'A sign, leading zeros, a fraction and an exponent are read as a number; a word gets the default lifetime.',
    profile: { expiresInTooLong: 'capped' },
    create: () => ({
      rules: {
        expiresInMs(text) {
          const ms = text.trim() === '' ? Number.NaN : Math.floor(Number(text))
          if (Number.isNaN(ms)) return 15 * minute
          return ms >= 1 && Number.isSafeInteger(ms) ? ms : undefined
        },
      },
    }),
  },
  {
    id: 'expires-in-zero-is-over-at-once',
    questions: ['expires-in/forms', 'refresh/expires-in-kept'],
    about: 'expiresIn:0 gives an access token that is over, and a refresh token that gives a usable one.',
    profile: { expiresInKept: false },
    create: () => ({
      rules: { expiresInMs: (text) => (/^[0-9]{1,13}$/.test(text) ? Number(text) : undefined) },
    }),
  },
]
