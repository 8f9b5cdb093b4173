import { createHash } from 'node:crypto'
import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { type Watch, watch } from '../watch.ts'

const hourMs = 3_600_000

/** The pair whose refresh token is in the body. */
const shownPair = ({ context, bodyHas }: Watch<object>) =>
  [...context.state.tokens.values()].find(({ kind, text }) => kind === 'refresh' && bodyHas(text))?.pair

/** Parts 3 and 4.2: what a refresh takes, gives and keeps. */
export const refreshMutants: IndependentMutant[] = [
  {
    id: 'fifth-refresh-refused',
    breaks: 'refresh/new-pair',
    needsState: true,
    create: () => ({ rules: { refreshesAllowed: () => 4 } }),
  },
  {
    id: 'third-access-token-does-not-work',
    breaks: 'refresh/new-pair',
    needsState: true,
    about: 'The access token of the second refresh is refused; the refresh token beside it works.',
    create: () => ({ rules: { issuedTokenWorks: (kind, pair) => kind === 'refresh' || pair.generation !== 2 } }),
  },
  {
    id: 'refresh-token-without-last-character-accepted',
    breaks: 'refresh/token',
    create: () => ({
      rules: {
        tokenNamed: (text, find, all, use) =>
          find(text) ?? (use === 'refresh' ? all().find((token) => token.text.slice(0, -1) === text) : undefined),
      },
    }),
  },
  {
    id: 'refreshes-in-same-second-repeat-tokens',
    breaks: 'refresh/pair-differs',
    needsState: true,
    about: 'The tokens of a refresh are made from the grant and the second of the clock.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          tokenText: (kind, fresh, old) => {
            if (old === undefined) return fresh
            const seed = `${kind} ${old.family.id} ${Math.floor(seen.nowMs / 1000)}`
            return createHash('sha512').update(seed).digest('base64url').slice(0, 43)
          },
        },
      }
    },
  },
  {
    id: 'young-access-token-handed-out-again',
    breaks: 'refresh/pair-differs',
    about: 'A refresh keeps the access token while it has more than ten minutes to live.',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          tokenText: (kind, fresh, old) =>
            old && kind === 'access' && old.accessExpiryMs - seen.nowMs > 600_000 ? old.accessToken : fresh,
        },
      }
    },
  },
  {
    id: 'scope-widened-to-key-by-second-refresh',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    create: () => ({
      rules: {
        refreshedScope: (old) =>
          old.generation === 0 ? old.scope : old.key.scope.map((scope) => (scope === 'apikey' ? 'apiKey' : scope)),
      },
    }),
  },
  {
    id: 'last-scope-lost-by-second-refresh',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    create: () => ({
      rules: { refreshedScope: (old) => (old.generation === 0 ? old.scope : old.scope.slice(0, -1)) },
    }),
  },
  {
    id: 'address-lost-by-second-refresh',
    breaks: 'refresh/address-kept',
    needsState: true,
    create: () => ({ rules: { refreshedAddresses: (old) => (old.generation === 0 ? old.addresses : []) } }),
  },
  {
    id: 'session-lost-by-second-refresh',
    breaks: 'refresh/session-kept',
    needsState: true,
    create: () => ({ rules: { refreshedSession: (old) => (old.generation === 0 ? old.session : undefined) } }),
  },
  {
    id: 'token-type-in-lower-case-on-refresh',
    breaks: 'refresh/result',
    create: () => ({ rules: { refreshResult: (result) => ({ ...result, tokenType: 'bearer' }) } }),
  },
  {
    id: 'refresh-expiry-missing-after-second-refresh',
    breaks: 'refresh/result',
    needsState: true,
    create: () => ({
      rules: {
        refreshResult: (result, old) => {
          const { refreshTokenExpiry, ...rest } = result
          return old.generation === 0 ? { ...rest, refreshTokenExpiry } : rest
        },
      },
    }),
  },
  {
    id: 'refresh-token-refused-an-hour-after-access-expiry',
    breaks: 'refresh/after-access-expiry',
    needsState: true,
    create: () => ({
      rules: {
        refreshExpired: (pair, nowMs) => right.refreshExpired(pair, nowMs) || nowMs >= pair.accessExpiryMs + hourMs,
      },
    }),
  },
  {
    id: 'grant-clears-pairs-with-expired-access-token',
    breaks: 'refresh/after-access-expiry',
    needsState: true,
    about: 'A grant cleans up: it drops every pair whose access token expired, with its refresh token.',
    create: () => {
      const seen = watch(() => ({ dropped: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result) => {
            for (const { pair } of seen.context.state.tokens.values())
              if (pair.accessExpiryMs <= seen.nowMs) seen.memory.dropped.add(pair.id)
            return result
          },
          refreshExpired: (pair, nowMs) => right.refreshExpired(pair, nowMs) || seen.memory.dropped.has(pair.id),
        },
      }
    },
  },
  {
    id: 'refresh-in-session-needs-authorization-header',
    breaks: 'grants/no-authorization-header',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          authorizationRequired: (method) =>
            right.authorizationRequired(method) || shownPair(seen)?.session !== undefined,
        },
      }
    },
  },
  {
    id: 'second-refresh-needs-scope',
    breaks: 'refresh/no-scope',
    needsState: true,
    create: () => {
      const seen = watch()
      return { around: seen.around, rules: { refreshNeedsScope: () => (shownPair(seen)?.generation ?? 0) > 0 } }
    },
  },
]
