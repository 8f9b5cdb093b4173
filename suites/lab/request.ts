/**
 * What a person pastes: a header, a whole curl line, a raw HTTP request (also as a report of a run prints it, with the pseudo-headers of
 * HTTP/2, or in the output of curl -v), or a call of fetch or of PowerShell.
 */
import { counted } from '../engine/group.ts'
import { defined, parseJson } from '../engine/json.ts'
import { concat, fromLatin1, utf8 } from '../engine/signer/bytes.ts'

interface PastedRequest {
  /** The value of the Authorization header; undefined without one. */
  header?: string
  method?: string
  /** As it was called; without a host where none was given. */
  url?: string
  body?: Uint8Array
  /** curl takes the body from here. `-d` drops line ends on the way, `--data-binary` does not. */
  bodyFile?: { path: string; withoutLineEnds: boolean }
  /** Why a part that is sent cannot be taken from the text; as a sentence about it. */
  withheld?: { header?: string; body?: string }
  /** Why nothing can be read from the text. */
  unreadable?: string
}

const notARequest = 'it is not a header, a curl line or an HTTP/1.1 request, nor a call of fetch or Invoke-RestMethod'
const computedPart = 'it is computed where the call is made, so its value is not in this text'

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
  if (curl !== null) return readCurlLine(text, curl.index + curl[0].length)
  if (otherCommand.test(text)) return { unreadable: notARequest }
  if (/\bfetch\s*\(/.test(text)) return readFetch(text)
  if (/\b(?:Invoke-RestMethod|Invoke-WebRequest|irm|iwr)\b/i.test(text)) return readPowerShell(text)
  const line = /^[<>]?[ \t]*authorization[ \t]*:.*$/im.exec(text)?.[0] ?? text
  // A header that a mail or a terminal has broken into lines has its fields nevertheless.
  const isHeader = !/[\n{}]/.test(line.trim()) || /^[\w-]+\s+[^\s;{}]+(?:;[^;{}]*){3,}$/.test(line.trim())
  const header = headerValue(line)
  return isHeader && !ofARequest.test(header) ? { header } : { unreadable: notARequest }
}

/** Lines of HTTPie, xh and wget. */
const otherCommand = /(?:^|\n)\s*[$>]?\s*(?:https?|xhs?|wget2?)(?:\.exe)?\s+\S/
/** What no value of a header has: a URL, or another name before it. */
const ofARequest = /:\/\/|\bauthorization["']?\s*[:=,]/i

function headerValue(text: string): string {
  return text
    .trim()
    .replace(/^[<>]?\s*authorization\s*:\s*/i, '')
    .replace(/^(["'])(.*)\1$/s, '$2')
}

/** @param start where the words after `curl` begin */
function readCurlLine(text: string, start: number): PastedRequest {
  const line = text.slice(start)
  const isForCmd = /\^["\r\n]/.test(line)
  const { words, open } = shellWords(isForCmd ? withoutCarets(line) : line)
  if (open === undefined) return readCurl(isForCmd ? words.map((word) => ({ ...word, isExpanded: false })) : words)
  const place = isForCmd ? '' : ` at character ${start + open.at + 1}`
  return { unreadable: `the quote ${open.quote}${place} of the curl line is not closed; paste the whole line` }
}

/** A line for cmd of Windows, as browsers copy it, without the marks of cmd: a caret keeps the next character, and drops a line end before it. */
function withoutCarets(line: string): string {
  return line.replace(/\^(?:\r?\n)?([\s\S])/g, '$1')
}

/** Flags of curl without a value; every other flag takes the next word. */
const alone = new Set(
  '-s -S -i -v -k -f -L -N -g -I -G -# -O -J -4 -6 -0 -a -j -l -n -p -q -R -Z --silent --show-error --include --verbose --compressed --insecure --fail --fail-with-body --location --no-buffer --globoff --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --ipv4 --ipv6 --no-keepalive --raw --path-as-is --tcp-nodelay --no-progress-meter --progress-bar --remote-name --head --get'.split(
    ' ',
  ),
)

/** Flags with which curl sends something else than the given text, and why the body cannot be taken. */
const otherBodies: { [flag: string]: string } = {
  '--data-urlencode': 'curl --data-urlencode sends it percent-encoded; "--data-binary" sends it as it is',
  '-F': 'curl -F makes a form of it; "--data-binary" sends it as it is',
  '-G': 'curl -G puts it into the URL and sends a GET without a body; leave "-G" out',
}
const longNames: { [flag: string]: string } = { '--get': '-G', '--form': '-F', '--form-string': '-F' }

function readCurl(words: readonly Word[]): PastedRequest {
  const request: PastedRequest = {}
  const bodies: string[] = []
  const withheld: { header?: string; body?: string } = {}
  /** Whether the value of this header stands in a variable; a whole header in a variable may be this one. */
  let isComputed: boolean | undefined
  for (let at = 0; at < words.length; at++) {
    const { text, isExpanded } = words[at] ?? noWord
    if (!text.startsWith('-') || text === '-') {
      request.url ??= text
      continue
    }
    const { flag, attached } = splitFlag(text)
    const isOfSeveral = /^-[sSivkfLNgG]{2,}$/.test(text)
    const other = otherBodies[isOfSeveral && text.includes('G') ? '-G' : (longNames[flag] ?? flag)]
    if (other !== undefined) withheld.body ??= other
    if (other?.startsWith('curl -G')) request.method ??= 'GET'
    if (alone.has(flag) || isOfSeveral) continue
    const value = attached === undefined ? (words[++at] ?? noWord) : { text: attached, isExpanded }
    if (flag === '-H' || flag === '--header') {
      if (/^authorization\s*:/i.test(value.text)) {
        request.header = headerValue(value.text)
        isComputed = value.isExpanded
      } else if (value.isExpanded && !value.text.includes(':')) isComputed ??= true
    } else if (flag === '-X' || flag === '--request') request.method = value.text
    else if (flag === '--url') request.url = value.text
    else if (flag === '-d' || flag.startsWith('--data') || flag === '--json') {
      const isFile = value.text.startsWith('@') && flag !== '--data-raw'
      if (value.isExpanded) withheld.body ??= computedPart
      if (request.bodyFile !== undefined || (isFile && bodies.length > 0))
        withheld.body ??= 'curl joins it from several texts and files'
      const withoutLineEnds = flag === '-d' || flag === '--data' || flag === '--data-ascii'
      if (isFile) request.bodyFile = { path: value.text.slice(1), withoutLineEnds }
      else bodies.push(value.text)
    }
  }
  if (isComputed === true) withheld.header = computedPart
  if (bodies.length > 0) request.body = utf8(bodies.join('&'))
  return withParts(request, withheld)
}

/** A request without the parts that cannot be taken. */
function withParts(request: PastedRequest, withheld: { header?: string; body?: string }): PastedRequest {
  const { header, body, bodyFile, ...rest } = request
  return {
    ...rest,
    ...(withheld.header === undefined ? defined({ header }) : {}),
    ...(withheld.body === undefined ? defined({ body, bodyFile }) : {}),
    ...(Object.keys(withheld).length === 0 ? {} : { withheld }),
  }
}

function splitFlag(word: string): { flag: string; attached?: string } {
  const long = /^(--[^=]+)=(.*)$/s.exec(word)
  if (long !== null) return { flag: long[1] ?? '', attached: long[2] ?? '' }
  const short = /^(-[A-Za-z])(.+)$/s.exec(word)
  return short !== null && !word.startsWith('--') ? { flag: short[1] ?? '', attached: short[2] ?? '' } : { flag: word }
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
  const body = whole ?? toLength(bytes, headers.get('content-length'))
  return typeof body === 'string' ? withParts(request, { body }) : { ...request, body }
}

/** The body that the chunks carry, or why it is not whole; null where there are none, because many tools show a body without its chunks. */
function withoutChunks(bytes: Uint8Array): Uint8Array | string | null {
  const chunks: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    const end = bytes.indexOf(0x0a, at)
    const line = fromLatin1(bytes.subarray(at, end < 0 ? bytes.length : end))
    const size = /^\s*([0-9a-fA-F]{1,8})\s*(?:;.*)?\r?$/.exec(line)?.[1]
    const number = chunks.length + 1
    if (size === undefined) return number === 1 ? null : `the size of chunk ${number} is missing`
    const length = Number.parseInt(size, 16)
    if (length === 0) return concat(...chunks)
    const chunk = end < 0 ? new Uint8Array(0) : bytes.subarray(end + 1, end + 1 + length)
    if (chunk.length < length)
      return `chunk ${number} should have ${counted(length, 'byte')} and ${chunk.length} follow: the text is cut short, or the size ${size} is wrong`
    chunks.push(chunk)
    at = end + 1 + length
    if (bytes[at] === 0x0d) at += 1
    if (bytes[at] === 0x0a) at += 1
    else if (at < bytes.length)
      return `chunk ${number} does not end after ${counted(length, 'byte')}, so the size ${size} is wrong`
  }
  return chunks.length === 0 ? null : 'its last chunk, of size 0, is missing, so the text may be cut short'
}

/** The body, or why it is not whole. A final line feed of an editor is not part of it: the announced length shows where the body ends. */
function toLength(body: Uint8Array, length: string | undefined): Uint8Array | string {
  const announced = Number(length ?? Number.NaN)
  if (announced > body.length) return `Content-Length announces ${counted(announced, 'byte')} and ${body.length} follow`
  return Number.isInteger(announced) ? body.slice(0, announced) : body
}

// ---- calls in JavaScript and PowerShell: the texts in them, and the names before them; nothing is computed

interface Token {
  /** A text in which a variable stands is computed. */
  kind: 'text' | 'computed' | 'word' | 'mark'
  value: string
}

/** A text, null for one that is computed, undefined where there is none. */
type Text = string | null | undefined

/** @param texts matches a text, or else a comment or white space; the first group that is set holds the text */
function tokensOf(
  code: string,
  texts: RegExp,
  words: RegExp,
  resolve: (whole: string, inner: string) => string | null,
): Token[] {
  const tokens: Token[] = []
  for (let rest = code; rest !== ''; ) {
    const text = texts.exec(rest)
    const word = text === null ? words.exec(rest) : null
    const length = text?.[0].length ?? word?.[0].length ?? 1
    const inner = text?.slice(1).find((group) => group !== undefined)
    const resolved = inner === undefined ? null : resolve(text?.[0] ?? '', inner)
    if (resolved !== null) tokens.push({ kind: 'text', value: resolved })
    else if (inner !== undefined) tokens.push({ kind: 'computed', value: inner })
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
    if (isMark(behind, token.kind === 'text' ? ':=,' : ':=') && tokens[behind + 1] !== undefined) return behind + 1
  }
  return -1
}

/** Where a value is written, if a variable stands at a place. */
function writtenAt(tokens: readonly Token[], at: number): number {
  const token = tokens[at]
  const given = token?.kind === 'word' ? valueAt(tokens, token.value.toLowerCase()) : -1
  return given < 0 ? at : given
}

/** The text at a place, or the one that a variable there was given. */
function textAt(tokens: readonly Token[], at: number): Text {
  const place = writtenAt(tokens, at)
  const [token, next] = [tokens[place], tokens[place + 1]]
  if (token === undefined || (token.kind === 'word' && /^\$?(?:null|undefined)$/i.test(token.value))) return undefined
  const isJoined = next?.kind === 'mark' && '+.'.includes(next.value)
  return token.kind === 'text' && !isJoined ? token.value : null
}

/** The text of a member; one that is only named, as in `{ method, body }`, is computed. */
function memberText(tokens: readonly Token[], name: string): Text {
  const at = valueAt(tokens, name)
  const isNamed = tokens.some(
    (token, index) => token.kind === 'word' && isName(token, name) && tokens[index - 1]?.value !== '.',
  )
  return at < 0 && isNamed ? null : textAt(tokens, at)
}

const textsOfScript =
  /^(?:"((?:\\[\s\S]|[^"\\])*)"|'((?:\\[\s\S]|[^'\\])*)'|`((?:\\[\s\S]|[^`\\])*)`|\s+|\/\/.*|\/\*[\s\S]*?\*\/)/

function readFetch(text: string): PastedRequest {
  const tokens = tokensOf(text, textsOfScript, /^[\w$]+/, (whole, inner) => {
    if (whole.startsWith('`') && inner.replace(/\\[\s\S]/g, '').includes('${')) return null
    return unescapeAnsi(inner.replace(/\\\r?\n/g, ''))
  })
  const call = tokens.findIndex((token, at) => isName(token, 'fetch') && tokens[at + 1]?.value === '(')
  const body = writtenAt(tokens, valueAt(tokens, 'body'))
  const isWritten = isName(tokens[body], 'json') && isName(tokens[body + 2], 'stringify')
  return requestOf({
    header: memberText(tokens, 'authorization'),
    url: textAt(tokens, call + 2),
    method: textAt(tokens, valueAt(tokens, 'method')),
    body: isWritten ? stringified(tokens.slice(body + 4)) : memberText(tokens, 'body'),
  })
}

/** What JSON.stringify makes of the value that begins here; null for one that is not written out. */
function stringified(tokens: readonly Token[]): Text {
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
  return parsed === undefined ? null : JSON.stringify(parsed)
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
      if (/\$[A-Za-z_({]/.test(inner.replace(/`[\s\S]/g, ''))) return null
      const plain = whole.startsWith('@') ? inner : inner.replaceAll('""', '"')
      return plain.replace(/`([\s\S])/g, (_, mark: string) => powerShellEscapes[mark] ?? mark)
    },
  )
  const argument = (name: string): Text => {
    const at = tokens.findIndex((token) => isName(token, name)) + 1
    const token = at === 0 ? undefined : tokens[at]
    return token?.kind === 'word' && !/^[-$]/.test(token.value) ? token.value : textAt(tokens, at === 0 ? -1 : at)
  }
  const path = argument('-infile') ?? undefined
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

function requestOf({ header, url, method, body }: { [part in 'header' | 'url' | 'method' | 'body']: Text }) {
  return withParts(
    {
      ...defined({ header: header ?? undefined, url: url ?? undefined, method: method ?? undefined }),
      ...(typeof body === 'string' ? { body: utf8(body) } : {}),
    },
    { ...(header === null ? { header: computedPart } : {}), ...(body === null ? { body: computedPart } : {}) },
  )
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

/** A word, and whether a shell puts a value into it. */
interface Word {
  text: string
  isExpanded: boolean
}

const noWord: Word = { text: '', isExpanded: false }

/**
 * The words of a command line, up to the first unquoted `|`, `;`, `&`, `<` or `>`.
 *
 * @returns `open`: a quote of the first line that is not closed, and its place
 */
function shellWords(line: string): { words: Word[]; open?: { quote: string; at: number } } {
  const words: Word[] = []
  let word: Word | undefined
  let isFirstLine = true
  for (let at = 0; at < line.length; ) {
    const part = nextPart(line.slice(at))
    if (part.kind === 'end') break
    if (part.kind === 'text') {
      if (part.open !== undefined && isFirstLine) return { words, open: { quote: part.open, at } }
      const { text, isExpanded }: Word = word ?? noWord
      word = { text: text + part.text, isExpanded: isExpanded || part.isExpanded === true }
    } else if (part.kind === 'space') {
      if (word !== undefined) words.push(word)
      word = undefined
      isFirstLine &&= !line.slice(at, at + part.length).includes('\n')
    }
    at += part.length
  }
  return { words: word === undefined ? words : [...words, word] }
}

type Part =
  | { kind: 'text'; text: string; length: number; isExpanded?: boolean; open?: string }
  | { kind: 'space' | 'nothing' | 'end'; length: number }

const variable = /\$[\w{(@*#?!]|`/

function nextPart(rest: string): Part {
  const quoted = /^(?:'([^']*)('?)|\$'((?:\\[\s\S]|[^'\\])*)('?)|"((?:\\[\s\S]|[^"\\])*)("?))/.exec(rest)
  if (quoted !== null) {
    const [whole, single, , ansi, , double = ''] = quoted
    const text = single ?? (ansi === undefined ? unescapeDouble(double) : unescapeAnsi(ansi))
    const isExpanded = variable.test(double.replace(/\\[\s\S]/g, ''))
    const isOpen = (quoted[2] ?? quoted[4] ?? quoted[6]) === ''
    const open = isOpen ? { open: whole.replace('$', '').slice(0, 1) } : {}
    return { kind: 'text', text, length: whole.length, isExpanded, ...open }
  }
  const result = /^(?:\$\([^)]*\)?|`[^`]*`?)/.exec(rest)
  if (result !== null) return { kind: 'text', text: result[0], length: result[0].length, isExpanded: true }
  const continued = /^\\\r?\n/.exec(rest)
  if (continued !== null) return { kind: 'nothing', length: continued[0].length }
  if (rest.startsWith('\\')) return { kind: 'text', text: rest.slice(1, 2), length: 2 }
  const space = /^\s+/.exec(rest)
  if (space !== null) return { kind: 'space', length: space[0].length }
  if (/^[|;&<>]/.test(rest)) return { kind: 'end', length: rest.length }
  const plain = /^[^'"\\\s|;&<>`]+?(?=\$['(]|['"\\\s|;&<>`]|$)/.exec(rest)
  const text = plain?.[0] ?? rest.slice(0, 1)
  return { kind: 'text', text, length: text.length, isExpanded: variable.test(text) }
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
