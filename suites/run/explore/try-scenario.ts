/** Runs one scenario on a new instance of the bundled server, or of another server of this process. */
import { allItems } from '../../engine/conversation/cases.ts'
import { lintErrors, readScenario } from '../../engine/language/corpus.ts'
import type { Corpus } from '../../engine/language/fixture-types.ts'
import { lintContext } from '../../engine/language/lint.ts'
import { seededRandom } from '../../engine/signer/random.ts'
import type { TargetSettings } from '../../engine/target.ts'
import { lastingTarget, type ServerOptions } from '../../targets/bundled.ts'
import { openRun } from '../run.ts'

interface TriedServer {
  readonly settings: Partial<TargetSettings>
  create(): Omit<ServerOptions, 'clock'>
}

const referenceServer: TriedServer = { settings: {}, create: () => ({}) }

/**
 * @param text a scenario of one case
 * @param requirement one that it proves
 * @returns the verdict on the requirement, with the problem if there is none on it
 * @throws SuiteError (`fixture`) for a scenario that is not right
 */
export async function tryScenario(
  text: string,
  requirement: string,
  corpus: Corpus,
  { settings, create }: TriedServer = referenceServer,
): Promise<string> {
  const read = readScenario(text, 'fixtures/scenarios/found/one.yaml')
  const [error] = lintErrors(read, lintContext(corpus))
  if (error !== undefined) throw error
  const target = lastingTarget(create(), settings)
  const alone = { ...corpus, scenarios: [read.scenario] }
  const run = await openRun({
    target,
    corpus: alone,
    items: allItems(alone),
    seed: 1,
    random: seededRandom(1),
    allow: ['sessions', 'keys', 'limits'],
    unique: 'f1',
  })
  try {
    let verdict = 'not run'
    for (const item of run.items) {
      const outcome = await run.runItem(item)
      if (item.kind === 'test-key') continue
      verdict = outcome.requirements[requirement] ?? outcome.verdict
      const isClear = ['passed', 'failed', 'warned'].includes(verdict)
      if (!isClear && outcome.problem !== undefined) verdict += `: ${JSON.stringify(outcome.problem).slice(0, 300)}`
    }
    return verdict
  } finally {
    await run.end()
    await target.close?.()
  }
}

export const isBroken = (verdict: string): boolean => verdict === 'failed' || verdict === 'warned'
