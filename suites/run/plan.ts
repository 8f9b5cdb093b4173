import type { Item } from '../engine/case/cases.ts'
import { provesOf } from '../engine/case/cases.ts'
import type { CallStep, SendStep, Step } from '../engine/fixture/model.ts'
import type { Gap } from '../engine/judge/problem.ts'
import type { Plan } from '../report/model.ts'
import { reasonText } from '../report/problem-text.ts'
import { joinReasons, keyOfReason } from '../report/reasons.ts'

/** What preflight, token discovery and the junk of the gates take, about. */
const preflightCalls = 20

/**
 * Says before the first request what a run will do to its target.
 *
 * @param cannot why an item cannot be asked, undefined where it can
 * @param target the members whose keys are kept from an earlier run, and whether the target declares how keys are removed
 */
export function makePlan(
  selected: readonly Item[],
  notSelected: number,
  cannot: (item: Item) => Gap | undefined,
  { keptTestKeys, cleanup }: { keptTestKeys: readonly string[]; cleanup: boolean },
): Plan {
  const asked = selected.filter((item) => cannot(item) === undefined)
  const calls = asked
    .filter((item) => item.kind === 'case' || !keptTestKeys.includes(item.member.name))
    .flatMap(callsOf)
  const sum = (of: (call: PlannedCall) => number): number => calls.reduce((total, call) => total + of(call), 0)
  const tokens = sum(({ method, count }) => (method === 'manager/auth' ? count : 0))
  const keys = sum(({ method, count, refused }) => (method === 'manager/createApiKey' && !refused ? count : 0))
  const tried = sum(({ method, count, refused }) => (method === 'manager/createApiKey' && refused ? count : 0))
  const fillsKeys = asked.some((item) => item.kind === 'case' && fills(item, 'keys'))
  const fillsSessions = asked.some((item) => item.kind === 'case' && fills(item, 'sessions'))
  const removed = cleanup ? ', removed through the cleanup method' : ''
  const creates = [
    ...(fillsKeys
      ? [`API keys up to the limit of ten${removed}`]
      : keys > 0
        ? [`${several(keys, 'API key')}${removed}`]
        : []),
    ...(tried > 0 ? [`up to ${tried} more if the target takes keys that it should refuse`] : []),
    ...(tokens > 0 ? [`about ${several(tokens, 'token pair')}`] : []),
    ...(fillsSessions ? ['sessions up to the limit of 16, which may push out others of the same user'] : []),
  ]
  return {
    cases: asked.length,
    notSelected,
    calls: preflightCalls + sum(({ count }) => count),
    refusals: sum(({ count, refused }) => (refused ? count : 0)),
    creates,
    cannot: reasons(selected, cannot),
  }
}

const several = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

interface PlannedCall {
  method: string
  count: number
  refused: boolean
}

function callsOf(item: Item): PlannedCall[] {
  if (item.kind === 'test-key') return [{ method: 'manager/createApiKey', count: 1, refused: false }]
  return [...item.scenario.given, ...item.scenario.steps].flatMap((step) => ('wait' in step ? [] : [plannedCall(step)]))
}

function plannedCall(step: CallStep | SendStep): PlannedCall {
  const times = Number(step.repeat ?? step.parallel ?? 1)
  return {
    method: 'call' in step ? step.call : 'raw',
    count: Number.isNaN(times) ? 1 : times,
    refused: isRefusal(step),
  }
}

function isRefusal(step: Exclude<Step, { wait: unknown }>): boolean {
  return step.expect === 'refused'
}

function fills(item: Extract<Item, { kind: 'case' }>, what: 'keys' | 'sessions'): boolean {
  return item.scenario.needs.includes('limits') && item.scenario.needs.includes(what)
}

/** Why cases are left out, the most common reason first. */
function reasons(items: readonly Item[], cannot: (item: Item) => Gap | undefined): Plan['cannot'] {
  const byReason = new Map<string, { gap: Gap; items: Item[] }>()
  for (const item of items) {
    const gap = cannot(item)
    if (gap === undefined) continue
    const known = byReason.get(keyOfReason(gap)) ?? { gap, items: [] }
    known.items.push(item)
    byReason.set(keyOfReason(gap), known)
  }
  return joinReasons([...byReason.values()].map(({ gap }) => gap))
    .map(({ reasons: joined }) => {
      const mine = joined.flatMap((gap) => byReason.get(keyOfReason(gap))?.items ?? [])
      return {
        reason: reasonText(joined),
        cases: mine.length,
        requirements: [...new Set(mine.flatMap(provesOf))].sort(),
      }
    })
    .sort((one, other) => other.cases - one.cases)
}
