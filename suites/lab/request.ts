/** What a person pastes: a header, a whole curl line, or a raw HTTP request (also as a report of a run prints it). */
import { utf8 } from '../engine/signer/bytes.ts'
import { shellWords } from './shell-words.ts'

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
