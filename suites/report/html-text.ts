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

/** A link inside the page. */
export function linkTo(id: string, text: string): string {
  return `<a href="#${escapeHtml(encodeURI(id))}">${text}</a>`
}
