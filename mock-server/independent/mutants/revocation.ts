import type { TokenPair } from '../../state.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { type Watch, watch } from '../watch.ts'

const hourMs = 3_600_000

/** The generation of the newest pair of the grant that `pair` comes from. */
const newestGeneration = ({ context }: Watch<object>, { family }: TokenPair) => {
  const tokens = [...context.state.tokens.values()]
  return Math.max(...tokens.map(({ pair }) => (pair.family === family ? pair.generation : 0)))
}

/** How long ago a refresh ended the pair. */
const revokedForMs = ({ nowMs }: Watch<object>, { revokedMs = nowMs }: TokenPair) => nowMs - revokedMs

/** Part 3: a refresh revokes the old pair. */
export const revocationMutants: IndependentMutant[] = [
  {
    id: 'old-access-token-works-for-two-seconds',
    breaks: 'refresh/revokes-access',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { revokedTokenWorks: (kind, pair) => kind === 'access' && revokedForMs(seen, pair) < 2000 },
      }
    },
  },
  {
    id: 'old-access-token-creates-keys',
    breaks: 'refresh/revokes-access',
    about: 'manager/createApiKey does not look at the revocation of an access token.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { revokedTokenWorks: (kind) => kind === 'access' && seen.bodyHas('manager/createApiKey') },
      }
    },
  },
  {
    id: 'second-refresh-keeps-old-access-token',
    breaks: 'refresh/revokes-access',
    needsState: true,
    create: () => ({ rules: { revokedTokenWorks: (kind, pair) => kind === 'access' && pair.generation === 1 } }),
  },
  {
    id: 'third-refresh-keeps-old-refresh-token',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    create: () => ({ rules: { revokedTokenWorks: (kind, pair) => kind === 'refresh' && pair.generation === 2 } }),
  },
  {
    id: 'only-last-revoked-access-token-remembered',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'A revoked access token works again after the next refresh of the same grant.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          revokedTokenWorks: (kind, pair) => kind === 'access' && pair.generation < newestGeneration(seen, pair) - 1,
        },
      }
    },
  },
  {
    id: 'only-last-revoked-refresh-token-remembered',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'A used refresh token works again after the next refresh of the same grant.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          revokedTokenWorks: (kind, pair) => kind === 'refresh' && pair.generation < newestGeneration(seen, pair) - 1,
        },
      }
    },
  },
  {
    id: 'used-refresh-token-works-again-after-an-hour',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { revokedTokenWorks: (kind, pair) => kind === 'refresh' && revokedForMs(seen, pair) >= hourMs },
      }
    },
  },
  {
    id: 'revoked-access-token-works-again-after-an-hour',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'The list of revoked tokens forgets an entry after an hour, and some tokens live longer.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { revokedTokenWorks: (kind, pair) => kind === 'access' && revokedForMs(seen, pair) >= hourMs },
      }
    },
  },
  {
    id: 'used-refresh-token-works-again-when-access-token-expired',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'The revocation of a pair is forgotten when its access token would have expired.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { revokedTokenWorks: (kind, pair) => kind === 'refresh' && seen.nowMs >= pair.accessExpiryMs },
      }
    },
  },
  {
    id: 'every-tenth-refresh-keeps-old-refresh-token',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ refreshes: 0 }))
      return {
        around: seen.around,
        rules: {
          revokedByRefresh: () => {
            seen.memory.refreshes += 1
            return seen.memory.refreshes % 10 === 0 ? ['access'] : ['access', 'refresh']
          },
        },
      }
    },
  },
  {
    id: 'refresh-after-access-expiry-keeps-old-refresh-token',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'A pair is revoked through its access token, which is not found any more once it expired.',
    create: () => ({
      rules: {
        revokedTokenWorks: (kind, pair) => kind === 'refresh' && (pair.revokedMs ?? 0) >= pair.accessExpiryMs,
      },
    }),
  },
]
