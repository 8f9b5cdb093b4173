/** Blocks as Markdown, for job summaries and pull requests. Text from others is escaped, so that it cannot become markup. */
import { type Printable, printed, vouchedFor } from '../engine/printable.ts'
import { html } from '../page/markup.ts'
import type { Block, Document, Item, Line, Told } from './document.ts'
import { glyphs, words } from './verdict-words.ts'

/** A job summary takes 1 MiB in all, and other steps want some of it. */
const largestBytes = 400_000

/** A report for a job summary or a pull request, failures unfolded in details. At most 400,000 bytes. */
export function markdownOfDocument(told: Document): Printable {
  const isProof = told.verdict === 'conforms' && told.said === undefined
  const sign = glyphs[told.exitCode !== 0 ? 'failed' : isProof ? 'passed' : 'warned']
  const before = [
    `## ${sign} ${inline(told.title)}: ${told.said ?? words(told.verdict)}`,
    inline(told.summary),
    told.head.map(inline).join('<br>\n'),
    list(told.conclusion),
    list(told.problems),
    ...told.overview.map(markdownOf),
  ]
  return vouchedFor(fitted(before, told.told.map(markdownOf), told.rest.map(markdownOf)))
}

/** Blocks alone. Texts of others are made printable. */
export function markdownOfBlocks(blocks: readonly Block[]): Printable {
  return vouchedFor(
    fitted(
      [],
      [],
      printed(blocks).map((block) => markdownOf(block as Block)),
    ),
  )
}

/**
 * Puts a report together from its parts, with an empty line between two of them, in at most 400,000 bytes.
 *
 * @param between the parts; the last ones are left out if there is no room
 */
function fitted(before: readonly string[], between: readonly string[], after: readonly string[]): string {
  let room = largestBytes - Buffer.byteLength([...before, ...after].join('\n\n'))
  const tooLong = between.findIndex((text) => {
    room -= Buffer.byteLength(text) + 2
    return room < 0
  })
  const shown =
    tooLong < 0
      ? between
      : [...between.slice(0, tooLong), `_and ${between.length - tooLong} more, left out for length_`]
  return `${[...before, ...shown, ...after].filter((part) => part !== '').join('\n\n')}\n`
}

function markdownOf(block: Block): string {
  const body = bodyOf(block)
  const { heading, folded } = block
  if (body === '' || heading === undefined) return body
  return folded === undefined ? `### ${inline(heading)}\n\n${body}` : details(html`${heading}`.markup, body)
}

function bodyOf(block: Block): string {
  switch (block.kind) {
    case 'lines':
      return block.lines.map(inline).join('<br>\n')
    case 'list':
      return list(block.items)
    case 'facts':
      return facts(block.items)
    case 'table':
      return block.rows.length === 0 ? '' : table(block.head, block.rows)
    case 'code':
      return block.lines.length === 0 ? '' : fenced(block.lines)
    case 'command':
      return fenced([block.command])
    case 'told':
      return told(block)
  }
}

function told({ verdict, id, title, blocks, also = [] }: Told): string {
  const summary = html`${glyphs[verdict]} <code>${id}</code> ${title}`
  const parts = [...blocks.map(markdownOf), facts(also)].filter((part) => part !== '')
  return details(summary.markup, parts.join('\n\n'))
}

/** What a reader unfolds. @param summary escaped already */
function details(summary: string, body: string): string {
  return `<details><summary>${summary}</summary>\n\n${body}\n\n</details>`
}

const list = (items: readonly Item[]): string =>
  items
    .map(({ verdict, text, below = [] }) => {
      const sign = verdict === undefined ? '' : `${glyphs[verdict]} `
      return [`- ${sign}${inline(text)}`, ...below.map((line) => `  - ${inline(line)}`)].join('\n')
    })
    .join('\n')

const facts = (items: readonly Item[]): string =>
  items
    .map(({ label = '', text, below = [] }) => {
      const lines = [text, ...below].map(inline).join('<br>\n')
      return label === '' ? lines : `**${inline(label)}** ${lines}`
    })
    .join('<br>\n')

/** Numbers to the right. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const row = (cells: readonly (string | number)[]): string =>
    `| ${cells.map((cell) => inline(`${cell}`)).join(' | ')} |`
  const marks = head.map((_, column) => (typeof rows[0]?.[column] === 'number' ? '--:' : '---'))
  return [row(head), `|${marks.join('|')}|`, ...rows.map(row)].join('\n')
}

/** A block of code. The fence is longer than any run of backticks within. */
function fenced(lines: readonly string[]): string {
  const fence = '`'.repeat(Math.max(2, longestTicks(lines.join('\n'))) + 1)
  return [fence, ...lines, fence].join('\n')
}

/** Code within a line. */
function inlineCode(text: string): string {
  const fence = '`'.repeat(longestTicks(text) + 1)
  const room = fence.length > 1 ? ' ' : ''
  return `${fence}${room}${text.replaceAll('|', '\\|')}${room}${fence}`
}

const longestTicks = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))

/** Text within a line, or within a cell of a table. */
function inline(line: Line): string {
  if (typeof line !== 'string')
    return line
      .map((span) => (typeof span === 'string' || span.as === 'soft' ? inline(wordsOf(span)) : inlineCode(span.text)))
      .join('')
  return html`${line}`.markup
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replace(/[\\`*_{}[\]()#+!|~]/g, (sign) => `\\${sign}`)
    .replaceAll('\n', ' ')
}

const wordsOf = (span: Exclude<Line, string>[number]): string => (typeof span === 'string' ? span : span.text)
