/** The baseline: failures that are known. A listed failure does not fail the run, a listed row that passes does. */
import type { RowOutcome, Verdict } from '../outcome.ts'
import type { KnownEntry, RowReport } from './model.ts'

type Judged = Pick<RowOutcome, 'id' | 'row' | 'key' | 'verdict' | 'requirements'>

/** True where the entry speaks of this row; a row may be written as its name or as the last part of its key. */
export const entryNamesRow = (entry: KnownEntry, row: Pick<Judged, 'id' | 'row' | 'key'>): boolean =>
  entry.scenario === row.key ||
  (entry.scenario === row.id &&
    (entry.row === undefined || entry.row === row.row || row.key === `${row.id}/${entry.row}`))

const failedRequirements = (row: Judged): string[] =>
  Object.keys(row.requirements).filter((id) => row.requirements[id] === 'failed')

const covers = (entry: KnownEntry, requirement: string): boolean =>
  entry.requirement === undefined || entry.requirement === requirement

/**
 * A failed row whose every failure is listed becomes a known one; what is listed for it only in part stays failed.
 * Returns the verdicts and the entry that explains the row.
 */
export function applyKnown(
  row: Judged,
  entries: readonly KnownEntry[],
): { verdict: Verdict; requirements: { [id: string]: Verdict }; entry: KnownEntry | null } {
  const unchanged = { verdict: row.verdict, requirements: row.requirements, entry: null }
  if (row.verdict !== 'failed') return unchanged
  const mine = entries.filter((entry) => entryNamesRow(entry, row))
  const failures = failedRequirements(row)
  const listed = failures.filter((id) => mine.some((entry) => covers(entry, id)))
  const entry = mine.find((one) => failures.length === 0 || failures.some((id) => covers(one, id)))
  if (entry === undefined) return unchanged
  const requirements = { ...row.requirements }
  for (const id of listed) requirements[id] = 'known'
  return { verdict: listed.length === failures.length ? 'known' : 'failed', requirements, entry }
}

/** Entries that are listed but pass: at least one row they name was judged, and none of those shows the failure. */
export const staleEntries = (rows: readonly Judged[], entries: readonly KnownEntry[]): KnownEntry[] =>
  entries.filter((entry) => {
    const named = rows.filter((row) => entryNamesRow(entry, row))
    const judged = named.filter((row) => row.verdict !== 'blocked' && row.verdict !== 'not-testable')
    const shown = judged.some((row) =>
      entry.requirement === undefined ? row.verdict !== 'passed' : holdsNot(row.requirements[entry.requirement]),
    )
    return judged.length > 0 && !shown && (named.length === judged.length || entry.row !== undefined)
  })

const holdsNot = (verdict: Verdict | undefined): boolean => verdict !== undefined && verdict !== 'passed'

/**
 * The baseline that would make this run's failures known: reasons and issues of entries that still hold are kept,
 * entries of rows that were not judged are kept, stale ones go, new failures come with a reason to be written.
 */
export function updatedKnown(
  rows: readonly RowReport[],
  stale: readonly KnownEntry[],
  entries: readonly KnownEntry[],
): KnownEntry[] {
  const kept = entries.filter((entry) => !stale.includes(entry))
  const added = rows
    .filter((row) => row.verdict === 'failed')
    .flatMap((row) =>
      Object.keys(row.requirements)
        .filter((id) => row.requirements[id] === 'failed')
        .map(
          (requirement): KnownEntry => ({
            scenario: row.id,
            ...(row.row === null ? {} : { row: row.row }),
            requirement,
            reason: unexplained,
            issue: null,
          }),
        ),
    )
  return [...kept, ...added]
}

/** What `--update-known` writes for a new failure, for a person to replace. */
export const unexplained = 'not explained yet'
