/** The words that alter a secret, a token or a param in a fixture: each changes one thing. */
import { toBase64, utf8 } from '../signer/bytes.ts'

type Alter = (text: string) => string

/** Replaces the middle-most inner character of a class; an alteration of the last one may decode to the same bytes. */
function changeOne(text: string, wanted: RegExp, substitutes: string): string {
  const middle = Math.floor(text.length / 2)
  const inner = Array.from(text, (_character, index) => index).filter((index) => index > 0 && index < text.length - 2)
  const ordered = inner.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
  const index = ordered.find((candidate) => wanted.test(text.charAt(candidate))) ?? ordered[0] ?? 0
  const old = text.charAt(index)
  const substitute = [...substitutes].find((candidate) => candidate.toLowerCase() !== old.toLowerCase()) ?? 'x'
  return text.slice(0, index) + substitute + text.slice(index + 1)
}

const middleOf = (text: string): number => Math.floor(text.length / 2)

function withoutInner(text: string): string {
  return text.slice(0, middleOf(text)) + text.slice(middleOf(text) + 1)
}

function otherCase(text: string, change: Alter): string {
  const changed = change(text)
  return changed === text ? changeOne(text, /./, 'qz') : changed
}

/** A JWT without its signature; another text without its last third. */
function withoutSignature(text: string): string {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(text) ?? []
  if (claims === undefined) return text.slice(0, Math.floor((text.length * 2) / 3))
  return `${btoa('{"alg":"none","typ":"JWT"}').replace(/=+$/, '')}.${claims}.`
}

export const alterWords: { readonly [word: string]: Alter } = {
  'lower-case-letter-changed': (text) => changeOne(text, /[a-z]/, 'dcfb'),
  'upper-case-letter-changed': (text) => changeOne(text, /[A-Z]/, 'DCFB'),
  'digit-changed': (text) => changeOne(text, /\d/, '4719'),
  'first-character-changed': (text) => (text.startsWith('7') ? 'e' : '7') + text.slice(1),
  'last-quarter-changed': (text) => {
    const start = Math.floor(text.length * 0.75)
    return text.slice(0, start) + changeOne(`xx${text.slice(start)}xx`, /[^x]/, '5be').slice(2, -2)
  },
  'first-half': (text) => text.slice(0, Math.ceil(text.length / 2)),
  'first-third': (text) => text.slice(0, Math.ceil(text.length / 3)),
  'last-third-dropped': (text) => text.slice(0, Math.floor((text.length * 2) / 3)),
  'first-character-dropped': (text) => text.slice(1),
  'inner-character-dropped': (text) => withoutInner(text),
  'character-inserted': (text) => `${text.slice(0, middleOf(text))}a${text.slice(middleOf(text))}`,
  'four-characters-dropped': (text) => text.slice(0, -4),
  'four-characters-added': (text) => `${text}AAAA`,
  'without-signature': withoutSignature,
  'last-character-dropped': (text) => text.slice(0, -1),
  'one-character-added': (text) => `${text}a`,
  'upper-cased': (text) => otherCase(text, (plain) => plain.toUpperCase()),
  'lower-cased': (text) => otherCase(text, (plain) => plain.toLowerCase()),
  empty: () => '',
  doubled: (text) => text + text,
}

/** The words that alter the Basic header as a whole. */
export const basicWords: { readonly [word: string]: (id: string, secret: string) => string } = {
  'unknown-id': (id, secret) => base64(`${alterWords['first-character-changed']?.(id)}:${secret}`),
  // Junk between right characters: a decoder that skips it reads the right credentials.
  'malformed-base64': (id, secret) => base64(`${id}:${secret}`).replace(/^.{4}/, '$&%'),
  'without-colon': (id, secret) => base64(`${id}${secret}`),
  'plain-text': (id, secret) => `${id}:${secret}`,
}

export function base64(text: string): string {
  return toBase64(utf8(text))
}
