import type { AnswerSummary, Effect } from './problem.ts'

/** Whether the caller of a call that must be refused was kept out, where its answer is broken. */
export type KeptOut =
  | { kind: 'yes' }
  | { kind: 'control-failed'; control: AnswerSummary }
  | { kind: 'effect-shown' | 'effect-unknown'; effect: Effect }
