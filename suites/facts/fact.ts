import type { SafetyClass } from '../engine/language/fixture-types.ts'
import type { Profile } from '../targets/bundled.ts'
import type { Caller, Reply } from './caller.ts'
import { describeReply } from './compare-replies.ts'
import type { Creation, KeyMaker } from './key-maker.ts'

type FactValue = string | number | boolean

/** One thing that the target does where the document is silent. Measured, never judged. */
export interface Fact {
  /** The open question that it answers (spec/open-questions.yaml). */
  question: string
  /** What was measured. */
  name: string
  value: FactValue
  /** `days`, `minutes`, `seconds`, `characters`, `bytes`…; null for words. */
  unit: string | null
  /** The call and its answer. */
  evidence: string
}

/** The result of a probe: facts, and the switches that make the reference server answer in the same way. */
export interface ProbeResult {
  facts: Fact[]
  switches?: Partial<Profile>
}

/** About how many calls, and how many of them are expected to be refused, request tokens, or create a key. */
export interface Cost {
  calls: number
  refusals: number
  grants?: number
  keys?: number
}

interface ProbeBase {
  name: string
  /** The safety classes it needs; empty: nothing lasts. */
  needs: readonly SafetyClass[]
  /** It works with the secret of the root key. */
  needsSecret?: true
  cost: Cost
}

/** A short measurement. It stays within its safety classes. */
export interface Probe extends ProbeBase {
  /** @param known switches that earlier probes found */
  run(caller: Caller, known: Partial<Profile>, options: ProbeOptions): Promise<ProbeResult>
}

/** A measurement that creates API keys; what it says of refusals holds only while there is a free place for a key. */
export interface KeyProbe extends ProbeBase {
  cost: Cost & { keys: number }
  run(caller: Caller, maker: KeyMaker, options: KeyProbeOptions): Promise<ProbeResult>
}

export interface KeyProbeOptions {
  /** The instance holds its initial key and what this measurement created, and nothing else. */
  fresh: boolean
  /** The first created key, an ordinary one. */
  first: Creation
}

export interface ProbeOptions {
  /** The longest wait, in ms; only the memory of nonces waits. */
  maxWaitMs: number
}

/** What a probe found: facts, and the switches that follow from them. */
export const resultOf = (switches: Partial<Profile>, ...facts: Fact[]): ProbeResult => ({ facts, switches })

/** A fact in words. */
export function word(question: string, name: string, value: FactValue, evidence: string): Fact {
  return { question, name, value, unit: null, evidence }
}

/** Whether a call is accepted: a fact with the answer as its evidence. */
export function acceptance(question: string, name: string, reply: Reply): Fact {
  return word(question, name, acceptedOrRefused(reply), describeReply(reply))
}

/** How a switch says whether a call is accepted. */
export const acceptedOrRefused = ({ outcome }: Reply): 'accepted' | 'refused' =>
  outcome === 'accepted' ? 'accepted' : 'refused'

/** A probe that requests tokens with the secret of the root key, and what else it needs. */
export function tokenProbe(name: string, cost: Cost, run: Probe['run'], ...needs: SafetyClass[]): Probe {
  return { name, needs: ['sessions', ...needs], needsSecret: true, cost, run }
}

/** A probe that creates API keys, and what else it needs. */
export function keyProbe(
  name: string,
  cost: KeyProbe['cost'],
  run: KeyProbe['run'],
  more: Partial<Pick<KeyProbe, 'needs' | 'needsSecret'>> = {},
): KeyProbe {
  return { name, needs: ['keys'], cost, run, ...more }
}

/** A fact with a unit. */
export function amount(
  question: string,
  name: string,
  measured: { value: FactValue; unit: string },
  evidence: string,
): Fact {
  return { question, name, ...measured, evidence }
}
