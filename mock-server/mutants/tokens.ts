import { type Rules, rules } from '../rules.ts'
import type { TokenPair } from '../state.ts'
import type { Mutant } from './mutant.ts'
import { alsoNamed, namedMutants } from './token-changes.ts'

/** Only some access tokens end by default. */
const endless = (fits: (pair: TokenPair) => boolean): Partial<Rules> => ({
  accessExpired: (pair, nowMs) => (pair.expiresInMs !== undefined || !fits(pair)) && rules.accessExpired(pair, nowMs),
})

const kinds: [name: string, fits: (pair: TokenPair) => boolean][] = [
  ['session', ({ session }) => session !== undefined],
  ['address', ({ addresses }) => addresses.length > 0],
  ['created-key', ({ key }) => !key.initial],
]

/** Part 5.3. */
export const tokenMutants: Mutant[] = [
  {
    id: 'access-token-never-works',
    breaks: 'tokens/authorize',
    with: { issuedTokenWorks: (kind) => kind !== 'access' },
  },
  ...namedMutants('access', 'tokens/authorize'),
  {
    id: 'any-access-token-taken',
    breaks: 'tokens/authorize',
    with: alsoNamed('access', () => true),
  },
  {
    id: 'secret-taken-as-a-token',
    breaks: 'tokens/authorize',
    with: alsoNamed('access', (text, { pair }) => text === pair.key.secret),
  },
  {
    id: 'refused-grant-ends-the-tokens-of-the-key',
    breaks: 'tokens/authorize',
    with: { endedByRefusal: (all, named) => all().filter(({ key }) => key === named) },
  },
  {
    id: 'refused-refresh-ends-the-newest-pair',
    breaks: 'tokens/authorize',
    with: { endedByRefusal: (all, named) => (named ? [] : all().slice(-1)) },
  },
  {
    id: 'refresh-ends-the-other-pairs-of-its-key',
    breaks: 'tokens/authorize',
    with: { endedBesideRefresh: (all, old) => all().filter(({ key }) => key === old.key) },
  },
  {
    id: 'refresh-ends-the-pairs-of-other-keys',
    breaks: 'tokens/authorize',
    with: { endedBesideRefresh: (all, old) => all().filter(({ key }) => key !== old.key) },
  },
  {
    id: 'refresh-token-opens-methods',
    breaks: 'tokens/refresh-is-no-access',
    with: { tokenKindTaken: (kind, use) => kind === use || use === 'access' },
  },
  {
    id: 'access-token-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    with: { tokenKindTaken: (kind, use) => kind === use || use === 'refresh' },
  },
  { id: 'access-token-never-expires', breaks: 'tokens/expire', with: { accessExpired: () => false } },
  {
    id: 'default-expiry-not-enforced',
    breaks: 'tokens/expire-by-default',
    with: { accessExpired: (pair, nowMs) => pair.expiresInMs !== undefined && nowMs >= pair.accessExpiryMs },
  },
  ...kinds.map(
    ([name, fits]): Mutant => ({
      id: `default-expiry-not-enforced-for-${name}-tokens`,
      breaks: 'tokens/expire-by-default',
      with: endless(fits),
    }),
  ),
  {
    id: 'access-token-lives-a-minute-longer',
    breaks: 'tokens/expire',
    with: { accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs + 60_000 },
  },
  {
    id: 'refreshed-access-token-never-expires',
    breaks: 'tokens/expire-by-default',
    with: { accessExpired: (pair, nowMs) => pair.generation === 0 && nowMs >= pair.accessExpiryMs },
  },
  {
    id: 'access-token-ends-a-minute-early',
    breaks: 'tokens/expire-by-default',
    with: {
      accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs - (pair.expiresInMs === undefined ? 60_000 : 0),
    },
  },
  {
    id: 'expiry-beyond-the-enforced-one-reported',
    breaks: 'tokens/expire-by-default',
    with: { reportedAccessExpiry: (pair) => pair.accessExpiryMs + (pair.expiresInMs === undefined ? 3_600_000 : 0) },
  },
  {
    id: 'lifetime-above-an-hour-wraps-around',
    breaks: 'expires-in/reported',
    with: { accessLifeMs: (expiresInMs, profile) => (expiresInMs ?? profile.accessLifeMs) % 3_600_000 },
  },
  {
    id: 'default-expiry-reported-for-expires-in',
    breaks: 'expires-in/reported',
    with: { reportedAccessExpiry: (pair) => pair.issuedMs + 900_000 },
  },
  {
    id: 'expires-in-ignored',
    breaks: 'expires-in/reported',
    with: { accessLifeMs: (_expiresInMs, profile) => profile.accessLifeMs },
  },
  {
    id: 'expires-in-taken-for-seconds',
    breaks: 'expires-in/reported',
    with: {
      accessLifeMs: (expiresInMs, profile) => (expiresInMs === undefined ? profile.accessLifeMs : expiresInMs * 1000),
    },
  },
  {
    id: 'expires-in-reported-and-not-enforced',
    breaks: 'expires-in/enforced',
    with: {
      accessExpired: (pair, nowMs) =>
        nowMs >= (pair.expiresInMs === undefined ? pair.accessExpiryMs : pair.issuedMs + 900_000),
    },
  },
  {
    id: 'expires-in-ends-at-half-time',
    breaks: 'expires-in/enforced',
    with: {
      accessExpired: (pair, nowMs) =>
        nowMs >= (pair.expiresInMs === undefined ? pair.accessExpiryMs : pair.issuedMs + pair.expiresInMs / 2),
    },
  },
  {
    id: 'expires-in-beyond-the-refresh-token',
    breaks: 'expires-in/within-refresh-lifetime',
    with: { expiresInTooLong: () => 'taken' },
  },
]
