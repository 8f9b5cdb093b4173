import { type Item, unjudged } from '../../engine/conversation/cases.ts'
import type { Run } from '../../engine/conversation/conversation.ts'
import { createTestKey, type RanCase, runCase } from '../../engine/conversation/run-case.ts'
import { keyLimit } from '../../engine/document.ts'
import { removeKeys } from '../keys/remove-keys.ts'

/** The places for keys that cases leave free on a target without a clean-up method. */
const placesKept = 3

/** Runs one item of a run. capabilities.ts has already decided whether it can run; this decides only what the run itself shows. */
export async function runItem(run: Run, item: Item): Promise<RanCase> {
  if (item.kind === 'test-key') return createTestKey(run, item.member)
  const { scenario, testCase } = item
  const talk = run.shared
  const makesKeys = scenario.needs.includes('keys')
  if (talk !== null && makesKeys && !scenario.needs.includes('limits')) {
    const places = keyLimit - talk.createdKeys.keys.length
    if (places < placesKept) {
      return unjudged(scenario, testCase, 'not-testable', { kind: 'few-places-for-keys', places: placesKept })
    }
  }
  const before = new Set(talk?.createdKeys.keys)
  const outcome = await runCase(run, scenario, testCase)
  if (talk !== null && makesKeys)
    await removeKeys(
      talk,
      [...talk.createdKeys.keys].filter((key) => !before.has(key)),
    )
  return outcome
}
