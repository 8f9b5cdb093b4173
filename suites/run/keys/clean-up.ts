import {
  type Conversation,
  type CreatedKey,
  openConversation,
  type RunListener,
  startRun,
} from '../../engine/conversation/conversation.ts'
import { noFacts } from '../../engine/conversation/target-facts.ts'
import type { Corpus } from '../../engine/language/fixture-types.ts'
import { systemRandom } from '../../engine/random.ts'
import type { Target } from '../../engine/target.ts'
import { stopText } from '../../report/problem-text.ts'
import { type Ending, endedTarget } from '../ending/ending.ts'
import { type Removal, removeKeys } from './remove-keys.ts'

/** The maximum duration of removing keys after a run. */
export const cleanUpLimitMs = 10_000

/**
 * Removes keys through the clean-up method of the target, on its own connections, until the ending.
 *
 * @param listener is called for every removed key
 */
export async function cleanUp(
  { target, corpus, listener }: { target: Target; corpus: Corpus; listener: RunListener },
  keys: readonly CreatedKey[],
  ending: Ending,
): Promise<Removal> {
  if (keys.length === 0) return { left: [], problems: [] }
  const run = startRun({
    target: endedTarget(target, ending),
    corpus,
    facts: noFacts(),
    random: systemRandom,
    unique: '',
    emit: listener,
  })
  ending.onEnd((reason) => run.stopping.stop(reason))
  let talk: Conversation | undefined
  try {
    talk = await openConversation(run)
    const { left, problems } = await removeKeys(talk, keys)
    return { left, problems: ending.reason === null ? problems : [stopText(ending.reason)] }
  } finally {
    await talk?.instance.close()
  }
}
