/** What a case claims of its target while it runs: decides which cases may run beside one another. Follows from its needs and steps alone. */
import type { Scenario, Step } from '../fixture/model.ts'
import type { Item } from './cases.ts'

export interface Claims {
  /** So many sessions it takes at most, where every grant takes one. Its tokens work as long as nobody takes sixteen more. */
  grants: number
  /** It creates keys, or tries to: cases that do keep their order. */
  makesKeys: boolean
  /** The limit that it fills, so that nobody else may use what is limited. */
  fills: 'sessions' | 'keys' | null
  /** Why no call of another case may be under way. */
  quiet: 'race' | 'calls-in-a-row' | null
  /** It waits for a moment; meanwhile others may run. */
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

/** How often others ask too would be a part of what is observed. */
function asksInARow(step: Step): boolean {
  return 'repeat' in step && step.observe !== undefined && 'call' in step && step.call === 'solution/listSolutions'
}

/** A list whose length only its run tells has as many items as a user has sessions. */
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

/** Every reason why a case does not run beside every other one; none for most. */
export function aloneReasons({ makesKeys, fills, quiet }: Claims): AloneReason[] {
  return [
    ...(makesKeys && fills !== 'keys' ? (['makes-keys'] as const) : []),
    ...(fills === null ? [] : ([`fills-${fills}`] as const)),
    ...(quiet === null ? [] : [quiet]),
  ]
}
