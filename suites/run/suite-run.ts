import type { Item } from '../engine/conversation/cases.ts'
import type { RunListener } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import type { Exploration } from '../explore/explore.ts'
import type { KnownEntry } from '../report/report.ts'
import type { RunOptions } from './options/options.ts'

/** The results of a run, and what it left on the target. */
export interface SuiteResult {
  outcomes: CaseOutcome[]
  /** null for the bundled server. */
  facts: TargetFacts | null
  stopped: StopReason | null
  /** Lines about created keys that are still on the target, and creations whose answer was lost. */
  left: string[]
  /** Cases that the suite itself could not run. */
  defects: string[]
  /** The worker did not end in time, so the process must be ended. */
  isStuck: boolean
  /** What the model found after the cases; null if it made no calls. */
  exploration: Exploration | null
}

export interface SuiteRun {
  options: RunOptions
  corpus: Corpus
  selected: readonly Item[]
  seed: number
  /** The baseline: failures that do not count for `--bail`. */
  known: readonly KnownEntry[]
  listener: RunListener
  /** One line for the user, on stderr. */
  say(line: string): void
}
