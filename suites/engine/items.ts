import { castRow, castScenario } from './cast-scenario.ts'
import type { CastMember, Corpus, Row, SafetyClass, Scenario } from './fixture/model.ts'
import type { RowOutcome } from './outcome.ts'
import { type Random, shuffled } from './random.ts'
import { rowKey, unjudged } from './rows.ts'

/** What a run consists of: rows of scenarios, and the creation of each member of the cast, which is evidence itself. */
export type Item =
  | { kind: 'row'; key: string; scenario: Scenario; row: Row }
  | { kind: 'cast'; key: string; member: CastMember }

export function allItems(corpus: Corpus): Item[] {
  const cast = corpus.cast
    .filter(({ key }) => key !== 'given')
    .map((member): Item => ({ kind: 'cast', key: `cast/${member.name}`, member }))
  const rows = corpus.scenarios.flatMap((scenario) =>
    scenario.rows.map((row): Item => ({ kind: 'row', key: rowKey(scenario, row), scenario, row })),
  )
  return [...cast, ...rows]
}

/** Every requirement that an item proves. */
export function provesOf(item: Item): string[] {
  if (item.kind === 'cast') return item.member.proves
  const { scenario, row } = item
  return [
    ...(row.proves ?? scenario.proves),
    ...[...scenario.given, ...scenario.steps].flatMap(({ proves }) => proves ?? []),
  ]
}

export interface Selection {
  only: readonly string[]
  skip: readonly { id: string; reason: string }[]
  shard: { index: number; count: number } | null
}

/** `--only` and `--skip` take an id prefix or a requirement id; a shard takes every N-th scenario, all rows of one together. */
export function selectItems(
  items: readonly Item[],
  { only, skip, shard }: Selection,
): { selected: Item[]; skipped: { item: Item; reason: string }[] } {
  const chosen = items.filter((item) => only.length === 0 || only.some((id) => answersTo(item, id)))
  const skipped = chosen.flatMap((item) => {
    const reason = skip.find(({ id }) => answersTo(item, id))?.reason
    return reason === undefined ? [] : [{ item, reason }]
  })
  const left = chosen.filter((item) => !skipped.some((one) => one.item === item))
  if (shard === null) return { selected: left, skipped }
  const scenarioIds = [...new Set(left.map(scenarioId))]
  const mine = new Set(scenarioIds.filter((_id, index) => index % shard.count === shard.index - 1))
  return { selected: left.filter((item) => mine.has(scenarioId(item))), skipped }
}

/** True where an id names this item: a requirement that it proves, or a prefix of its key that ends at a word. */
export function answersTo(item: Item, id: string): boolean {
  if (provesOf(item).includes(id)) return true
  return item.key === id || (item.key.startsWith(id) && (/[/-]$/.test(id) || /^[/-]/.test(item.key.slice(id.length))))
}

const scenarioId = (item: Item): string => (item.kind === 'cast' ? item.key : item.scenario.id)

/**
 * The order of a run. Where every row has an instance of its own it is random. On a lasting target: the cast first, then what
 * creates nothing, then keys that should be refused, then keys that should not, and last what fills a limit, keys after sessions.
 *
 * @param standIn who calls where the secret of the root key is wanted; created first where it is not root
 */
export function orderItems(items: readonly Item[], lasting: boolean, random: Random, standIn = 'root'): Item[] {
  const mixed = shuffled(items, random)
  if (!lasting) return mixed
  const isFirst = ({ key }: Item): boolean => key === `cast/${standIn}`
  const members = items.filter(({ kind }) => kind === 'cast')
  const cast = [...members.filter(isFirst), ...members.filter((item) => !isFirst(item))]
  const rows = mixed.filter(({ kind }) => kind === 'row')
  return [...cast, ...rows.sort((one, other) => weight(one) - weight(other) || inOrder(one, other))]
}

/** What fills the places for keys goes by name: the race of limits/api-keys says most while places are free. */
function inOrder(one: Item, other: Item): number {
  return weight(one) < fillsKeys ? 0 : one.key < other.key ? -1 : 1
}

const fillsKeys = 5

function weight(item: Item): number {
  const heavy: SafetyClass[] = ['sessions', 'limits', 'keys']
  if (item.kind === 'cast') return 0
  const has = heavy.map((name) => item.scenario.needs.includes(name))
  if (has[1]) return has[2] ? fillsKeys : 4
  if (!has[2]) return 1
  return makesKeys(item.scenario) ? 3 : 2
}

/** A right server creates a key here, and there are only ten places. */
function makesKeys({ given, steps }: Scenario): boolean {
  return [...given, ...steps].some(
    (step) => 'call' in step && step.call === 'manager/createApiKey' && step.expect !== 'refused',
  )
}

/** The outcome of an item that cannot be asked of this target, or was not reached. */
export function skipItem(item: Item, reason: string, verdict: 'not-testable' | 'blocked' = 'not-testable'): RowOutcome {
  return item.kind === 'cast'
    ? unjudged(castScenario(item.member), castRow, verdict, reason)
    : unjudged(item.scenario, item.row, verdict, reason)
}
