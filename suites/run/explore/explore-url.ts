import type { StopReason } from '../../engine/judge/problem.ts'
import { systemRandom } from '../../engine/random.ts'
import type { Target } from '../../engine/target.ts'
import { type Exploration, type ExploreOptions, explore } from '../../explore/explore.ts'
import { openTarget } from '../../explore/open.ts'
import { demandAccess } from '../../facts/access.ts'
import { createCaller } from '../../facts/caller.ts'
import { urlTarget } from '../../targets/url.ts'
import { openCorpus } from '../corpus-cache.ts'
import { createEnding, type Endings, endedInstance, endedTarget } from '../ending/ending.ts'
import { interruptedInstead } from '../ending/interrupted.ts'
import { endOnSignals } from '../ending/signals.ts'
import { openKeysOfTarget, openRecordedKeys } from '../keys/keys-of-target.ts'
import type { TargetOptions } from '../options/target-options.ts'
import { finish, removeLeftovers } from '../run-against-url.ts'

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
  const keys = openKeysOfTarget(target.keys)
  const endings: Endings = { cases: createEnding(), cleanUp: createEnding() }
  const stopListening = endOnSignals(endings)
  const corpus = await openCorpus()
  const cleaned = { target: urlTarget(target), keys, endings }
  let exploration: Exploration
  let left: string[] = []
  try {
    await demandRootKey(cleaned.target, endings)
    await removeLeftovers({ corpus, say }, cleaned)
    const recorded = openRecordedKeys(keys)
    const created = recorded.keys.length + recorded.unanswered.length
    const opened = await openTarget(target)
    const instance = endedInstance(opened.instance, endings.cases)
    exploration = await explore({
      ...effort,
      ...opened,
      instance,
      created,
      createdKeys: recorded,
      say: (found) => say(`Found: ${found}`),
    }).finally(instance.close)
  } finally {
    left = await finish({ corpus, say }, target, cleaned)
    stopListening()
  }
  return { exploration, stopped: endings.cases.reason, left }
}

/** Without an accepted key every answer would look like a finding. */
async function demandRootKey(target: Target, { cases }: Endings): Promise<void> {
  const instance = await endedTarget(target, cases).open()
  try {
    await demandAccess(createCaller(instance, systemRandom, cases.signal), null)
  } catch (error) {
    throw interruptedInstead(error, cases)
  } finally {
    await instance.close()
  }
}
