/** The one report that every format prints. Plain data: it is also the JSON report (spec/schemas/report.schema.json). */

import type { RequirementReason } from '../engine/judge/judge-case.ts'
import type { CaseOutcome, Hint, Problem, Verdict } from '../engine/judge/problem.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import type { Exchange } from '../engine/target.ts'

export type RunVerdict = 'conforms' | 'does-not-conform' | 'inconclusive'

export interface Meta {
  /** Of the suite. */
  version: string
  /** `bundled`, or the URL. */
  target: string
  /** ISO 8601. */
  started: string
  durationMs: number
  seed: string
  node: string
  /** The requirement set that decides the verdict, such as `1.0`; `current` for every case of this version of the suite. */
  set: string
  /** The command that repeats this run, without secrets. */
  again: string
  /** The safety classes that were open. */
  allow: string[]
  /** API areas that the target file declares absent. */
  absent: string[]
  /** The server's clock minus ours; null when the server gave no usable date. */
  clock: { offsetMs: number; sentence: string } | null
  /** `I/N`; null for a whole run. After a merge the shards that are in it. */
  shard: string | null
  /** Why the run stopped early (a server that went away, the overall timeout, Ctrl-C); null when it did not. */
  stopped: string | null
}

/** Cases per verdict. Their sum without `stale` is the number of cases. */
interface Summary {
  passed: number
  failed: number
  warned: number
  blocked: number
  notTestable: number
  notApplicable: number
  notRun: number
  known: number
  /** Baseline entries that are listed but pass. */
  stale: number
}

export interface RequirementReport extends Omit<Requirement, 'untestable'> {
  /** The place of the sentence. */
  anchor: string
  verdict: Verdict
  /** Keys of the cases that prove it. */
  cases: string[]
  /** Why it is blocked or not testable. */
  reasons: RequirementReason[]
  /** The same in words, with what would change that. */
  reason: string | null
  /** A must that this run leaves open. */
  gap: boolean
}

type Level = Requirement['level']

/** A problem with its message, which puts the other fields into words. */
export type ReportedProblem = Problem & { message: string; hint?: Hint & { message: string } }

/** The outcome of a case with what the report adds; observations, envelope notes and throttling are elsewhere. */
export interface CaseReport
  extends Omit<CaseOutcome, 'problem' | 'observations' | 'envelope' | 'envelopeAnswers' | 'throttled'> {
  problem: ReportedProblem | null
  /** The line that reproduces this case. */
  again: string
  /** The baseline entry that makes a failure a known one. */
  known: KnownReason | null
  /** The failed or known case whose failure blocks this one; null if something else blocks it, or nothing does. */
  blockedBy: string | null
}

type KnownReason = Pick<KnownEntry, 'reason' | 'issue'>

/** An answer that no reading of the document allows, found by the model. */
export interface Finding {
  /** `found/REQUIREMENT/FACT`: what a baseline names. */
  id: string
  /** What was tried when it was found: a part of a call (`table/basic/basic-secret`), a row of the matrix, `walk` or another sequence. A baseline may name it too. */
  case: string
  requirement: string
  level: Level
  message: string
  /** One line for each call: its authorization, its method, and the answer. */
  steps: string[]
  /** How often the shortest form was tried again, and how often it showed the finding. */
  reproduced: { failed: number; tries: number }
  /** What would explain it. */
  hint?: string
  /** Whether it was tried without each single step and word of scope, and not seen; absent if not all were tried. */
  least?: true | undefined
  /** What came between, if something did; absent where an earlier right answer, or the creation of the key, is not known. */
  since?: Since | undefined
  /** The scenario that shows it, in YAML; null where none could be made. */
  fixture: string | null
  /** What was sent and received, secrets shortened. */
  exchanges: Exchange[]
  /** Calls at the same time that no order explains; empty for a finding of one connection. */
  history: HistoryCall[]
  known: KnownReason | null
}

/** A finding that did not occur again in thirty tries may be our own mistake: `explore` shows it as a warning, and a run leaves it out. */
export const isShownAgain = ({ reproduced: { failed, tries } }: Pick<Finding, 'reproduced'>): boolean =>
  failed > 0 || tries === 0

/** What came before a wrong answer, since something was right. */
export interface Since {
  /** What was right then, as a sentence without its full stop. */
  from: string
  /** One line for each call. */
  calls: string[]
}

/** One call of a history: a lane for each connection, time to the right. */
interface HistoryCall {
  connection: string
  /** Since the first call of the history. */
  startMs: number
  endMs: number
  call: string
  answer: string
}

/** How many calls the model made. */
export interface Explored {
  calls: number
  /** Calls beyond the budget, to repeat findings. */
  repeated: number
  /** Changes of parts of calls: the cells of the table. */
  changes: { asked: number; all: number }
  /** Pairs of values of two dimensions of the matrix that a judged answer covered. */
  pairs: { covered: number; all: number }
  /** One for each part of each kind of call. */
  parts: { case: string; asked: number; all: number }[]
  /** Kinds of sequences for which there were too few calls or too little time; absent in reports of earlier versions. */
  skipped?: string[]
  /** What no answer could show here, and why. */
  unproved?: string[]
}

interface Observation {
  question: string
  /** Every distinct answer, joined by `; `. */
  answer: string
  /** `asked`: what was tried there, in the words of the cases and steps. */
  answers: { answer: string; cases: string[]; asked: string[] }[]
  text: string
  reference: string
}

/** What a run will do, printed before the first request. */
export interface Plan {
  /** Cases that run. */
  cases: number
  /** The number of all cases, the same in every output. */
  total: number
  notSelected: number
  /** About how many calls, how many of them at least are expected to be refused, and how many more the document lets a server refuse. */
  calls: number
  refusals: number
  perhapsRefused: number
  /** About how long it takes; 0: too short to plan. */
  seconds: number
  /** What stays on the target: `5 API keys`, `about 40 sessions`. */
  creates: string[]
  /** What cannot be shown, why, and which flag or key would change that. */
  cannot: { reason: string; cases: number; requirements: string[] }[]
  /** The calls that the model makes besides, at most, about how long they take, and how many keys it may create. Absent: it makes none. */
  model?: { calls: number; seconds: number; keys: number }
}

export interface Report {
  meta: Meta
  verdict: RunVerdict
  exitCode: number
  summary: Summary
  /** Why this verdict, and what would change it; a line that begins with two blanks belongs to the line above. */
  conclusion: string[]
  requirements: RequirementReport[]
  cases: CaseReport[]
  findings: Finding[]
  /** null where the model made no call. */
  explored: Explored | null
  /** With a frozen set: what cases and the model show beyond the set. This changes neither verdict nor exit code. */
  newer: { cases: CaseReport[]; findings: Finding[] }
  observations: Observation[]
  stale: KnownEntry[]
  /** What the run created and could not remove. */
  left: string[]
  plan: Plan | null
}

/** One entry of a baseline file: a failure that is known, and why. */
export interface KnownEntry {
  /** A scenario id, or the id of a finding. */
  scenario: string
  case?: string
  requirement?: string
  reason: string
  issue: string | null
  /** It fails only sometimes, such as a lost race, and is never stale. */
  sometimes?: true
}
