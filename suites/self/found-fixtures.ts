/** Whether the scenarios that `explore` writes show what it found: each must fail on the broken server and pass on the reference server. */
import type { Corpus } from '../engine/language/fixture-types.ts'
import type { TargetSettings } from '../engine/target.ts'
import { isBroken, tryScenario } from '../run/explore/try-scenario.ts'
import type { ServerOptions } from '../targets/bundled.ts'

/** `works`, or what is wrong with a scenario. */
type FixtureOutcome =
  | 'works'
  | `accuses ${string}`
  | `passes there (${string})`
  | `not passed on the reference server (${string})`
  | `not read: ${string}`

interface Server {
  readonly settings: Partial<TargetSettings>
  create(): Omit<ServerOptions, 'clock'>
}

interface ConformingServer extends Server {
  readonly id: string
}

/** Runs the text of a scenario on a new instance of the broken server, of the reference server and of others that conform. */
export async function tryFixture(
  text: string,
  requirement: string,
  broken: Server,
  { corpus, conforming }: { corpus: Corpus; conforming: readonly ConformingServer[] },
): Promise<FixtureOutcome> {
  try {
    const here = await tryScenario(text, requirement, corpus)
    if (here !== 'passed') return `not passed on the reference server (${here})`
    const there = await tryScenario(text, requirement, corpus, broken)
    if (!isBroken(there)) return `passes there (${there})`
    for (const server of conforming)
      if (isBroken(await tryScenario(text, requirement, corpus, server))) return `accuses ${server.id}`
    return 'works'
  } catch (error) {
    return `not read: ${error instanceof Error ? error.message : String(error)}`
  }
}
