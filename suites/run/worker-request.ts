import type { CreatedKey, CreatedKeysEntry } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { Corpus, SafetyClass } from '../engine/language/fixture-types.ts'
import type { KnownEntry } from '../report/report.ts'
import type { UrlTargetOptions } from '../targets/url.ts'

/** The request of the main thread to the vitest worker that runs the cases. Plain data. */
export interface WorkerRequest {
  /** null: the bundled server. */
  url: UrlTargetOptions | null
  corpus: Corpus
  /** null: the worker starts with the preflight. */
  facts: TargetFacts | null
  allow: readonly SafetyClass[]
  /** Keys of items. */
  items: string[]
  seed: number
  unique: string
  trace: boolean
  /** Stop after this many failures that the baseline does not list; null: never. */
  bail: { failures: number; known: readonly KnownEntry[] } | null
  /** The record of created keys, so that the main thread can remove them even if the worker crashes; null if nothing is recorded. */
  keyRecord: { file: string; withSecrets: boolean } | null
  keptTestKeys: CreatedKey[]
  earlierKeys: CreatedKeysEntry[]
  /** How many items the workers have taken, in one Int32 that they share; null if one worker runs all of them. */
  taken: SharedArrayBuffer | null
  /** The name of the channel that announces the end of the run. */
  endingChannel: string
  /** When the run must end, on the monotonic clock; null: no limit. */
  endsAtMs: number | null
}

declare module 'vitest' {
  export interface ProvidedContext {
    request: WorkerRequest
  }
  interface TaskMeta {
    /** The outcomes of the cases of this test. */
    outcomes?: CaseOutcome[]
    /** The key of the case that began last. */
    began?: string
    /** Set on every test whose cases were not all run because the run had stopped. */
    stopped?: StopReason
  }
}
