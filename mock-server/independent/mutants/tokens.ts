import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Part 5.3: the use of access tokens. */
export const tokenMutants: IndependentMutant[] = [
  {
    id: 'secret-accepted-as-access-token',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'The secret of a key stands for a token of it, once there is one.',
    create: () => ({
      rules: {
        tokenNamed: (text, find, all, use) =>
          find(text) ??
          (use === 'access'
            ? all().find(({ kind, pair }) => kind === 'access' && pair.key.secret === text)
            : undefined),
      },
    }),
  },
  {
    id: 'refresh-token-creates-keys',
    breaks: 'tokens/refresh-is-no-access',
    about: 'manager/createApiKey takes a refresh token as an access token.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { tokenKindTaken: (kind, use) => kind === use || seen.bodyHas('manager/createApiKey') },
      }
    },
  },
  {
    id: 'refresh-token-works-as-access-token-when-that-expired',
    breaks: 'tokens/refresh-is-no-access',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          tokenNamed: (text, find, _all, use) => {
            const token = find(text)
            if (token?.kind !== 'refresh' || use !== 'access' || token.pair.refreshRevoked) return token
            if (seen.nowMs < token.pair.accessExpiryMs) return token
            return { ...token, kind: 'access', pair: { ...token.pair, accessExpiryMs: token.pair.refreshExpiryMs } }
          },
        },
      }
    },
  },
  {
    id: 'access-token-of-refreshed-pair-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    needsState: true,
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return token?.kind === 'access' && use === 'refresh' && token.pair.generation > 0
            ? { ...token, kind: 'refresh' }
            : token
        },
      },
    }),
  },
  {
    id: 'token-refused-on-key-creation-after-refresh',
    breaks: 'keys/create-authorized',
    needsState: true,
    about: 'manager/createApiKey takes the access token of the first grant only.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          issuedTokenWorks: (kind, pair) =>
            kind === 'refresh' || pair.generation === 0 || !seen.bodyHas('manager/createApiKey'),
        },
      }
    },
  },
  {
    id: 'expired-token-creates-keys',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'manager/createApiKey does not look at the expiry of an access token.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => !seen.bodyHas('manager/createApiKey') && right.accessExpired(pair, nowMs),
        },
      }
    },
  },
  {
    id: 'wrong-secret-three-times-ends-tokens',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'The third refused grant for a key ends all tokens of the key.',
    create: () => {
      const seen = watch(() => ({ refusals: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          endedByRefusal: (all, key) => {
            if (key === undefined) return []
            const count = (seen.memory.refusals.get(key.id) ?? 0) + 1
            seen.memory.refusals.set(key.id, count)
            return count % 3 === 0 ? all().filter((pair) => pair.key === key) : []
          },
        },
      }
    },
  },
  {
    id: 'refresh-ends-tokens-of-key-with-same-name',
    breaks: 'tokens/authorize',
    needsState: true,
    create: () => ({
      rules: {
        endedBesideRefresh: (all, old) =>
          all().filter(({ key }) => key !== old.key && key.name === old.key.name && !key.initial),
      },
    }),
  },
  {
    id: 'refresh-ends-pair-granted-in-same-millisecond',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'Pairs are revoked by key and time of issue.',
    create: () => ({
      rules: {
        endedBesideRefresh: (all, old) =>
          all().filter((pair) => pair !== old && pair.key === old.key && pair.issuedMs === old.issuedMs),
      },
    }),
  },
  {
    id: 'hundredth-use-ends-access-token',
    breaks: 'expires-in/enforced',
    needsState: true,
    about: 'An access token works for 99 calls, however long it lives.',
    create: () => {
      const seen = watch(() => ({ uses: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const uses = (seen.memory.uses.get(pair.id) ?? 0) + 1
            seen.memory.uses.set(pair.id, uses)
            return uses >= 100 || right.accessExpired(pair, nowMs)
          },
        },
      }
    },
  },
]
