/** The place of an item in the schedule of its run. */
import { claimsOf, type Item, noClaims } from '../../engine/conversation/cases.ts'
import type { CaseOutcome } from '../../engine/judge/problem.ts'
import { type Board, type Entry, takesTokens } from './may-start.ts'

export interface Slot extends Entry {
  item: Item
  /** Other items ran at the same time. */
  hadCompany: boolean
  /** It used tokens while other cases did: a server that confuses tokens may have changed its result. */
  sharedTokens: boolean
  /** It passed while other cases used tokens; it counts if every one of them is certain. */
  held: CaseOutcome | null
  isWaiting: boolean
  outcome: Promise<CaseOutcome>
  settle(outcome: CaseOutcome): void
  fail(error: unknown): void
}

/** @param makesCalls whether the item makes calls; otherwise it claims nothing */
export function createSlot(item: Item, makesCalls: boolean): Slot {
  let settle: Slot['settle'] = () => {}
  let fail: Slot['fail'] = () => {}
  const outcome = new Promise<CaseOutcome>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // The caller of `runItem` gets the error; until then it is unhandled.
  outcome.catch(() => {})
  return {
    key: item.key,
    isTestKey: item.kind === 'test-key',
    claims: makesCalls ? claimsOf(item) : noClaims,
    state: 'pending',
    isAgain: false,
    startedAs: 0,
    item,
    hadCompany: false,
    sharedTokens: false,
    held: null,
    isWaiting: false,
    outcome,
    settle,
    fail,
  }
}

/** Until a case shows which grants count as sessions, and whose, every grant counts for every user. */
export function emptyBoard(entries: readonly Slot[]): Board<Slot> {
  return {
    entries,
    unnamedAreFree: false,
    sessionsPerKey: false,
    movesClock: false,
    isDoubted: false,
    grantsQueue: false,
  }
}

/** Records that an item starts while others run. */
export function begin({ entries }: Board<Slot>, slot: Slot): Slot {
  slot.sharedTokens = false
  for (const other of entries) {
    if (other.state !== 'running') continue
    other.hadCompany = true
    slot.hadCompany = true
    if (!takesTokens(slot) || !takesTokens(other)) continue
    other.sharedTokens = true
    slot.sharedTokens = true
  }
  slot.state = 'running'
  slot.startedAs = 1 + Math.max(...entries.map(({ startedAs }) => startedAs))
  return slot
}
