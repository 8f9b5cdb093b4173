import type { SafetyClass } from '../engine/fixture/model.ts'
import type { Profile } from '../targets/bundled.ts'
import type { Asker } from './asker.ts'

export type FactValue = string | number | boolean

/** One thing that the target does where the document is silent. Measured, never judged. */
export interface Fact {
  /** The open question that it answers (spec/open-questions.yaml). */
  question: string
  /** What was measured. */
  name: string
  value: FactValue
  /** `minutes`, `seconds`, `characters`, `bytes`…; null for words. */
  unit: string | null
  /** What was asked, and what came. */
  evidence: string
}

/** What a probe found: facts, and the switches that make the reference server answer so. */
export interface Finding {
  facts: Fact[]
  switches?: Partial<Profile>
}

/** A short measurement. It stays within its safety class. */
export interface Probe {
  name: string
  /** What must be allowed; null: it leaves nothing behind. */
  needs: Extract<SafetyClass, 'sessions' | 'limits'> | null
  /** It works with the secret of the root key. */
  needsSecret?: true
  /** About so many calls, of which so many are meant to be refused or are tokens. */
  cost: { calls: number; refusals: number; grants?: number }
  /** @param known switches that earlier probes found */
  run(asker: Asker, known: Partial<Profile>, options: ProbeOptions): Promise<Finding>
}

export interface ProbeOptions {
  /** The longest wait, in ms; only the memory of nonces waits. */
  maxWaitMs: number
}

/** A fact in words. */
export function word(question: string, name: string, value: FactValue, evidence: string): Fact {
  return { question, name, value, unit: null, evidence }
}

/** A fact with a unit. The five values in the order of a sentence. */
export function amount(
  question: string,
  name: string,
  measured: { value: FactValue; unit: string },
  evidence: string,
): Fact {
  return { question, name, ...measured, evidence }
}
