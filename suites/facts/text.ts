import { groupBy } from '../engine/group.ts'
import { line, lines, type Printable, printable } from '../engine/printable.ts'
import { printedTable } from '../report/lines.ts'
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
    ...factTable(facts),
    printable(''),
    printable('How refusals are answered'),
    ...printedTable(['refusal', 'HTTP', 'code', 'message'], sheet.refusals.map(refusalRow)),
    printable(''),
    printable('What refusals give away, for information only'),
    ...printedTable(['a caller with', 'and one with', 'in', 'can be told apart'], sheet.givesAway.map(givenAwayRow)),
    ...(sheet.left.length === 0 ? [] : [printable('')]),
    ...[...groupBy(sheet.left, ({ reason }) => reason)].map(
      ([reason, left]) => line`Not measured, since ${reason}: ${left.map(({ name }) => name).join(', ')}`,
    ),
    printable(''),
    line`${sheet.facts.length} facts from ${sheet.calls} calls`,
  ])
}

/** The parts of the sheet, by how the ids of their open questions begin; questions without their own part come last. */
const parts: readonly (readonly [heading: string, areas: readonly string[]])[] = [
  ['Requests', ['envelope', 'solutions']],
  ['Signatures', ['signatures']],
  ['Tokens', ['tokens', 'limits/token-lifetimes', 'expires-in', 'grants', 'scopes', 'refresh', 'addresses']],
  ['Sessions', ['sessions']],
  ['API keys', ['keys']],
  ['Limits and refusals', ['']],
]

const partOf = ({ question }: Fact): string =>
  parts.find(([, areas]) => areas.some((area) => question.startsWith(area)))?.[0] ?? ''

function factTable(facts: readonly Fact[]): Printable[] {
  const groups = parts.flatMap(([heading]) => {
    const own = facts.filter((fact) => partOf(fact) === heading)
    return own.length === 0 ? [] : [{ heading, own }]
  })
  const rows = groups.flatMap(({ own }) => own.map(factRow))
  const [head, ...printed] = printedTable(['measured', 'value', 'open question'], rows)
  let from = 0
  const body = groups.flatMap(({ heading, own }) => {
    const lines = printed.slice(from, from + own.length)
    from += own.length
    return [printable(''), printable(heading), ...lines]
  })
  return head === undefined ? [] : [head, ...body]
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
