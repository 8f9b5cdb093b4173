/** What to print, and what to try next, if no known mistake explains a signature. */
import type { DiagnoseInput, Diagnosis } from './diagnose.ts'
import { judgeOwnData } from './own-data.ts'

/** In the order in which to try them; the wording differs between the command line and the page. */
export type NextStep = 'check-empty-body' | 'give-own-data' | 'mend-own-data' | 'compare-key' | 'give-url'

/** What is known, as one sentence. Units: `ruledOut` counts each known mistake once. */
export function unexplainedSentence({ key }: DiagnoseInput, { mistakes, ruledOut }: Diagnosis): string {
  const subject = mistakes.length === 0 ? 'None' : 'The signature is wrong as well, and none'
  const keyName = key.kind === 'secret' ? 'the secret' : 'the private key'
  return `${subject} of ${ruledOut.length} known mistakes reproduces this: ${keyName}, the body or the data differ`
}

/** The next steps for the reader, the best first. */
export function nextSteps(input: DiagnoseInput): NextStep[] {
  const own = judgeOwnData(input)
  const steps: NextStep[] = input.body.length === 0 ? ['check-empty-body'] : []
  if (own === null) steps.push('give-own-data')
  else if (!own.isRight) steps.push('mend-own-data')
  else if (!own.isSigned) steps.push('compare-key')
  if (input.url === undefined && own === null) steps.push('give-url')
  return steps
}
