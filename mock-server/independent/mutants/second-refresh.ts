import type { MockAnswer } from '../../http-server.ts'
import { rules as right } from '../../rules.ts'
import { answerFor, answerThrough, isAccepted, mergeInFlight, paramsOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 3 and 4.2: the new pair of a refresh, and the end of the old one. */
export const secondRefreshMutants: IndependentMutant[] = [
  {
    // "a new pair of access token and refresh token is issued"
    id: 'refreshes-in-flight-merged-by-key',
    breaks: 'refresh/new-pair',
    needsState: true,
    about: 'Refreshes of one API key that are in flight together all get the pair of the first.',
    create: () => ({
      around: mergeInFlight((request, context) => {
        const { grantType, refreshToken } = paramsOf(request)
        return grantType === 'refresh_token' ? context.state.tokens.get(String(refreshToken))?.pair.key.id : undefined
      }),
    }),
  },
  {
    // "old pair revoked"
    id: 'tokens-alternate-between-two-texts',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'The second refresh gives the tokens of the first grant again, which so come back to life.',
    create: () => {
      const seen = watch(() => ({ texts: new Map<string, { access: string; refresh: string }>() }))
      return {
        around: seen.around,
        rules: {
          tokenText: (kind, fresh, old) => {
            if (old === undefined) return fresh
            const { texts } = seen.memory
            texts.set(old.id, { access: old.accessToken, refresh: old.refreshToken })
            return texts.get(old.parent ?? '')?.[kind] ?? fresh
          },
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'refresh-after-access-expiry-loses-address',
    breaks: 'refresh/address-kept',
    needsState: true,
    about: 'The address is read from the access token, which has gone by then.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { refreshedAddresses: (old) => (seen.nowMs >= old.accessExpiryMs ? [] : old.addresses) },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'refresh-moves-address-to-that-of-its-caller',
    breaks: 'refresh/address-kept',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshedAddresses: (old) =>
            old.addresses.length > 0 ? [seen.request.remoteAddress.replace(/^::ffff:/, '')] : [],
        },
      }
    },
  },
  {
    // "Token limited to the Solution API"
    id: 'refreshed-scope-is-that-of-latest-grant-of-key',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    about: 'The granted scope is kept by key, so a grant for another purpose changes all later refreshes.',
    create: () => {
      const seen = watch(() => ({ scopes: new Map<string, string[]>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            seen.memory.scopes.set(pair.key.id, pair.scope)
            return result
          },
          refreshedScope: (old) => seen.memory.scopes.get(old.key.id) ?? old.scope,
          refreshedScopeEcho: (old) => seen.memory.scopes.get(old.key.id) ?? old.scopeEcho,
        },
      }
    },
  },
  {
    // "Tokens are bound to the session"
    id: 'refreshed-pair-joins-newest-session',
    breaks: 'refresh/session-kept',
    needsState: true,
    about: 'The session is looked up by its user, and the newest one is found.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshedSession: (old) =>
            old.session && (seen.context.state.sessions.get(old.session.user)?.at(-1) ?? old.session),
        },
      }
    },
  },
  {
    // "With `refresh_token`, a new pair is returned and the old pair is revoked"
    id: 'old-access-token-ends-at-first-use-of-new-one',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'In case the answer of the refresh was lost, the old access token works until the new one is used.',
    create: () => {
      const seen = watch(() => ({ replaced: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            if (pair.parent !== undefined) seen.memory.replaced.add(pair.parent)
            return right.accessExpired(pair, nowMs)
          },
          revokedTokenWorks: (kind, pair) => kind === 'access' && !seen.memory.replaced.has(pair.id),
        },
      }
    },
  },
  {
    // "With `refresh_token`, a new pair is returned and the old pair is revoked"
    id: 'refresh-repeated-within-two-seconds-gives-same-pair',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ answers: new Map<string, { untilMs: number; answer: MockAnswer }>() }))
      const refreshToken = (request: Parameters<typeof paramsOf>[0]) => String(paramsOf(request).refreshToken)
      return {
        around: (handle, context) => {
          const inner = answerThrough((answer, request) => {
            const kept = { untilMs: context.now() + 2000, answer }
            if (isAccepted(answer)) seen.memory.answers.set(refreshToken(request), kept)
            return answer
          })(seen.around(handle, context), context)
          return (request) => {
            if (paramsOf(request).grantType !== 'refresh_token') return handle(request)
            const kept = seen.memory.answers.get(refreshToken(request))
            return kept && context.now() < kept.untilMs ? answerFor(kept.answer, request) : inner(request)
          }
        },
      }
    },
  },
  {
    // "With `refresh_token`, a new pair is returned and the old pair is revoked"
    id: 'refresh-after-access-expiry-leaves-old-refresh-token',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'The pair to revoke is found by its access token, which has gone by then.',
    create: () => ({
      rules: {
        revokedTokenWorks: (kind, pair) => kind === 'refresh' && (pair.revokedMs ?? 0) >= pair.accessExpiryMs,
      },
    }),
  },
  {
    // "An access token has a time-to-live and can be renewed with its refresh token"
    id: 'second-refresh-drops-apikey',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    about: 'The scope apikey is still reported, but no longer in force.',
    create: () => ({
      rules: {
        refreshedScope: (old) =>
          old.generation > 0 ? old.scope.filter((scope) => scope !== 'apiKey') : right.refreshedScope(old),
      },
    }),
  },
]
