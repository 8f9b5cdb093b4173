/** Blocks as plain text, for a terminal and for logs. */
import { styleText } from 'node:util'
import { type Printable, printable, printed, vouchedFor } from '../engine/printable.ts'
import type { Block, Document, Item, Line, Told } from './document.ts'
import { glyphs, verdictLine } from './verdict-words.ts'

/** The width for a file or a log. */
const usualColumns = 110
const fewestColumns = 40
/** How many failures are reported in full; a server with more failures usually has one or two causes. */
const fullTold = 30

const longestCell = 60
/** Of one line of a command that judges nothing: enough for a list of every requirement. */
const longestText = 10_000

/** How a text looks. */
export interface Look {
  /** For a terminal only. */
  colour: boolean
  /** How wide the terminal is; undefined without a terminal. */
  columns?: number | undefined
}

/** How lines are laid out: colours or none, and how wide. */
interface Paint {
  tone(tone: NonNullable<Block['tone']>, text: string): string
  width: number
}

/** Lines as long as they are. */
const unwrapped = { columns: Number.POSITIVE_INFINITY }

/** ANSI colours, or none; as wide as the terminal, within reason. */
const paintOf = ({ colour, columns = usualColumns }: Look): Paint => ({
  // The caller has looked at the stream.
  tone: (tone, text) => (colour ? styleText(tone, text, { validateStream: false }) : text),
  width: columns === unwrapped.columns ? columns : Math.max(fewestColumns, Math.min(columns, usualColumns)),
})

/** A report for people: first what is wrong, each with its sentence and bytes, then what is open, then the verdict. */
export function textOfDocument(told: Document, look: Look): Printable {
  const paint = paintOf(look)
  const [first = '', ...head] = told.head.flatMap((line) => hanging('', plain(line), paint.width))
  const verdictTone =
    told.exitCode !== 0 ? 'red' : told.verdict !== 'conforms' ? 'yellow' : told.said === undefined ? 'green' : 'bold'
  const shown = told.told.map((block, index) =>
    block.kind === 'told' && index >= fullTold ? { ...block, title: block.message, blocks: [] } : block,
  )
  return vouchedFor(
    joinSections([
      [paint.tone('bold', first), ...head.map((line) => paint.tone('dim', line))],
      hanging('', told.ended ?? '', paint.width).flatMap((line) => (line === '' ? [] : paint.tone('bold', line))),
      ...[...shown, ...told.overview, ...told.rest].map((block) => blockLines(block, paint)),
      [
        told.summary,
        paint.tone('bold', paint.tone(verdictTone, verdictLine(told))),
        ...listLines([...told.problems, ...told.conclusion], paint),
      ],
    ]),
  )
}

/** Blocks alone, for the commands that judge nothing. Texts of others are made printable. */
export function printBlocks(blocks: readonly Block[], { columns }: Pick<Look, 'columns'> = unwrapped): Printable {
  const paint = paintOf({ colour: false, columns })
  return vouchedFor(joinSections(printed(blocks, longestText).map((block) => blockLines(block as Block, paint))))
}

/** The same in lines as long as they are, for formats that only programs lay out. */
export function unwrappedText(block: Block): string {
  return blockLines(block, paintOf({ colour: false, ...unwrapped })).join('\n')
}

function blockLines(block: Block, paint: Paint, labelWidth = 0): string[] {
  const { heading, tone = 'bold', folded } = block
  if (folded !== undefined) return folded === '' ? [] : hanging('', folded, paint.width)
  const lines = bodyLines(block, paint, labelWidth)
  if (heading === undefined || lines.length === 0) return lines
  return [...hanging('', heading, paint.width).map((line) => paint.tone(tone, line)), ...lines]
}

function bodyLines(block: Block, paint: Paint, labelWidth: number): string[] {
  const { width } = paint
  switch (block.kind) {
    case 'lines':
      return block.lines.flatMap((line) => hanging('', plain(line), width)).map((line) => toned(block, line, paint))
    case 'list':
      return listLines(block.items, paint)
    case 'facts': {
      const room = labelWidth || widthOfLabels([block])
      return block.items.flatMap(({ label = '', text, below = [] }) => [
        ...hanging(label.padEnd(room), plain(text), width),
        ...below.flatMap((line) => belowLines(' '.repeat(room), line, paint)),
      ])
    }
    case 'table': {
      const cells = block.rows.map((row) =>
        row.map((cell) => (typeof cell === 'number' ? cell : printable(cell, longestCell))),
      )
      const [head = '', ...rows] = table([block.head, ...cells])
      return rows.length === 0 ? [] : [paint.tone('bold', head), ...rows]
    }
    case 'code':
      return block.lines.map((line) => paint.tone('dim', line))
    case 'command':
      return [`${block.label.padEnd(labelWidth || widthOfLabels([block]))}${block.command}`]
    case 'told':
      return toldLines(block, paint)
  }
}

const toned = ({ heading, tone }: Block, line: string, paint: Paint): string =>
  heading !== undefined || tone === undefined ? line : paint.tone(tone, line)

function toldLines({ verdict, id, title, blocks, also = [] }: Told, paint: Paint): string[] {
  const inner = { ...paint, width: paint.width - 2 }
  const all: readonly Block[] = [...blocks, { kind: 'facts', items: also }]
  const labelWidth = widthOfLabels(all)
  const parts = all.map((block) => blockLines(block, inner, labelWidth)).filter((lines) => lines.length > 0)
  return [
    paint.tone(verdict === 'failed' ? 'red' : 'yellow', `${glyphs[verdict]} ${id}`),
    ...hanging('  ', title, paint.width),
    ...parts.flatMap((lines) => ['', ...lines.map((line) => `  ${line}`)]),
  ]
}

/** Enough for the labels of all these blocks, so that their texts stand below one another. */
function widthOfLabels(blocks: readonly Block[]): number {
  const labels = blocks.flatMap((block) =>
    block.kind === 'facts' ? block.items.map(({ label = '' }) => label) : block.kind === 'command' ? block.label : [],
  )
  return Math.max(6, ...labels.map((label) => label.length + 1))
}

function listLines(items: readonly Item[], paint: Paint): string[] {
  return items.flatMap(({ verdict, label = '-', text, below = [] }) => {
    const sign = verdict === undefined ? label : glyphs[verdict]
    return [
      ...hanging(sign === '' ? '  ' : `  ${sign} `, plain(text), paint.width),
      ...below.flatMap((line) => belowLines(sign === '' ? '    ' : '      ', line, paint)),
    ]
  })
}

function belowLines(indent: string, line: Line, paint: Paint): string[] {
  const isSoft = typeof line !== 'string' && line.every((span) => typeof span !== 'string' && span.as === 'soft')
  return hanging(indent, plain(line), paint.width).map((one) => (isSoft ? paint.tone('dim', one) : one))
}

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
  const pad = (cell: string | number, width = 0): string =>
    typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width)
  return rows.map((row) => (indent + row.map((cell, column) => pad(cell, widths[column])).join('  ')).trimEnd())
}

/** The sections of a text, with an empty line between two of them; empty sections are left out. */
function joinSections(sections: readonly (readonly string[])[]): string {
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'))
  return `${texts.join('\n\n')}\n`
}

const plainWord = /^[\w@%+=:,./-]+$/

/** Quotes a word for a POSIX shell, if it needs quotes. */
export const shellWord = (word: string): string => (plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** The words of a line without a markup. */
function plain(line: Line): string {
  return typeof line === 'string' ? line : line.map((span) => (typeof span === 'string' ? span : span.text)).join('')
}
