/** Forms of a JSON text: the same JSON in another form, other JSON, and texts that are not JSON. */

const parsed = (body: string): { [name: string]: unknown } => JSON.parse(body) as { [name: string]: unknown }

/** Texts that encoders write in different ways: composed and decomposed letters, escapes, letters beyond the first plane. */
const manyLetters = 'Gr\u00fc\u00dfe e\u0301 \u00e9 \u20ac \ud83d\ude00 <&> / + %41 \uff21 \u2028'

/** Texts that a careless replacement or format reads as instructions. */
const patterns = "$& $1 $$ $` $' \\1 %s %d {0} \\n"

/** Other forms of a JSON text that a server does not notice if it parses the body and writes it again. */
export const bodyForms: { readonly [name: string]: (body: string) => string } = {
  'space-prepended': (body) => ` ${body}`,
  'space-appended': (body) => `${body} `,
  'line-feed-appended': (body) => `${body}\n`,
  'line-feed-prepended': (body) => `\n${body}`,
  'crlf-appended': (body) => `${body}\r\n`,
  'tab-inside': (body) => body.replace('{', '{\t'),
  'space-after-colons': (body) => body.replaceAll('":', '": '),
  indented: (body) => JSON.stringify(JSON.parse(body), null, 2),
  'indented-with-crlf': (body) => JSON.stringify(JSON.parse(body), null, 2).replaceAll('\n', '\r\n'),
  'members-reversed': (body) => JSON.stringify(Object.fromEntries(Object.entries(parsed(body)).reverse())),
  'members-sorted': (body) => JSON.stringify(Object.fromEntries(Object.entries(parsed(body)).sort())),
  'params-reversed': (body) => {
    const { params, ...rest } = parsed(body)
    return JSON.stringify({ ...rest, params: Object.fromEntries(Object.entries(params ?? {}).reverse()) })
  },
  compact: (body) => JSON.stringify(JSON.parse(body)),
  trimmed: (body) => body.trim(),
  'without-white-space': (body) => body.replace(/\s/g, ''),
  'crlf-to-lf': (body) => body.replaceAll('\r\n', '\n'),
  'lf-to-crlf': (body) => body.replace(/\r?\n/g, '\r\n'),
  composed: (body) => body.normalize('NFC'),
  decomposed: (body) => body.normalize('NFD'),
  'compatibility-composed': (body) => body.normalize('NFKC'),
  'upper-case': (body) => body.toUpperCase(),
  'lower-case': (body) => body.toLowerCase(),
  'ascii-escapes': (body) =>
    body.replace(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'ascii-only': (body) => body.replace(/[\u0080-\uffff]/g, '?'),
  'ascii-left': (body) => body.replace(/[\u0080-\uffff]/g, ''),
  'letter-escaped': (body) => body.replace('"method"', '"\\u006dethod"'),
  'slash-escaped': (body) => body.replace('/', '\\/'),
  'value-letter-escaped': (body) => body.replace('"2.0"', '"2\\u002e0"'),
  'id-with-fraction': (body) => body.replace(/"id":(\d+)/, '"id":$1.0'),
  'id-with-exponent': (body) => body.replace(/"id":(\d+)/, '"id":$1e0'),
  'extra-member': (body) => body.replace('{', '{"extra":1,'),
  'member-twice': (body) => body.replace('{', '{"jsonrpc":"2.0",'),
  'another-id': (body) =>
    body.replace(/"id":\s*(\d+)/, (whole, id: string) => whole.replace(id, String(Number(id) + 1))),
  'another-method': (body) =>
    body.includes('listSolutions')
      ? body.replace('solution/listSolutions', 'manager/createApiKey')
      : body.replace(/manager\/\w+/, 'solution/listSolutions'),
  'params-twice': (body) => body.replace('"params":', '"params":{},"params":'),
  'params-empty': (body) => JSON.stringify({ ...parsed(body), params: {} }),
  'another-name': (body) => body.replace('"name":"', '"name":"x'),
  'another-scope': (body) => body.replace('"scope":["solution"', '"scope":["solution","context"'),
  'spaces-at-the-end': (body) => body + ' '.repeat(300),
  'text-prepended': (body) => `x${body}`,
  'first-1-KiB': (body) => body.slice(0, 1024),
  'first-4-KiB': (body) => body.slice(0, 4096),
  'first-8-KiB': (body) => body.slice(0, 8192),
  'first-16-KiB': (body) => body.slice(0, 16_384),
  'first-32-KiB': (body) => body.slice(0, 32_768),
  'first-64-KiB': (body) => body.slice(0, 65_536),
  'first-1000': (body) => body.slice(0, 1000),
  'first-10000': (body) => body.slice(0, 10_000),
  'last-1-KiB': (body) => body.slice(-1024),
  'first-256': (body) => body.slice(0, 256),
  'first-100': (body) => body.slice(0, 100),
  'first-64': (body) => body.slice(0, 64),
  'first-half': (body) => body.slice(0, Math.floor(body.length / 2)),
  'last-half': (body) => body.slice(Math.floor(body.length / 2)),
  nothing: () => '',
  'with-many-letters': (body) => JSON.stringify({ ...parsed(body), note: manyLetters }),
  'with-escapes': (body) => body.replace('{', '{"note":"\\u0041\\/\\u00e9\\ud83d\\ude00",'),
  'with-numbers': (body) => body.replace('{', '{"note":[1.0,1e3,-0,0.10,12345678901234567890],'),
  'with-patterns': (body) => JSON.stringify({ ...parsed(body), note: patterns }),
  'with-nesting': (body) => body.replace('{', '{"note":{"z":1,"a":{"c":null,"b":[ ]}},'),
}

/** Just more than one read of a socket, in letters of three bytes. The characters before them decide where a read cuts a letter. */
const longText = (before: string): ((body: string) => string) => {
  return (body) => JSON.stringify({ note: before + '\u20ac'.repeat(23_000), ...parsed(body) })
}

/** Bodies of 69 kB that a server must not decode read by read. */
export const cutLetterForms: { readonly [name: string]: (body: string) => string } = {
  'cut-letters': longText(''),
  'cut-letters-1': longText('x'),
  'cut-letters-2': longText('xx'),
}

/** Forms that make a body richer, so that more ways to write it again differ. */
export const richForms = [
  'indented-with-crlf',
  'with-many-letters',
  'with-patterns',
  'with-escapes',
  'with-numbers',
  'with-nesting',
  'crlf-appended',
  'indented',
]

/** Forms that a server may bring a body into before it checks the signature. */
export const rewritings: ReadonlySet<string> = new Set([
  'compact',
  'trimmed',
  'without-white-space',
  'crlf-to-lf',
  'lf-to-crlf',
  'composed',
  'decomposed',
  'compatibility-composed',
  'lower-case',
  'ascii-escapes',
  'ascii-only',
  'ascii-left',
  'members-sorted',
  'line-feed-appended',
])

/** A body of a given size, padded with white space or an extra param. */
export function padded(body: string, bytes: number): string {
  return body.replace('{', `{${' '.repeat(Math.max(0, bytes - body.length))}`)
}

/** Texts that are not JSON, although a lenient parser may accept them. */
export const brokenBodies: { readonly [name: string]: (body: string) => string } = {
  'letter-appended': (body) => `${body}x`,
  'brace-appended': (body) => `${body}}`,
  'second-appended': (body) => `${body}${body}`,
  'comma-appended': (body) => body.replace(/\}$/, ',}'),
  'brace-missing': (body) => body.slice(0, -1),
  'first-half': (body) => body.slice(0, Math.floor(body.length / 2)),
  'single-quotes': (body) => body.replaceAll('"', "'"),
  'names-unquoted': (body) => body.replace('"method"', 'method'),
  comment: (body) => body.replace('{', '{/* x */'),
  'line-comment-appended': (body) => `${body}// x`,
  'letter-prepended': (body) => `x${body}`,
  'no-number': (body) => body.replace(/"id":\d+/, '"id":NaN'),
  'number-with-leading-zero': (body) => body.replace(/"id":(\d+)/, '"id":0$1'),
  'semicolon-appended': (body) => `${body};`,
  'nul-appended': (body) => `${body}\0`,
  'form-fields': (body) => {
    const fields = Object.entries(parsed(body)).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ])
    return new URLSearchParams(fields).toString()
  },
  empty: () => '',
}
