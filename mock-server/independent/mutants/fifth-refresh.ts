import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { pairsOf } from '../../token-state.ts'
import { paramsOf, readMembers, withMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Undoes a part of what a refresh has just revoked. */
const leave = (isLeft: (old: TokenPair) => boolean, part: 'accessRevoked' | 'refreshRevoked') => ({
  rules: {
    endedBesideRefresh: (_all: unknown, old: TokenPair): TokenPair[] => {
      if (isLeft(old)) old[part] = false
      return []
    },
  },
})

/** Part 3, and `refresh_token` of part 4.2. */
export const fifthRefreshMutants: IndependentMutant[] = [
  {
    // "a new pair is returned and the old pair is revoked"
    id: 'old-refresh-token-works-until-new-pair-is-used',
    breaks: 'refresh/revokes-refresh',
    about: 'A client that did not get the answer may ask again.',
    create: () => {
      const seen = watch(() => ({ used: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            seen.memory.used.add(pair.id)
            return right.accessExpired(pair, nowMs)
          },
          refreshResult: (result, old) => {
            seen.memory.used.add(old.id)
            return result
          },
          revokedTokenWorks: (kind, { id }) =>
            kind === 'refresh' &&
            !pairsOf(seen.context).some((pair) => pair.parent === id && seen.memory.used.has(pair.id)),
        },
      }
    },
  },
  {
    // "`refresh_token` | refreshToken | string | yes": no other param
    id: 'refresh-needs-id-of-key',
    breaks: 'refresh/new-pair',
    create: () => ({
      around: (handle) => (request) => {
        const { apiKeyId, refreshToken, ...others } = paramsOf(request)
        if (others.grantType !== 'refresh_token') return handle(request)
        const params = { ...others, ...(apiKeyId === undefined ? {} : { refreshToken }) }
        return handle(withMembers(request, { ...readMembers(request.body.toString('utf8')), params }))
      },
    }),
  },
  {
    // "old pair revoked"
    id: 'second-refresh-in-session-leaves-old-refresh-token',
    breaks: 'refresh/revokes-refresh',
    create: () => leave(({ session, generation }) => session !== undefined && generation === 1, 'refreshRevoked'),
  },
  {
    // "old pair revoked"
    id: 'refresh-leaves-old-access-token-with-apikey-scope',
    breaks: 'refresh/revokes-access',
    create: () => leave(({ scope }) => scope.includes('apiKey'), 'accessRevoked'),
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'refreshed-token-of-narrow-key-creates-keys',
    breaks: 'refresh/scopes-kept',
    create: () => ({
      rules: {
        refreshedScope: ({ key, scope }) =>
          key.scope.some((word) => /^apikey$/i.test(word)) ? scope : [...scope, 'apiKey'],
      },
    }),
  },
  {
    // "old pair revoked": for good
    id: 'first-access-token-works-again-after-second-refresh',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'Each refresh turns the mark of all earlier pairs of its grant over.',
    create: () => ({
      rules: {
        endedBesideRefresh: (all, old) => {
          const earlier = all().filter(({ family, generation }) => family === old.family && generation < old.generation)
          for (const pair of earlier) pair.accessRevoked = !pair.accessRevoked
          return []
        },
      },
    }),
  },
  {
    // "old pair revoked": that of the refresh token presented
    id: 'refresh-revokes-latest-pair-of-key-instead',
    breaks: 'refresh/revokes-access',
    needsState: true,
    create: () => ({
      rules: {
        endedBesideRefresh: (all, old) => {
          const latest = all().findLast(({ key }) => key === old.key)
          if (latest === undefined || latest === old) return []
          old.accessRevoked = false
          old.refreshRevoked = false
          return [latest]
        },
      },
    }),
  },
  {
    // "old pair revoked"
    id: 'refresh-behind-refused-refresh-revokes-nothing',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'The error of the refused refresh is still set when the old pair is to be revoked.',
    create: () => {
      const seen = watch(() => ({ failed: false }))
      return {
        around: seen.around,
        rules: {
          endedByRefusal: (_all, key) => {
            if (key === undefined) seen.memory.failed = true
            return []
          },
          endedBesideRefresh: (_all, old) => {
            if (seen.memory.failed) {
              old.accessRevoked = false
              old.refreshRevoked = false
            }
            seen.memory.failed = false
            return []
          },
        },
      }
    },
  },
]
