/**
 * What a case needs for itself while it runs, which decides which cases may run at the same time. It follows from the case's needs and
 * steps alone.
 */
import type { Scenario, Step } from '../fixture/model.ts'
import type { Item } from './cases.ts'

export interface Claims {
  /** How many sessions it takes at most, if every grant takes one. Its tokens work until sixteen more sessions are taken. */
  grants: number
  /** It creates keys, or tries to. Such cases keep their order. */
  makesKeys: boolean
  /** The limit that it fills; meanwhile no other case may use what is limited. */
  fills: 'sessions' | 'keys' | null
  /** Why no call of another case may be under way at the same time. */
  quiet: 'race' | 'calls-in-a-row' | null
  /** It waits for a moment; other cases may run meanwhile. */
  waits: boolean
}

/** Why a case does not run beside every other one. */
export type AloneReason = 'makes-keys' | 'fills-sessions' | 'fills-keys' | 'race' | 'calls-in-a-row'

const known = new WeakMap<Scenario, Claims>()

export function claimsOf(item: Item): Claims {
  if (item.kind === 'test-key') return { grants: 0, makesKeys: true, fills: null, quiet: null, waits: false }
  const { scenario } = item
  const claims = known.get(scenario) ?? claimsOfScenario(scenario)
  known.set(scenario, claims)
  return claims
}

function claimsOfScenario(scenario: Scenario): Claims {
  const steps = [...scenario.given, ...scenario.steps]
  return {
    grants: steps.reduce((sum, step) => sum + grantsOf(step), 0),
    makesKeys: scenario.needs.includes('keys'),
    fills: limitOf(scenario) ?? null,
    quiet: steps.some((step) => 'parallel' in step) ? 'race' : steps.some(asksInARow) ? 'calls-in-a-row' : null,
    waits: steps.some((step) => 'wait' in step),
  }
}

/** The limit that a scenario fills, if it fills one. Grants beside a limit of keys fill no limit of sessions. */
export function limitOf({ needs }: Scenario): 'sessions' | 'keys' | undefined {
  if (!needs.includes('limits')) return undefined
  if (needs.includes('keys')) return 'keys'
  return needs.includes('sessions') ? 'sessions' : undefined
}

/** Calls of other cases would become part of the observation. */
function asksInARow(step: Step): boolean {
  return 'repeat' in step && step.observe !== undefined && 'call' in step && step.call === 'solution/listSolutions'
}

/** A list whose length is known only during the run is assumed to have as many items as a user has sessions. */
const unknownLength = 16

/** Grants that may be accepted. A refresh takes no place among the sessions. */
function grantsOf(step: Step): number {
  if ('wait' in step || step.expect === 'refused') return 0
  if ('send' in step) return JSON.stringify(step.send.body ?? '').includes('manager/auth') ? 1 : 0
  if (step.call !== 'manager/auth') return 0
  const { params } = step
  const isRefresh = typeof params === 'object' && params !== null && 'refreshToken' in params
  if (isRefresh) return 0
  const rounds = step.for === undefined ? 1 : Array.isArray(step.for) ? step.for.length : unknownLength
  return rounds * timesOf(step.repeat ?? step.parallel ?? 1)
}

const timesOf = (count: number | string): number => (Number.isNaN(Number(count)) ? unknownLength : Number(count))

/** Every reason why a case cannot run beside every other one; most cases have no such reason. */
export function aloneReasons({ makesKeys, fills, quiet }: Claims): AloneReason[] {
  return [
    ...(makesKeys && fills !== 'keys' ? (['makes-keys'] as const) : []),
    ...(fills === null ? [] : ([`fills-${fills}`] as const)),
    ...(quiet === null ? [] : [quiet]),
  ]
}
