import type { Item } from '../../engine/case/cases.ts'
import type { Run } from '../../engine/case/client.ts'
import { createTestKey } from '../../engine/case/create-test-key.ts'
import { type RanCase, runCase } from '../../engine/case/run-case.ts'
import { unjudged } from '../../engine/case/test-case.ts'
import { keyLimit } from '../../engine/document.ts'
import { removeKeys } from '../keys/remove-keys.ts'

/** The places for keys that cases leave free on a target without a clean-up method. */
const placesKept = 3

/** Runs one item of a run. capabilities.ts has already decided whether it can run; this decides only what the run itself shows. */
export async function runItem(run: Run, item: Item): Promise<RanCase> {
  if (item.kind === 'test-key') return createTestKey(run, item.member)
  const { scenario, testCase } = item
  const client = run.sharedClient
  const makesKeys = scenario.needs.includes('keys')
  if (client !== null && makesKeys && !scenario.needs.includes('limits')) {
    const places = keyLimit - client.createdKeys.keys.length
    if (places < placesKept) {
      return unjudged(scenario, testCase, 'not-testable', { kind: 'few-places-for-keys', places: placesKept })
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
