/** Other spellings of a value. Whether a server accepts them is open (how tokens compare; unpadded base64). */

import { percentDecoded } from '../signer/bytes.ts'

/** A server may store times in whole seconds, so nothing is judged closer to one than this. In ms. */
export const slackMs = 1200

/** The bytes, one character each, that a forgiving base64 decoder reads: foreign characters are skipped, padding ends the text. */
export function looseBytes(text: string): string {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/')
  const letters = (plain.split('=')[0] ?? '').replace(/[^A-Za-z0-9+/]/g, '')
  return atob(letters.length % 4 === 1 ? letters.slice(0, -1) : letters)
}

/** The looks of a text: two texts that share one may be the same value to a server that decodes, trims or ignores case (tokens/spelling). */
export function looksOf(text: string): string[] {
  const plain = percentDecoded(text).normalize('NFKC').trim()
  const skipping = text.replaceAll('=', '')
  return [
    `plain ${plain}`,
    `folded ${plain.toLowerCase()}`,
    // A JWT is decoded part by part.
    `bytes ${text.split('.').map(looseBytes).join('.')}`,
    `bytes ${skipping.split('.').map(looseBytes).join('.')}`,
    `bytes ${looseBytes(text)}`,
    `ascii ${plain.replace(/[^\x21-\x7e]/g, '')}`,
  ]
}

/** Whether a body writes a member of one object twice: which of the two counts is open (envelope/duplicate-members). */
export function hasDuplicateMembers(json: string): boolean {
  const open: Set<string>[] = []
  const marks = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g
  for (const [mark, colon] of json.matchAll(marks)) {
    if (mark === '{') open.push(new Set())
    else if (mark === '}') open.pop()
    else if (colon !== undefined) {
      const name = unescaped(mark.slice(0, mark.lastIndexOf('"') + 1))
      const names = open.at(-1)
      if (names?.has(name)) return true
      names?.add(name)
    }
  }
  return false
}

function unescaped(text: string): string {
  try {
    return JSON.parse(text) as string
  } catch {
    return text
  }
}
