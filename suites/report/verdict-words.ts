/** How every format names and marks a verdict. */
import { counted } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/verdict.ts'

/** The order in which a reader wants to see verdicts. */
export const verdictOrder: readonly Verdict[] = [
  'failed',
  'blocked',
  'warned',
  'known',
  'not-run',
  'not-testable',
  'not-applicable',
  'passed',
]

/** One sign for each verdict. */
export const glyphs: { readonly [verdict in Verdict]: string } = {
  failed: '✗',
  blocked: '■',
  warned: '!',
  known: '~',
  'not-run': '…',
  'not-testable': '–',
  'not-applicable': '·',
  passed: '✓',
}

/** What each sign means, in the order of `verdictOrder`. */
export const meanings: { readonly [verdict in Verdict]: string } = {
  failed: 'the server broke a sentence of the document',
  blocked: 'a preparation or a control did not work, so nothing could be judged',
  warned: 'the server broke something that the document only implies',
  known: 'failed, and listed in the baseline',
  'not-run': 'the run ended before it',
  'not-testable': 'the target lacks something that the case needs',
  'not-applicable': 'the target file declares the API area absent',
  passed: 'the expectation held, and so did the control',
}

/** `not testable`: a verdict as a reader says it. */
export function words(verdict: string): string {
  return verdict.replaceAll('-', ' ')
}

/** What decided the verdict: a frozen set, or all that this version asks. */
export function judgeWords(set: string): string {
  return set === 'current' ? 'every case of this version' : `requirement set ${set}`
}

/** `1 case`, `7 cases`. */
export function casesOf(count: number): string {
  return counted(count, 'case')
}
