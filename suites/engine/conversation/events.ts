/**
 * The events of a run. Progress, the record of created keys, evidence and the model all listen to this one stream, so no step of a run has
 * to know its listeners.
 */
import type { CaseOutcome } from '../judge/outcome.ts'
import type { StopReason } from '../judge/problem.ts'
import type { WireAnswer, WireRequest } from '../target.ts'
import type { CreatedKeysEntry } from './created-keys.ts'

export type RunEvent =
  | { kind: 'case-started'; key: string }
  /** A case waits until a time on the clock of the calling machine, and makes no call meanwhile. In ms since 1970. */
  | { kind: 'wait-started'; key: string; untilMs: number }
  | { kind: 'wait-ended'; key: string }
  /** A request is sent now; an `exchange-made` with the same object follows. */
  | { kind: 'exchange-begun'; request: WireRequest }
  /** A request as sent with what came back. In ms since 1970 on the clock of the calling machine. */
  | { kind: 'exchange-made'; request: WireRequest; answer: WireAnswer; sentAtMs: number; answeredAtMs: number }
  /** Something about a created key. Emitted before the key is created; no key is created if a listener throws. */
  | { kind: 'key-noted'; entry: CreatedKeysEntry }
  | { kind: 'case-ended'; outcome: CaseOutcome }
  /** The model makes a call besides the cases: how many it has made, and how many it makes at most. */
  | { kind: 'model-called'; calls: number; most: number }
  | { kind: 'stopped'; reason: StopReason }

export type RunListener = (event: RunEvent) => void
