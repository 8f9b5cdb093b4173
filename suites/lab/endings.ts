/** From computed bytes to the text in the header: which mistakes in cut and encoding lead to the text that was received? */
import { fromBase64Loose, fromHex, fromUtf8, latin1 } from '../engine/signer/bytes.ts'
import type { Draft } from '../engine/signer/draft.ts'
import type { KnownMistake } from '../engine/signer/mistakes.ts'

/** Every way, with at most `most` mistakes, in which the computed bytes become the received text. */
export function endingsOf(
  draft: Draft,
  whole: Uint8Array,
  received: string,
  { after, most }: { after: readonly KnownMistake[]; most: number },
): KnownMistake[][] {
  const text = ({ cut, encode }: Draft) => encode(cut(whole))
  const found: KnownMistake[][] = text(draft) === received ? [[]] : []
  if (most === 0) return found
  for (const [at, first] of after.entries()) {
    const one = first.apply(draft)
    if (one === null) continue
    if (text(one) === received) found.push([first])
    if (most === 1) continue
    for (const second of after.slice(at + 1)) {
      const two = second.apply(one)
      if (two !== null && text(two) === received) found.push([first, second])
    }
  }
  return found
}

/**
 * A quick look at computed bytes: can the received text come from them at all? Decides by three bytes at the places where a cut may
 * begin, so that the slow way through all endings is taken for one candidate in a million. Endings that lose information
 * (`signature/lower-case`) are not found.
 */
export function canEndIn(received: string): (whole: Uint8Array) => boolean {
  const starts = new Set<number>()
  for (const bytes of decodings(received)) {
    if (bytes.length < 3) continue
    starts.add(threeBytes(bytes, 0))
    starts.add(threeBytes(Uint8Array.from(bytes).reverse(), 0))
  }
  return (whole) =>
    starts.has(threeBytes(whole, 0)) ||
    starts.has(threeBytes(whole, 1)) ||
    starts.has(threeBytes(whole, Math.max(0, whole.length - 20)))
}

function threeBytes(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
}

/** The bytes that a text may stand for, decoded once and twice. */
function decodings(received: string): Uint8Array[] {
  const bare = received.replace(/^b?(["'])(.*)\1$/, '$2')
  const texts = [received, bare, bare.replaceAll(' ', '+'), percentDecoded(bare)]
  const once = texts.flatMap(decode)
  const twice = once.flatMap((bytes) => {
    const text = fromUtf8(bytes)
    return text === null ? [] : [...decode(text), ...(latin1(text) === null ? [] : [latin1(text) as Uint8Array])]
  })
  const raw = latin1(received)
  return [...once, ...twice, ...(raw === null ? [] : [raw])]
}

function decode(text: string): Uint8Array[] {
  const numbers = /^\d{1,3}(,\d{1,3})+$/.test(text) ? Uint8Array.from(text.split(','), Number) : null
  return [fromHex(text), fromBase64Loose(text), numbers].filter(
    (bytes) => bytes !== null && bytes.length > 0,
  ) as Uint8Array[]
}

function percentDecoded(text: string): string {
  return text.replace(/%2B/gi, '+').replace(/%2F/gi, '/').replace(/%3D/gi, '=')
}
