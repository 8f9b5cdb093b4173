import type { StopReason } from '../../engine/judge/problem.ts'
import { systemRandom } from '../../engine/signer/random.ts'
import type { Target } from '../../engine/target.ts'
import { type Exploration, type ExploreOptions, explore } from '../../explore/explore.ts'
import { openTarget } from '../../explore/open.ts'
import { openCorpus } from '../corpus-cache.ts'
import { type Ending, endedInstance, openEndings } from '../ending.ts'
import { workAtTarget } from '../keys.ts'
import type { TargetOptions } from '../options.ts'
import { runPreflight } from '../run.ts'

/** What an exploration found, and what it left. */
export interface ExploreOutcome {
  readonly exploration: Exploration
  /** What ended it early; null if nothing did. */
  readonly stopped: StopReason | null
  /** What is left on the target, in words. */
  readonly left: readonly string[]
}

export type Effort = Omit<ExploreOptions, 'instance' | 'loopback' | 'created'>

/**
 * Explores a server at a URL, and removes the API keys that this created, also after Ctrl-C.
 *
 * @param effort which calls to make, and how long
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130; `usage` if the record of keys cannot be used)
 */
export async function exploreUrl(target: TargetOptions, effort: Effort): Promise<ExploreOutcome> {
  const { say } = effort
  const endings = openEndings()
  try {
    const { result, left } = await workAtTarget(target, { endings, say }, async (held) => {
      await demandRootKey(held.target, endings.cases)
      await held.removeLeftovers()
      const recorded = held.open()
      const created = recorded.keys.length + recorded.unanswered.length
      const opened = await openTarget(target)
      const instance = endedInstance(opened.instance, endings.cases)
      return explore({
        ...effort,
        ...opened,
        instance,
        created,
        createdKeys: recorded,
        say: (found) => say(`Found: ${found}`),
      }).finally(instance.close)
    })
    return { exploration: result, stopped: endings.cases.reason, left }
  } finally {
    endings.stop()
  }
}

/** Without an accepted key every answer would look like a finding. */
async function demandRootKey(target: Target, ending: Ending): Promise<void> {
  await runPreflight({
    target,
    corpus: await openCorpus(),
    items: [],
    allow: [],
    seed: 1,
    random: systemRandom,
    unique: 'first',
    ending,
  })
}
