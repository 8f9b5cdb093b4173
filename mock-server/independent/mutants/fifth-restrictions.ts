import { rules as right } from '../../rules.ts'
import { scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { type Watch, watch } from '../watch.ts'

const hour = 3_600_000
const day = 24 * hour

/** A rule for addresses that holds beside the right one. */
const alsoFits = (seen: Watch<object>, fits: (addresses: string[], remote: string) => boolean) => ({
  around: seen.around,
  rules: {
    ...seen.notePair,
    addressTaken: (addresses: string[], remote: string) =>
      right.addressTaken(addresses, remote) || fits(addresses, remote),
  },
})

/** Grants, named by their scopes, for which expiresIn does not count. */
const withoutLifetime = (seen: Watch<object>, isMeant: (scope: string[]) => boolean) => ({
  around: seen.around,
  rules: {
    accessLifeMs: (...[expiresInMs, profile]: Parameters<typeof right.accessLifeMs>) =>
      right.accessLifeMs(isMeant(scopeOf(seen.request)) ? undefined : expiresInMs, profile),
  },
})

const withoutDots = (address: string): string => address.replaceAll('.', '')

/** Part 5.4: `ipAddr:ADDR` and `expiresIn:NUMBER`. */
export const fifthRestrictionMutants: IndependentMutant[] = [
  {
    // "accessTokenExpiry | integer | Timestamp of expiry"
    id: 'expires-in-reported-an-hour-late',
    breaks: 'expires-in/reported',
    about: 'The sum is made in local time.',
    create: () => ({
      rules: {
        reportedAccessExpiry: ({ accessExpiryMs, expiresInMs }) =>
          accessExpiryMs + (expiresInMs === undefined ? 0 : hour),
      },
    }),
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-added-to-default-lifetime',
    breaks: 'expires-in/reported',
    create: () => ({
      rules: { accessLifeMs: (expiresInMs, profile) => profile.accessLifeMs + (expiresInMs ?? 0) },
    }),
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-as-last-scope-entry-ignored',
    breaks: 'expires-in/reported',
    create: () =>
      withoutLifetime(watch(), (scope) => scope.length > 1 && scope.at(-1)?.startsWith('expiresIn:') === true),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-not-checked-with-apikey-scope',
    breaks: 'addresses/bound',
    create: () => {
      const seen = watch()
      return alsoFits(seen, () => seen.pair?.scope.includes('apiKey') === true)
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-that-stands-twice-in-scope-not-checked',
    breaks: 'addresses/bound',
    about: 'An address that is in the list already is taken out of it.',
    create: () => alsoFits(watch(), (addresses) => new Set(addresses).size < addresses.length),
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-ignored-with-apikey-scope',
    breaks: 'expires-in/reported',
    create: () => withoutLifetime(watch(), (scope) => scope.some((word) => /^apikey$/i.test(word))),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-compared-without-its-dots',
    breaks: 'addresses/bound',
    needsState: true,
    create: () =>
      alsoFits(watch(), (addresses, remote) => addresses.some((one) => withoutDots(one) === withoutDots(remote))),
  },
  {
    // "expiry of the access token": "access token expired"
    id: 'expired-access-token-works-again-after-a-day',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'The ids of expired tokens are kept for a day, and nothing else tells that they have expired.',
    create: () => ({
      rules: {
        accessExpired: ({ accessExpiryMs }, nowMs) => nowMs >= accessExpiryMs && nowMs < accessExpiryMs + day,
      },
    }),
  },
]
