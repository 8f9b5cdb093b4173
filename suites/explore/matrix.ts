/**
 * Combinations: every pair of values of the dimensions of fixtures/matrix.yaml, which also says what they stand for. Each row is a short sequence
 * with its control.
 */

import type { RawStep } from '../engine/language/corpus.ts'
import { readPackageYaml } from '../engine/language/yaml-source.ts'
import { type Random, seededRandom, shuffled } from '../engine/signer/random.ts'
import type { Sizes } from './budget.ts'
import type { Seen } from './explorer.ts'
import { type Caller, expectRefused, isAccepted, mayTryCreation } from './keyring.ts'
import type { CallStep } from './step.ts'
import { stepOf, type Values } from './world-steps.ts'
import { valuesOf } from './world-values.ts'
import { runWritten } from './worlds.ts'

function readMatrix(): Matrix {
  packaged ??= readPackageYaml('fixtures/matrix.yaml').value as Matrix
  return packaged
}

let packaged: Matrix | undefined

/** What the rows showed about the pairs of the matrix. */
export const noCoverage = () => ({
  /** Every pair. */
  all: allPairs(readMatrix().dimensions) as readonly string[],
  /** Pairs that a judged acceptance or refusal covered. */
  covered: new Set<string>(),
  /** Why the other pairs are not covered. */
  reasons: new Map<string, string>(),
})

interface MatrixOptions {
  readonly caller: Caller
  readonly seed: number
  readonly sizes: Sizes
  /** What earlier rows showed; what these show is added. */
  readonly coverage: ReturnType<typeof noCoverage>
  /** Rows by the beginnings of their ids; null: all. */
  readonly only: readonly string[] | null
  isOver(): boolean
}

/** Whether a list of beginnings of ids names an id; null names all. */
export const isNamedBy = (only: readonly string[] | null, id: string): boolean =>
  only?.some((name) => id === name || id.startsWith(`${name}/`)) ?? true

/** How many rows hold each pair: if one cannot be judged, the next may be. */
const rowsOfPair = 3

/** Makes the calls of the rows that show something new. Row numbers depend only on the seed, not on the answers of the target. */
export async function callMatrix({ caller, seed, sizes, coverage, only, isOver }: MatrixOptions): Promise<void> {
  const { rows, impossible } = drawnRows(seed)
  const { covered, reasons } = coverage
  const values = valuesOf(caller, sizes)
  let at = 0
  for (const row of rows) {
    if (isOver()) break
    at += 1
    const id = `matrix/${at}`
    if (!isNamedBy(only, id) || (only === null && pairsOf(row).every((pair) => covered.has(pair)))) continue
    caller.x.script = id
    const why = await callRow(caller, sizes, row, new Map([...values, ...Object.entries(row)]))
    for (const pair of pairsOf(row)) {
      if (why === null) covered.add(pair)
      else reasons.set(pair, why)
    }
  }
  for (const pair of covered) reasons.delete(pair)
  for (const [pair, why] of impossible) reasons.set(pair, why)
}

/** @returns why the row proves nothing; null if its answer was judged, with its control */
async function callRow(caller: Caller, sizes: Sizes, row: Row, values: Values): Promise<string | null> {
  const { x } = caller
  if (!x.names.has(row.key ?? '')) return `there is no key "${row.key}" here`
  const steps = await stepsOf(caller, sizes, row, values)
  if (steps === undefined) return 'something that it needs was not granted, or is not there'
  const [right, wrong] = steps
  const isCreation = right.call === 'manager/createApiKey'
  if (isCreation && !mayTryCreation(caller)) return 'no place for a key is left'
  if (wrong === null) return callRight(caller, right)
  const foreseen = x.foresee(wrong)
  if (foreseen === null) return cannotBeMade
  if (foreseen.is === 'accepted') return callRight(caller, wrong)
  const hasEffect = isCreation || right.params.grantType === 'refresh_token'
  if (!hasEffect && !(await isAccepted(x, right))) return 'its control was not accepted'
  if ((await expectRefused(x, wrong)) === null) return whyOpen(caller, wrong)
  if (!hasEffect) await x.call({ ...right })
  return null
}

const cannotBeMade = 'it cannot be made'

/** Places for keys are scarce, so only creations that must be refused are requested. */
async function callRight(caller: Caller, right: CallStep): Promise<string | null> {
  const isCreation = right.call === 'manager/createApiKey'
  const ask = (): Promise<Seen | null> => caller.x.call(right, isCreation ? 'refused' : undefined)
  const first = await ask()
  if (first === null) return isCreation ? 'a right creation takes a place for a key' : cannotBeMade
  if (first.verdict.is !== 'open') return null
  // The first answer shows that a body of this length is accepted, so the second can be judged.
  const isGone = right.params.grantType === 'refresh_token'
  const second = first.answer.kind === 'accepted' && !isGone && !isCreation ? await ask() : null
  return second === null || second.verdict.is === 'open' ? `open: ${first.verdict.requirement}` : null
}

function whyOpen({ x }: Caller, step: CallStep): string {
  const verdict = x.foresee(step)
  return verdict === null ? cannotBeMade : `open: ${verdict.requirement}`
}

/** Makes the pairs of a row, and what happens directly before its call. @returns its right call, and the wrong one; undefined if it cannot be made here */
async function stepsOf(
  caller: Caller,
  sizes: Sizes,
  row: Row,
  values: Values,
): Promise<[CallStep, CallStep | null] | undefined> {
  const matrix = readMatrix()
  const meaning = (dimension: string): RawStep => matrix.meaning[dimension]?.[row[dimension] ?? ''] ?? {}
  const words = ['session', 'address', 'lifetime'].flatMap((name) => (meaning(name).scope ?? []) as string[])
  values.set('restrictions', words).set('part', meaning('way').part ?? meaning('method').part)
  values.set('areas', [
    row.key === 'context-key' ? 'context' : 'solution',
    ...(row.method === 'create' ? (values.get('apikey') as string[]) : []),
  ])
  values.set('other', caller.keyring.secret.find((who) => who !== row.key) ?? null)
  const made = row.generation === 'no token' ? [] : await runWritten(caller, matrix.pairs, values, sizes)
  values.set('pair', made.at(-1) ?? null)
  const stepWith = (more: RawStep): CallStep | undefined => {
    const { part: _, ...raw }: RawStep = {
      ...meaning('method'),
      ...meaning('way'),
      ...meaning('body'),
      ...meaning('connection'),
      ...more,
    }
    return stepOf(caller, raw, values)?.call
  }
  const right = stepWith({})
  if (right === undefined) return undefined
  await runWritten(caller, (meaning('before').steps ?? []) as readonly RawStep[], values, sizes)
  if (row.deviation === 'old-pair') values.set('pair', made.length < 2 ? null : (made[0] ?? null))
  const wrong = row.deviation === 'none' ? null : stepWith(meaning('deviation'))
  return wrong === undefined ? undefined : [right, wrong]
}

type Dimensions = { readonly [name: string]: readonly string[] }
type Row = { readonly [name: string]: string }

/** A combination of values that no row has. */
interface Impossible {
  readonly why: string
  /** Values by dimension: a row that has one of each, in any of these, is impossible. */
  readonly where: readonly Dimensions[]
}

interface Matrix {
  readonly dimensions: Dimensions
  readonly impossible: readonly Impossible[]
  /** What values stand for: members of the call, words of its scope, or steps before it. */
  readonly meaning: { readonly [dimension: string]: { readonly [value: string]: RawStep } }
  /** The steps that make the pair of a row. */
  readonly pairs: readonly RawStep[]
}

/** `method=list & way=basic`, the smaller name first. */
export function pairsOf(row: Row): string[] {
  const items: string[] = []
  for (const name in row) items.push(`${name}=${row[name]}`)
  items.sort()
  const pairs: string[] = []
  for (let at = 0; at < items.length; at++)
    for (let other = at + 1; other < items.length; other++) pairs.push(`${items[at]} & ${items[other]}`)
  return pairs
}

/** Every pair of values of two dimensions. */
function allPairs(dimensions: Dimensions): string[] {
  const names = Object.keys(dimensions)
  return names.flatMap((one, at) =>
    names
      .slice(at + 1)
      .flatMap((other) =>
        (dimensions[one] ?? []).flatMap((a) =>
          (dimensions[other] ?? []).flatMap((b) => pairsOf({ [one]: a, [other]: b })),
        ),
      ),
  )
}

/** How many random rows compete for each place. */
const candidates = 16
/** How many random rows are drawn for a pair before it counts as impossible. */
const draws = 400

let drawn: (ReturnType<typeof coveringArray> & { readonly seed: number }) | undefined

/** The rows for a seed. Each is drawn once, because that takes as long as a call; another reader begins with those that are drawn. */
function drawnRows(seed: number): ReturnType<typeof coveringArray> {
  if (drawn?.seed !== seed) drawn = { seed, ...coveringArray(seed) }
  return drawn
}

/** The same items to each reader. */
function replayed<Item>(items: Iterator<Item>): Iterable<Item> {
  const kept: Item[] = []
  return {
    *[Symbol.iterator]() {
      for (let at = 0; ; at += 1) {
        if (at === kept.length) {
          const next = items.next()
          if (next.done === true) return
          kept.push(next.value)
        }
        yield kept[at] as Item
      }
    },
  }
}

/** Draws as many rows as an exploration needs, while there is time. */
export function drawAhead(seed: number): void {
  let count = 0
  for (const _ of drawnRows(seed).rows) if (++count === rowsAhead) return
}

/** More than 16,000 calls use. */
const rowsAhead = 400

/**
 * The first rows hold every pair once; further ones hold it again beside other values.
 *
 * @param times how many rows hold each pair
 * @returns `rows`: drawn one by one, because a small budget needs few of them; `impossible`: the pairs that are in no row, each with the reason,
 * whole when the rows have ended
 */
export function coveringArray(seed: number, times = rowsOfPair) {
  const impossible = new Map<string, string>()
  return { rows: replayed(drawRows(seededRandom(seed), times, impossible)), impossible }
}

function* drawRows(random: Random, times: number, impossible: Map<string, string>): Generator<Row, void> {
  const reasonAgainst = reasonsOf(readMatrix())
  for (let time = 0; time < times; time++) {
    const open = new Set(allPairs(readMatrix().dimensions).filter((pair) => !impossible.has(pair)))
    while (open.size > 0) {
      const [wanted = ''] = open
      const pair = rowOf(wanted)
      const direct = reasonAgainst(pair)
      const best = direct ?? bestRow(random, pair, open, reasonAgainst)
      for (const done of typeof best === 'string' ? [wanted] : pairsOf(best)) open.delete(done)
      if (typeof best === 'string') impossible.set(wanted, best)
      else yield best
    }
  }
}

/** Why a row, or a part of one, is impossible; with a dimension, only as far as its value is a reason. */
type ReasonAgainst = (row: Row, dimension?: string) => string | undefined

function reasonsOf({ impossible, dimensions }: Matrix): ReasonAgainst {
  const all = impossible.flatMap(({ why, where }) =>
    where.map((values) => ({
      why,
      where: Object.entries(values).map(([name, some]) => [name, new Set(some)] as const),
    })),
  )
  const names = Object.keys(dimensions)
  const ofDimension = new Map(
    names.map((name) => [name, all.filter(({ where }) => where.some(([one]) => one === name))]),
  )
  return (row, dimension) => {
    const some = dimension === undefined ? all : ofDimension.get(dimension)
    return some?.find(({ where }) => where.every(([name, values]) => values.has(row[name] ?? '')))?.why
  }
}

/**
 * Of the possible rows with this pair the one that covers most open pairs, or the reason why no row is possible.
 *
 * @param open the pairs that no row has yet
 */
function bestRow(random: Random, pair: Row, open: ReadonlySet<string>, reasonAgainst: ReasonAgainst): Row | string {
  let best: Row | undefined
  let gained = -1
  let why = ''
  for (let drawn = 0, possible = 0; drawn < draws && possible < candidates; drawn++) {
    const row = randomRow(random, pair, reasonAgainst)
    const reason = reasonAgainst(row)
    why = reason ?? why
    if (reason !== undefined) continue
    possible += 1
    let gain = 0
    for (const one of pairsOf(row)) if (open.has(one)) gain += 1
    if (gain > gained) [best, gained] = [row, gain]
  }
  return best ?? `every row with it is impossible: ${why}`
}

const rowOf = (pair: string): Row =>
  Object.fromEntries(pair.split(' & ').map((item) => item.split('=') as [string, string]))

/** Draws one dimension after the other in a random order, and avoids values that the row so far makes impossible. */
function randomRow(random: Random, pair: Row, reasonAgainst: ReasonAgainst): Row {
  const row = { ...pair }
  const { dimensions } = readMatrix()
  const names = Object.keys(dimensions).filter((name) => pair[name] === undefined)
  for (const name of shuffled(names, random)) {
    for (const value of shuffled(dimensions[name] ?? [], random)) {
      row[name] = value
      if (reasonAgainst(row, name) === undefined) break
    }
  }
  return row
}
