import type { Corpus } from '../fixture/model.ts'
import type { RowOutcome } from '../outcome.ts'
import { envelopeRows } from './envelope.ts'
import { applyKnown, staleEntries } from './known.ts'
import type { KnownEntry, Meta, Observation, Plan, Report, RowReport } from './model.ts'
import { reportRequirements } from './requirements.ts'
import { shellWord } from './shell.ts'
import { judgeRun, summarize } from './verdict.ts'

export interface BuildInput {
  meta: Meta
  /** Of every row that was selected, those not testable here included; `cast/NAME` rows too. */
  outcomes: readonly RowOutcome[]
  corpus: Corpus
  known: readonly KnownEntry[]
  plan?: Plan | null
  left?: readonly string[]
  options: {
    strict: boolean
    partial: 'only' | 'shard' | null
    /** What `--skip` left out, if it has no outcome. */
    skipped?: readonly { id: string; reason: string }[]
  }
}

/**
 * The report of a run: rows after the baseline, requirements with the worst of their rows, the verdict and exit code
 * of the documented table. Pure; the same input gives the same report.
 */
export const buildReport = (input: BuildInput): Report => {
  const { corpus, known, options } = input
  const outcomes = [...input.outcomes, ...envelopeRows(input.outcomes)]
  const rows = outcomes.map((outcome) => reportRow(outcome, known, input.meta.again)).sort(byKey)
  const stale = staleEntries(outcomes, known)
  const skipped = options.skipped ?? []
  const requirements = reportRequirements(corpus, rows, {
    partial: options.partial,
    skipReason: (key) => skipped.find(({ id }) => key === id || key.startsWith(id))?.reason,
  })
  const summary = summarize(rows, stale)
  const { strict, partial } = options
  const judged = judgeRun({ summary, rows, requirements, strict, partial, stopped: input.meta.stopped })
  return {
    meta: input.meta,
    verdict: judged.verdict,
    exitCode: judged.exitCode,
    summary,
    conclusion: judged.conclusion,
    requirements,
    scenarios: rows,
    observations: mergeObservations(corpus, input.outcomes),
    stale,
    left: [...(input.left ?? [])],
    plan: input.plan ?? null,
  }
}

const byKey = (one: RowReport, other: RowReport): number => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0)

const reportRow = (outcome: RowOutcome, known: readonly KnownEntry[], again: string): RowReport => {
  const { verdict, requirements, entry } = applyKnown(outcome, known)
  return {
    id: outcome.id,
    row: outcome.row,
    key: outcome.key,
    title: outcome.title,
    verdict,
    proves: outcome.proves,
    requirements,
    sides: outcome.sides,
    calls: outcome.calls,
    durationMs: outcome.durationMs,
    problem: outcome.problem,
    again: `${again} --only ${shellWord(outcome.key)} --trace`,
    known: entry === null ? null : { reason: entry.reason, issue: entry.issue },
  }
}

const mergeObservations = (corpus: Corpus, outcomes: readonly RowOutcome[]): Observation[] =>
  corpus.questions.flatMap((question) => {
    const answers = new Map<string, string[]>()
    for (const outcome of outcomes)
      for (const seen of outcome.observations)
        if (seen.question === question.id) {
          const keys = answers.get(seen.answer) ?? []
          answers.set(seen.answer, keys.includes(outcome.key) ? keys : [...keys, outcome.key])
        }
    if (answers.size === 0) return []
    return [
      {
        question: question.id,
        answer: [...answers.keys()].join('; '),
        answers: [...answers].map(([answer, scenarios]) => ({ answer, scenarios })),
        text: question.question,
        reference: question.reference,
      },
    ]
  })
