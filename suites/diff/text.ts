import { line, lines, type Printable, printable } from '../engine/printable.ts'
import type { Difference } from './compare.ts'
import type { PlayedCall } from './play.ts'

/** Two servers and how they answered the same calls. */
export interface ServerDiff {
  a: string
  b: string
  calls: number
  differences: Difference[]
}

/** Whether a call that one server accepts is refused, or not answered, by the other. */
export function outcomesDiffer({ differences }: Pick<ServerDiff, 'differences'>): boolean {
  return differences.some((one) => one.in.includes('outcome'))
}

/** The differences as a table for a terminal; repeated ones are one row. */
export function renderServerDiff({ a, b, calls, differences }: ServerDiff): Printable {
  const verdicts = differences.filter((one) => one.in.includes('outcome')).length
  return lines([
    line`A  ${a}`,
    line`B  ${b}`,
    printable(''),
    ...(differences.length === 0 ? [] : [...table(rowsOf(differences)), printable('')]),
    line`${calls - differences.length} of ${calls} calls are answered alike; ${verdicts} differ in their outcome`,
  ])
}

function rowsOf(differences: readonly Difference[]): string[][] {
  const counted = new Map<string, { row: string[]; times: number }>()
  for (const { call, in: where, a, b } of differences) {
    const row = [call, describe(a), describe(b), where.join(', ')]
    const key = JSON.stringify(row)
    counted.set(key, { row, times: (counted.get(key)?.times ?? 0) + 1 })
  }
  return [...counted.values()].map(({ row, times }) => [...row, String(times)])
}

function describe({ outcome, status, code, shape }: PlayedCall): string {
  if (outcome === 'accepted') return `accepted ${shape}`
  const http = status === null ? 'no answer' : `HTTP ${status}`
  return `${outcome}, ${http}${code === null ? '' : `, error ${code}`}`
}

const longestCell = 60
const head = ['call', 'A', 'B', 'differs in', 'times']

function table(rows: readonly string[][]): Printable[] {
  const all = [head, ...rows].map((row) => row.map((cell) => printable(cell, longestCell)))
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    printable(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd()),
  )
}
