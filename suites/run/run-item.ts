import { makeCall } from '../engine/case/call.ts'
import type { Item } from '../engine/case/cases.ts'
import type { Client, Run } from '../engine/case/client.ts'
import { createTestKey } from '../engine/case/create-test-key.ts'
import type { CreatedKey } from '../engine/case/created-keys.ts'
import { resolve } from '../engine/case/references.ts'
import { runCase } from '../engine/case/run-case.ts'
import { unjudged } from '../engine/case/test-case.ts'
import { describe } from '../engine/judge/classify.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'

/** The interface allows so many created keys (part 8). */
const keyLimit = 10
/** Cases that may create a key leave this many places on a target that cannot be cleaned. */
const placesKept = 3

/** Runs one item of a run. What it cannot be asked was decided before (capabilities.ts), except what only the run itself shows. */
export async function runItem(run: Run, item: Item): Promise<CaseOutcome> {
  if (run.stopped === null && run.timeIsUp()) {
    run.stopped = { kind: 'time', message: 'the time for the whole run (--timeout) is up' }
  }
  if (item.kind === 'test-key') return createTestKey(run, item.member)
  const { scenario, testCase } = item
  const client = run.sharedClient
  const makesKeys = scenario.needs.includes('keys')
  if (client !== null && makesKeys && !scenario.needs.includes('limits')) {
    const places = keyLimit - client.createdKeys.keys.length
    if (places < placesKept) {
      return unjudged(
        scenario,
        testCase,
        'not-testable',
        `fewer than ${placesKept} places for API keys remain on the target; a cleanup method in the target file frees them`,
      )
    }
  }
  const before = new Set(client?.createdKeys.keys)
  const outcome = await runCase(run, scenario, testCase)
  if (client !== null && makesKeys)
    await removeKeys(
      client,
      [...client.createdKeys.keys].filter((key) => !before.has(key)),
    )
  return outcome
}

export interface Removal {
  /** Keys that are still there. */
  left: CreatedKey[]
  /** `manager/deleteApiKey was refused (error 1)`, each once. */
  problems: string[]
}

/** Removes keys through the method that the target declares. */
export async function removeKeys(client: Client, keys: readonly CreatedKey[]): Promise<Removal> {
  const { cleanup } = client.instance.settings
  const left: CreatedKey[] = []
  const problems = new Set<string>()
  // The created keys of a client shrinks meanwhile.
  for (const key of [...keys]) {
    const wrong = cleanup === undefined ? [] : await removeKey(client, cleanup, key)
    if (wrong === null) client.createdKeys.removed(key.id)
    else {
      left.push(key)
      for (const problem of wrong) problems.add(problem)
    }
  }
  return { left, problems: [...problems] }
}

/** @returns null where the key is gone, else what the target said to each way of asking */
async function removeKey(
  client: Client,
  cleanup: { method: string; params: unknown },
  key: CreatedKey,
): Promise<string[] | null> {
  const params = resolve(cleanup.params, { id: key.id, name: key.name })
  const { kind } = client.instance.root
  const auths = kind === 'secret' ? [{ basic: 'root' } as const, { hmac: 'root' } as const] : [{ ecc: 'root' } as const]
  const problems: string[] = []
  for (const auth of auths) {
    const { answer } = await makeCall(client, { method: cleanup.method, params, auth })
    if (answer.outcome === 'accepted') return null
    problems.push(client.redactor.text(`${cleanup.method} was ${describe(answer)}`))
  }
  return problems
}
