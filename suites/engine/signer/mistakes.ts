/**
 * The known mistakes. Fixtures make them (`data:`, `signature:`, `fields:`), a run tries them on a server that refuses a right
 * signature, and the diagnosis of a signature looks for them.
 */

import { deliberateMistakes } from './deliberate-mistakes.ts'
import { labMistakesOfBody } from './lab-mistakes-of-body.ts'
import { labMistakesOfData } from './lab-mistakes-of-data.ts'
import { labMistakesOfSignature } from './lab-mistakes-of-signature.ts'
import type { KnownMistake } from './mistake.ts'
import { algorithmMistakes } from './mistakes-of-algorithm.ts'
import { bodyMistakes } from './mistakes-of-body.ts'
import { dataMistakes } from './mistakes-of-data.ts'
import { fieldsMistakes } from './mistakes-of-fields.ts'
import { keyMistakes } from './mistakes-of-key.ts'
import { requestMistakes } from './mistakes-of-request.ts'
import { cutMistakes, encodingMistakes, shapes } from './mistakes-of-signature.ts'

export type { KnownMistake } from './mistake.ts'

/** Every mistake that fixtures can make, in the order of the computation. */
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

/** Mistakes of clients that no fixture makes: only the diagnosis of a signature looks for them. */
export const labMistakes: readonly KnownMistake[] = [
  ...labMistakesOfData,
  ...labMistakesOfBody,
  ...labMistakesOfSignature,
]

const byId = new Map([...mistakes, ...labMistakes].map((mistake) => [mistake.id, mistake]))

/** The words for `data:`, `signature:` or `fields:` in a fixture. */
export function wordsOf(group: 'data' | 'signature' | 'fields'): string[] {
  return mistakes.filter(({ id }) => id.startsWith(`${group}/`)).map(({ id }) => id.slice(group.length + 1))
}

/** The mistake of a fixture's word, or undefined. */
export function findMistake(group: 'data' | 'signature' | 'fields', word: string): KnownMistake | undefined {
  const id = `${group}/${word}`
  return mistakes.find((mistake) => mistake.id === id)
}

/** The mistake with an id. */
export function mistakeById(id: string): KnownMistake | undefined {
  return byId.get(id)
}
