/// <reference lib="dom" />
/** The table of servers and requirements. One cell at a time is in the tab order; arrow keys go from cell to cell. */
import type { Verdict } from '../../engine/judge/problem.ts'
import { type Child, element } from '../../page/elements.ts'
import { glyphs, words } from '../verdict-words.ts'
import { type Comparison, columnName, newestOf, verdictAt } from './comparison.ts'

interface Wanted {
  /** Words that a requirement must have. */
  words: readonly string[]
  onlyDiffering: boolean
}

export interface Choices {
  cell(server: string, requirement: string): void
  server(server: string): void
}

/** @returns the table, and how many requirements it shows */
export function drawTable(
  comparison: Comparison,
  wanted: Wanted,
  choose: Choices,
): { table: HTMLElement; shown: number } {
  const newest = comparison.servers.map((server) => ({ name: server.name, report: newestOf(server) }))
  const rows = comparison.requirements
    .map((requirement, index) => ({
      ...requirement,
      verdicts: newest.map(({ report }) => verdictAt(report.requirements, index)),
    }))
    .filter((row) => isWanted(row, wanted))
  const head = element(
    'tr',
    { role: 'row' },
    element('th', { scope: 'col', role: 'columnheader' }, 'requirement'),
    element('th', { scope: 'col', role: 'columnheader', class: 'level' }, 'level'),
    ...newest.map(({ name }, index) =>
      element('th', { scope: 'col', role: 'columnheader', title: name }, serverButton(index, name, choose)),
    ),
  )
  const body = rows.map(({ id, level, text, verdicts }) =>
    element(
      'tr',
      { role: 'row' },
      element('th', { scope: 'row', role: 'rowheader', title: text }, element('code', ...breakable(id))),
      element('td', { class: 'level', role: 'gridcell' }, level),
      ...verdicts.map((verdict, index) => cellOf(verdict, newest[index]?.name ?? '', id, choose)),
    ),
  )
  const table = element(
    'table',
    { role: 'grid', 'aria-label': 'Requirements by server' },
    element('thead', { role: 'rowgroup' }, head),
    element('tbody', { role: 'rowgroup' }, ...body),
  )
  moveByArrows(table)
  return { table, shown: rows.length }
}

/** The letter that stands for a server. */
export function serverButton(index: number, name: string, choose: Choices): HTMLElement {
  const letter = columnName(index)
  const button = element('button', { type: 'button', class: 'letter', 'aria-label': `${letter}: ${name}` }, letter)
  button.addEventListener('click', () => choose.server(name))
  return button
}

function isWanted(row: { id: string; text: string; verdicts: (Verdict | null)[] }, wanted: Wanted): boolean {
  if (wanted.onlyDiffering && row.verdicts.every((verdict) => verdict === row.verdicts[0])) return false
  const text = `${row.id} ${row.text}`.toLowerCase()
  return wanted.words.every((word) => text.includes(word))
}

function cellOf(verdict: Verdict | null, server: string, requirement: string, choose: Choices): HTMLElement {
  if (verdict === null) return element('td', { role: 'gridcell', title: 'not run' })
  const label = `${requirement}, ${server}: ${words(verdict)}`
  const button = element(
    'button',
    { type: 'button', class: `cell fill ${verdict}`, 'aria-label': label, title: label, tabindex: -1 },
    glyphs[verdict],
  )
  button.addEventListener('click', () => choose.cell(server, requirement))
  return element('td', { role: 'gridcell' }, button)
}

const steps: { readonly [key: string]: readonly [rows: number, columns: number] } = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
}

function moveByArrows(table: HTMLElement): void {
  const rows = [...table.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td:not(.level)')])
  const buttonAt = (row: number, column: number): HTMLElement | null =>
    rows[row]?.[column]?.querySelector<HTMLElement>('button') ?? null
  table.querySelector('tbody button')?.setAttribute('tabindex', '0')
  table.addEventListener('keydown', (event) => {
    const step = steps[event.key]
    const here = event.target as HTMLElement
    const row = rows.findIndex((cells) => cells.some((cell) => cell.contains(here)))
    if (step === undefined || row === -1) return
    const column = rows[row]?.findIndex((cell) => cell.contains(here)) ?? -1
    const next = buttonAt(row + step[0], column + step[1])
    if (next === null) return
    event.preventDefault()
    here.setAttribute('tabindex', '-1')
    next.setAttribute('tabindex', '0')
    next.focus()
  })
}

/** An id that a narrow column may break after a slash. */
const breakable = (id: string): Child[] =>
  id.split(/(?<=\/)/).flatMap((part, index) => (index === 0 ? [part] : [element('wbr'), part]))
