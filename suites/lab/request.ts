/** What a person pastes: a header, a whole curl line, or a raw HTTP request (also as a report of a run prints it). */
import { utf8 } from '../engine/signer/bytes.ts'

export interface PastedRequest {
  /** The value of the Authorization header; undefined without one. */
  header?: string
  method?: string
  /** As it was called; without a host where none was given. */
  url?: string
  body?: Uint8Array
  /** curl takes the body from here. `-d` drops line ends on the way, `--data-binary` does not. */
  bodyFile?: { path: string; withoutLineEnds: boolean }
}

/** Parses pasted text. Never throws: parts that cannot be recognised are left out. */
export function readPasted(text: string): PastedRequest {
  const trimmed = text.trimStart()
  if (/^(> )?[A-Za-z]+ (\/|https?:)\S*( HTTP\/[\d.]+)?\s*(\r?\n|$)/.test(trimmed)) return readRaw(trimmed)
  // Also after a prompt, a pipe or lines of other output.
  const curl = /(?:^|\n|\|)\s*\$?\s*curl(?:\.exe)?\s/.exec(text)
  if (curl !== null) return readCurl(shellWords(text.slice(curl.index + curl[0].length)))
  return { header: headerValue(text) }
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

function readRaw(text: string): PastedRequest {
  const lines = text.replace(/^> /gm, '').split('\n')
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
  if (lines.length > 0) request.body = toLength(utf8(lines.join('\n')), headers.get('content-length'))
  return request
}

/** A final line feed of an editor is not part of the body: the announced length shows where the body ends. */
function toLength(body: Uint8Array, length: string | undefined): Uint8Array {
  const announced = Number(length ?? Number.NaN)
  return Number.isInteger(announced) && announced < body.length ? body.slice(0, announced) : body
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
