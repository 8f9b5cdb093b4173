/** Markdown for job summaries and pull requests. Text from others is escaped, so that it cannot become markup. */

/** A job summary takes 1 MiB in all, and other steps want some of it. */
const largestBytes = 400_000

/**
 * Puts a report together from its parts, with an empty line between two of them, in at most 400,000 bytes.
 *
 * @param details the parts; the last ones are left out if there is no room
 */
export function fitted(before: readonly string[], details: readonly string[], after: readonly string[]): string {
  let room = largestBytes - Buffer.byteLength([...before, ...after].join('\n\n'))
  const tooLong = details.findIndex((text) => {
    room -= Buffer.byteLength(text) + 2
    return room < 0
  })
  const shown =
    tooLong < 0
      ? details
      : [...details.slice(0, tooLong), `_and ${details.length - tooLong} more, left out for length_`]
  return `${[...before, ...shown, ...after].filter((part) => part !== '').join('\n\n')}\n`
}

/** Lines that a reader unfolds. */
export function folded(title: string, lines: readonly string[]): string {
  return [`<details><summary>${html(title)}</summary>`, '', ...lines, '', '</details>'].join('\n')
}

/** A block of code. The fence is longer than any run of backticks within. */
export function fenced(lines: readonly string[]): string[] {
  const fence = '`'.repeat(Math.max(2, longestTicks(lines.join('\n'))) + 1)
  return [fence, ...lines, fence]
}

/** Code within a line. */
export function code(text: string): string {
  const fence = '`'.repeat(longestTicks(text) + 1)
  const room = fence.length > 1 ? ' ' : ''
  return `${fence}${room}${text.replaceAll('|', '\\|')}${room}${fence}`
}

const longestTicks = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))

/** Text within a line, or within a cell of a table. */
export function inline(text: string): string {
  return html(text)
    .replace(/[\\`*_{}[\]()#+!|~]/g, (sign) => `\\${sign}`)
    .replaceAll('\n', ' ')
}

/** Text within an element. */
export function html(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
