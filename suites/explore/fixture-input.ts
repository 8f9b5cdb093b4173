/** A finding, as it is written as a scenario. */
import type { Matchers } from '../engine/model/state.ts'
import type { Since } from '../report/report.ts'
import type { CreationOf } from './fixture-keys.ts'
import type { Outcome } from './replay.ts'
import type { Step } from './step.ts'

export interface Counts {
  readonly refused: number
  readonly accepted: number
}

export interface FixtureInput {
  readonly requirement: string
  /** The part of the document that says so. */
  readonly part: string
  readonly sentence: string
  readonly message: string
  readonly steps: readonly Step[]
  /** The outcome of each step. */
  readonly outcomes: readonly Outcome[]
  readonly expect: 'accepted' | 'refused'
  /** What the result of the last step must be, where it was accepted with a wrong one. */
  readonly result?: Matchers | undefined
  /** Where a result is wrong: the document lets a server refuse the call as well. */
  readonly mayBeRefused?: boolean
  /** The finding is seen only if calls share a connection, as in these steps. */
  readonly sharesConnection?: boolean
  /** Whether these steps showed the finding when they were tried, or were not tried. */
  readonly isSeenAgain?: boolean
  /** The finding was not seen each time that it was tried. */
  readonly isSeenSometimes?: boolean
  /** How often such a call was refused before, and how often the right call was accepted: a server may count them. */
  readonly before?: Counts
  readonly creationOf?: CreationOf
  /** What came before the finding, on the server on which it was found. */
  readonly since?: Since | undefined
  /** What a reader must know of a key of the exploration. */
  about?(key: string): string | undefined
  /** What stands in a scenario for a value of this target: `$solutions.0`, `$client.address`. */
  readonly ofTarget?: ReadonlyMap<string, string>
}
