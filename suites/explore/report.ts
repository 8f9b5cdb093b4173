/** An exploration as a report for every format. */
import type { Explored } from '../report/report.ts'
import type { Exploration } from './explore.ts'

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
