import type { CaseOutcome } from '../judge/outcome.ts'
import type { ProblemFacts, StopReason } from '../judge/problem.ts'
import { caseKey } from '../language/cases.ts'
import type { Case, Corpus, SafetyClass, Scenario, TestKey } from '../language/fixture-types.ts'
import { type Random, shuffled } from '../random.ts'
import { allProves, unjudged } from './test-case.ts'
import { creationCase, creationScenario } from './test-key-scenario.ts'

/** What a run consists of: cases of scenarios, and the creation of each test key, which is evidence itself. */
export type Item =
  | { kind: 'case'; key: string; scenario: Scenario; testCase: Case }
  | { kind: 'test-key'; key: string; member: TestKey }

/** The items of a whole run: first the test keys that it creates, then the cases in the order of their files. */
export function allItems(corpus: Corpus): Item[] {
  const testKeys = corpus.testKeys
    .filter(({ key }) => key !== 'given')
    .map((member): Item => ({ kind: 'test-key', key: `test-keys/${member.name}`, member }))
  const cases = corpus.scenarios.flatMap((scenario) =>
    scenario.cases.map((testCase): Item => ({ kind: 'case', key: caseKey(scenario, testCase), scenario, testCase })),
  )
  return [...testKeys, ...cases]
}

/** Every requirement that an item proves. */
export function provesOf(item: Item): string[] {
  return item.kind === 'test-key' ? item.member.proves : allProves(item.scenario, item.testCase)
}

export interface Selection {
  only: readonly string[]
  skip: readonly { id: string; reason: string }[]
  shard: { index: number; count: number } | null
}

/** `--only` and `--skip` take an id prefix or a requirement id; a shard takes every N-th scenario, all cases of one together. */
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

/** Returns whether an id names this item: a requirement that it proves, or a prefix of its key that ends at a word. */
export function answersTo(item: Item, id: string): boolean {
  if (provesOf(item).includes(id)) return true
  return item.key === id || (item.key.startsWith(id) && (/[/-]$/.test(id) || /^[/-]/.test(item.key.slice(id.length))))
}

const scenarioId = (item: Item): string => (item.kind === 'test-key' ? item.key : item.scenario.id)

/**
 * The order of a run. It is random if every case has its own instance. On a lasting target: the test keys first, then what
 * creates nothing, then keys that should be refused, then keys that should not, and last what fills a limit, keys after sessions.
 *
 * @param standIn who calls where the secret of the root key is wanted; created first where it is not root
 */
export function orderItems(items: readonly Item[], lasting: boolean, random: Random, standIn = 'root'): Item[] {
  const mixed = shuffled(items, random)
  if (!lasting) return mixed
  const isFirst = ({ key }: Item): boolean => key === `test-keys/${standIn}`
  const members = items.filter(({ kind }) => kind === 'test-key')
  const testKeys = [...members.filter(isFirst), ...members.filter((item) => !isFirst(item))]
  const cases = mixed.filter(({ kind }) => kind === 'case')
  return [...testKeys, ...cases.sort((one, other) => weight(one) - weight(other) || inOrder(one, other))]
}

/**
 * Cases that create keys run by name, so that in each order the same cases find a place; and so do those that fill the places, because the
 * race of limits/api-keys shows most while places are free.
 */
function inOrder(one: Item, other: Item): number {
  return weight(one) === createsKeys || weight(one) === fillsKeys ? (one.key < other.key ? -1 : 1) : 0
}

const createsKeys = 3
const fillsKeys = 5

/** Whether an item fills the places for keys: it comes last on a lasting target. */
export const fillsPlaces = (item: Item): boolean => weight(item) === fillsKeys

/** The position of an item in a run on a lasting target. */
function weight(item: Item): number {
  const heavy: SafetyClass[] = ['sessions', 'limits', 'keys']
  if (item.kind === 'test-key') return 0
  const has = heavy.map((name) => item.scenario.needs.includes(name))
  // A race for sessions comes after all other cases about sessions, because a server that loses it keeps too many.
  if (has[1] && !has[2]) return hasRace(item.scenario) ? 4.5 : 4
  if (has[1]) return fillsKeys
  if (!has[2]) return 1
  return makesKeys(item.scenario) ? createsKeys : 2
}

/** Whether a scenario makes calls at the same time. */
export const hasRace = ({ given, steps }: Pick<Scenario, 'given' | 'steps'>): boolean =>
  [...given, ...steps].some((step) => 'parallel' in step)

/** A correct server creates a key here, and there are only ten places. */
function makesKeys({ given, steps }: Scenario): boolean {
  return [...given, ...steps].some(
    (step) => 'call' in step && step.call === 'manager/createApiKey' && step.expect !== 'refused',
  )
}

/** The outcome of an item that cannot run against this target, does not apply to it, or was not reached. */
export function skipItem(item: Item, reason: ProblemFacts): CaseOutcome {
  const verdict =
    reason.kind === 'area-absent'
      ? 'not-applicable'
      : reason.kind === 'not-run'
        ? reason.because.kind === 'defect'
          ? 'blocked'
          : 'not-run'
        : 'not-testable'
  return item.kind === 'test-key'
    ? unjudged(creationScenario(item.member), creationCase, verdict, reason)
    : unjudged(item.scenario, item.testCase, verdict, reason)
}

/** The outcomes of the items that a run did not reach, so that none is silently missing. @param reason null: a defect of the suite */
export function notReached(items: readonly Item[], reason: StopReason | null): CaseOutcome[] {
  const because = reason ?? { kind: 'defect' as const }
  return items.map((item) => skipItem(item, { kind: 'not-run', because }))
}
