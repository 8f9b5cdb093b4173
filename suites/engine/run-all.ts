import { type Capabilities, capabilitiesOf, refineCapabilities } from './capabilities.ts'
import type { Corpus, SafetyClass } from './fixture/model.ts'
import { allItems, type Item, orderItems } from './items.ts'
import { emptyKnowledge } from './knowledge.ts'
import type { RowOutcome } from './outcome.ts'
import { preflight } from './preflight.ts'
import { type Random, seededRandom } from './random.ts'
import { createRunner } from './runner.ts'
import { endRun, startRun } from './seat.ts'
import type { Target } from './target.ts'

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
export async function runAll(options: RunAllOptions): Promise<RowOutcome[]> {
  const { target, corpus } = options
  const seed = options.seed ?? 1
  const allow = options.allow ?? ['sessions', 'keys', 'limits']
  const run = startRun({
    target,
    corpus,
    knowledge: emptyKnowledge(),
    random: options.random ?? seededRandom(seed),
    unique: seed.toString(36),
  })
  try {
    await preflight(run, allow)
    const capabilities = refineCapabilities(await lookAt(target, corpus, allow), run.knowledge, 0)
    const ordered = orderItems(options.items ?? allItems(corpus), target.lasting, seededRandom(seed))
    const runner = createRunner(run, ordered, capabilities)
    const outcomes: RowOutcome[] = []
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
    keptCast: [],
    castNames: corpus.cast.map(({ name }) => name),
  })
}
