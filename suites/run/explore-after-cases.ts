import type { CreatedKey } from '../engine/case/created-keys.ts'
import type { SafetyClass } from '../engine/fixture/model.ts'
import { type Exploration, type ExploreOptions, explore } from '../explore/explore.ts'
import { openTarget } from '../explore/open-target.ts'
import type { SuiteRun } from './suite-run.ts'
import type { TargetOptions } from './target-options.ts'

/** Two runs of one release ask the same; `explore` draws other seeds. */
const seedOfRelease = 20_260_101
/** A call of the model may take so long at most on average; then it stops. */
const millisecondsPerCall = 20
const walks = 20

/** What the model may do after the cases, with the test keys that they left: no further key is created. */
export function afterCases(
  keys: readonly CreatedKey[],
  { allow, calls }: { readonly allow: readonly SafetyClass[]; readonly calls: number },
): Pick<ExploreOptions, 'allow' | 'fresh' | 'knownKeys' | 'seed' | 'maxCalls' | 'seconds' | 'walks'> {
  return {
    allow: { sessions: allow.includes('sessions'), keys: false, limits: allow.includes('limits') },
    fresh: false,
    knownKeys: keys,
    seed: seedOfRelease,
    maxCalls: calls,
    seconds: Math.max(10, (calls * millisecondsPerCall) / 1000),
    walks,
  }
}

/** What never came again when it was tried thirty times may be a slip of ours: `explore` shows it, and no verdict rests on it. */
export const isRepeated = ({ reproduced }: Exploration['findings'][number]): boolean => reproduced.failed > 0

/** The model asks what no case asked. */
export async function exploreAfterCases(
  { corpus, say }: SuiteRun,
  target: TargetOptions,
  calls: number,
  keys: readonly CreatedKey[],
): Promise<Exploration> {
  const { options, close } = await openTarget(target)
  try {
    const exploration = await explore({
      ...options,
      ...afterCases(keys, { allow: target.allow, calls }),
      requirements: corpus.requirements,
      say: (line) => say(`The model found: ${line}`),
    })
    const { calls: made, asked, cells, pairs, seconds } = exploration
    say(
      `The model asked ${made} more calls in ${seconds.toFixed(1)} s: ${asked} of ${cells} cells of the table, ${pairs} pairs of the matrix`,
    )
    return { ...exploration, findings: exploration.findings.filter(isRepeated) }
  } finally {
    await close()
  }
}
