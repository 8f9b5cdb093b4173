import { rules as right } from '../../rules.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** The `scope` that a body requests; empty without one. */
function scopeOf(body: Buffer): string[] {
  try {
    const { scope } = JSON.parse(body.toString()).params
    return Array.isArray(scope) ? scope : []
  } catch {
    return []
  }
}

/** Parts 2 and 5.4: the scopes of tokens and keys. */
export const scopeMutants: IndependentMutant[] = [
  {
    id: 'stream-scope-opens-solution',
    breaks: 'scopes/stream',
    create: () => ({
      rules: { scopeOpens: (scope, area) => right.scopeOpens(scope === 'stream' ? 'solution' : scope, area) },
    }),
  },
  {
    id: 'inbox-scope-creates-keys',
    breaks: 'scopes/inbox',
    create: () => ({
      rules: {
        scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (scope === 'inbox' && area === 'manager'),
      },
    }),
  },
  {
    id: 'context-and-thread-scopes-together-open-solution',
    breaks: 'scopes/context',
    about: 'The areas are flags that are added, and the sum of two is the flag of a third.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) => {
            const scopes = seen.pair?.scope ?? []
            return !(area === 'solution' && scopes.includes('context') && scopes.includes('thread'))
          },
        },
      }
    },
  },
  {
    id: 'token-creates-keys-with-scope-of-its-key',
    breaks: 'scopes/solution',
    about: 'manager/createApiKey looks at the scope of the key behind a token.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) =>
            !(area === 'manager' && seen.pair?.key.scope.some((scope) => scope.toLowerCase() === 'apikey')),
        },
      }
    },
  },
  {
    id: 'opened-area-cached-for-key',
    breaks: 'scopes/context',
    needsState: true,
    about: 'Once a token opened an area, the other tokens of its key open it for a second too.',
    create: () => {
      const seen = watch(() => ({ openedMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) => {
            const { openedMs } = seen.memory
            if (seen.pair === undefined) return right.scopeOpens(scope, area)
            const cell = `${seen.pair.key.id} ${area}`
            if (right.scopeOpens(scope, area)) {
              openedMs.set(cell, seen.nowMs)
              return true
            }
            return seen.nowMs - (openedMs.get(cell) ?? Number.NEGATIVE_INFINITY) < 1000
          },
        },
      }
    },
  },
  {
    id: 'scope-of-previous-token-used-on-same-connection',
    breaks: 'scopes/context',
    needsState: true,
    about: 'The scope of the first token on a connection holds for all later tokens on it.',
    create: () => {
      const seen = watch(() => ({ scopes: new Map<number, string[]>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeNeeded: (_method, area) => {
            const { connection } = seen.request
            if (connection === undefined || seen.pair === undefined) return true
            const first = seen.memory.scopes.get(connection)
            if (first === undefined) seen.memory.scopes.set(connection, seen.pair.scope)
            return !first?.some((scope) => right.scopeOpens(scope, area))
          },
        },
      }
    },
  },
  {
    id: 'fifth-scope-and-later-dropped',
    breaks: 'scopes/area-opens',
    create: () => ({ rules: { grantedScope: (asked) => asked.slice(0, 4) } }),
  },
  {
    id: 'solution-scope-lost-next-to-solution-id',
    breaks: 'scopes/area-opens',
    about: 'With solution:SOLUTION_ID in the list, `solution` is dropped as the wider one.',
    create: () => ({
      rules: {
        grantedScope: (asked) =>
          asked.some((scope) => scope.startsWith('solution:')) ? asked.filter((scope) => scope !== 'solution') : asked,
      },
    }),
  },
  {
    id: 'one-scope-of-key-brings-in-all-others',
    breaks: 'scopes/within-key',
    about: 'A grant is refused only when no scope of the list is one of the key (`some` for `every`).',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) ||
            scopeOf(seen.request.body).some((other) => keyScope.includes(other)),
        },
      }
    },
  },
  {
    id: 'rare-areas-granted-beyond-key',
    breaks: 'scopes/within-key',
    about: 'thread, store, inbox and stream are not compared with the scope of the key.',
    create: () => ({
      rules: {
        scopeWithinKey: (scope, keyScope, profile) =>
          ['thread', 'store', 'inbox', 'stream'].includes(scope) || right.scopeWithinKey(scope, keyScope, profile),
      },
    }),
  },
  {
    id: 'second-grant-of-narrow-key-gets-any-scope',
    breaks: 'scopes/within-key',
    needsState: true,
    about: 'A key that had a grant within its scope is not compared again.',
    create: () => {
      const seen = watch(() => ({ trusted: new Set<string>() }))
      let current = ''
      return {
        around: seen.around,
        rules: {
          secretsOf: (key) => {
            current = key.id
            return [key.secret]
          },
          grantResult: (result, pair) => {
            seen.memory.trusted.add(pair.key.id)
            return result
          },
          scopeWithinKey: (scope, keyScope, profile) =>
            right.scopeWithinKey(scope, keyScope, profile) || seen.memory.trusted.has(current),
        },
      }
    },
  },
  {
    id: 'scope-of-narrow-public-key-not-checked',
    breaks: 'keys/scope-held',
    create: () => ({ rules: { keyScopeHolds: (means) => means !== 'ecc' } }),
  },
  {
    id: 'scope-of-first-key-with-same-name-used',
    breaks: 'keys/scope-held',
    needsState: true,
    about: 'Scopes are cached by the name of the key, so a second key gets the scope of the first.',
    create: () => {
      const seen = watch(() => ({ scopes: new Map<string, string[]>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            const { scopes } = seen.memory
            const scope = scopes.get(key.name) ?? key.scope
            scopes.set(key.name, scope)
            return { ...key, scope }
          },
        },
      }
    },
  },
  {
    id: 'signed-key-creation-needs-no-scope',
    breaks: 'keys/apikey-scope',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          scopeNeeded: (method) =>
            method !== 'manager/createApiKey' ||
            !seen.request.headers.authorization?.startsWith(seen.context.profile.scheme),
        },
      }
    },
  },
  {
    id: 'fourth-scope-of-key-and-later-dropped',
    breaks: 'keys/created-key-works',
    about: 'The documented example has three scopes, and the server stores no more.',
    create: () => ({ rules: { storedKey: (key) => ({ ...key, scope: key.scope.slice(0, 3) }) } }),
  },
  {
    id: 'solution-id-compared-by-prefix',
    breaks: 'scopes/solution-id',
    create: () => ({
      rules: {
        solutionReached: (scopes, solution) =>
          right.solutionReached(scopes, solution) ||
          scopes.some((scope) => scope.length > 9 && `solution:${solution}`.startsWith(scope)),
      },
    }),
  },
  {
    id: 'solution-any-lost-next-to-solution-id',
    breaks: 'scopes/solution-any',
    create: () => ({
      rules: {
        solutionReached: (scopes, solution) => {
          const ids = scopes.filter((scope) => scope.startsWith('solution:') && scope !== 'solution:*')
          return right.solutionReached(ids.length > 0 ? ids : scopes, solution)
        },
      },
    }),
  },
  {
    id: 'store-scope-creates-keys',
    breaks: 'scopes/store',
    create: () => ({
      rules: {
        scopeOpens: (scope, area) => right.scopeOpens(scope, area) || (scope === 'store' && area === 'manager'),
      },
    }),
  },
  {
    id: 'thread-scope-opens-solution-after-refresh',
    breaks: 'scopes/thread',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) =>
            right.scopeOpens(scope, area) ||
            (scope === 'thread' && area === 'solution' && (seen.pair?.generation ?? 0) > 0),
        },
      }
    },
  },
]
