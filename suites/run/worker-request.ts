import type { CreatedKey, CreatedKeysEntry } from '../engine/case/created-keys.ts'
import type { TargetFacts } from '../engine/case/target-facts.ts'
import type { Corpus, SafetyClass } from '../engine/fixture/model.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import type { StopReason } from '../engine/judge/problem.ts'
import type { KnownEntry } from '../report/model.ts'
import type { UrlTargetOptions } from '../targets/url.ts'

/** What the main thread hands to the vitest worker that runs the cases. Plain data. */
export interface WorkerRequest {
  /** null: the bundled server. */
  url: UrlTargetOptions | null
  corpus: Corpus
  /** null: the worker looks at the target first. */
  facts: TargetFacts | null
  allow: readonly SafetyClass[]
  /** Keys of items. */
  items: string[]
  seed: number
  unique: string
  trace: boolean
  /** Stop after so many failures that this baseline does not list; null: never. */
  bail: { failures: number; known: readonly KnownEntry[] } | null
  /** Where created keys are noted, so that the main thread can remove them whatever happens here; null where nobody need know. */
  keyRecord: { file: string; withSecrets: boolean } | null
  keptTestKeys: CreatedKey[]
  earlierKeys: CreatedKeysEntry[]
  /** The name of the channel that tells of the end of the run. */
  endingChannel: string
  /** When the time of the run is up, on the monotonic clock; null: never. */
  endsAtMs: number | null
}

declare module 'vitest' {
  export interface ProvidedContext {
    request: WorkerRequest
  }
  interface TaskMeta {
    outcome?: CaseOutcome
    /** Set on every case after the run was stopped. */
    stopped?: StopReason
  }
}
