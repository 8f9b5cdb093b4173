/**
 * What a person pastes: a header, a whole curl line, a raw HTTP request (also as a report of a run prints it, with the pseudo-headers of
 * HTTP/2, or in the output of curl -v), or a call of fetch or of PowerShell.
 */
import { defined, parseJson } from '../engine/json.ts'
import { concat, fromLatin1, utf8 } from '../engine/signer/bytes.ts'

export interface PastedRequest {
  /** The value of the Authorization header; undefined without one. */
  header?: string
  method?: string
  /** As it was called; without a host where none was given. */
  url?: string
  body?: Uint8Array
  /** curl takes the body from here. `-d` drops line ends on the way, `--data-binary` does not. */
  bodyFile?: { path: string; withoutLineEnds: boolean }
  /** The text is nothing of what can be read. */
  isUnknown?: true
}

/** What to say of a text that is nothing of this. */
export const notARequest =
  'it is not a header, a curl line or an HTTP/1.1 request, nor a call of fetch or Invoke-RestMethod'

/** The body as it goes over the wire, from the bytes that were given for it; the file, where it is not the body itself. */
export function sentBody({ bodyFile }: PastedRequest, given: Uint8Array): { body: Uint8Array; bodyFile?: Uint8Array } {
  if (bodyFile?.withoutLineEnds !== true) return { body: given }
  return { body: given.filter((byte) => byte !== 0x0a && byte !== 0x0d && byte !== 0), bodyFile: given }
}

/** Parses pasted text. Never throws: parts that cannot be recognised are left out. */
export function readPasted(text: string): PastedRequest {
  const trimmed = text.trimStart()
  if (/^(> )?[A-Za-z]+ (\/|https?:)\S*( HTTP\/[\d.]+)?\s*(\r?\n|$)/.test(trimmed)) return readRaw(sentLines(trimmed))
  if (/^> [A-Z]+ \S+ HTTP\//m.test(text)) return readRaw(sentLines(text))
  if (/^:(?:authority|method|path|scheme)\b/.test(trimmed)) return readRaw(withRequestLine(trimmed))
  // Also after a prompt, a pipe or lines of other output.
  const curl = /(?:^|\n|\|)\s*\$?\s*curl(?:\.exe)?\s/.exec(text)
  if (curl !== null) return readCurl(shellWords(text.slice(curl.index + curl[0].length)))
  if (/\bfetch\s*\(/.test(text)) return readFetch(text)
  if (/\b(?:Invoke-RestMethod|Invoke-WebRequest|irm|iwr)\b/i.test(text)) return readPowerShell(text)
  const line = /^[<>]?[ \t]*authorization[ \t]*:.*$/im.exec(text)?.[0] ?? text
  // A header that a mail or a terminal has broken into lines has its fields nevertheless.
  const isHeader = !/[\n{}]/.test(line.trim()) || /^[\w-]+\s+[^\s;{}]+(?:;[^;{}]*){3,}$/.test(line.trim())
  return isHeader ? { header: headerValue(line) } : { isUnknown: true }
}

function headerValue(text: string): string {
  return text
    .trim()
    .replace(/^[<>]?\s*authorization\s*:\s*/i, '')
    .replace(/^(["'])(.*)\1$/s, '$2')
}

/** Flags of curl without a value; every other flag takes the next word. */
const alone = new Set(
  '-s -S -i -v -k -f -L -N -g -I -G -# -O -J -4 -6 -0 -a -j -l -n -p -q -R -Z --silent --show-error --include --verbose --compressed --insecure --fail --fail-with-body --location --no-buffer --globoff --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --ipv4 --ipv6 --no-keepalive --raw --path-as-is --tcp-nodelay --no-progress-meter --progress-bar --remote-name --head --get'.split(
    ' ',
  ),
)

function readCurl(words: readonly string[]): PastedRequest {
  const request: PastedRequest = {}
  const bodies: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-') || word === '-') {
      request.url ??= word
      continue
    }
    const { flag, attached } = splitFlag(word)
    if (alone.has(flag) || /^-[sSivkfLNg]{2,}$/.test(word)) continue
    const value = attached ?? words[++at] ?? ''
    if (flag === '-H' || flag === '--header') takeHeader(request, value)
    else if (flag === '-X' || flag === '--request') request.method = value
    else if (flag === '--url') request.url = value
    else if (flag === '-d' || flag.startsWith('--data') || flag === '--json') takeData(request, bodies, flag, value)
  }
  if (bodies.length > 0) request.body = utf8(bodies.join('&'))
  return request
}

function splitFlag(word: string): { flag: string; attached?: string } {
  const long = /^(--[^=]+)=(.*)$/s.exec(word)
  if (long !== null) return { flag: long[1] ?? '', attached: long[2] ?? '' }
  const short = /^(-[A-Za-z])(.+)$/s.exec(word)
  return short !== null && !word.startsWith('--') ? { flag: short[1] ?? '', attached: short[2] ?? '' } : { flag: word }
}

function takeHeader(request: PastedRequest, line: string): void {
  if (/^authorization\s*:/i.test(line)) request.header = headerValue(line)
}

function takeData(request: PastedRequest, bodies: string[], flag: string, value: string): void {
  if (value.startsWith('@') && flag !== '--data-raw') {
    request.bodyFile = {
      path: value.slice(1),
      withoutLineEnds: flag === '-d' || flag === '--data' || flag === '--data-ascii',
    }
  } else {
    bodies.push(value)
  }
}

/** What was sent, without the marks of `curl -v` and without its other lines. */
function sentLines(text: string): string {
  const isVerbose = /^> [A-Z]+ \S+ HTTP\//m.test(text) && /^[*<{}] ?/m.test(text)
  const lines = isVerbose ? text.split('\n').filter((line) => line.startsWith('>')) : text.split('\n')
  const sent = lines.map((line) => line.replace(/^> ?/, ''))
  // The output has no body: only an empty line would stand for one.
  while (isVerbose && /^\r?$/.test(sent.at(-1) ?? '-')) sent.pop()
  return sent.join('\n')
}

/** Headers of HTTP/2 with a request line in place of the pseudo-headers; names and values may stand on lines of their own. */
function withRequestLine(text: string): string {
  const all = text.split('\n')
  const isPaired = /^:[a-z]+:?\s*$/.test(all[0] ?? '')
  const lines = isPaired
    ? all.flatMap((name, at) => (at % 2 === 0 ? [`${name.trim().replace(/:$/, '')}: ${all[at + 1] ?? ''}`] : []))
    : all
  const pseudo = new Map<string, string>()
  const rest = lines.filter((line) => {
    const found = /^:([a-z]+):\s*(.*?)\s*$/.exec(line)
    if (found !== null) pseudo.set(found[1] ?? '', found[2] ?? '')
    return found === null
  })
  const host = pseudo.get('authority')
  const path = pseudo.get('path') ?? '/'
  const url = host === undefined ? path : `${pseudo.get('scheme') ?? 'https'}://${host}${path}`
  return [`${pseudo.get('method') ?? 'POST'} ${url} HTTP/2`, ...rest].join('\n')
}

function readRaw(text: string): PastedRequest {
  const lines = text.split('\n')
  const [method = '', target = ''] = (lines.shift() ?? '').trim().split(/\s+/)
  const headers = new Map<string, string>()
  // A report of a run has no empty line between headers and body.
  while (lines.length > 0 && /^[A-Za-z0-9-]+\s*:/.test(lines[0] ?? '')) {
    const line = (lines.shift() ?? '').replace(/\r$/, '')
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  if (/^\r?$/.test(lines[0] ?? '-')) lines.shift()
  const request: PastedRequest = { method, url: target }
  const host = headers.get('host')
  if (host !== undefined && target.startsWith('/')) request.url = `http://${host}${target}`
  const header = headers.get('authorization')
  if (header !== undefined) request.header = header
  if (lines.length === 0) return request
  const bytes = utf8(lines.join('\n'))
  const whole = /\bchunked\b/i.test(headers.get('transfer-encoding') ?? '') ? withoutChunks(bytes) : null
  request.body = whole ?? toLength(bytes, headers.get('content-length'))
  return request
}

/** The body that the chunks carry; null where there are none, because many tools show a body without its chunks. */
function withoutChunks(bytes: Uint8Array): Uint8Array | null {
  const chunks: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    const end = bytes.indexOf(0x0a, at)
    const line = fromLatin1(bytes.subarray(at, end < 0 ? bytes.length : end))
    const size = /^\s*([0-9a-fA-F]{1,8})\s*(?:;.*)?\r?$/.exec(line)?.[1]
    if (size === undefined) return null
    const length = Number.parseInt(size, 16)
    if (length === 0) return concat(...chunks)
    const chunk = end < 0 ? new Uint8Array(0) : bytes.subarray(end + 1, end + 1 + length)
    if (chunk.length < length) return null
    chunks.push(chunk)
    at = end + 1 + length
    if (bytes[at] === 0x0d) at += 1
    if (bytes[at] === 0x0a) at += 1
  }
  return chunks.length === 0 ? null : concat(...chunks)
}

/** A final line feed of an editor is not part of the body: the announced length shows where the body ends. */
function toLength(body: Uint8Array, length: string | undefined): Uint8Array {
  const announced = Number(length ?? Number.NaN)
  return Number.isInteger(announced) && announced < body.length ? body.slice(0, announced) : body
}

// ---- calls in JavaScript and PowerShell: the texts in them, and the names before them; nothing is computed

interface Token {
  kind: 'text' | 'word' | 'mark'
  value: string
}

/** @param texts matches a text, or else a comment or white space; the first group that is set holds the text */
function tokensOf(
  code: string,
  texts: RegExp,
  words: RegExp,
  resolve: (whole: string, inner: string) => string,
): Token[] {
  const tokens: Token[] = []
  for (let rest = code; rest !== ''; ) {
    const text = texts.exec(rest)
    const word = text === null ? words.exec(rest) : null
    const length = text?.[0].length ?? word?.[0].length ?? 1
    const inner = text?.slice(1).find((group) => group !== undefined)
    if (inner !== undefined) tokens.push({ kind: 'text', value: resolve(text?.[0] ?? '', inner) })
    else if (word !== null) tokens.push({ kind: 'word', value: word[0] })
    else if (text === null) tokens.push({ kind: 'mark', value: rest.slice(0, 1) })
    rest = rest.slice(length)
  }
  return tokens
}

const isName = (token: Token | undefined, name: string): boolean =>
  token !== undefined && token.kind !== 'mark' && token.value.toLowerCase() === name

/** Where the value of a name begins: `name: …`, `name = …`, `"name", …` or `[name] = …`. */
function valueAt(tokens: readonly Token[], name: string): number {
  const isMark = (at: number, marks: string): boolean =>
    tokens[at]?.kind === 'mark' && marks.includes(tokens[at]?.value ?? '')
  for (const [at, token] of tokens.entries()) {
    if (!isName(token, name)) continue
    const behind = isMark(at + 1, ']') ? at + 2 : at + 1
    if (isMark(behind, ':=,') && tokens[behind + 1] !== undefined) return behind + 1
  }
  return -1
}

/** The text at a place, or the one that a variable there was given. */
function textAt(tokens: readonly Token[], at: number): string | undefined {
  const token = tokens[at]
  if (token?.kind !== 'word') return token?.kind === 'text' ? token.value : undefined
  const given = tokens[valueAt(tokens, token.value.toLowerCase())]
  return given?.kind === 'text' ? given.value : undefined
}

const textsOfScript =
  /^(?:"((?:\\[\s\S]|[^"\\])*)"|'((?:\\[\s\S]|[^'\\])*)'|`((?:\\[\s\S]|[^`\\])*)`|\s+|\/\/.*|\/\*[\s\S]*?\*\/)/

function readFetch(text: string): PastedRequest {
  const tokens = tokensOf(text, textsOfScript, /^[\w$]+/, (_, inner) => unescapeAnsi(inner.replace(/\\\r?\n/g, '')))
  const call = tokens.findIndex((token, at) => isName(token, 'fetch') && tokens[at + 1]?.value === '(')
  const body = valueAt(tokens, 'body')
  const isWritten = isName(tokens[body], 'json') && isName(tokens[body + 2], 'stringify')
  return requestOf({
    header: textAt(tokens, valueAt(tokens, 'authorization')),
    url: textAt(tokens, call + 2),
    method: textAt(tokens, valueAt(tokens, 'method')),
    body: isWritten ? stringified(tokens.slice(body + 4)) : textAt(tokens, body),
  })
}

/** What JSON.stringify makes of the value that begins here; undefined for one that is not written out. */
function stringified(tokens: readonly Token[]): string | undefined {
  let depth = 0
  const end = tokens.findIndex(({ kind, value }) => {
    if (kind === 'mark' && '([{'.includes(value)) depth += 1
    if (kind === 'mark' && ')]}'.includes(value)) depth -= 1
    return depth < 0
  })
  const json = tokens.slice(0, Math.max(0, end)).map(({ kind, value }, at, all) => {
    const isMember = kind === 'word' && all[at + 1]?.value === ':' && all[at + 1]?.kind === 'mark'
    return kind === 'text' || isMember ? JSON.stringify(value) : value
  })
  const parsed = parseJson(json.join('').replace(/,([}\]])/g, '$1'))
  return parsed === undefined ? undefined : JSON.stringify(parsed)
}

const textsOfPowerShell =
  /^(?:@"\r?\n([\s\S]*?)\r?\n"@|@'\r?\n([\s\S]*?)\r?\n'@|"((?:`[\s\S]|""|[^"`])*)"|'((?:''|[^'])*)'|\s+|`\r?\n|#.*)/
const powerShellEscapes: { [mark: string]: string } = { n: '\n', r: '\r', t: '\t', '0': '\0' }

function readPowerShell(text: string): PastedRequest {
  const tokens = tokensOf(
    text,
    textsOfPowerShell,
    /^(?:https?:\/\/[^\s"'`;,|{}()]+|[^\s"'`@{}()[\]=;,|]+)/,
    (whole, inner) => {
      if (whole.endsWith("'@")) return inner
      if (whole.endsWith("'")) return inner.replaceAll("''", "'")
      const plain = whole.startsWith('@') ? inner : inner.replaceAll('""', '"')
      return plain.replace(/`([\s\S])/g, (_, mark: string) => powerShellEscapes[mark] ?? mark)
    },
  )
  const argument = (name: string): string | undefined => {
    const at = tokens.findIndex((token) => isName(token, name)) + 1
    const token = at === 0 ? undefined : tokens[at]
    return token?.kind === 'word' && !/^[-$]/.test(token.value) ? token.value : textAt(tokens, at === 0 ? -1 : at)
  }
  const path = argument('-infile')
  return {
    ...requestOf({
      header: textAt(tokens, valueAt(tokens, 'authorization')),
      url: argument('-uri') ?? tokens.map(({ value }) => value).find((value) => /^https?:\/\//.test(value)),
      method: argument('-method')?.toUpperCase(),
      body: argument('-body'),
    }),
    ...(path === undefined ? {} : { bodyFile: { path, withoutLineEnds: false } }),
  }
}

function requestOf(found: { [part in 'header' | 'url' | 'method' | 'body']: string | undefined }): PastedRequest {
  const { body, ...rest } = found
  return { ...defined(rest), ...(body === undefined ? {} : { body: utf8(body) }) }
}

// ---- a line of a POSIX shell: quotes, `$'…'` and continued lines, but no expansions

const ansiEscapes: { [mark: string]: string } = {
  n: '\n',
  t: '\t',
  r: '\r',
  '0': '\0',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  v: '\v',
}

/** The words of a command line, up to the first unquoted `|`, `;`, `&`, `<` or `>`. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  let word: string | null = null
  let rest = line
  const add = (text: string) => {
    word = (word ?? '') + text
  }
  while (rest !== '') {
    const part = nextPart(rest)
    rest = rest.slice(part.length)
    if (part.kind === 'end') break
    if (part.kind === 'text') add(part.text)
    else if (part.kind === 'space' && word !== null) {
      words.push(word)
      word = null
    }
  }
  return word === null ? words : [...words, word]
}

type Part = { kind: 'text'; text: string; length: number } | { kind: 'space' | 'nothing' | 'end'; length: number }

function nextPart(rest: string): Part {
  const single = /^'([^']*)'?/.exec(rest)
  if (single !== null) return { kind: 'text', text: single[1] ?? '', length: single[0].length }
  const ansi = /^\$'((?:\\[\s\S]|[^'\\])*)'?/.exec(rest)
  if (ansi !== null) return { kind: 'text', text: unescapeAnsi(ansi[1] ?? ''), length: ansi[0].length }
  const double = /^"((?:\\[\s\S]|[^"\\])*)"?/.exec(rest)
  if (double !== null) return { kind: 'text', text: unescapeDouble(double[1] ?? ''), length: double[0].length }
  const continued = /^\\\r?\n/.exec(rest)
  if (continued !== null) return { kind: 'nothing', length: continued[0].length }
  if (rest.startsWith('\\')) return { kind: 'text', text: rest.slice(1, 2), length: 2 }
  const space = /^\s+/.exec(rest)
  if (space !== null) return { kind: 'space', length: space[0].length }
  if (/^[|;&<>]/.test(rest)) return { kind: 'end', length: rest.length }
  const plain = /^[^'"\\\s|;&<>]+?(?=\$'|['"\\\s|;&<>]|$)/.exec(rest)
  return { kind: 'text', text: plain?.[0] ?? rest.slice(0, 1), length: plain?.[0].length ?? 1 }
}

function unescapeDouble(text: string): string {
  return text.replace(/\\(\r?\n|[\s\S])/g, (whole, mark: string) => {
    if (mark.endsWith('\n')) return ''
    return '"\\$`'.includes(mark) ? mark : whole
  })
}

function unescapeAnsi(text: string): string {
  return text.replace(/\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g, (_, mark: string) =>
    /^[xuU]./.test(mark) ? String.fromCodePoint(Number.parseInt(mark.slice(1), 16)) : (ansiEscapes[mark] ?? mark),
  )
}
