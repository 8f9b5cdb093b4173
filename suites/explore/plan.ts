/** What an exploration may do, and the listener for its findings. */
import type { Random } from '../engine/random.ts'
import type { WayToEndKey } from './ended-keys.ts'
import type { Candidate } from './explorer-types.ts'
import type { KeyMaker } from './fill-keyring.ts'
import type { Caller } from './table.ts'

export interface Plan extends KeyMaker {
  readonly sessions: boolean
  readonly keys: boolean
  readonly limits: boolean
  /** Id prefixes of the only table and matrix rows to run; null runs all. */
  readonly only: readonly string[] | null
  /** Whether the last places for keys may be filled. */
  readonly fillsKeys: boolean
  /** How the target disables and deletes keys; empty where that is unknown, or the keys are still needed. */
  readonly waysToEndKeys: readonly WayToEndKey[]
  /** A token prefix that the user names. */
  readonly tokenPrefix: string | undefined
  readonly random: Random
  /** Called with each finding, when further calls may be made. */
  onFinding(candidate: Candidate): Promise<void>
  /** Random sequences, until the budget ends. */
  walk(caller: Caller, isOver: () => boolean): Promise<void>
  /** Combinations; see matrix.ts. */
  combine(caller: Caller, isOver: () => boolean): Promise<void>
}
