import { type Capabilities, cannotAsk } from './capabilities.ts'
import { ensureCast } from './cast.ts'
import { type Item, skipItem } from './items.ts'
import type { RowOutcome } from './outcome.ts'
import { castUsed } from './rows.ts'
import { runItem } from './run-item.ts'
import { type Run, secretRoot, takeSeat } from './seat.ts'

/** Runs items in their order, each once. */
export type Runner = (item: Item) => Promise<RowOutcome>

/**
 * Runs items one after another. Only rows that wait for a moment on a lasting target wait together: the first one that comes starts
 * them all, so that a run waits for the longest of them and not for their sum. Nothing else runs beside them: where every grant
 * counts as a session, the tokens of other rows would push out theirs.
 */
export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities): Runner {
  const started = new Map<string, Promise<RowOutcome>>()
  let placesAreFilled = false
  const askable = (wanted: (item: Item) => boolean): Item[] =>
    items.filter((item) => wanted(item) && cannotAsk(item, capabilities) === undefined)
  const start = (item: Item): Promise<RowOutcome> => {
    const reason = cannotAsk(item, capabilities)
    return reason === undefined ? runItem(run, item) : Promise.resolve(skipItem(item, reason))
  }
  return async (item) => {
    if (run.target.lasting && !placesAreFilled && fillsPlaces(item)) {
      placesAreFilled = true
      await seatMembers(run, askable(fillsPlaces))
    }
    // A clock that is moved moves for all rows, so rows that move it cannot run side by side.
    if (!run.target.lasting || capabilities.clockControlled || !waitsForMoment(item)) return start(item)
    if (started.size === 0) {
      await seatMembers(run, askable(waitsForMoment))
      for (const other of items) if (waitsForMoment(other)) started.set(other.key, start(other))
      await Promise.allSettled(started.values())
    }
    return started.get(item.key) ?? start(item)
  }
}

/** After this there may be no place left for the key of a member. */
function fillsPlaces(item: Item): boolean {
  return item.kind === 'row' && ['limits', 'keys'].every((need) => item.scenario.needs.some((one) => one === need))
}

/** Members of the cast before the rows that use them: all of them while there is room, and each only once. */
async function seatMembers(run: Run, items: readonly Item[]): Promise<void> {
  const rows = items.flatMap((item) => (item.kind === 'row' ? [item] : []))
  if (run.stopped !== null || rows.length === 0) return
  const seat = await takeSeat(run)
  const names = run.corpus.cast.map(({ name }) => name)
  const used = new Set(rows.flatMap(({ scenario, row }) => [...castUsed(scenario, row, names)]))
  if (used.has('root')) used.add(secretRoot(seat.instance.root))
  // A member that cannot be made is told by every row that needs it.
  for (const name of used) await ensureCast(seat, [name])
}

/** What fills a limit runs alone: it may end the tokens of others. */
function waitsForMoment(item: Item): boolean {
  if (item.kind === 'cast' || item.scenario.needs.some((need) => need === 'limits' || need === 'keys')) return false
  return [...item.scenario.given, ...item.scenario.steps].some((step) => 'wait' in step)
}
