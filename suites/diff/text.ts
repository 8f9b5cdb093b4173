import { groupBy } from '../engine/group.ts'
import { line, lines, type Printable, printable } from '../engine/printable.ts'
import { printedTable } from '../report/lines.ts'
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
    ...(differences.length === 0 ? [] : [...printedTable(head, rowsOf(differences)), printable('')]),
    line`${calls - differences.length} of ${calls} calls are answered alike; ${verdicts} differ in their outcome`,
  ])
}

function rowsOf(differences: readonly Difference[]): string[][] {
  const rows = differences.map(({ call, in: where, a, b }) => [call, describe(a), describe(b), where.join(', ')])
  return [...groupBy(rows, (row) => JSON.stringify(row)).values()].map(([row = [], ...same]) => [
    ...row,
    String(same.length + 1),
  ])
}

function describe({ outcome, status, code, shape }: PlayedCall): string {
  if (outcome === 'accepted') return `accepted ${shape}`
  const http = status === null ? 'no answer' : `HTTP ${status}`
  return `${outcome}, ${http}${code === null ? '' : `, error ${code}`}`
}

const head = ['call', 'A', 'B', 'differs in', 'times']
