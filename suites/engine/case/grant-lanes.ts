/**
 * Which grants may be under way at once. A server may miscount simultaneous grants and keep too many sessions. So grants of one user are
 * made one at a time, except in a race and for grants that must be refused.
 */
import type { CallSpec } from './call-spec.ts'

export type Lane =
  /** `named`: it asks for a session. */
  | { kind: 'grant'; user: string; named: boolean }
  | { kind: 'refresh' }
  /** Calls that are deliberately made at once. */
  | { kind: 'race' }

export interface GrantLanes {
  /** Makes a grant as soon as no conflicting grant is under way or waiting before it. */
  run<T>(lane: Lane, grant: () => Promise<T>): Promise<T>
}

/** The lane of calls that are made together; undefined for calls that need no lane. */
export function laneOf(specs: readonly CallSpec[]): Lane | undefined {
  const [first] = specs
  if (first === undefined || !specs.some(({ method }) => method === 'manager/auth')) return undefined
  if (specs.length > 1) return { kind: 'race' }
  if (first.mustBeRefused) return undefined
  const params = (typeof first.params === 'object' && first.params !== null ? first.params : {}) as {
    [name: string]: unknown
  }
  if (params.grantType === 'refresh_token') return { kind: 'refresh' }
  const scope: unknown[] = Array.isArray(params.scope) ? params.scope.flat() : []
  const named = scope.some((word) => typeof word === 'string' && word.startsWith('session:'))
  return { kind: 'grant', user: String(params.apiKeyId), named }
}

/** Whether two grants conflict: they must not be under way at once. */
export function meet(one: Lane, other: Lane): boolean {
  if (one.kind === 'race' || other.kind === 'race') return true
  if (one.kind === 'refresh') return other.kind === 'refresh' || other.named
  if (other.kind === 'refresh') return one.named
  return one.user === other.user
}

export function createGrantLanes(): GrantLanes {
  const underWay = new Set<Lane>()
  let waiting: { lane: Lane; start: () => void }[] = []
  /** Starts grants in their order: no grant overtakes one that it conflicts with. */
  const startNext = (): void => {
    const left: typeof waiting = []
    for (const entry of waiting) {
      const isBlocked = [...underWay, ...left.map(({ lane }) => lane)].some((other) => meet(entry.lane, other))
      if (isBlocked) left.push(entry)
      else {
        underWay.add(entry.lane)
        entry.start()
      }
    }
    waiting = left
  }
  return {
    run: async (lane, grant) => {
      // A new object, so that equal lanes can be told apart.
      const mine = { ...lane }
      await new Promise<void>((start) => {
        waiting.push({ lane: mine, start })
        startNext()
      })
      try {
        return await grant()
      } finally {
        underWay.delete(mine)
        startNext()
      }
    },
  }
}
