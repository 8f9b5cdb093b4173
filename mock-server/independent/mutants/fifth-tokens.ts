import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { isAccepted, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

/** Part 5.3, and the API areas of part 5.4. */
export const fifthTokenMutants: IndependentMutant[] = [
  {
    // "Token limited to the Thread API."
    id: 'thread-token-creates-keys',
    breaks: 'scopes/thread',
    create: () => ({
      rules: {
        scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (area === 'manager' && scope === 'thread'),
      },
    }),
  },
  {
    // "A key has a scope (a list of scope strings) fixed at creation."
    id: 'last-entry-of-longer-scope-not-compared-with-key',
    breaks: 'scopes/within-key',
    about: 'The loop over the requested scopes ends one entry early.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeWithinKey: (scope, keyScope, profile) => {
            const requested = scopeOf(seen.request)
            const isLast = requested.length > 1 && requested.at(-1)?.toLowerCase() === scope.toLowerCase()
            return isLast || right.scopeWithinKey(scope, keyScope, profile)
          },
        },
      }
    },
  },
  {
    // "Obtained with `manager/auth` (part 4.2) and placed in the Authorization header of a call."
    id: 'second-half-of-access-token-not-compared',
    breaks: 'tokens/authorize',
    create: () => ({
      rules: {
        tokenNamed: (text, find, all, use) => {
          const half = Math.floor(text.length / 2)
          const isAlike = (other: string) => other.length === text.length && other.startsWith(text.slice(0, half))
          return find(text) ?? all().find((token) => use === 'access' && token.kind === use && isAlike(token.text))
        },
      },
    }),
  },
  {
    // "Token limited to the Solution API", and so on: no area holds the methods of the manager
    id: 'token-of-all-six-areas-creates-keys',
    breaks: 'keys/apikey-scope',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { ...seen.notePair, scopeNeeded: () => !areas.every((area) => seen.pair?.scope.includes(area)) },
      }
    },
  },
  {
    // "Token limited to the Stream API."
    id: 'stream-token-with-expires-in-lists-solutions',
    breaks: 'scopes/stream',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) =>
            right.scopeOpens(scope, area) ||
            (area === 'solution' && scope === 'stream' && seen.pair?.expiresInMs !== undefined),
        },
      }
    },
  },
  {
    // "Token limited to the Context API."
    id: 'token-in-session-of-created-key-has-scope-of-key',
    breaks: 'scopes/context',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) => {
            const { pair } = seen
            const isWide = pair?.session !== undefined && !pair.key.initial
            return !isWide || !pair.key.scope.some((word) => right.scopeOpens(word, area))
          },
        },
      }
    },
  },
  {
    // "`solution` | Token limited to the Solution API": it stays usable there until its expiry
    id: 'token-lists-no-solutions-once-it-created-a-key',
    breaks: 'scopes/area-opens',
    needsState: true,
    about: 'The scopes that the creation does not need are taken out of the stored list.',
    create: () => {
      const seen = watch()
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const answer = await inner(request)
            const { pair } = seen
            if (pair && isAccepted(answer) && isMethod(request, 'manager/createApiKey')) pair.scope = ['apiKey']
            return answer
          }
        },
        rules: seen.notePair,
      }
    },
  },
  {
    // "Token limited to the Inbox API", and so on
    id: 'third-call-beyond-scope-of-token-accepted',
    breaks: 'scopes/inbox',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ refused: new Map<TokenPair, number>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) => {
            const { pair } = seen
            if (pair === undefined || pair.scope.some((scope) => right.scopeOpens(scope, area))) return true
            const refused = (seen.memory.refused.get(pair) ?? 0) + 1
            seen.memory.refused.set(pair, refused)
            return refused < 3
          },
        },
      }
    },
  },
]
