import { type CreatedKey, openConversation } from '../../engine/conversation/conversation.ts'
import { makeCall } from '../../engine/conversation/send.ts'
import type { TargetFacts } from '../../engine/conversation/target-facts.ts'
import { engineRun, type RunSetup } from '../run.ts'

/** Checks which kept test keys still exist. Keys whose scope does not allow the checking call are assumed to exist. */
export async function stillValidKeys(
  setup: RunSetup & { facts: TargetFacts },
  kept: readonly CreatedKey[],
): Promise<CreatedKey[]> {
  if (kept.length === 0) return []
  const earlierKeys = kept.map((created) => ({ created }))
  const talk = await openConversation(engineRun({ ...setup, keptTestKeys: kept, earlierKeys }, setup.facts))
  const valid: CreatedKey[] = []
  try {
    for (const key of kept) {
      const scope = setup.corpus.testKeys.find(({ name }) => name === key.member)?.scope ?? []
      const auth = { key: key.member ?? '' }
      const works = async (): Promise<boolean> => {
        const { answer } = await makeCall(talk, { method: 'solution/listSolutions', params: {}, auth })
        return answer.outcome === 'accepted'
      }
      if (!scope.includes('solution') || (await works())) valid.push(key)
    }
  } finally {
    await talk.instance.close()
  }
  return valid
}
