import { type Item, namesIn, testKeysUsed } from '../engine/conversation/cases.ts'
import { type CreatedKey, standInOf } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import { roundingMs } from '../engine/judge/expectation.ts'
import type { Gap, SecondAddressProblem } from '../engine/judge/problem.ts'
import type { Need, SafetyClass, TestKey } from '../engine/language/fixture-types.ts'
import type { RootKey, TargetSettings } from '../engine/target.ts'

/** What a target and its user offer, which decides the cases that can run. */
export interface Capabilities {
  allow: readonly SafetyClass[]
  lasting: boolean
  /** Nothing was created on the target before. */
  fresh: boolean
  clockControlled: boolean
  /** The user allows waits beyond the lifetime of a refresh token. */
  outwaitsRefresh: boolean
  secondAddress: boolean
  /** What the preflight found wrong with the given second address. */
  secondAddressProblem?: SecondAddressProblem
  clientAddress: boolean
  probes: readonly string[]
  /** API areas that the target file declares absent. */
  absent: readonly string[]
  solutions: number
  cleanup: boolean
  /** The test key to use where a step needs a secret. */
  standIn: string
  /** Test keys that are kept from an earlier run. */
  keptTestKeys: readonly string[]
  testKeyNames: readonly string[]
}

/** A target, and what the user lets a run do to it. */
interface Offer extends Pick<Capabilities, 'allow' | 'lasting' | 'fresh' | 'clockControlled'> {
  settings: Pick<
    TargetSettings,
    'probes' | 'absent' | 'solutions' | 'cleanup' | 'secondAddress' | 'clientAddress' | 'likelyAddresses'
  >
  root: Pick<RootKey, 'kind'>
  testKeys: readonly TestKey[]
  kept: readonly CreatedKey[]
}

/** What a target with these settings offers, before the first request. */
export function capabilitiesOf({ settings, root, testKeys, kept, ...rest }: Offer): Capabilities {
  return {
    ...rest,
    standIn: standInOf(testKeys, root),
    keptTestKeys: kept.flatMap(({ member }) => member ?? []),
    testKeyNames: testKeys.map(({ name }) => name),
    outwaitsRefresh: false,
    secondAddress: settings.secondAddress !== undefined,
    clientAddress: settings.clientAddress !== undefined || settings.likelyAddresses !== undefined,
    probes: Object.keys(settings.probes),
    absent: settings.absent ?? [],
    solutions: settings.solutions.length,
    cleanup: settings.cleanup !== undefined,
  }
}

/** What the target offers after the preflight. */
export function refineCapabilities(capabilities: Capabilities, facts: TargetFacts, maxWaitMs: number): Capabilities {
  const { refreshLifeMs, secondAddress, secondAddressProblem, clientAddress } = facts
  return {
    ...capabilities,
    secondAddress: secondAddress !== undefined,
    ...(secondAddressProblem === undefined ? {} : { secondAddressProblem }),
    clientAddress: clientAddress !== undefined,
    outwaitsRefresh: refreshLifeMs !== undefined && refreshLifeMs + roundingMs < maxWaitMs,
  }
}

/** Returns why an item cannot run against this target, and what would change that; undefined if it can. */
export function whyNotRun(item: Item, capabilities: Capabilities): Gap | undefined {
  const needs = needsOf(item, capabilities)
  const area = needs.flatMap(areaOf).find((one) => capabilities.absent.includes(one))
  if (area !== undefined) return { kind: 'area-absent', area }
  for (const need of needs) {
    const reason = unmet(need, capabilities)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** The declared needs, and those of the test keys that the item uses. */
function needsOf(item: Item, { testKeyNames, keptTestKeys, lasting, standIn }: Capabilities): Need[] {
  if (item.kind === 'test-key') {
    const auth = item.member['created-with']
    return typeof auth === 'object' && 'token' in auth ? ['keys', 'sessions'] : ['keys']
  }
  const { scenario, testCase } = item
  const used = testKeysUsed(scenario, testCase, testKeyNames)
  if (used.has('root')) used.add(standIn)
  const makesKeys = lasting && [...used].some((name) => name !== 'root' && !keptTestKeys.includes(name))
  const addressed = namesIn(scenario, testCase).has('client')
  return [
    ...scenario.needs,
    ...(makesKeys && !scenario.needs.includes('keys') ? (['keys'] as const) : []),
    ...(addressed ? (['client-address'] as unknown as Need[]) : []),
  ]
}

/** The API area whose methods a need calls. */
function areaOf(need: Need): string[] {
  if (!need.startsWith('probe:')) return []
  const probe = need.slice('probe:'.length)
  return [probe === 'solution-context' ? 'context' : probe]
}

function unmet(need: Need | 'client-address', capabilities: Capabilities): Gap | undefined {
  const { allow, probes, solutions, secondAddressProblem } = capabilities
  switch (need) {
    case 'sessions':
    case 'keys':
    case 'limits':
      return allow.includes(need) ? undefined : { kind: 'needs-permission', permission: need }
    case 'fresh-instance':
      return capabilities.fresh ? undefined : { kind: 'needs-fresh-instance' }
    case 'second-address':
      if (capabilities.secondAddress) return undefined
      return {
        kind: 'needs-second-address',
        ...(secondAddressProblem === undefined ? {} : { because: secondAddressProblem }),
      }
    case 'client-address':
      return capabilities.clientAddress ? undefined : { kind: 'needs-client-address' }
    case 'clock-control':
      return capabilities.clockControlled || capabilities.outwaitsRefresh ? undefined : { kind: 'needs-clock-control' }
    case 'cleanup':
      return capabilities.cleanup ? undefined : { kind: 'needs-cleanup' }
    case 'solutions':
      return solutions >= 2 ? undefined : { kind: 'needs-solutions' }
    default: {
      const probe = need.slice('probe:'.length)
      if (probe === 'solution-context' && solutions < 2) return { kind: 'needs-solutions' }
      return probes.includes(probe) ? undefined : { kind: 'needs-probe', probe }
    }
  }
}
