import { runCastMember } from './cast-row.ts'
import type { Item } from './items.ts'
import { describe } from './judge/classify.ts'
import type { CreatedKey } from './ledger.ts'
import type { RowOutcome } from './outcome.ts'
import { unjudged } from './rows.ts'
import type { Run, Seat } from './seat.ts'
import { makeCall } from './steps/call.ts'
import { resolve } from './steps/references.ts'
import { runRow } from './steps/row.ts'

/** The interface allows so many created keys (part 8). */
const keyLimit = 10
/** Rows that may create a key leave this many places on a target that cannot be cleaned. */
const placesKept = 3

/** Runs one item of a run. What it cannot be asked was decided before (capabilities.ts), except what only the run itself shows. */
export async function runItem(run: Run, item: Item): Promise<RowOutcome> {
  if (run.stopped === null && run.timeIsUp()) {
    run.stopped = { kind: 'time', message: 'the time for the whole run (--timeout) is up' }
  }
  if (item.kind === 'cast') return runCastMember(run, item.member)
  const { scenario, row } = item
  const seat = run.lastingSeat
  const makesKeys = scenario.needs.includes('keys')
  if (seat !== null && makesKeys && !scenario.needs.includes('limits')) {
    const places = keyLimit - seat.ledger.keys.length
    if (places < placesKept) {
      return unjudged(
        scenario,
        row,
        'not-testable',
        `fewer than ${placesKept} places for API keys remain on the target; a cleanup method in the target file frees them`,
      )
    }
  }
  const before = new Set(seat?.ledger.keys)
  const outcome = await runRow(run, scenario, row)
  if (seat !== null && makesKeys)
    await removeKeys(
      seat,
      [...seat.ledger.keys].filter((key) => !before.has(key)),
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
export async function removeKeys(seat: Seat, keys: readonly CreatedKey[]): Promise<Removal> {
  const { cleanup } = seat.instance.settings
  const left: CreatedKey[] = []
  const problems = new Set<string>()
  // The ledger of a seat shrinks meanwhile.
  for (const key of [...keys]) {
    const wrong = cleanup === undefined ? [] : await removeKey(seat, cleanup, key)
    if (wrong === null) seat.ledger.removed(key.id)
    else {
      left.push(key)
      for (const problem of wrong) problems.add(problem)
    }
  }
  return { left, problems: [...problems] }
}

/** @returns null where the key is gone, else what the target said to each way of asking */
async function removeKey(
  seat: Seat,
  cleanup: { method: string; params: unknown },
  key: CreatedKey,
): Promise<string[] | null> {
  const params = resolve(cleanup.params, { id: key.id, name: key.name })
  const { kind } = seat.instance.root
  const auths = kind === 'secret' ? [{ basic: 'root' } as const, { hmac: 'root' } as const] : [{ ecc: 'root' } as const]
  const problems: string[] = []
  for (const auth of auths) {
    const { answer } = await makeCall(seat, { method: cleanup.method, params, auth })
    if (answer.outcome === 'accepted') return null
    problems.push(seat.redactor.text(`${cleanup.method} was ${describe(answer)}`))
  }
  return problems
}
