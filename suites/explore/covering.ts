/** A covering array: rows in which every pair of values of two dimensions occurs. Greedy, a few rows above the least. */
import type { Random } from '../engine/random.ts'

export type Dimensions = { readonly [name: string]: readonly string[] }
export type Row = { readonly [name: string]: string }

/** `way=basic & method=list`, the smaller name first. */
export function pairsOf(row: Row): string[] {
  const items = Object.entries(row)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
  return items.flatMap((one, at) => items.slice(at + 1).map((other) => `${one} & ${other}`))
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
const candidates = 24

export function coveringArray(dimensions: Dimensions, random: Random): Row[] {
  const open = new Set(allPairs(dimensions))
  const rows: Row[] = []
  while (open.size > 0) {
    let best: Row = {}
    let gained = -1
    const [wanted = ''] = open
    for (let tried = 0; tried < candidates; tried++) {
      const row = { ...randomRow(dimensions, random), ...valuesOf(wanted) }
      const gain = pairsOf(row).filter((pair) => open.has(pair)).length
      if (gain > gained) [best, gained] = [row, gain]
    }
    for (const pair of pairsOf(best)) open.delete(pair)
    rows.push(best)
  }
  return rows
}

const valuesOf = (pair: string): Row =>
  Object.fromEntries(pair.split(' & ').map((item) => item.split('=') as [string, string]))

function randomRow(dimensions: Dimensions, random: Random): Row {
  return Object.fromEntries(
    Object.entries(dimensions).map(([name, values]) => [name, values[random.below(values.length)] ?? '']),
  )
}
