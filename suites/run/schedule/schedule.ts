/** Runs the items of a run. Items on one server run at the same time if they do not disturb each other. */

import { type Item, skipItem, testKeysUsed } from '../../engine/conversation/cases.ts'
import {
  type Conversation,
  openConversation,
  type Run,
  type RunEvent,
  standInOf,
} from '../../engine/conversation/conversation.ts'
import type { RanCase } from '../../engine/conversation/run-case.ts'
import { unnamedAreFree } from '../../engine/conversation/target-facts.ts'
import { ensureTestKeys } from '../../engine/conversation/test-keys.ts'
import type { CaseOutcome } from '../../engine/judge/problem.ts'
import { type Capabilities, whyNotRun } from '../capabilities.ts'
import { type Board, nextToStart } from './may-start.ts'
import { runItem } from './run-item.ts'
import { begin, createSlot, emptyBoard, type Slot } from './slot.ts'

/** Runs each item once. On one server, all items start with the first one that is requested. */
interface Runner {
  runItem(item: Item): Promise<CaseOutcome>
  /** Listens to the run: an item that waits does not keep others from running. */
  listener(event: RunEvent): void
}

/** Learns when an item really starts, perhaps long before it is requested, and when it has ended. */
interface Watch {
  started(item: Item): void
  ended(outcome: CaseOutcome): void
}

export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities, watch: Watch): Runner {
  const start = async (item: Item): Promise<RanCase> => {
    const reason = whyNotRun(item, capabilities)
    return reason === undefined ? runItem(run, item) : skipItem(item, reason)
  }
  if (!run.target.lasting) return { runItem: (item) => watched(item, start, watch), listener: () => {} }
  return createSchedule(run, items, { start, watch, makesCalls: (item) => whyNotRun(item, capabilities) === undefined })
}

async function watched(item: Item, start: (item: Item) => Promise<RanCase>, watch: Watch): Promise<CaseOutcome> {
  watch.started(item)
  const { mayBeOfOthers: _, ...outcome } = await start(item)
  watch.ended(outcome)
  return outcome
}

/** What a schedule does with its items. */
interface Scheduled {
  start(item: Item): Promise<RanCase>
  makesCalls(item: Item): boolean
  watch: Watch
}

function createSchedule(run: Run, items: readonly Item[], { start, makesCalls, watch }: Scheduled): Runner {
  const slots = new Map(items.map((item) => [item.key, createSlot(item, makesCalls(item))]))
  const board = emptyBoard([...slots.values()])
  const open = once(async () => {
    const talk = await openConversation(run)
    talk.grants.onWait(goOn)
    return talk
  })
  // Test keys are created before cases fill the places for keys, and before two cases need the same key.
  const makeTestKeys = once(async () => createTestKeys(await open(), items.filter(makesCalls)))
  const startMore = async (): Promise<void> => {
    const talk = await open()
    for (let next = nextOf(board, talk); next !== undefined; next = nextOf(board, talk)) {
      if (!next.isTestKey) await makeTestKeys()
      if (!next.isAgain) watch.started(next.item)
      const slot = begin(board, next)
      start(slot.item).then((outcome) => end(slot, outcome), giveUp)
    }
  }
  const end = (slot: Slot, { mayBeOfOthers, ...outcome }: RanCase): void => {
    const mayRepeat = mayAskAgain(slot) && run.stopping.reason === null
    if (mayRepeat && slot.sharedTokens && isDoubtful(outcome) && mayBeOfOthers !== 'time') doubt(board)
    slot.isAgain = mayRepeat && (mayBeOfOthers !== undefined || (slot.sharedTokens && board.isDoubted))
    slot.state = slot.isAgain ? 'pending' : 'done'
    if (!slot.isAgain) {
      watch.ended(outcome)
      if (mayRepeat && slot.sharedTokens) slot.held = outcome
      else slot.settle(outcome)
    }
    if (board.entries.every(({ state }) => state === 'done'))
      for (const one of board.entries) if (one.held !== null) one.settle(one.held)
    goOn()
  }
  const giveUp = (error: unknown): void => {
    for (const slot of slots.values()) slot.fail(error)
  }
  let turn: Promise<void> = Promise.resolve()
  const goOn = (): void => {
    turn = turn.then(startMore).catch(giveUp)
  }
  const setOut = once(async () => goOn())
  return {
    runItem: async (item) => {
      await setOut()
      const slot = slots.get(item.key)
      if (slot === undefined) throw new Error(`"${item.key}" is not of this run`)
      return slot.outcome
    },
    listener: (event) => {
      const slot = event.kind === 'wait-started' || event.kind === 'wait-ended' ? slots.get(event.key) : undefined
      if (slot === undefined) return
      slot.isWaiting = event.kind === 'wait-started'
      if (slot.isWaiting) goOn()
    },
  }
}

const isDoubtful = ({ verdict }: CaseOutcome): boolean => ['failed', 'warned', 'blocked'].includes(verdict)

/**
 * If cases with tokens run at the same time, only a pass of all of them counts: a server that confuses tokens may pass one case because of
 * another. As soon as one does not pass, each of them runs again alone, and that result counts.
 */
function doubt(board: Board<Slot>): void {
  board.isDoubted = true
  for (const slot of board.entries) {
    if (slot.held === null) continue
    slot.held = null
    slot.isAgain = true
    slot.state = 'pending'
  }
}

/** Returns the same result to every talk. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** Grants queue if this part of the calls that may be under way at once wait: a few may wait for another user than the next case. */
const queueShare = 1 / 4

/** The next item that may start while the others run; items that wait for a time, or for the grants of others, do not count. */
function nextOf(board: Board<Slot>, { limit, facts, instance, grants }: Conversation): Slot | undefined {
  const busy = board.entries.filter(({ state, isWaiting }) => state === 'running' && !isWaiting).length
  if (busy - grants.waiting >= limit.atOnce) return undefined
  board.grantsQueue = busy >= limit.atOnce && grants.waiting >= limit.atOnce * queueShare
  // What the cases have shown about which of them may run at the same time.
  board.movesClock = instance.clock.controlled
  board.unnamedAreFree = unnamedAreFree(facts)
  board.sessionsPerKey = facts.sessionsPerKey === true
  return nextToStart(board)
}

/** Runs an item again only once, and alone. Created keys stay, so items that create keys or fill a limit are not repeated. */
const mayAskAgain = ({ hadCompany, isAgain, claims }: Slot): boolean =>
  hadCompany && !isAgain && !claims.makesKeys && claims.fills === null

/** Creates the test keys before the cases that use them, each only once. */
async function createTestKeys(talk: Conversation, items: readonly Item[]): Promise<void> {
  const { run } = talk
  const cases = items.flatMap((item) => (item.kind === 'case' ? [item] : []))
  if (run.stopping.reason !== null || cases.length === 0) return
  const names = run.corpus.testKeys.map(({ name }) => name)
  const used = new Set(cases.flatMap(({ scenario, testCase }) => [...testKeysUsed(scenario, testCase, names)]))
  if (used.has('root')) used.add(standInOf(run.corpus.testKeys, talk.instance.root))
  // Every case that needs a missing test key reports it.
  for (const name of used) await ensureTestKeys(talk, [name])
}
