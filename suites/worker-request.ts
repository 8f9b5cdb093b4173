import type { Capabilities } from './engine/capabilities.ts'
import type { Corpus } from './engine/fixture/model.ts'
import type { Knowledge } from './engine/knowledge.ts'
import type { CreatedKey } from './engine/ledger.ts'
import type { RowOutcome } from './engine/outcome.ts'
import type { Stop } from './engine/seat.ts'
import type { UrlTargetOptions } from './targets/url.ts'

/** What the main process hands to the vitest worker that runs the scenarios. Plain data. */
export interface WorkerRequest {
  /** null: the bundled server. */
  url: UrlTargetOptions | null
  corpus: Corpus
  /** null: the worker looks at the target first. */
  knowledge: Knowledge | null
  capabilities: Capabilities
  /** Keys of items, in the order in which they run. */
  items: string[]
  seed: number
  unique: string
  trace: boolean
  /** Where created keys are noted, so that the main process can remove them whatever happens here. */
  ledgerFile: string | null
  keptCast: CreatedKey[]
  /** ms since 1970; null: no limit. */
  deadlineMs: number | null
}

declare module 'vitest' {
  export interface ProvidedContext {
    request: WorkerRequest
  }
  interface TaskMeta {
    outcome?: RowOutcome
    /** Set on every row after the run was stopped. */
    stopped?: Stop
  }
}
