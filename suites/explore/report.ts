/** An exploration as a report for every format. */
import { interruptedExitCode } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import type { Corpus, SafetyClass } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import type { Document } from '../report/document.ts'
import type { Explored, Report } from '../report/report.ts'
import { exploredSentence, skippedLines, tellRun } from '../report/tell.ts'
import type { Exploration } from './explore.ts'
import { withoutReason } from './findings.ts'

const goneExitCode = 3

interface ExploreMeta {
  readonly version: string
  readonly target: string
  readonly started: string
  readonly seed: string
  readonly allow: readonly SafetyClass[]
  /** Why it was ended, as in `the run was interrupted`; null if it was not, or if the target went away. */
  readonly stopped: string | null
}

export function exploreReport(corpus: Corpus, exploration: Exploration, meta: ExploreMeta): Report {
  return buildReport({
    meta: {
      ...meta,
      allow: [...meta.allow],
      durationMs: Math.round(exploration.seconds * 1000),
      node: process.versions.node,
      set: 'current',
      again: `npx svc-conformance explore --url ${meta.target} --seed ${meta.seed}`,
      absent: [],
      clock: null,
      shard: null,
      stopped: meta.stopped ?? exploration.gone,
    },
    outcomes: [],
    corpus,
    findings: exploration.findings.map(withoutReason),
    explored: exploredOf(exploration),
    known: [],
    options: { strict: false, partial: 'only', ownExitCode: ownExitCodeOf(exploration, meta) },
  })
}

function ownExitCodeOf({ findings, gone }: Exploration, { stopped }: ExploreMeta): number {
  if (stopped !== null) return interruptedExitCode
  if (findings.length > 0) return 1
  return gone === null ? 0 : goneExitCode
}

/** The report for people: the findings, and how much was tried. It says nothing of requirements, since no case ran. */
export function tellExploration(report: Report): Document {
  const { document, meta, explored, findings } = tellRun(report)
  const skipped = skippedLines(explored?.skipped ?? [])
  return {
    ...document,
    summary:
      findings.length === 0
        ? `Nothing found at ${document.title}: the document allows every answer to the calls that were tried`
        : `${counted(findings.length, 'finding')} at ${document.title}`,
    conclusion: meta.stopped === null ? [] : [{ label: '', text: `It stopped early: ${meta.stopped}` }],
    overview: [],
    rest: [
      {
        kind: 'lines',
        lines: [
          ...(explored === null ? [] : [exploredSentence(explored, meta.durationMs / 1000)]),
          ...(explored?.unproved ?? []).map((what) => `Not proved: ${what}`),
          ...skipped,
          ...(skipped.length === 0 ? [] : ['A longer "--for" reaches them']),
        ],
      },
    ],
  }
}

/** How much of the table and the matrix was covered, for a report. */
export function exploredOf({ calls, repeated, parts, asked, cells, matrix, skipped, unproved }: Exploration): Explored {
  return {
    calls,
    repeated,
    changes: { asked, all: cells },
    pairs: { covered: matrix.covered.size, all: matrix.all.length },
    parts: parts.map((part) => ({ ...part })),
    skipped: [...skipped],
    unproved: [...unproved],
  }
}
