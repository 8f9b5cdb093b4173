/**
 * The one table of known mistakes. Fixtures make them (`data:`, `signature:`, `fields:`), a run tries them on a server that
 * refuses a right signature, and the diagnosis of a signature looks for them.
 */

import { deliberateMistakes } from './deliberate-mistakes.ts'
import type { KnownMistake } from './mistake.ts'
import { algorithmMistakes } from './mistakes-of-algorithm.ts'
import { bodyMistakes } from './mistakes-of-body.ts'
import { dataMistakes } from './mistakes-of-data.ts'
import { fieldsMistakes } from './mistakes-of-fields.ts'
import { keyMistakes } from './mistakes-of-key.ts'
import { requestMistakes } from './mistakes-of-request.ts'
import { cutMistakes, encodingMistakes, shapes } from './mistakes-of-signature.ts'

export type { KnownMistake } from './mistake.ts'

/** Every known mistake, in the order of the computation. */
export const mistakes: readonly KnownMistake[] = [
  ...requestMistakes,
  ...dataMistakes,
  ...bodyMistakes,
  ...keyMistakes,
  ...algorithmMistakes,
  ...cutMistakes,
  ...encodingMistakes,
  ...Object.values(shapes),
  ...fieldsMistakes,
  ...deliberateMistakes,
]

const byId = new Map(mistakes.map((mistake) => [mistake.id, mistake]))

/** The words that stand under `data:`, `signature:` or `fields:` of a fixture. */
export function wordsOf(group: 'data' | 'signature' | 'fields'): string[] {
  return mistakes.filter(({ id }) => id.startsWith(`${group}/`)).map(({ id }) => id.slice(group.length + 1))
}

/** The mistake of a fixture's word, or undefined. */
export function findMistake(group: 'data' | 'signature' | 'fields', word: string): KnownMistake | undefined {
  return byId.get(`${group}/${word}`)
}

/** The mistake with an id. */
export function mistakeById(id: string): KnownMistake | undefined {
  return byId.get(id)
}
