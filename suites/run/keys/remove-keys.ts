import type { Conversation, CreatedKey } from '../../engine/conversation/conversation.ts'
import { makeCall } from '../../engine/conversation/send.ts'
import { describe } from '../../engine/judge/classify.ts'
import { resolve } from '../../engine/language/resolve.ts'
import { printable } from '../../engine/printable.ts'
import type { TargetSettings } from '../../engine/target.ts'

export interface Removal {
  /** The keys that are still on the target. */
  left: CreatedKey[]
  /** `manager/deleteApiKey was refused (error 1)`, each once. */
  problems: string[]
}

/**
 * Removes keys through the method that the target file names, as many at the same time as calls are allowed. Stops early if the run is
 * ended.
 */
export async function removeKeys(talk: Conversation, keys: readonly CreatedKey[]): Promise<Removal> {
  const { cleanup } = talk.instance.settings
  const left: CreatedKey[] = []
  const problems = new Set<string>()
  const remove = async (key: CreatedKey): Promise<{ key: CreatedKey; wrong: string[] | null }> => {
    const wrong = cleanup === undefined || talk.run.stopping.reason !== null ? [] : await removeKey(talk, cleanup, key)
    return { key, wrong }
  }
  for (const { key, wrong } of await Promise.all(keys.map(remove))) {
    if (wrong === null) continue
    left.push(key)
    for (const problem of wrong) problems.add(problem)
  }
  return { left, problems: [...problems] }
}

type Cleanup = NonNullable<TargetSettings['cleanup']>

/** The params of the call that removes a key. */
export const removalParams = (cleanup: Cleanup, { id, name }: CreatedKey): unknown =>
  resolve(cleanup.params, { id, name })

/** @returns null if the key is gone, otherwise the target's answer to each kind of authorization */
async function removeKey(talk: Conversation, cleanup: Cleanup, key: CreatedKey): Promise<string[] | null> {
  const params = removalParams(cleanup, key)
  const { kind } = talk.instance.root
  const auths = kind === 'secret' ? [{ basic: 'root' } as const, { hmac: 'root' } as const] : [{ ecc: 'root' } as const]
  const problems: string[] = []
  for (const auth of auths) {
    const { answer } = await makeCall(talk, { method: cleanup.method, params, auth })
    if (answer.outcome === 'accepted') return null
    problems.push(printable(talk.redactor.text(`${cleanup.method} was ${describe(answer)}`)))
  }
  return problems
}
