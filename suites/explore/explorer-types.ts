/** The types of an explorer, which the sequences and the findings share. */
import type { openCreatedKeys, RunListener } from '../engine/conversation/conversation.ts'
import type { Operations } from '../engine/language/deviations.ts'
import type { Span } from '../engine/model/sessions.ts'
import type { Answer, Call, Key, Problem, State, Terms, Verdict } from '../engine/model/state.ts'
import type { Random } from '../engine/signer/random.ts'
import type { Clock, Exchange, Instance } from '../engine/target.ts'
import type { BurstStep, CallStep, Step, Value } from './step.ts'

/** One exchange as it happened. */
export interface Seen {
  readonly step: CallStep
  readonly call: Call
  readonly verdict: Verdict
  readonly answer: Answer
  readonly span: Span
}

interface Entry {
  readonly step: Step
  readonly seen: readonly Seen[]
  readonly script: string
  readonly at: number
}

type Kind = 'accepted' | 'refused' | 'broken' | 'shape' | 'history'

/** An answer that no reading of the document allows, before it is tried again. */
export interface Candidate extends Problem {
  readonly kind: Kind
  /** Of a history: the answer that no order explains. */
  readonly outcome?: 'accepted' | 'refused' | 'broken'
  /** Of a history: the call with that answer, and whether the document refuses it whatever the others do. */
  readonly wrong?: { readonly at: number; readonly isByItself: boolean } | undefined
  /** Distinguishes findings of one requirement for the reader. */
  readonly fact: string
  /** Index of the log entry that shows it. */
  readonly entry: number
  /** The steps that show it, where the log has them in another form. */
  readonly steps?: readonly Step[]
  readonly script: string
}

/** One of our addresses. */
interface Address {
  readonly name: string
  /** The local address to bind to; undefined: the machine chooses. */
  readonly local: string | undefined
  /** As the target sees it; empty where that is not known. */
  readonly seen: string
}

export interface ExplorerOptions {
  readonly instance: Instance
  /** The clock of the target, or ours. */
  readonly clock: Clock
  readonly terms: Terms
  readonly root: Value
  readonly rootKey: Key
  readonly operations: Operations
  /** Makes nonces. */
  readonly values: Random
  readonly unique: string
  /** Our addresses as the target sees them, if nothing translates them on the way; the first is used unless a step names another. */
  readonly addresses: readonly Address[]
  /** Ids of solutions that the user names. */
  readonly solutions: readonly string[]
  /** Methods of the API areas that the user names, without a solution in their params. */
  readonly probes: readonly AreaProbe[]
  /** The method for the contexts of a solution that the user names. */
  readonly solutionProbe: SolutionProbe | undefined
  /** The user says how the target sees the first. */
  readonly knowsAddress: boolean
  readonly knownKeys: readonly { readonly name: string; readonly value: Value; readonly key: Key }[]
  readonly maxCalls: number
  /** How many keys were created on the target before. */
  readonly created: number
  /** How many wrong tries others made shortly before: the target may have locked a key, or an address. */
  readonly triesBefore: number
  /** Hears of every exchange. */
  readonly emit?: RunListener | undefined
  /** Where the keys are recorded that the explorer creates and deletes. */
  readonly createdKeys?: ReturnType<typeof openCreatedKeys> | undefined
  /** Called before each call, with its number; repetitions count. */
  onCall?(calls: number): void
  /** Milliseconds of real time that are left, whatever the target's clock says. */
  timeLeftMs(): number
  /** How long calls may still be made once `timeLeftMs()` is 0, to end the last stages and to repeat findings; no limit by default. In ms. */
  readonly overtimeMs?: number
}

/** The target is gone: no more calls can be made. */
export class TargetGone extends Error {}

export interface Explorer {
  readonly options: ExplorerOptions
  readonly log: Entry[]
  readonly names: Map<string, Value>
  /** What a name in a step stands for. */
  lookUp(name: string): unknown
  /** The line of pairs that a name belongs to. */
  readonly lines: Map<string, number>
  /** The names of all pairs, the first one first. */
  readonly pairNames: readonly string[]
  state(): State
  calls(): number
  /** How long a call takes by the latest ones, and by the pace that the target allows. In ms. */
  callMs(): number
  /** Calls that were made beyond the budget, to repeat findings. */
  repeated(): number
  /** Lets an action make this many further calls, which the budget does not count. */
  beyondBudget<T>(calls: number, action: () => Promise<T>): Promise<T>
  /** Keeps this many calls of the budget for later. */
  reserve(calls: number): void
  /** Replaces the known terms of the target. */
  setTerms(terms: Partial<Terms>): void
  /** The offset of our time in signatures; while it is uncertain, no signature is judged. */
  setSignatureClock(offsetMs: number, isSure: boolean): void
  /** The target's clock according to its last Date header, minus ours. In ms. */
  dateOffset(): number | null
  /** Wrong attempts of the last day, on a key or on all keys. `isCounted`: whether one before this entry of the log counts. */
  triesOf(id: string | null, isCounted?: (entry: number) => boolean): number
  /** The model's verdict on a step now; null if the step cannot be made. */
  foresee(step: CallStep): Verdict | null
  /** @param only makes it only if the model says this of it @param lane beside calls of other lanes, from 0 */
  call(step: CallStep, only?: Verdict['is'], lane?: number): Promise<Seen | null>
  burst(step: BurstStep): Promise<(Seen | null)[]>
  wait(ms: number): Promise<void>
  /** How long a pause is that tells the ages of sessions apart. In ms. */
  readonly apartMs: number
  /** Whether the target keeps the ages of sessions to the millisecond, as far as it is known. */
  keepsFineAges(isSo: boolean): void
  isOver(reserve?: { readonly calls: number; readonly ms: number }): boolean
  /** The overtime is over, too: calls are no longer made, and waits end at once. */
  hasEnded(): boolean
  /** Those of our addresses from which calls arrive. */
  addresses: readonly Address[]
  /** The target compares the IPv4-mapped form of them, such as ::ffff:127.0.0.1. */
  mapsAddresses: boolean
  /** For each key a scope word of one solution (`solution:ID`) that the target grants it, if there is one. */
  readonly oneSolution: Map<string, string>
  /** A key was disabled or deleted. What becomes of those that it created is open. */
  endKey(name: string, requirement: NonNullable<Key['ended']>): void
  /** Others have used the target, so its sessions and its free places for keys are unknown. */
  giveWay(): void
  /** Names the part of the exploration that runs. */
  script: string
  /** What was sent and received in the latest step, secrets included; undefined after calls at once. */
  showLatest(): Exchange | undefined
  /** Receives the findings. */
  report: (candidate: Candidate) => void
}

/** A call that one API area opens. */
interface AreaProbe {
  readonly method: string
  readonly params: CallStep['params']
}

/** A call that names a solution. */
interface SolutionProbe extends AreaProbe {
  /** Where in its params the id of the solution stands. */
  readonly path: readonly string[]
}
