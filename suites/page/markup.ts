/**
 * Markup of HTML and XML that escapes what is put into it, for a report on the disk and for a page that draws itself. It knows no Node and
 * no browser.
 */

/** Text that is markup already. Only `html` makes it. */
export interface Markup {
  readonly markup: string
}

/** What may stand in a template: text is escaped, lists are joined, and nothing is written for null. */
export type Part = Markup | string | number | null | readonly Part[]

/** html`<b>${name}</b>`: our own markup with values in it, in an element or between the quotes of an attribute. */
export function html(ours: TemplateStringsArray, ...values: readonly Part[]): Markup {
  return { markup: ours.map((text, index) => `${text}${written(values[index] ?? null)}`).join('') }
}

/** Parts with a line end between two of them; those that are empty are left out. */
export function htmlLines(parts: readonly Markup[]): Markup {
  const lines = parts.map(({ markup }) => markup).filter((markup) => markup !== '')
  return { markup: lines.join('\n') }
}

function written(part: Part): string {
  if (part === null) return ''
  if (typeof part === 'number') return String(part)
  if (typeof part === 'string') return part.replace(/[&<>"']/g, (sign) => escapes[sign] ?? sign)
  return 'markup' in part ? part.markup : part.map(written).join('')
}

const escapes: { readonly [sign: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
