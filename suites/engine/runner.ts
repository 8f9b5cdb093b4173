import { type Capabilities, cannotAsk } from './capabilities.ts'
import { type Item, skipItem } from './items.ts'
import type { RowOutcome } from './outcome.ts'
import { runItem } from './run-item.ts'
import type { Run } from './seat.ts'

/** Runs items in their order, each once. */
export type Runner = (item: Item) => Promise<RowOutcome>

/**
 * Runs items one after another. Only rows that wait for a moment on a lasting target wait together: the first one that comes starts
 * them all, so that a run waits for the longest of them and not for their sum. Nothing else runs beside them: where every grant
 * counts as a session, the tokens of other rows would push out theirs.
 */
export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities): Runner {
  const started = new Map<string, Promise<RowOutcome>>()
  const start = (item: Item): Promise<RowOutcome> => {
    const reason = cannotAsk(item, capabilities)
    return reason === undefined ? runItem(run, item) : Promise.resolve(skipItem(item, reason))
  }
  return async (item) => {
    // A clock that is moved moves for all rows, so rows that move it cannot run side by side.
    if (!run.target.lasting || capabilities.clockControlled || !waitsForMoment(item)) return start(item)
    if (started.size === 0) {
      for (const other of items) if (waitsForMoment(other)) started.set(other.key, start(other))
      await Promise.allSettled(started.values())
    }
    return started.get(item.key) ?? start(item)
  }
}

/** What fills a limit runs alone: it may end the tokens of others. */
function waitsForMoment(item: Item): boolean {
  if (item.kind === 'cast' || item.scenario.needs.some((need) => need === 'limits' || need === 'keys')) return false
  return [...item.scenario.given, ...item.scenario.steps].some((step) => 'wait' in step)
}
