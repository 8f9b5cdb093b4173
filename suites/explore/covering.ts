/** A covering array: rows in which every pair of values of two dimensions occurs. Greedy, a few rows above the least. */
import { type Random, shuffled } from '../engine/signer/random.ts'

export type Dimensions = { readonly [name: string]: readonly string[] }
export type Row = { readonly [name: string]: string }

/** A combination of values that no row has. */
export interface Impossible {
  readonly why: string
  /** Values by dimension: a row that has one of each, in any of these, is impossible. */
  readonly where: readonly Dimensions[]
}

export interface Matrix {
  readonly dimensions: Dimensions
  readonly impossible: readonly Impossible[]
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
export function allPairs(dimensions: Dimensions): string[] {
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

export interface CoveringArray {
  /** Drawn one by one, because a small budget needs few of them. */
  readonly rows: Iterable<Row>
  /** The pairs that are in no row, each with the reason; whole when the rows have ended. */
  readonly impossible: ReadonlyMap<string, string>
}

/**
 * The first rows hold every pair once; further ones hold it again beside other values.
 *
 * @param times how many rows hold each pair
 */
export function coveringArray(matrix: Matrix, random: Random, times = 1): CoveringArray {
  const impossible = new Map<string, string>()
  return { rows: drawRows(matrix, random, times, impossible), impossible }
}

function* drawRows(
  matrix: Matrix,
  random: Random,
  times: number,
  impossible: Map<string, string>,
): Generator<Row, void> {
  const reasonAgainst = reasonsOf(matrix)
  for (let time = 0; time < times; time++) {
    const open = new Set(allPairs(matrix.dimensions).filter((pair) => !impossible.has(pair)))
    while (open.size > 0) {
      const [wanted = ''] = open
      const pair = valuesOf(wanted)
      const direct = reasonAgainst(pair)
      const best = direct ?? bestRow(matrix, random, { pair, open, reasonAgainst })
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

interface Drawn {
  readonly pair: Row
  /** The pairs that no row has yet. */
  readonly open: ReadonlySet<string>
  readonly reasonAgainst: ReasonAgainst
}

/** Of the possible rows with this pair the one that covers most open pairs, or the reason why no row is possible. */
function bestRow(matrix: Matrix, random: Random, { pair, open, reasonAgainst }: Drawn): Row | string {
  let best: Row | undefined
  let gained = -1
  let why = ''
  for (let drawn = 0, possible = 0; drawn < draws && possible < candidates; drawn++) {
    const row = randomRow(matrix, random, pair, reasonAgainst)
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

const valuesOf = (pair: string): Row =>
  Object.fromEntries(pair.split(' & ').map((item) => item.split('=') as [string, string]))

/** Draws one dimension after the other in a random order, and avoids values that the row so far makes impossible. */
function randomRow(matrix: Matrix, random: Random, pair: Row, reasonAgainst: ReasonAgainst): Row {
  const row = { ...pair }
  const names = Object.keys(matrix.dimensions).filter((name) => pair[name] === undefined)
  for (const name of shuffled(names, random)) {
    for (const value of shuffled(matrix.dimensions[name] ?? [], random)) {
      row[name] = value
      if (reasonAgainst(row, name) === undefined) break
    }
  }
  return row
}
