import type { AnswerSummary, Effect } from './problem.ts'

/** Whether a call that must be refused was refused in effect, although its answer is broken. */
export type Confirmation =
  | { kind: 'confirmed' }
  | { kind: 'control-failed'; control: AnswerSummary }
  | { kind: 'effect-shown' | 'effect-unknown'; effect: Effect }
