import { isIPv4 } from 'node:net'
import type { MockRequest } from '../../http-server.ts'
import type { TokenPair } from '../../state.ts'
import { paramsOf, readMembers, scopeOf, withMembers } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { type Watch, watch } from '../watch.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** The pair that the request being answered wants to refresh. */
function pairToRefresh({ request, context }: Watch<object>): TokenPair | undefined {
  const { grantType, refreshToken } = paramsOf(request)
  return grantType === 'refresh_token' ? context.state.tokens.get(String(refreshToken))?.pair : undefined
}

/** A refresh gives a new lifetime only when half of the old one is over. */
export function slidingRefreshLife(): ReturnType<NonNullable<IndependentVariant['create']>> {
  const seen = watch()
  return {
    around: seen.around,
    rules: {
      refreshLifeMs: ({ refreshLifeMs }) => {
        const leftMs = (pairToRefresh(seen)?.refreshExpiryMs ?? 0) - seen.nowMs
        return leftMs > refreshLifeMs / 2 ? leftMs : refreshLifeMs
      },
    },
  }
}

/** An IPv4 address in the forms of inet_aton, such as 127.1, 0x7f000001 and 0177.0.0.1, in the usual form. */
function usualAddress(text: string): string | undefined {
  if (!/^(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+)){0,3}$/i.test(text)) return undefined
  try {
    return new URL(`http://${text}/`).hostname
  } catch {
    return undefined
  }
}

/** Brings the addresses of a grant into the usual form. */
const readAddressesLikeOldLibraries: Around = (handle) => (request) => {
  const odd = (word: string) => word.startsWith('ipAddr:') && !isIPv4(word.slice(7))
  if (!isMethod(request, 'manager/auth') || !scopeOf(request).some(odd)) return handle(request)
  const scope = scopeOf(request).map((word) => (odd(word) ? `ipAddr:${usualAddress(word.slice(7)) ?? ''}` : word))
  const members = readMembers(request.body.toString('utf8'))
  return handle(withMembers(request, { ...members, params: { ...paramsOf(request), scope } }))
}

/** Keys with the same scope are one user; written in any order. */
export const sessionUserByScope = ({ scope }: { scope: string[] }): string => `scope ${[...scope].sort().join(' ')}`

const namesSolution = (word: unknown, ids: ReadonlySet<string>): boolean =>
  typeof word !== 'string' || !word.startsWith('solution:') || word === 'solution:*' || ids.has(word.slice(9))

/** Whether every `solution:ID` of a request names a solution of the server. */
export const solutionsExist = ({ context }: Watch<object>, scope: unknown): boolean =>
  !Array.isArray(scope) || scope.every((word) => namesSolution(word, new Set(context.state.solutions.keys())))

const withOfflineAccess = <T extends { scope: string[] }>(result: T): T => ({
  ...result,
  scope: ['offline_access', ...result.scope],
})

const isForKeys = (scope: string[]): boolean => scope.some((word) => word.toLowerCase() === 'apikey')
const isBound = (request: MockRequest): boolean => scopeOf(request).some((word) => word.startsWith('ipAddr:'))

/** The creation time of the session that a grant names, of those of its key. */
function createdMsOfNamed({ request, context }: Watch<object>): number {
  const name = scopeOf(request)
    .find((word) => word.startsWith('session:'))
    ?.slice(8)
  const sessions = context.state.sessions.get(String(paramsOf(request).apiKeyId)) ?? []
  return sessions.findLast((session) => session.name === name && !session.removed)?.createdMs ?? 0
}

/** Parts 2, 3, 4.2, 5.3 and 5.4: tokens, lifetimes, refreshes, sessions, addresses and scopes. */
export const seventhTokenVariants: IndependentVariant[] = [
  // Part 4.2 says that both tokens are strings; that one of them says nothing about the other is not said.
  {
    id: 'access-token-begins-with-its-refresh-token',
    questions: ['tokens/format'],
    about: 'The refresh token is the first 32 letters of the access token of its pair.',
    create() {
      let access = ''
      return {
        rules: {
          tokenText: (kind, fresh) => {
            if (kind === 'refresh') return access.slice(0, 32)
            access = fresh
            return fresh
          },
        },
      }
    },
  },
  // Part 4.2 says that tokens are strings and not which; a counter gives each of them once.
  {
    id: 'tokens-count-up-in-hundreds',
    questions: ['tokens/format', 'keys/record'],
    about: 'Tokens and the ids of keys are numbers of one sequence.',
    create() {
      let last = 600_000_000_000
      const next = () => {
        last += 100
        return String(last)
      }
      return { rules: { tokenText: next, keyId: next } }
    },
  },
  // Part 8 does not show default lifetimes, so they may depend on what a token can do; expiresIn holds as documented.
  {
    id: 'tokens-that-manage-keys-live-for-a-minute',
    questions: ['limits/token-lifetimes', 'refresh/expires-in-kept'],
    about: 'An access token with apiKey lives for a minute, another for six hours, also after a refresh.',
    profile: { expiresInKept: false },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs) =>
            expiresInMs ?? (isForKeys(pairToRefresh(seen)?.scope ?? scopeOf(seen.request)) ? minute : 6 * hour),
        },
      }
    },
  },
  // Part 8 does not show lifetimes of refresh tokens; NUMBER is held against that of the refresh token of this grant.
  {
    id: 'tokens-bound-to-an-address-live-for-a-month',
    questions: ['limits/token-lifetimes', 'refresh/lifetime-renewed'],
    about: 'A bound pair lives for a day and a month, another for ten minutes and an hour.',
    create() {
      const seen = watch()
      const bound = () => (pairToRefresh(seen)?.addresses.length ?? 0) > 0 || isBound(seen.request)
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs) => expiresInMs ?? (bound() ? day : 10 * minute),
          refreshLifeMs: () => (bound() ? 30 * day : hour),
        },
      }
    },
  },
  // Part 3 gives a new pair for a refresh token, and part 8 does not show when the new one ends.
  {
    id: 'refresh-lifetime-slides-when-half-of-it-is-over',
    questions: ['refresh/lifetime-renewed', 'limits/token-lifetimes'],
    about:
      'A refresh token lives for two hours. A refresh in the first hour keeps its end; a later one starts two new hours.',
    profile: { refreshLifeMs: 2 * hour },
    create: slidingRefreshLife,
  },
  // Part 4.2 lists "scopes granted", and the words of scopes are not closed; this one opens no API area of part 5.4.
  {
    id: 'scope-of-result-begins-with-offline-access',
    questions: ['grants/scope-echo', 'grants/unknown-scope'],
    about: 'Every pair is granted the word for having a refresh token; unknown words are left out.',
    profile: { unknownScopes: 'left-out' },
    create: () => ({ rules: { grantResult: withOfflineAccess, refreshResult: withOfflineAccess } }),
  },
  // Part 5.4 says "the IPv4 address ADDR" and not in which notation; the token is bound to the address that is meant.
  {
    id: 'addresses-in-any-form-of-inet-aton-taken',
    questions: ['addresses/forms', 'refresh/foreign-address'],
    about: '127.1, 2130706433 and 0x7f.0.0.1 are all 127.0.0.1, and a refresh must come from there too.',
    profile: { refreshChecksAddress: true },
    create: () => ({ around: readAddressesLikeOldLibraries }),
  },
  // Part 2 gives a user up to 16 sessions and does not say who a user is, nor what a name does that comes again.
  {
    id: 'keys-with-the-same-scope-are-one-user',
    questions: ['sessions/user', 'sessions/reused-name'],
    about: 'A role is a list of scopes and has sixteen sessions; two of them may have one name.',
    profile: { reusedSessionName: 'adds' },
    create: () => ({ rules: { sessionUser: sessionUserByScope } }),
  },
  // Part 5.4 speaks of "the given solution"; what a grant for a solution that is not there does is not shown.
  {
    id: 'solution-scope-needs-a-solution-that-exists',
    questions: ['grants/unknown-scope', 'scopes/solution-id-from-any'],
    about: 'A grant of solution:ID is refused when there is no such solution, and unknown words are left out.',
    profile: { unknownScopes: 'left-out' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          paramTaken: (method, name, value, valid) =>
            valid && (method !== 'manager/auth' || name !== 'scope' || solutionsExist(seen, value)),
        },
      }
    },
  },
  // Part 5.4 does not say what the name of a live session does in another grant.
  {
    id: 'session-name-joins-for-a-minute-and-replaces-later',
    questions: ['sessions/reused-name', 'sessions/age'],
    about: 'A grant joins the session of its name while that is young and replaces an older one; unused ones leave.',
    profile: { oldestSession: 'longest-unused' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          reusedSessionName: () => (seen.nowMs - createdMsOfNamed(seen) < minute ? 'joins' : 'replaces'),
        },
      }
    },
  },
]
