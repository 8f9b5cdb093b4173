/**
 * Parts of secrets in texts that were cut: a report shows the beginning of a long value and both ends of a long answer, so it may contain
 * only the beginning or the end of a long token. Only the ends of a secret are kept, since a hostile server may give out megabytes of them.
 */

/** A longer secret is never shown whole: every text that could show it is cut. In characters. */
export const wholeSecret = 4096

/** How many characters at either end are enough to recognise a secret. */
const endLength = 20

interface Fragments {
  add(secret: string): void
  /** The text without the beginnings and ends of secrets, and without what belongs to them. */
  cutOut(text: string): string
}

export function createFragments(): Fragments {
  const ends = new Map<string, 'begin' | 'end'>()
  const add = (secret: string): void => {
    // Every PEM private key begins with the same line, so its beginning gives nothing away.
    if (secret.length < 2 * endLength || /\s/.test(secret.slice(0, 2 * endLength))) return
    ends.set(copied(secret.slice(0, endLength)), 'begin')
    ends.set(copied(secret.slice(-endLength)), 'end')
  }
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

const shownCharacters = 4

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
