import { line, lines, type Printable, printable } from '../engine/printable.ts'
import type { Fact } from './fact.ts'
import type { FactSheet } from './measure.ts'
import type { GivenAway, Refusal } from './refusals.ts'

/** Facts of these questions are rows of the table of refusals. */
const inTable: ReadonlySet<string> = new Set(['errors/http-status', 'errors/codes'])

/** The sheet for a terminal. @param target the URL */
export function renderFacts(sheet: FactSheet, target: string): Printable {
  const facts = sheet.facts.filter(({ question }) => !inTable.has(question))
  return lines([
    line`What ${target} does where the document is silent. Measured, never judged.`,
    printable(''),
    ...table(['measured', 'value', 'open question'], facts.map(factRow)),
    printable(''),
    printable('How refusals are answered'),
    ...table(['refusal', 'HTTP', 'code', 'message'], sheet.refusals.map(refusalRow)),
    printable(''),
    printable('What refusals give away, for information only'),
    ...table(['a caller with', 'and one with', 'in', 'can be told apart'], sheet.givesAway.map(givenAwayRow)),
    ...sheet.left.map(({ name, reason }) => line`Not measured: ${name}: ${reason}`),
    line`${sheet.facts.length} facts from ${sheet.calls} calls`,
  ])
}

const factRow = ({ name, value, unit, question }: Fact): string[] => [
  name,
  unit === null ? shown(value) : `${shown(value)} ${unit}`,
  question,
]

const shown = (value: Fact['value']): string => (value === true ? 'yes' : value === false ? 'no' : String(value))

const refusalRow = ({ kind, outcome, status, code, message }: Refusal): string[] => [
  kind,
  outcome === 'accepted' ? 'accepted' : String(status ?? 'no answer'),
  String(code ?? ''),
  message ?? '',
]

const givenAwayRow = ({ one, other, where, by }: GivenAway): string[] => [
  one,
  other,
  where,
  by === 'no' ? 'no' : `yes, by ${by}`,
]

const longestCell = 60

function table(head: readonly string[], rows: readonly string[][]): Printable[] {
  const all = [head, ...rows].map((row) => row.map((cell) => printable(cell, longestCell)))
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    printable(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd()),
  )
}
