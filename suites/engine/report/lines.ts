/** Laying out plain text. */

const columns = 110

/** `text` in lines of at most 110 columns, `first` before the first and blanks before the others. */
export function hanging(first: string, text: string): string[] {
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

export interface Colours {
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  dim(text: string): string
  bold(text: string): string
}

/** ANSI colours, or none. */
export function colours(on: boolean): Colours {
  const paint = (code: number, end: number) => (text: string) => (on ? `\u001b[${code}m${text}\u001b[${end}m` : text)
  return { red: paint(31, 39), green: paint(32, 39), yellow: paint(33, 39), dim: paint(2, 22), bold: paint(1, 22) }
}
