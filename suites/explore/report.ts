/** An exploration as a report for every format, and for a terminal. */
import type { Corpus, Requirement, SafetyClass } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import type { Explored, Report } from '../report/report.ts'
import { drawHistory, exploredSentence, reproducedSentence, sinceLines, skippedLines } from '../report/tell.ts'
import type { Exploration } from './explore.ts'
import { type Found, withoutReason } from './findings.ts'

interface ExploreMeta {
  readonly version: string
  readonly target: string
  readonly started: string
  readonly seed: string
  readonly allow: readonly SafetyClass[]
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
      stopped: exploration.gone,
    },
    outcomes: [],
    corpus,
    findings: exploration.findings.map(withoutReason),
    explored: exploredOf(exploration),
    known: [],
    options: { strict: false, partial: 'only', ownExitCode: exploration.findings.length > 0 ? 1 : 0 },
  })
}

export function renderExploration(
  exploration: Exploration,
  requirements: readonly Requirement[],
  meta: ExploreMeta,
): string {
  const { findings } = exploration
  const lines = findings.flatMap((finding, index) => [...findingLines(finding, index + 1, requirements), ''])
  const gone = exploration.gone === null ? [] : [`The target went away: ${exploration.gone}`]
  const result =
    findings.length === 0
      ? `Nothing found at ${meta.target}: the document allows every answer to the calls that were tried`
      : `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'} at ${meta.target}`
  const effort = exploredSentence(exploredOf(exploration), exploration.seconds)
  const skipped = skippedLines(exploration.skipped)
  const rest = skipped.length === 0 ? [] : [...skipped, 'A longer "--for" reaches them']
  return `${[...lines, ...gone, result, effort, ...rest, `Seed ${meta.seed}`].join('\n')}\n`
}

function findingLines(finding: Found, number: number, requirements: readonly Requirement[]): string[] {
  const { requirement, level, message, steps, history } = finding
  const sentence = requirements.find(({ id }) => id === requirement)
  return [
    `${number}. ${message} (${requirement}, ${level})`,
    `   The document, part ${sentence?.part ?? '?'}: ${sentence?.text ?? ''}`,
    ...steps.map((step, index) => `   ${index + 1}) ${step}`),
    ...drawHistory(history).lines.map((line) => `   ${line}`),
    `   ${reproducedSentence(finding)}`,
    ...sinceLines(finding).map((text) => `   ${text}`),
  ]
}

/** How much of the table and the matrix was covered, for a report. */
export function exploredOf({ calls, repeated, parts, asked, cells, matrix, skipped }: Exploration): Explored {
  return {
    calls,
    repeated,
    changes: { asked, all: cells },
    pairs: { covered: matrix.covered.size, all: matrix.all.length },
    parts: parts.map((part) => ({ ...part })),
    skipped: [...skipped],
  }
}
