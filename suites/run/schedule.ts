/** Runs the items of a run. Items on one server run at the same time if they do not disturb each other. */
import { type Item, skipItem } from '../engine/case/cases.ts'
import { claimsOf } from '../engine/case/claims.ts'
import { type Client, openClient, type Run } from '../engine/case/client.ts'
import type { RunEvent } from '../engine/case/events.ts'
import type { RanCase } from '../engine/case/run-case.ts'
import { standInOf } from '../engine/case/stand-in.ts'
import { testKeysUsed } from '../engine/case/test-case.ts'
import { ensureTestKeys } from '../engine/case/test-keys.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { type Capabilities, cannotAsk } from './capabilities.ts'
import { type Board, type Entry, nextToStart } from './may-start.ts'
import { runItem } from './run-item.ts'

/** Runs each item once. On one server, all items start with the first one that is requested. */
interface Runner {
  ask(item: Item): Promise<CaseOutcome>
  /** Listens to the run: an item that waits does not keep others from running. */
  listener(event: RunEvent): void
}

/** Is told when an item really starts, perhaps long before it is requested, and when it has ended. */
interface Watch {
  started(item: Item): void
  ended(outcome: CaseOutcome): void
}

export function createRunner(run: Run, items: readonly Item[], capabilities: Capabilities, watch: Watch): Runner {
  const start = async (item: Item): Promise<RanCase> => {
    const reason = cannotAsk(item, capabilities)
    return reason === undefined ? runItem(run, item) : skipItem(item, reason)
  }
  if (!run.target.lasting) return { ask: (item) => watched(item, start, watch), listener: () => {} }
  const schedule = createSchedule(run, items, {
    start,
    watch,
    askable: (item) => cannotAsk(item, capabilities) === undefined,
  })
  return schedule
}

async function watched(item: Item, start: (item: Item) => Promise<RanCase>, watch: Watch): Promise<CaseOutcome> {
  watch.started(item)
  const { mayBeOfOthers: _, ...outcome } = await start(item)
  watch.ended(outcome)
  return outcome
}

interface Scheduled {
  start(item: Item): Promise<RanCase>
  askable(item: Item): boolean
  watch: Watch
}

interface Slot extends Entry {
  item: Item
  /** Other items ran at the same time. */
  hadCompany: boolean
  isWaiting: boolean
  settle(outcome: CaseOutcome): void
  fail(error: unknown): void
  outcome: Promise<CaseOutcome>
}

function slotOf(item: Item, askable: boolean): Slot {
  let settle: Slot['settle'] = () => {}
  let fail: Slot['fail'] = () => {}
  const outcome = new Promise<CaseOutcome>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // The caller of `ask` gets the error; until then nobody handles it.
  outcome.catch(() => {})
  const claims = askable ? claimsOf(item) : unasked
  return {
    key: item.key,
    isTestKey: item.kind === 'test-key',
    claims,
    state: 'pending',
    isAgain: false,
    startedAfterGrants: 0,
    item,
    hadCompany: false,
    isWaiting: false,
    settle,
    fail,
    outcome,
  }
}

/** The claims of an item that is not asked. */
const unasked = { grants: 0, makesKeys: false, fills: null, quiet: null, waits: false } as const

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: closures over the state of one run, each of them short
function createSchedule(run: Run, items: readonly Item[], { start, askable, watch }: Scheduled): Runner {
  const slots = new Map(items.map((item) => [item.key, slotOf(item, askable(item))]))
  const board: Board<Slot> = { entries: [...slots.values()], grants: 0, movesClock: false }
  let client: Client | null = null
  let haveTestKeys = false

  const running = (): Slot[] => board.entries.filter(({ state }) => state === 'running')
  const startMore = async (): Promise<void> => {
    client ??= await openClient(run)
    board.movesClock = client.instance.clock.controlled
    for (;;) {
      const now = running()
      if (now.filter(({ isWaiting }) => !isWaiting).length >= client.limit.atOnce) return
      const next = nextToStart(board)
      if (next === undefined) return
      // Test keys are created before cases fill the places for keys, and before two cases need the same key.
      if (!next.isTestKey && !haveTestKeys) {
        haveTestKeys = true
        await createTestKeys(client, items.filter(askable))
      }
      begin(next, now)
    }
  }
  const begin = (slot: Slot, beside: readonly Slot[]): void => {
    slot.state = 'running'
    slot.startedAfterGrants = board.grants
    board.grants += slot.claims.grants
    slot.hadCompany = beside.length > 0
    for (const other of beside) other.hadCompany = true
    if (!slot.isAgain) watch.started(slot.item)
    start(slot.item).then(
      (outcome) => end(slot, outcome),
      (error: unknown) => {
        slot.state = 'done'
        slot.fail(error)
        goOn()
      },
    )
  }
  const end = (slot: Slot, { mayBeOfOthers, ...outcome }: RanCase): void => {
    const isUnsure = mayBeOfOthers === true && slot.hadCompany && !slot.isAgain && isRepeatable(slot)
    slot.state = isUnsure && run.stopping.reason === null ? 'pending' : 'done'
    slot.isAgain = isUnsure
    if (slot.state === 'done') {
      watch.ended(outcome)
      slot.settle(outcome)
    }
    goOn()
  }
  let underWay: Promise<void> = Promise.resolve()
  const goOn = (): void => {
    underWay = underWay.then(startMore).catch((error: unknown) => {
      for (const slot of slots.values()) slot.fail(error)
    })
  }
  let isBegun = false
  return {
    ask: (item) => {
      if (!isBegun) goOn()
      isBegun = true
      return slots.get(item.key)?.outcome ?? Promise.reject(new Error(`"${item.key}" is not of this run`))
    },
    listener: (event) => {
      if (event.kind !== 'wait-started' && event.kind !== 'wait-ended') return
      const slot = slots.get(event.key)
      if (slot === undefined) return
      slot.isWaiting = event.kind === 'wait-started'
      if (slot.isWaiting) goOn()
    },
  }
}

/** Whether an item may run twice. Created keys stay, so items that create keys or fill a limit run once. */
const isRepeatable = ({ claims }: Entry): boolean => !claims.makesKeys && claims.fills === null

/** Creates the test keys before the cases that use them, each only once. */
async function createTestKeys(client: Client, items: readonly Item[]): Promise<void> {
  const { run } = client
  const cases = items.flatMap((item) => (item.kind === 'case' ? [item] : []))
  if (run.stopping.reason !== null || cases.length === 0) return
  const names = run.corpus.testKeys.map(({ name }) => name)
  const used = new Set(cases.flatMap(({ scenario, testCase }) => [...testKeysUsed(scenario, testCase, names)]))
  if (used.has('root')) used.add(standInOf(run.corpus.testKeys, client.instance.root))
  // Every case that needs a missing test key reports it.
  for (const name of used) await ensureTestKeys(client, [name])
}
