import { type Item, skipItem } from '../engine/case/cases.ts'
import { openClient, type Run } from '../engine/case/client.ts'
import { standInOf } from '../engine/case/stand-in.ts'
import { testKeysUsed } from '../engine/case/test-case.ts'
import { ensureTestKeys } from '../engine/case/test-keys.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { type Capabilities, cannotAsk } from './capabilities.ts'
import { runItem } from './run-item.ts'

/** Runs items in their order, each once. */
type Runner = (item: Item) => Promise<CaseOutcome>

/**
 * Runs items one after another. Only cases that wait for a moment on a lasting target wait together: the first one that comes starts
 * them all, so that a run waits for the longest of them and not for their sum. Nothing else runs beside them: where every grant
 * counts as a session, the tokens of other cases would push out theirs.
 */
export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities): Runner {
  const started = new Map<string, Promise<CaseOutcome>>()
  let placesAreFilled = false
  const askable = (wanted: (item: Item) => boolean): Item[] =>
    items.filter((item) => wanted(item) && cannotAsk(item, capabilities) === undefined)
  const start = (item: Item): Promise<CaseOutcome> => {
    const reason = cannotAsk(item, capabilities)
    return reason === undefined ? runItem(run, item) : Promise.resolve(skipItem(item, reason))
  }
  return async (item) => {
    if (run.target.lasting && !placesAreFilled && fillsPlaces(item)) {
      placesAreFilled = true
      await createTestKeys(run, askable(fillsPlaces))
    }
    // A clock that is moved moves for all cases, so cases that move it cannot run side by side.
    if (!run.target.lasting || capabilities.clockControlled || !waitsForTime(item)) return start(item)
    if (started.size === 0) {
      await createTestKeys(run, askable(waitsForTime))
      for (const other of items) if (waitsForTime(other)) started.set(other.key, start(other))
      await Promise.allSettled(started.values())
    }
    return started.get(item.key) ?? start(item)
  }
}

/** After this there may be no place left for the key of a member. */
function fillsPlaces(item: Item): boolean {
  return item.kind === 'case' && ['limits', 'keys'].every((need) => item.scenario.needs.some((one) => one === need))
}

/** Members of the test keys before the cases that use them: all of them while there is room, and each only once. */
async function createTestKeys(run: Run, items: readonly Item[]): Promise<void> {
  const cases = items.flatMap((item) => (item.kind === 'case' ? [item] : []))
  if (run.stopping.reason !== null || cases.length === 0) return
  const client = await openClient(run)
  const names = run.corpus.testKeys.map(({ name }) => name)
  const used = new Set(cases.flatMap(({ scenario, testCase }) => [...testKeysUsed(scenario, testCase, names)]))
  if (used.has('root')) used.add(standInOf(run.corpus.testKeys, client.instance.root))
  // A member that cannot be made is told by every case that needs it.
  for (const name of used) await ensureTestKeys(client, [name])
}

/** What fills a limit runs alone: it may end the tokens of others. */
function waitsForTime(item: Item): boolean {
  if (item.kind === 'test-key' || item.scenario.needs.some((need) => need === 'limits' || need === 'keys')) return false
  return [...item.scenario.given, ...item.scenario.steps].some((step) => 'wait' in step)
}
