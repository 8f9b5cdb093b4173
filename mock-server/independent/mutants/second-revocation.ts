import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const minute = 60_000

/** Parts 3, 4.2 and 5.3: "the old pair is revoked on renewal", and no other. */
export const secondRevocationMutants: IndependentMutant[] = [
  {
    // "the old pair is revoked on renewal"
    id: 'one-revoked-access-token-remembered-for-each-key',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'The list of revoked tokens has one entry for each API key; the next refresh overwrites it.',
    create: () => {
      const seen = watch(() => ({ latest: new Map<string, string>() }))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            seen.memory.latest.set(old.key.id, old.id)
            return result
          },
          revokedTokenWorks: (kind, pair) => kind === 'access' && seen.memory.latest.get(pair.key.id) !== pair.id,
        },
      }
    },
  },
  {
    // "the old pair is revoked on renewal"
    id: 'sixteen-revoked-refresh-tokens-remembered',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'The list of revoked tokens has sixteen entries for all keys together.',
    create: () => {
      const seen = watch((): { revoked: string[] } => ({ revoked: [] }))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            seen.memory.revoked = [...seen.memory.revoked, old.id].slice(-16)
            return result
          },
          revokedTokenWorks: (kind, pair) => kind === 'refresh' && !seen.memory.revoked.includes(pair.id),
        },
      }
    },
  },
  {
    // "the old pair is revoked on renewal"
    id: 'revocation-forgotten-after-a-minute',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'Entries of the list of revoked tokens live shorter than the tokens.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          revokedTokenWorks: (kind, pair) => kind === 'access' && seen.nowMs - (pair.revokedMs ?? seen.nowMs) >= minute,
        },
      }
    },
  },
  {
    // "the old pair is revoked on renewal"
    id: 'grant-clears-revocations-of-its-key',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'The old access token works again after the next grant for the same key.',
    create: () => {
      const seen = watch(() => ({ revoked: new Map<string, Set<string>>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            seen.memory.revoked.delete(pair.key.id)
            return result
          },
          refreshResult: (result, old) => {
            const { revoked } = seen.memory
            revoked.set(old.key.id, (revoked.get(old.key.id) ?? new Set()).add(old.id))
            return result
          },
          revokedTokenWorks: (kind, pair) =>
            kind === 'access' && seen.memory.revoked.get(pair.key.id)?.has(pair.id) !== true,
        },
      }
    },
  },
  {
    // "the old pair is revoked on renewal"
    id: 'revoked-access-token-still-creates-keys',
    breaks: 'refresh/revokes-access',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { revokedTokenWorks: (kind) => kind === 'access' && seen.bodyHas('manager/createApiKey') },
      }
    },
  },
  {
    // "the old pair is revoked on renewal"
    id: 'revoked-access-token-works-where-it-was-used',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'A connection remembers the access tokens that it has checked.',
    create: () => {
      const seen = watch(() => ({ used: new Set<string>() }))
      const place = (id: string) => `${seen.request.connection} ${id}`
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            if (seen.request.connection !== undefined) seen.memory.used.add(place(pair.id))
            return right.accessExpired(pair, nowMs)
          },
          revokedTokenWorks: (kind, pair) => kind === 'access' && seen.memory.used.has(place(pair.id)),
        },
      }
    },
  },
  {
    // "old pair revoked": no other pair
    id: 'refresh-ends-session-of-same-name-of-other-key',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'A refresh revokes the pairs of all sessions with that name, also those of other keys.',
    create: () => ({
      rules: {
        endedBesideRefresh: (all, old) =>
          old.session?.name === undefined
            ? []
            : all().filter(({ session, key }) => session?.name === old.session?.name && key !== old.key),
      },
    }),
  },
]
