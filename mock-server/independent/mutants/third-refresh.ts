import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { answerThrough, isAccepted, meet, paramsOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 3, 4.2 and 5.3: renewal of tokens, and what it ends. */
export const thirdRefreshMutants: IndependentMutant[] = [
  {
    // "a new pair is returned and the old pair is revoked"
    id: 'refused-second-refresh-undoes-revocation',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'A used refresh token is refused, and what was changed for its pair is rolled back too far.',
    create: () => ({
      around: answerThrough((answer, request, { state }) => {
        const { refreshToken } = paramsOf(request)
        const token = isAccepted(answer) ? undefined : state.tokens.get(String(refreshToken))
        if (token?.kind === 'refresh' && token.pair.refreshRevoked) token.pair.accessRevoked = false
        return answer
      }),
    }),
  },
  {
    // "the old pair is revoked"
    id: 'access-token-that-was-never-used-survives-refresh',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'An access token gets its record, in which the revocation is noted, at its first use.',
    create: () => {
      const seen = watch(() => ({ used: new WeakSet<TokenPair>(), kept: new WeakSet<TokenPair>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            seen.memory.used.add(pair)
            return right.accessExpired(pair, nowMs)
          },
          refreshResult: (result, old) => {
            if (!seen.memory.used.has(old)) seen.memory.kept.add(old)
            return result
          },
          revokedTokenWorks: (kind, pair) => kind === 'access' && seen.memory.kept.has(pair),
        },
      }
    },
  },
  {
    // "the old pair is revoked"
    id: 'access-token-refreshed-in-its-first-millisecond-lives-on',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'Tokens issued before the moment of the refresh are revoked, and not those of the same millisecond.',
    create: () => ({
      rules: { revokedTokenWorks: (kind, pair) => kind === 'access' && pair.revokedMs === pair.issuedMs },
    }),
  },
  {
    // "a new pair of access token and refresh token is issued"; `scope` is not sent, so that it cannot change
    id: 'apikey-lost-by-refresh-after-access-expiry',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    create: () => {
      const seen = watch()
      const kept = (old: TokenPair, scope: string[]) =>
        seen.nowMs < old.accessExpiryMs ? scope : scope.filter((word) => word !== 'apiKey')
      return {
        around: seen.around,
        rules: {
          refreshedScope: (old) => kept(old, old.scope),
          refreshedScopeEcho: (old) => kept(old, old.scopeEcho),
        },
      }
    },
  },
  {
    // "thread | Token limited to the Thread API", for each of two renewals
    id: 'refreshes-in-flight-share-scopes',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    about: 'The pair to renew is kept in a variable of the server while a refresh waits.',
    create: () => {
      let last: TokenPair | undefined
      return {
        rules: {
          tokenNamed: (text, find, _all, use) => {
            const found = find(text)
            if (use === 'refresh' && found !== undefined) last = found.pair
            return found
          },
          beforeEffect: (effect) => (effect === 'refresh' ? meet() : undefined),
          refreshedScope: (old) => (last ?? old).scope,
          refreshedScopeEcho: (old) => (last ?? old).scopeEcho,
        },
      }
    },
  },
  {
    // "the old pair is revoked", and no other
    id: 'refresh-ends-pairs-of-other-grants-with-same-scope',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'Pairs are stored by key and scope when they are revoked.',
    create: () => ({
      rules: {
        endedBesideRefresh: (all, old) =>
          all().filter(
            ({ key, family, scope }) =>
              key === old.key && family !== old.family && scope.join(' ') === old.scope.join(' '),
          ),
      },
    }),
  },
  {
    // "the old pair is revoked"
    id: 'revocation-known-to-one-of-two-workers',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'Connections go to two workers in turn, and the one that did not see the refresh goes on with the old pair.',
    create: () => {
      const seen = watch(() => ({ workers: new WeakMap<TokenPair, number>() }))
      const worker = () => (seen.request.connection ?? 0) % 2
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            seen.memory.workers.set(old, worker())
            return result
          },
          revokedTokenWorks: (_kind, pair) => (seen.memory.workers.get(pair) ?? worker()) !== worker(),
        },
      }
    },
  },
  {
    // "the old pair is revoked"
    id: 'old-refresh-token-works-when-successor-has-expired',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'The note of the revocation is deleted together with the access token that took the place of the old one.',
    create: () => {
      const seen = watch(() => ({ untilMs: new WeakMap<TokenPair, number>() }))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            seen.memory.untilMs.set(old, result.accessTokenExpiry)
            return result
          },
          revokedTokenWorks: (kind, pair) =>
            kind === 'refresh' && seen.nowMs >= (seen.memory.untilMs.get(pair) ?? Number.POSITIVE_INFINITY),
        },
      }
    },
  },
  {
    // The result: "scope | array of string | Scopes granted"
    id: 'refresh-reports-scopes-of-previous-refresh',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    about: 'The answer is built in a record that is used again, and the scopes are put in after it was sent.',
    create: () => {
      const seen = watch((): { last?: string[] } => ({}))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result) => {
            const scope = seen.memory.last ?? result.scope
            seen.memory.last = result.scope
            return { ...result, scope }
          },
        },
      }
    },
  },
]
