/** An exploration as a report for every format: findings without cases. */
import type { Corpus, SafetyClass } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import type { Report } from '../report/report.ts'
import type { Exploration } from './explore.ts'
import { exploredOf } from './explored.ts'
import { withoutReason } from './findings.ts'

export interface ExploreMeta {
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
