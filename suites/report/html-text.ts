/** Text inside a page. */

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** Sent bytes. Few fonts have ␊ and ␍, so the style shows LF and CR instead. */
export function escapeBytes(text: string): string {
  return escapeHtml(text)
    .replaceAll('␊', '<span class="lf" title="line feed">␊</span>')
    .replaceAll('␍', '<span class="cr" title="carriage return">␍</span>')
}

/** A list of facts, with text that is escaped already; a fact without text is left out. */
export function factList(facts: readonly (readonly [name: string, text: string | null])[]): string {
  return `<dl>${facts.map(([name, text]) => (text === null ? '' : `<dt>${name}</dt><dd>${text}</dd>`)).join('')}</dl>`
}

/** A list under its heading; empty without lines. */
export function list(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `<h2>${escapeHtml(title)}</h2><ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`
}

/** A link inside the page. */
export function linkTo(id: string, text: string): string {
  return `<a href="#${escapeHtml(encodeURI(id))}">${text}</a>`
}
