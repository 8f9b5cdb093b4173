/** The place of an item in the schedule of its run. */
import type { Item } from '../engine/case/cases.ts'
import { claimsOf, noClaims } from '../engine/case/claims.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import type { Board, Entry } from './may-start.ts'

export interface Slot extends Entry {
  item: Item
  /** Others ran beside it. */
  hadCompany: boolean
  isWaiting: boolean
  outcome: Promise<CaseOutcome>
  settle(outcome: CaseOutcome): void
  fail(error: unknown): void
}

/** @param isAsked what is not asked claims nothing */
export function createSlot(item: Item, isAsked: boolean): Slot {
  let settle: Slot['settle'] = () => {}
  let fail: Slot['fail'] = () => {}
  const outcome = new Promise<CaseOutcome>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // Whoever asks for the item hears of it; until then nobody does.
  outcome.catch(() => {})
  return {
    key: item.key,
    isTestKey: item.kind === 'test-key',
    claims: isAsked ? claimsOf(item) : noClaims,
    state: 'pending',
    isAgain: false,
    startedAfter: { grants: 0, named: 0 },
    item,
    hadCompany: false,
    isWaiting: false,
    outcome,
    settle,
    fail,
  }
}

/** Until a case showed which grants count among whose sessions, every grant counts among those of everybody. */
export function emptyBoard(entries: readonly Slot[]): Board<Slot> {
  return {
    entries,
    promised: { grants: 0, named: 0 },
    unnamedAreFree: false,
    sessionsPerKey: false,
    movesClock: false,
  }
}

/** Notes that an item starts, beside those that run. */
export function begin({ entries, promised }: Board<Slot>, slot: Slot): Slot {
  for (const other of entries) {
    if (other.state !== 'running') continue
    other.hadCompany = true
    slot.hadCompany = true
  }
  slot.state = 'running'
  slot.startedAfter = { ...promised }
  promised.grants += slot.claims.grants
  promised.named += slot.claims.named
  return slot
}
