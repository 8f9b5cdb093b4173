import type { Stop } from '../engine/case/client.ts'
import type { CreatedKey } from '../engine/case/created-keys.ts'
import type { TargetFacts } from '../engine/case/target-facts.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import type { UrlTargetOptions } from '../targets/url.ts'
import type { Capabilities } from './capabilities.ts'

/** What the main process hands to the vitest worker that runs the scenarios. Plain data. */
export interface WorkerRequest {
  /** null: the bundled server. */
  url: UrlTargetOptions | null
  corpus: Corpus
  /** null: the worker looks at the target first. */
  facts: TargetFacts | null
  capabilities: Capabilities
  /** Keys of items, in the order in which they run. */
  items: string[]
  seed: number
  unique: string
  trace: boolean
  /** Where created keys are noted, so that the main process can remove them whatever happens here. */
  createdKeysFile: string | null
  keptTestKeys: CreatedKey[]
  /** ms since 1970; null: no limit. */
  deadlineMs: number | null
}

declare module 'vitest' {
  export interface ProvidedContext {
    request: WorkerRequest
  }
  interface TaskMeta {
    outcome?: CaseOutcome
    /** Set on every case after the run was stopped. */
    stopped?: Stop
  }
}
