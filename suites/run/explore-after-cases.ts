import type { CreatedKey } from '../engine/case/created-keys.ts'
import type { SafetyClass } from '../engine/fixture/model.ts'
import { type Exploration, type ExploreOptions, explore } from '../explore/explore.ts'
import { openTarget } from '../explore/open-target.ts'
import type { SuiteRun } from './suite-run.ts'
import type { TargetOptions } from './target-options.ts'

/** A fixed seed: two runs of one release make the same calls. `explore` uses other seeds. */
const seedOfRelease = 20_260_101
/** The longest average duration of a call of the model; after that the model stops. */
const millisecondsPerCall = 20
const walks = 20

/** What the model may do after the cases. It uses their test keys and creates no further key. */
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

/** A finding that did not occur again in thirty tries may be our own mistake: `explore` shows it, but it decides no verdict. */
export const isRepeated = ({ reproduced }: Exploration['findings'][number]): boolean => reproduced.failed > 0

/** Lets the model make calls that no case makes. */
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
