/** Text between `<!-- name:begin -->` and `<!-- name:end -->`, which a script writes and a test compares. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'

/** Returns the text between the markers without the blank lines around it, or undefined if a marker is missing. */
export function blockIn(text: string, name: string): string | undefined {
  const [from, to, begin] = placeOf(text, name)
  return from < 0 || to < from ? undefined : text.slice(from + begin.length, to).trim()
}

/** Returns the text with another block between its markers. Throws if a marker is missing. */
export function withBlock(text: string, name: string, block: string): string {
  const [from, to, begin] = placeOf(text, name)
  if (from < 0 || to < from) throw new Error(`Put ${begin} and <!-- ${name}:end --> where the text belongs`)
  return `${text.slice(0, from + begin.length)}\n${block}\n${text.slice(to)}`
}

/** Writes a block of a page of this package between its markers. */
export function writeBlock(page: string, name: string, block: string): void {
  const file = join(packageRoot, page)
  writeFileSync(file, withBlock(readFileSync(file, 'utf8'), name, block))
}

function placeOf(text: string, name: string): [from: number, to: number, begin: string] {
  const begin = `<!-- ${name}:begin -->`
  return [text.indexOf(begin), text.indexOf(`<!-- ${name}:end -->`), begin]
}
