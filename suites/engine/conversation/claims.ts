/**
 * What a case needs for itself while it runs, which decides which cases may run at the same time. It follows from the case's needs and
 * steps alone.
 */
import { sessionLimit } from '../document.ts'
import { membersOf } from '../json.ts'
import type { Case, Scenario, Step } from '../language/fixture-types.ts'
import { withCase } from '../language/references.ts'
import type { Item } from './cases.ts'

export interface Claims {
  /** How many sessions it takes at most, if every grant takes one. Its tokens work until sixteen more sessions are taken. */
  grants: number
  /** How many of them name a session. */
  named: number
  /** The test keys that its grants are for; `*` if only the run shows them. */
  users: readonly string[]
  /** It creates keys, or tries to. Such cases keep their order. */
  makesKeys: boolean
  /** The limit that it fills; meanwhile no other case may use what is limited. */
  fills: 'sessions' | 'keys' | null
  /** It shows which grants count as sessions, and whose, which decides what may run at the same time. */
  observesCounting: boolean
  /** It makes calls at once: no call of another case may be under way then. */
  races: boolean
  /** It waits for a lifetime to pass; other cases may run meanwhile. */
  waits: boolean
  /** It makes many calls one after another. */
  isLong: boolean
}

/** The claims of an item that makes no calls. */
export const noClaims: Claims = {
  grants: 0,
  named: 0,
  users: [],
  makesKeys: false,
  fills: null,
  observesCounting: false,
  races: false,
  waits: false,
  isLong: false,
}

/** Why a case does not run at the same time as every other case. */
export type AloneReason = 'makes-keys' | 'fills-sessions' | 'fills-keys' | 'race'

const known = new WeakMap<Case, Claims>()

export const claimsOf = (item: Item): Claims =>
  item.kind === 'test-key' ? { ...noClaims, makesKeys: true } : claimsOfCase(item.scenario, item.testCase)

/** The claims of a case; computed once. */
export function claimsOfCase(scenario: Scenario, testCase: Case): Claims {
  const claims = known.get(testCase) ?? findClaims(scenario, testCase)
  known.set(testCase, claims)
  return claims
}

function findClaims(scenario: Scenario, testCase: Case): Claims {
  const steps = [...scenario.given, ...scenario.steps].map((step) => withCase(step, testCase.values))
  const grants = steps.flatMap(grantsOf)
  return {
    grants: grants.reduce((sum, { times }) => sum + times, 0),
    named: grants.reduce((sum, { times, isNamed }) => sum + (isNamed ? times : 0), 0),
    users: [...new Set(grants.map(({ user }) => user))],
    makesKeys: scenario.needs.includes('keys'),
    fills: limitOf(scenario) ?? null,
    observesCounting: steps.some((step) => 'observe' in step && questionsOfCounting.has(step.observe ?? '')),
    races: steps.some((step) => 'parallel' in step),
    waits: steps.some((step) => 'wait' in step),
    isLong: steps.some((step) => 'repeat' in step && timesOf(step.repeat ?? 1) > manyCalls),
  }
}

/**
 * Whether other cases wait for the end of this one: those that create keys or fill a limit run one after another, and those that fill the
 * sessions come after all that name one. How long they take decides how long a run takes.
 */
export const isWaitedFor = ({ makesKeys, fills, named }: Claims): boolean => makesKeys || fills !== null || named > 0

/** Open questions whose answers show which grants count as sessions, and whose. */
const questionsOfCounting = new Set(['sessions/counting', 'sessions/user'])

/** The limit that a scenario fills, if it fills one. Grants of a case that fills the limit of keys fill no limit of sessions. */
export function limitOf({ needs }: Scenario): 'sessions' | 'keys' | undefined {
  if (!needs.includes('limits')) return undefined
  if (needs.includes('keys')) return 'keys'
  return needs.includes('sessions') ? 'sessions' : undefined
}

/** More calls than most cases make. */
const manyCalls = 10

/** A list whose length is known only during the run is assumed to have as many items as a user has sessions. */
const unknownLength = sessionLimit

interface Grants {
  times: number
  isNamed: boolean
  user: string
}

/** Grants that may be accepted. A refresh takes no place among the sessions. */
function grantsOf(step: Step): Grants[] {
  if ('wait' in step || step.expect === 'refused') return []
  if ('send' in step) {
    const body = JSON.stringify(step.send.body ?? '')
    return body.includes('manager/auth') ? [{ times: 1, isNamed: body.includes('session:'), user: '*' }] : []
  }
  const { params } = step
  const isRefresh = 'refreshToken' in membersOf(params)
  if (step.call !== 'manager/auth' || isRefresh) return []
  const rounds = step.for === undefined ? 1 : Array.isArray(step.for) ? step.for.length : unknownLength
  const text = JSON.stringify(params ?? {})
  return [
    {
      times: rounds * timesOf(step.repeat ?? step.parallel ?? 1),
      isNamed: text.includes('session:'),
      user: /"apiKeyId":"\$(\w+)\.id"/.exec(text)?.[1] ?? '*',
    },
  ]
}

const timesOf = (count: number | string): number => (Number.isNaN(Number(count)) ? unknownLength : Number(count))

/** Every reason why a case cannot run at the same time as every other one; most cases have no such reason. */
export function aloneReasons({ makesKeys, fills, races }: Claims): AloneReason[] {
  return [
    ...(makesKeys && fills !== 'keys' ? (['makes-keys'] as const) : []),
    ...(fills === null ? [] : ([`fills-${fills}`] as const)),
    ...(races ? (['race'] as const) : []),
  ]
}
