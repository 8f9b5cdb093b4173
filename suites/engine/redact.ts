/**
 * Parts of secrets in texts that were cut: a report shows the beginning of a long value and both ends of a long answer, so it may contain
 * only the beginning or the end of a long token. Only the ends of a secret are kept, since a hostile server may give out megabytes of them.
 */
import type { Exchange } from './target.ts'

/** A longer secret is never shown whole: every text that could show it is cut. In characters. */
const wholeSecret = 4096

/** How many characters at either end are enough to recognise a secret. */
const endLength = 20

function createFragments() {
  const ends = new Map<string, 'begin' | 'end'>()
  const add = (secret: string): void => {
    // Every PEM private key begins with the same line, so its beginning gives nothing away.
    if (secret.length < 2 * endLength || /\s/.test(secret.slice(0, 2 * endLength))) return
    ends.set(copied(secret.slice(0, endLength)), 'begin')
    ends.set(copied(secret.slice(-endLength)), 'end')
  }
  /** The text without the beginnings and ends of secrets, and without what belongs to them. */
  const cutOut = (text: string): string => {
    if (ends.size === 0) return text
    let done = ''
    let rest = 0
    for (let at = 0; at + endLength <= text.length; at += 1) {
      const which = ends.get(text.slice(at, at + endLength))
      if (which === undefined) continue
      const from = which === 'begin' ? at : wordBegin(text, at)
      const to = which === 'end' ? at + endLength : wordEnd(text, at)
      const isCut = which === 'begin' ? isCutAt(text[to]) : isCutAt(text[from - 1])
      if (from < rest || !isCut) continue
      done += `${text.slice(rest, from)}${text.slice(from, from + shownCharacters)}…`
      rest = to
      at = to - 1
    }
    return done + text.slice(rest)
  }
  return { add, cutOut }
}

/** A slice keeps the whole text that it is a part of in memory. */
function copied(part: string): string {
  return Buffer.from(part, 'utf16le').toString('utf16le')
}

/** Where a text was cut its line ends or begins, or the mark of the cut stands there. An id that a token begins with stands elsewhere. */
const isCutAt = (neighbour: string | undefined): boolean =>
  neighbour === undefined || neighbour === '\n' || neighbour === '…'

const ofWord = /[\w+/=.~%-]/

function wordEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && ofWord.test(text[at] ?? '')) at += 1
  return at
}

function wordBegin(text: string, from: number): number {
  let at = from
  while (at > 0 && ofWord.test(text[at - 1] ?? '')) at -= 1
  return at
}

// No secret leaves: what is printed or written goes through here, except with `--trace`.

export interface Redactor {
  /** A secret that became known on the way: a token, the secret of a created key, a private key. */
  add(secret: string): void
  /** Whether a secret was added before. */
  knows(secret: string): boolean
  /** The text with every secret shortened beyond use. */
  text(text: string): string
}

/** Removing a shorter "secret" would remove ordinary words too. */
const shortestSecret = 6
const shownCharacters = 4

/** Keeps enough to tell two secrets apart, and too little to use one. */
export const shorten = (secret: string): string =>
  secret.length < shownCharacters * 4 ? '…' : `${secret.slice(0, shownCharacters)}…`

/**
 * Shortens the given secrets in every spelling (plain in any case, JSON-escaped, URL-encoded, hex, and within base64 at
 * any alignment, so that Basic credentials are found too), and values in the usual places of credentials:
 * authorization and cookie headers, token and secret members, private keys.
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const known = new Set<string>()
  // Their spellings are computed when something is printed; most cases print nothing.
  let added: string[] = []
  // Indexed by their first characters: a run against a lasting server knows thousands of secrets.
  const spellings = new Map<string, string[]>()
  const fragments = createFragments()
  const add = (secret: string): void => {
    if (secret.length < shortestSecret || known.has(secret)) return
    fragments.add(secret)
    if (secret.length > wholeSecret) return
    known.add(secret)
    added.push(secret)
  }
  const spellAdded = (): void => {
    for (const spelling of added.flatMap(spellingsOf)) {
      const begin = spelling.slice(0, shortestSecret)
      const others = spellings.get(begin)
      if (others === undefined) spellings.set(begin, [spelling])
      else others.push(spelling)
    }
    added = []
  }
  for (const secret of secrets) add(secret)
  const text = (plain: string): string => {
    spellAdded()
    const lower = plain.toLowerCase()
    const found = new Set<string>()
    for (let at = 0; at + shortestSecret <= lower.length; at += 1) {
      for (const spelling of spellings.get(lower.slice(at, at + shortestSecret)) ?? []) {
        if (lower.startsWith(spelling, at)) found.add(spelling)
      }
    }
    // The longest first, so that a part is not replaced before the whole.
    const sorted = [...found].sort((one, other) => other.length - one.length)
    return fragments.cutOut(sorted.reduce(withoutSpelling, withoutPatterns(plain)))
  }
  return { add, knows: (secret) => known.has(secret), text }
}

/** Both sides of an exchange, line by line. */
export function redactExchange(exchange: Exchange, redactor: Redactor): Exchange {
  const lines = (all: string[]): string[] => redactor.text(all.join('\n')).split('\n')
  return { request: lines(exchange.request), answer: lines(exchange.answer) }
}

/** Fields of a problem whose words are ours. */
const ownWords = new Set(['kind', 'rule', 'outcome', 'expected', 'side', 'requirements', 'where'])

/** The same value with every foreign text redacted. */
export function redactValue<T>(value: T, redactor: Redactor): T {
  const redact = (inner: unknown): unknown => {
    if (typeof inner === 'string') return redactor.text(inner)
    if (Array.isArray(inner)) return inner.map(redact)
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(
      Object.entries(inner).map(([name, field]) => [name, ownWords.has(name) ? field : redact(field)]),
    )
  }
  return redact(value) as T
}

function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8')
  const spelled = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    // A server may send a lone surrogate, which cannot be encoded.
    encodeURIComponent(bytes.toString('utf8')),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((before) => base64Within(bytes, before)),
  ]
  return [...new Set(spelled.map((one) => one.toLowerCase()))].filter((one) => one.length >= shortestSecret)
}

/** The letters that base64 gives these bytes when `before` bytes of something else come first: Basic has an id there. */
function base64Within(bytes: Buffer, before: number): string[] {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
  // Letters that share bits with a neighbour byte differ from text to text.
  const first = Math.ceil((before * 8) / 6)
  const end = Math.floor(((before + bytes.length) * 8) / 6)
  const core = encoded.slice(first, end)
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')]
}

function withoutSpelling(text: string, spelling: string): string {
  let found = text.toLowerCase().indexOf(spelling)
  if (found === -1) return text
  let rest = text
  let done = ''
  while (found !== -1) {
    const end = found + spelling.length
    done += rest.slice(0, found) + shorten(rest.slice(found, end))
    rest = rest.slice(end)
    found = rest.toLowerCase().indexOf(spelling)
  }
  return done + rest
}

const withoutPatterns = (text: string): string =>
  text
    .replace(privateKey, (_, begin: string) => `${begin}…`)
    .replace(credentialHeader, (_, name: string, value: string) => `${name}${withoutCredentials(value)}`)
    .replace(secretMember, (_, before: string, value: string) => `${before}${shorten(value)}`)
    .replace(escapedSecretMember, (_, before: string, _quote: string, value: string) => `${before}${shorten(value)}`)

const privateKey =
  /(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----)(?:(?!-----END)[\s\S])*(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?/g
const credentialHeader = /((?:^|[\n>< ])(?:proxy-authorization|authorization|cookie|set-cookie)\s*[:=]\s*)([^\n]*)/gi
const memberNames = 'accessToken|refreshToken|secret|apiKeySecret|privateKey|password'
const secretMember = new RegExp(`("(?:${memberNames})"\\s*:\\s*")((?:[^"\\\\]|\\\\.)*)`, 'gi')
const escapedSecretMember = new RegExp(`((\\\\+")(?:${memberNames})\\2\\s*:\\s*\\2)((?:(?!\\\\*")[\\s\\S])*)`, 'gi')

/** `scheme id;1;time;nonce;signature` keeps what explains a refusal; of anything else only the first word stays. */
function withoutCredentials(value: string): string {
  const [first = '', ...more] = value.trim().split(/\s+/)
  const credentials = more.join(' ')
  if (credentials === '') return first.includes(';') ? withoutSignature(first) : shorten(first)
  return `${first.length > 40 ? shorten(first) : first} ${withoutSignature(credentials)}`
}

function withoutSignature(credentials: string): string {
  const fields = credentials.split(';')
  if (fields.length < 3) return shorten(credentials)
  return fields
    .map((field, index) => (index === 0 || index >= 4 || field.length > 64 ? shorten(field) : field))
    .join(';')
}
