/** The report about a client, as every format prints it. Plain data: it is also the JSON report (spec/schemas/client-report.schema.json). */
import type { Meta, RunVerdict } from '../../report/report.ts'
import type { Check } from '../check.ts'

export type CheckVerdict = 'passed' | 'failed' | 'warned' | 'not-exercised'

export interface ClientReport {
  meta: ClientMeta
  verdict: RunVerdict
  /** The exit code of the process; 130 if it was interrupted. */
  exitCode: 0 | 1 | 130
  summary: ClientSummary
  /** Why this verdict, and what would change it. */
  conclusion: string[]
  checks: CheckReport[]
  scenarios: ScenarioReport[]
  /** Baseline entries that are listed but pass. */
  stale: ClientKnownEntry[]
}

/** `again` repeats the run; `--only ID` is added to it. */
export interface ClientMeta extends Pick<Meta, 'version' | 'started' | 'durationMs' | 'node' | 'again' | 'stopped'> {
  /** The judged command; null: a listening server judged every call. */
  command: string | null
  /** The ways to authorize that were tried. */
  auth: string[]
  /** What `--skip` left out, with reasons. */
  skipped: { id: string; reason: string }[]
}

export interface ClientSummary {
  passed: number
  /** Failures and warnings that are not in the baseline. */
  failed: number
  warned: number
  notExercised: number
  /** Failed or warned, and listed in the baseline. */
  known: number
  stale: number
}

export interface CheckReport extends Omit<Check, 'judge'> {
  verdict: CheckVerdict
  /** Those that decide the verdict. */
  scenarios: string[]
  /** The first finding, or why there is none. */
  message: string
  evidence: CheckEvidence[]
  /** The baseline entry that makes it a known failure. */
  known: { reason: string; issue: string | null } | null
  /** The command that repeats the scenarios of this check. */
  again: string
}

export interface CheckEvidence {
  scenario: string
  /** What the client did, and what would be right. */
  message: string
  exchanges: ShownExchange[]
  /** The diagnosis of a signature, line by line. */
  diagnosis: string[]
}

/** Lines ready to print; secrets are shortened. */
export interface ShownExchange {
  number: number
  /** Since the first start of the client in this scenario. */
  atMs: number
  connection: number
  /** The deliberate faults that applied to it. */
  faults: string[]
  request: string[]
  answer: string[]
}

export interface ScenarioReport {
  id: string
  about: string
  /** Requests that reached the server, and calls of them that were accepted. */
  requests: number
  accepted: number
  ok: number
  error: number
  /** How each start ended. */
  ended: string[]
  durationMs: number
  /** The end of the client's stderr, if it ended badly or did nothing. */
  stderr: string
}

/** One entry of a baseline file. */
export interface ClientKnownEntry {
  check: string
  /** Only what this scenario shows. */
  scenario?: string
  reason: string
  issue: string | null
  /** An entry that passes sometimes is not stale. */
  sometimes: boolean
}
