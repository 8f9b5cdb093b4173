/** Laying out plain text. */
import { styleText } from 'node:util'
import { type Printable, printable } from '../engine/printable.ts'

type Style = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

/** The width for a file or a log. */
const usualColumns = 110
const fewestColumns = 40

/** Wraps `text` to at most `columns` columns, with `first` before the first line and blanks before the others. */
export function hanging(first: string, text: string, columns = usualColumns): string[] {
  const blank = ' '.repeat(first.length)
  const lines: string[] = []
  let line = first
  for (const word of text.split(' ')) {
    const empty = line === first || line === blank
    if (!empty && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = blank + word
    } else line += empty ? word : ` ${word}`
  }
  return [...lines, line.trimEnd()]
}

/** Columns as wide as their widest cell; numbers to the right. */
export function table(rows: readonly (readonly (string | number)[])[], indent = '  '): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column] ?? '').length)))
  return rows.map((row) =>
    (
      indent +
      row
        .map((cell, column) =>
          typeof cell === 'number' ? String(cell).padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
    ).trimEnd(),
  )
}

const longestCell = 60

/** A table with a heading for a terminal; long cells are cut. */
export function printedTable(head: readonly string[], rows: readonly (readonly string[])[]): Printable[] {
  return table([head, ...rows].map((row) => row.map((cell) => printable(cell, longestCell)))).map((one) =>
    printable(one),
  )
}

/** How a text is laid out: colours or none, and how wide. */
export type Paint = ReturnType<typeof paintWith>

/** ANSI colours, or none; as wide as the terminal, within reason. */
export function paintOf(on: boolean, columns: number | undefined): Paint {
  return paintWith(on, Math.max(fewestColumns, Math.min(columns ?? usualColumns, usualColumns)))
}

function paintWith(on: boolean, width: number) {
  // The caller has looked at the stream.
  const paint = (style: Style) => (text: string) => (on ? styleText(style, text, { validateStream: false }) : text)
  return {
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    dim: paint('dim'),
    bold: paint('bold'),
    hanging: (first: string, text: string) => hanging(first, text, width),
  }
}

/** No colours, and lines as long as they are. */
export const unwrapped = paintWith(false, Number.POSITIVE_INFINITY)

/** The sections of a text, with an empty line between two of them; empty sections are left out. */
export function joinSections(sections: readonly (readonly string[])[]): string {
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'))
  return `${texts.join('\n\n')}\n`
}

const plainWord = /^[\w@%+=:,./-]+$/

/** Quotes a word for a POSIX shell, if it needs quotes. */
export const shellWord = (word: string): string => (plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** A table of Markdown, of cells that are escaped. @param marks how each column is aligned */
export function markdownTable(
  head: readonly string[],
  marks: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string[] {
  const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`
  return [row(head), `|${marks.join('|')}|`, ...rows.map(row)]
}

/** Text within an element of HTML or XML. */
export function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
