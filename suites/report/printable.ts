/** What would move the cursor, colour a terminal or break a document, and half of a surrogate pair. */
const unprintable =
  /[^\t\n\u0020-\u007e\u00a0-\u2027\u202f-\u2065\u2070-\ud7ff\ue000-\ufefe\uff00-\uffef\ufffd\u{10000}-\u{10ffff}]/gu

/** The report with control characters written out (`\u001b`): a server must not reach through it to a terminal or page. */
export function printable<T>(report: T): T {
  return mapTexts(report) as T
}

/** The same for one text. */
export function printableText(text: string): string {
  return text.replace(unprintable, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function mapTexts(value: unknown): unknown {
  if (typeof value === 'string') return printableText(value)
  if (Array.isArray(value)) return value.map(mapTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member)]))
}
