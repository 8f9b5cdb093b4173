/**
 * Which grants may be under way at once. A server may miscount simultaneous grants and keep too many sessions. So grants of one user are
 * made one at a time, except in a race and for grants that must be refused.
 */
import { membersOf } from '../json.ts'
import type { CallSpec } from './call-spec.ts'
import { unnamedAreFree } from './session-facts.ts'
import type { TargetFacts } from './target-facts.ts'

export type Lane =
  /** `named`: it names a session. `free`: only named grants take places among the sessions, and it has no name. */
  | { kind: 'grant'; user: string; named: boolean; free: boolean }
  | { kind: 'refresh'; free: boolean }
  /** Calls that are deliberately made at once. */
  | { kind: 'race' }

export interface GrantLanes {
  /**
   * Makes a grant as soon as no conflicting grant is under way or waiting before it.
   *
   * @param isUrgent whether it goes before those that wait and are not
   */
  run<T>(lane: Lane, grant: () => Promise<T>, isUrgent?: boolean): Promise<T>
  /** How many grants wait for others to end. */
  readonly waiting: number
  /** Tells this listener whenever a grant has to wait. */
  onWait(listener: () => void): void
}

/** The lane of calls that are made together; undefined for calls that need no lane. */
export function laneOf(specs: readonly CallSpec[], facts: TargetFacts): Lane | undefined {
  const [first] = specs
  if (first === undefined || !specs.some(({ method }) => method === 'manager/auth')) return undefined
  if (specs.length > 1) return { kind: 'race' }
  if (first.mustBeRefused) return undefined
  const params = membersOf(first.params)
  if (params.grantType === 'refresh_token') return { kind: 'refresh', free: unnamedAreFree(facts) }
  const scope: unknown[] = Array.isArray(params.scope) ? params.scope.flat() : []
  const named = scope.some((word) => typeof word === 'string' && word.startsWith('session:'))
  return { kind: 'grant', user: String(params.apiKeyId), named, free: !named && unnamedAreFree(facts) }
}

/** Whether two grants conflict: they must not be under way at once. */
export function lanesConflict(one: Lane, other: Lane): boolean {
  if (one.kind === 'race' || other.kind === 'race') return true
  if (one.free && other.free) return false
  if (one.kind === 'refresh') return !one.free && (other.kind === 'refresh' || other.named)
  if (other.kind === 'refresh') return !other.free && one.named
  return one.user === other.user
}

interface Waiting {
  lane: Lane
  isUrgent: boolean
  start(): void
}

const goesFirst = ({ lane, isUrgent }: Waiting): boolean => isUrgent || (lane.kind === 'grant' && lane.named)

export function createGrantLanes(): GrantLanes {
  const underWay = new Set<Lane>()
  let waiting: Waiting[] = []
  let listener = (): void => {}
  /**
   * Starts grants in their order, but those with sessions and urgent ones first, because most others wait for them. No grant overtakes one
   * that it conflicts with.
   */
  const startNext = (): void => {
    const left: typeof waiting = []
    for (const entry of [...waiting.filter(goesFirst), ...waiting.filter((one) => !goesFirst(one))]) {
      const isBlocked = [...underWay, ...left.map(({ lane }) => lane)].some((other) => lanesConflict(entry.lane, other))
      if (isBlocked) left.push(entry)
      else {
        underWay.add(entry.lane)
        entry.start()
      }
    }
    waiting = left
  }
  return {
    get waiting() {
      return waiting.length
    },
    onWait: (added) => {
      listener = added
    },
    run: async (lane, grant, isUrgent = false) => {
      // A new object, so that equal lanes can be told apart.
      const mine = { ...lane }
      await new Promise<void>((start) => {
        waiting.push({ lane: mine, isUrgent, start })
        startNext()
        if (!underWay.has(mine)) listener()
      })
      try {
        return await grant()
      } finally {
        underWay.delete(mine)
        // The caller that waited for this grant may make another one, which goes first.
        setImmediate(startNext)
      }
    },
  }
}
