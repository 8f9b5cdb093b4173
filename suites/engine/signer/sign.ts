/** Signs a request, rightly or with one deliberate mistake. Pure: time and nonces come in. */

import { SuiteError } from '../errors.ts'
import { draftWithMistake, type Mistake, Unmakeable } from './changed-call.ts'
import { draftOf, type Signed, type SignInput, signDraft } from './draft.ts'
import { mistakeById, mistakes } from './mistakes.ts'

export type { Mistake } from './changed-call.ts'
export { draftOf, type Signed, type SignInput, type SigningKey } from './draft.ts'

/**
 * Every stage of the signature of a request (signatures/data-to-sign, signatures/hmac, signatures/ecc).
 * With `mistake` that one thing is wrong and everything else is right.
 * Throws a SuiteError where a word of the mistake is unknown, cannot be made with this key or changes nothing here.
 */
export function sign(input: SignInput, mistake: Mistake = {}): Signed {
  for (const group of ['data', 'signature', 'fields'] as const) demandKnown(group, mistake[group])
  try {
    return signDraft(draftWithMistake(draftOf(input), mistake))
  } catch (error) {
    if (!(error instanceof Unmakeable)) throw error
    throw new SuiteError(
      'fixture',
      `Cannot make the mistake "${JSON.stringify(mistake)}": it changes nothing in this request`,
      { cause: error },
    )
  }
}

function demandKnown(group: 'data' | 'signature' | 'fields', word: string | undefined): void {
  if (word === undefined || mistakeById(`${group}/${word}`)?.made === true) return
  const words = mistakes.flatMap(({ id, made }) =>
    made && id.startsWith(`${group}/`) ? id.slice(group.length + 1) : [],
  )
  throw new SuiteError('fixture', `Unknown mistake "${group}: ${word}", known are ${words.join(', ')}`)
}
