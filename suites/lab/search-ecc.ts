/** The search where the signature may be an Ed25519 one: it is checked against each candidate, so the public key is enough. */
import { concat, fromBase64Loose, fromHex, fromUtf8, toBase64 } from '../engine/signer/bytes.ts'
import type { Draft } from '../engine/signer/draft.ts'
import { ed25519Matcher, publicKeyOfSeed, withLowS } from '../engine/signer/ed25519.ts'
import { type KnownMistake, mistakeById } from '../engine/signer/mistakes.ts'
import type { Explain } from './search.ts'

/** 64 bytes that a text may stand for, with the mistakes that this takes. */
interface Decoded {
  bytes: Uint8Array
  mistakes: KnownMistake[]
}

/** Explains by checking the signature that a text stands for against the data of a candidate. */
export function byVerifying(received: string): Explain {
  const decoded = decodings(received)
  const matchers = new Map<string, ReturnType<typeof ed25519Matcher>>()
  const matcherOf = (publicKey: Uint8Array, signature: Uint8Array) => {
    const name = toBase64(publicKey) + toBase64(signature)
    const known = matchers.get(name) ?? ed25519Matcher(publicKey, signature)
    matchers.set(name, known)
    return known
  }
  return ({ draft, made, data }) => {
    const { algorithm } = draft
    const publicKey = publicKeyFor(draft)
    if (algorithm.kind !== 'ed25519' || publicKey === null) return []
    const fits = ({ bytes }: Decoded) => matcherOf(publicKey, bytes)(algorithm.message(data), algorithm.domain)
    return decoded.filter(fits).map(({ mistakes }) => [...made, ...mistakes])
  }
}

/** The key that checks what a draft signs: a wrong seed has another public key. */
function publicKeyFor({ key, around }: Draft): Uint8Array | null {
  if (key.length === 32) return publicKeyOfSeed(key)
  return around.key.kind === 'ed25519-public' ? around.key.publicKey : null
}

/** How many signatures a text may stand for: none where no known encoding gives 64 bytes, and many where a lost byte must be guessed. */
export function countEd25519Readings(received: string): number {
  return decodings(received).length
}

function decodings(received: string): Decoded[] {
  const named = (bytes: Uint8Array | null, ...words: string[]): Decoded[] =>
    wholeForms(bytes ?? new Uint8Array(0)).map(({ whole, word }) => ({
      bytes: whole,
      mistakes: [...word, ...words].flatMap((id) => mistakeById(`signature/${id}`) ?? []),
    }))
  const text = (bytes: Uint8Array | null) => (bytes === null ? '' : (fromUtf8(bytes) ?? ''))
  const hex = fromHex(received)
  const whole = [
    ...named(hex, /[A-F]/.test(received) ? 'in-upper-case-hex' : 'in-hex'),
    ...(hex === null ? base64Forms(received, named) : []),
    ...named(fromHex(text(fromBase64Loose(received))), 'base64-of-hex'),
    ...named(fromBase64Loose(text(fromBase64Loose(received))), 'base64-twice'),
  ]
  return whole.map(reduced)
}

/** The 64 bytes of the signature. A lost last byte is guessed: S is below L, so it is 16 at most. */
function wholeForms(bytes: Uint8Array): { whole: Uint8Array; word: string[] }[] {
  if (bytes.length === 64) return [{ whole: bytes, word: [] }]
  if (bytes.length === 65) return [{ whole: bytes.slice(0, 64), word: ['one-byte-long'] }]
  if (bytes.length !== 63) return []
  return Array.from({ length: 17 }, (_, last) => ({
    whole: concat(bytes, Uint8Array.of(last)),
    word: ['one-byte-short'],
  }))
}

function base64Forms(received: string, named: (bytes: Uint8Array | null, ...words: string[]) => Decoded[]): Decoded[] {
  const words: string[] = []
  let text = received
  const undo = (word: string, change: (text: string) => string) => {
    const before = text
    text = change(text)
    if (text !== before) words.push(word)
  }
  undo('quoted', (is) => is.replace(/^"(.*)"$/, '$1'))
  undo('percent-encoded', (is) => is.replace(/%2B/gi, '+').replace(/%2F/gi, '/').replace(/%3D/gi, '='))
  undo('spaces-for-plus', (is) => is.replaceAll(' ', '+'))
  undo('base64url', (is) => is.replaceAll('-', '+').replaceAll('_', '/'))
  if (!text.endsWith('=')) words.push('unpadded')
  return named(fromBase64Loose(text), ...words)
}

/** With S that is not below L: the signature with L taken off, which is what was computed. */
function reduced({ bytes, mistakes }: Decoded): Decoded {
  const low = withLowS(bytes)
  const highS = mistakeById('signature/high-s')
  return low === null || highS === undefined ? { bytes, mistakes } : { bytes: low, mistakes: [highS, ...mistakes] }
}
