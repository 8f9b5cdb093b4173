import { allItems, type Item, orderItems } from '../engine/case/cases.ts'
import { endRun, startRun } from '../engine/case/client.ts'
import { noFacts } from '../engine/case/target-facts.ts'
import type { Corpus, SafetyClass } from '../engine/fixture/model.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { type Random, seededRandom } from '../engine/random.ts'
import type { Target } from '../engine/target.ts'
import { type Capabilities, capabilitiesOf, refineCapabilities } from './capabilities.ts'
import { preflight } from './preflight.ts'
import { createRunner } from './schedule.ts'

export interface RunAllOptions {
  target: Target
  corpus: Corpus
  /** Everything, unless given. */
  items?: readonly Item[]
  allow?: readonly SafetyClass[]
  seed?: number
  /** From the seed, unless given: a real server deserves the system's own randomness. */
  random?: Random
}

/**
 * Runs items one after another in this process, without vitest: for tests of the suite itself and for programs that bring a target
 * of their own.
 *
 * @throws SuiteError (`unreachable`) when the target cannot be used at all
 */
export async function runAll(options: RunAllOptions): Promise<CaseOutcome[]> {
  const { target, corpus } = options
  const seed = options.seed ?? 1
  const allow = options.allow ?? ['sessions', 'keys', 'limits']
  const run = startRun({
    target,
    corpus,
    facts: noFacts(),
    random: options.random ?? seededRandom(seed),
    unique: seed.toString(36),
  })
  try {
    await preflight(run, allow)
    const capabilities = refineCapabilities(await lookAt(target, corpus, allow), run.facts, 0)
    const ordered = orderItems(options.items ?? allItems(corpus), target.lasting, seededRandom(seed))
    const runner = createRunner(run, ordered, capabilities)
    const outcomes: CaseOutcome[] = []
    for (const item of ordered) outcomes.push(await runner(item))
    return outcomes
  } finally {
    await endRun(run)
  }
}

async function lookAt(target: Target, corpus: Corpus, allow: readonly SafetyClass[]): Promise<Capabilities> {
  const instance = await target.open()
  const { settings, clock, root } = instance
  await instance.close()
  return capabilitiesOf(settings, {
    allow,
    lasting: target.lasting,
    fresh: target.fresh,
    clockControlled: clock.controlled,
    rootKind: root.kind,
    keptTestKeys: [],
    testKeyNames: corpus.testKeys.map(({ name }) => name),
  })
}
