import { type Item, namesIn, testKeysUsed } from '../engine/conversation/cases.ts'
import { type CreatedKey, standInOf } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import { defined } from '../engine/json.ts'
import { roundingMs } from '../engine/judge/judge-case.ts'
import type { Gap } from '../engine/judge/problem.ts'
import type { Need, SafetyClass, TestKey } from '../engine/language/fixture-types.ts'
import type { RootKey, TargetSettings } from '../engine/target.ts'

/** Which lasting effects a user may allow. */
export const safetyClasses: readonly SafetyClass[] = ['sessions', 'keys', 'limits']

/** What a target and its user offer, which decides the cases that can run. */
export interface Capabilities {
  allow: readonly SafetyClass[]
  lasting: boolean
  /** Nothing was created on the target before. */
  fresh: boolean
  clockControlled: boolean
  settings: Pick<
    TargetSettings,
    'probes' | 'absent' | 'solutions' | 'cleanup' | 'secondAddress' | 'clientAddress' | 'likelyAddresses' | 'maxWaitMs'
  >
  root: Pick<RootKey, 'kind'>
  testKeys: readonly TestKey[]
  /** Test keys that are kept from an earlier run. */
  kept: readonly CreatedKey[]
  /** What the preflight found; null before the first request. */
  facts: TargetFacts | null
}

/** Returns why an item cannot run against this target, and what would change that; undefined if it can. */
export function whyNotRun(item: Item, capabilities: Capabilities): Gap | undefined {
  const needs = needsOf(item, capabilities)
  // The API areas whose methods they call.
  const probes = needs.flatMap((need) => (need.startsWith('probe:') ? need.slice('probe:'.length) : []))
  const areas = probes.map((probe) => (probe === 'solution-context' ? 'context' : probe))
  const area = areas.find((one) => capabilities.settings.absent?.includes(one))
  if (area !== undefined) return { kind: 'area-absent', area }
  for (const need of needs) {
    const reason = unmet(need, capabilities)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** The declared needs, and those of the test keys that the item uses. */
function needsOf(item: Item, { testKeys, kept, root, lasting }: Capabilities): (Need | 'client-address')[] {
  if (item.kind === 'test-key') {
    const auth = item.member['created-with']
    return typeof auth === 'object' && 'token' in auth ? ['keys', 'sessions'] : ['keys']
  }
  const { scenario, testCase } = item
  const makesKeys = lasting && testKeysMade([item], { testKeys, kept, root }).length > 0
  return [
    ...scenario.needs,
    ...(makesKeys && !scenario.needs.includes('keys') ? (['keys'] as const) : []),
    ...(namesIn(scenario, testCase).has('client') ? (['client-address'] as const) : []),
  ]
}

/** The test keys that items create: their own, and those that cases use, selected or not. */
export function testKeysMade(
  items: readonly Item[],
  { testKeys, kept, root }: Pick<Capabilities, 'testKeys' | 'kept' | 'root'>,
): string[] {
  const names = testKeys.map(({ name }) => name)
  const used = new Set(
    items.flatMap((item) =>
      item.kind === 'case' ? [...testKeysUsed(item.scenario, item.testCase, names)] : [item.member.name],
    ),
  )
  if (used.delete('root')) used.add(standInOf(testKeys, root))
  return [...used].filter((name) => name !== 'root' && !kept.some(({ member }) => member === name))
}

function unmet(
  need: Need | 'client-address',
  { allow, fresh, clockControlled, settings, facts }: Capabilities,
): Gap | undefined {
  const { probes, solutions, cleanup, secondAddress, clientAddress, likelyAddresses, maxWaitMs } = settings
  switch (need) {
    case 'sessions':
    case 'keys':
    case 'limits':
      return allow.includes(need) ? undefined : { kind: 'needs-permission', permission: need }
    case 'fresh-instance':
      return fresh ? undefined : { kind: 'needs-fresh-instance' }
    case 'second-address':
      if ((facts ?? { secondAddress }).secondAddress !== undefined) return undefined
      return { kind: 'needs-second-address', ...defined({ because: facts?.secondAddressProblem }) }
    case 'client-address':
      if ((facts ?? { clientAddress: clientAddress ?? likelyAddresses }).clientAddress !== undefined) return undefined
      return { kind: 'needs-client-address' }
    case 'clock-control': {
      const refreshLifeMs = facts?.refreshLifeMs ?? Number.POSITIVE_INFINITY
      // The user may allow waits beyond the lifetime of a refresh token.
      return clockControlled || refreshLifeMs + roundingMs < maxWaitMs ? undefined : { kind: 'needs-clock-control' }
    }
    case 'cleanup':
      return cleanup !== undefined ? undefined : { kind: 'needs-cleanup' }
    case 'solutions':
      return solutions.length >= 2 ? undefined : { kind: 'needs-solutions' }
    default: {
      const probe = need.slice('probe:'.length)
      if (probe === 'solution-context' && solutions.length < 2) return { kind: 'needs-solutions' }
      return Object.hasOwn(probes, probe) ? undefined : { kind: 'needs-probe', probe }
    }
  }
}
