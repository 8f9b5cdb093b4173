import type { Item } from '../engine/case/cases.ts'
import type { TargetFacts } from '../engine/case/target-facts.ts'
import { namesIn, testKeysUsed } from '../engine/case/test-case.ts'
import type { Need, SafetyClass } from '../engine/fixture/model.ts'
import { judgedMarginMs } from '../engine/judge/outcome.ts'
import type { TargetSettings } from '../engine/target.ts'

/** What a target and its user offer; decides which cases can be asked. */
export interface Capabilities {
  allow: readonly SafetyClass[]
  lasting: boolean
  /** Nothing was created on the target before. */
  fresh: boolean
  clockControlled: boolean
  /** The user's patience reaches beyond the lifetime of a refresh token. */
  outwaitsRefresh: boolean
  secondAddress: boolean
  /** What the preflight found wrong with the second address that was named. */
  secondAddressProblem?: string
  clientAddress: boolean
  probes: readonly string[]
  solutions: number
  cleanup: boolean
  rootKind: 'secret' | 'ed25519'
  /** Members whose keys are kept from an earlier run. */
  keptTestKeys: readonly string[]
  testKeyNames: readonly string[]
}

/** What a target with these settings offers, before the first request. */
export function capabilitiesOf(
  settings: Pick<
    TargetSettings,
    'probes' | 'solutions' | 'cleanup' | 'secondAddress' | 'clientAddress' | 'likelyAddresses'
  >,
  rest: Pick<
    Capabilities,
    'allow' | 'lasting' | 'fresh' | 'clockControlled' | 'rootKind' | 'keptTestKeys' | 'testKeyNames'
  >,
): Capabilities {
  return {
    ...rest,
    outwaitsRefresh: false,
    secondAddress: settings.secondAddress !== undefined,
    clientAddress: settings.clientAddress !== undefined || settings.likelyAddresses !== undefined,
    probes: Object.keys(settings.probes),
    solutions: settings.solutions.length,
    cleanup: settings.cleanup !== undefined,
  }
}

/** The same after the preflight looked. */
export function refineCapabilities(capabilities: Capabilities, facts: TargetFacts, maxWaitMs: number): Capabilities {
  const { refreshLifeMs, secondAddress, secondAddressProblem, clientAddress } = facts
  return {
    ...capabilities,
    secondAddress: secondAddress !== undefined,
    ...(secondAddressProblem === undefined ? {} : { secondAddressProblem }),
    clientAddress: clientAddress !== undefined,
    outwaitsRefresh: refreshLifeMs !== undefined && refreshLifeMs + judgedMarginMs < maxWaitMs,
  }
}

/** Why an item cannot be asked of this target, and what would change that; undefined where it can. */
export function cannotAsk(item: Item, capabilities: Capabilities): string | undefined {
  for (const need of needsOf(item, capabilities)) {
    const reason = unmet(need, capabilities)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** The declared needs, and those of the test keys that it calls as. */
export function needsOf(item: Item, { testKeyNames, keptTestKeys, lasting, rootKind }: Capabilities): Need[] {
  if (item.kind === 'test-key') {
    const auth = item.member['created-with']
    return typeof auth === 'object' && 'token' in auth ? ['keys', 'sessions'] : ['keys']
  }
  const { scenario, testCase } = item
  const used = testKeysUsed(scenario, testCase, testKeyNames)
  if (rootKind === 'ed25519' && used.has('root')) used.add('erin')
  const makesKeys = lasting && [...used].some((name) => name !== 'root' && !keptTestKeys.includes(name))
  const addressed = namesIn(scenario, testCase).has('client')
  return [
    ...scenario.needs,
    ...(makesKeys && !scenario.needs.includes('keys') ? (['keys'] as const) : []),
    ...(addressed ? (['client-address'] as unknown as Need[]) : []),
  ]
}

function unmet(need: Need | 'client-address', capabilities: Capabilities): string | undefined {
  const { allow, probes, solutions } = capabilities
  switch (need) {
    case 'sessions':
      return allow.includes(need) ? undefined : 'it takes access tokens; --allow sessions permits it'
    case 'keys':
      return allow.includes(need) ? undefined : 'it creates API keys; --allow keys permits it'
    case 'limits':
      return allow.includes(need)
        ? undefined
        : 'it fills a limit of the target; --allow sessions,keys,limits permits it'
    case 'fresh-instance':
      return capabilities.fresh ? undefined : 'it needs a fresh instance; --disposable says that this is one'
    case 'second-address':
      return capabilities.secondAddress
        ? undefined
        : `it calls from a second address; ${capabilities.secondAddressProblem ?? 'secondAddress in the target file names one'}`
    case 'client-address':
      return capabilities.clientAddress
        ? undefined
        : 'the address that the server sees is not known; clientAddress in the target file tells it'
    case 'clock-control':
      return capabilities.clockControlled || capabilities.outwaitsRefresh
        ? undefined
        : 'it lets days pass, which takes a clock that can be moved (the bundled server has one), or --wait SECONDS beyond the refresh lifetime'
    case 'cleanup':
      return capabilities.cleanup
        ? undefined
        : 'it creates a key that only a cleanup method removes; cleanup in the target file names that method'
    case 'solutions':
      return solutions >= 2 ? undefined : 'it needs two solutions; solutions in the target file names them'
    default: {
      const probe = need.slice('probe:'.length)
      if (probe === 'solution-context' && solutions < 2) {
        return 'it needs two solutions; solutions in the target file names them'
      }
      return probes.includes(probe)
        ? undefined
        : `it calls a method that the document does not show; probes.${probe} in the target file names one`
    }
  }
}
