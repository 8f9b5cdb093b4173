/** Explains the ids of the model that reports print: parts of its table, rows of its matrix and findings. */
import { usageError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import { type Operations, readDeviations } from '../engine/language/deviations.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import { seededRandom } from '../engine/signer/random.ts'
import { coveringArray } from '../explore/matrix.ts'
import type { Change } from '../explore/step.ts'
import { cells } from '../explore/table.ts'
import { hanging, table } from '../report/text.ts'
import { seedOfRelease } from '../run/explore.ts'

type Cell = ReturnType<typeof cells>[number]

/**
 * @param id begins with `table`, `matrix` or `found`
 * @throws SuiteError (`usage`) if the id names nothing
 */
export function showOfModel(id: string, { requirements }: Pick<Corpus, 'requirements'>): string[] {
  const [kind = ''] = id.split('/')
  const [show, advice] = kinds[kind] ?? kinds.found
  const lines = show(id, requirements)
  if (lines.length === 0) throw usageError(`Nothing is named "${id}"; ${advice}`)
  return lines
}

type Show = (id: string, requirements: readonly Requirement[]) => string[]

const kinds: { readonly [kind: string]: readonly [Show, advice: string]; readonly found: readonly [Show, string] } = {
  table: [showTable, '"svc-conformance show table" lists the parts of calls that the model changes'],
  matrix: [showRow, '"svc-conformance show matrix" says how many rows there are'],
  found: [showFinding, 'the id of a finding is found/REQUIREMENT/FACT, as in "found/refresh/new-pair/refused"'],
}

const ways: { readonly [way: string]: string } = {
  basic: 'a call with Basic credentials',
  hmac: 'a call with an HMAC signature',
  ecc: 'a call with an ECC signature',
  token: 'a call with an access token',
  grant: 'a grant',
  refresh: 'a refresh',
  create: 'the creation of an API key',
  'create-with-public-key': 'the creation of an API key with a public key',
}

function showTable(id: string, requirements: readonly Requirement[]): string[] {
  const operations = readDeviations()
  const all = cells(operations, seededRandom(seedOfRelease))
  const cellsOfPart = all.filter((cell) => cell.id === id)
  const [first] = cellsOfPart
  if (first !== undefined) return showPart(first, cellsOfPart, operations, requirements)
  const parts = [...new Set(all.map((cell) => cell.id))].filter((part) => part.startsWith(`${id}/`)).sort()
  if (parts.length === 0) return []
  return [
    `${id}: ${counted(parts.length, 'part')} of calls that the model changes`,
    ...parts.map((part) => `  ${part}`),
  ]
}

/** @param cellsOfPart every change of this part, each in one cell of the table; the first one once more */
function showPart(
  first: Cell,
  cellsOfPart: readonly Cell[],
  operations: Operations,
  requirements: readonly Requirement[],
): string[] {
  const { id } = first
  const changes = [...new Set(cellsOfPart.map(({ change }) => changeText(change)))].sort()
  const breaks = new Set(cellsOfPart.flatMap(({ change }) => operations.breaks(change, first.way) ?? []))
  return [
    `${id}: the model takes ${ways[first.way] ?? first.way} and changes one part of it: ${first.change.field}`,
    '  Each changed call must be refused, because it breaks:',
    ...[...breaks].flatMap((one) => hanging('    ', sentenceOf(one, requirements))),
    `  ${counted(changes.length, 'change')} (fixtures/deviations.yaml):`,
    ...hanging('    ', changes.join(', ')),
    `  npx svc-conformance run --url http://127.0.0.1:8080 --disposable --only ${id}`,
  ]
}

const changeText = ({ operation, value }: Change): string => operation ?? `the value ${JSON.stringify(value)}`

const sentenceOf = (id: string, requirements: readonly Requirement[]): string =>
  `${id}: ${requirements.find((one) => one.id === id)?.text ?? 'an open question'}`

function showRow(id: string): string[] {
  const { rows } = coveringArray(seedOfRelease)
  const otherRows = 'The rows are those of a run; "explore" makes other rows, which its seed gives'
  if (id === 'matrix') {
    const count = [...rows].length
    return [
      `matrix: ${counted(count, 'combination')} of values, matrix/1 to matrix/${count}; "list --matrix" lists the pairs`,
      `  ${otherRows}`,
    ]
  }
  const row = rowNumbered(/^matrix\/([1-9]\d*)$/.exec(id)?.[1], rows)
  if (row === undefined) return []
  return [
    `${id}: one combination of values (fixtures/matrix.yaml)`,
    ...table(Object.entries(row).sort(), '    '),
    `  ${otherRows}`,
    `  npx svc-conformance run --url http://127.0.0.1:8080 --disposable --only ${id}`,
  ]
}

/** Draws no more rows than it takes: all of them take a second. */
function rowNumbered<Row>(number: string | undefined, rows: Iterable<Row>): Row | undefined {
  if (number === undefined) return undefined
  let at = 0
  for (const row of rows) if (++at === Number(number)) return row
  return undefined
}

/** How the last part of the id of a finding begins, and what the target did. */
const kindsOfFindings: readonly (readonly [kind: string, text: string])[] = [
  ['let-in', 'The target accepted a call that must be refused'],
  ['refused', 'The target refused a call that must be accepted'],
  ['broken', 'The target gave no answer, or one that is not JSON-RPC'],
  ['shape', 'The target accepted the call, with a wrong result'],
  ['history', 'No order of the calls that were made at the same time explains the answers'],
]

function showFinding(id: string, requirements: readonly Requirement[]): string[] {
  const [, requirement = '', fact = ''] = /^found\/([^/]+\/[^/]+)(?:\/(.+))?$/.exec(id) ?? []
  if (!requirements.some((one) => one.id === requirement)) return []
  const kind = kindsOfFindings.find(([name]) => fact === name || fact.startsWith(`${name}-`))
  return [
    `${id}: a finding of the model about ${requirement}`,
    ...hanging('  ', sentenceOf(requirement, requirements)),
    ...(kind === undefined ? [] : [`  ${kind[1]}`]),
    ...hanging(
      '  ',
      'The report that names it shows the calls; "explore --save DIR" writes findings as scenarios, and "run --fixtures DIR" runs them again',
    ),
  ]
}
