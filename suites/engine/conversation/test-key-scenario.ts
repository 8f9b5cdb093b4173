import type { Case, Scenario, TestKey } from '../language/fixture-types.ts'

/** The ways to create a test key, in the order in which they are tried. */
export const ways = ['basic', 'hmac', 'ecc', 'token'] as const
export type Way = (typeof ways)[number]

/** How a test key is created, and by which key. */
export function declaredWay(member: TestKey): { way: Way; by: string } | undefined {
  const auth = member['created-with']
  if (typeof auth !== 'object') return undefined
  const way = ways.find((candidate) => candidate in auth)
  return way === undefined ? undefined : { way, by: String((auth as { [way: string]: unknown })[way]) }
}

const wayNames: { [way in Way]: string } = {
  hmac: 'an HMAC signature',
  basic: 'Basic credentials',
  ecc: 'an ED25519 signature',
  token: 'an access token',
}

/** A creation has no cases. */
export const creationCase: Case = { name: null, slug: null, values: {} }

/** The creation of a test key as a scenario. */
export function creationScenario(member: TestKey): Scenario {
  const declared = declaredWay(member)
  const how = declared === undefined ? '' : ` with ${wayNames[declared.way]} of ${declared.by}`
  return {
    id: `test-keys/${member.name}`,
    file: 'fixtures/test-keys.yaml',
    title: `The key of "${member.name}" is created${how}`,
    proves: member.proves,
    needs: ['keys'],
    cases: [creationCase],
    given: [],
    steps: [],
  }
}
