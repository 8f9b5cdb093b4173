/** The baseline: failures that are known. A listed failure does not fail the run, a listed case that passes does. */
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import type { Finding, KnownEntry, Report } from './report.ts'

type Judged = Pick<CaseOutcome, 'id' | 'case' | 'key' | 'verdict' | 'requirements'>

/** Whether the entry names this case; a case may be written as its name or as the last part of its key. */
export const entryNamesCase = (entry: KnownEntry, testCase: Pick<Judged, 'id' | 'case' | 'key'>): boolean =>
  entry.scenario === testCase.key ||
  (entry.scenario === testCase.id &&
    (entry.case === undefined || entry.case === testCase.case || testCase.key === `${testCase.id}/${entry.case}`))

const failedRequirements = (testCase: Judged): string[] =>
  Object.keys(testCase.requirements).filter((id) => testCase.requirements[id] === 'failed')

const covers = (entry: KnownEntry, requirement: string): boolean =>
  entry.requirement === undefined || entry.requirement === requirement

/**
 * Makes a failed case a known one if all of its failures are listed; otherwise it stays failed. Returns the verdicts and the entry that
 * explains the case.
 */
export function applyKnown(
  testCase: Judged,
  entries: readonly KnownEntry[],
): { verdict: Verdict; requirements: { [id: string]: Verdict }; entry: KnownEntry | null } {
  const unchanged = { verdict: testCase.verdict, requirements: testCase.requirements, entry: null }
  if (testCase.verdict !== 'failed') return unchanged
  const mine = entries.filter((entry) => entryNamesCase(entry, testCase))
  const failures = failedRequirements(testCase)
  const listed = failures.filter((id) => mine.some((entry) => covers(entry, id)))
  const entry = mine.find((one) => failures.length === 0 || failures.some((id) => covers(one, id)))
  if (entry === undefined) return unchanged
  const requirements = { ...testCase.requirements }
  for (const id of listed) requirements[id] = 'known'
  return { verdict: listed.length === failures.length ? 'known' : 'failed', requirements, entry }
}

/** Adds to each finding the baseline entry that makes it known. */
export function knownFindings(findings: readonly Omit<Finding, 'known'>[], entries: readonly KnownEntry[]): Finding[] {
  return findings.map((finding) => {
    const entry = entries.find(
      ({ scenario, requirement }) =>
        (scenario === finding.id || scenario === finding.case) &&
        (requirement === undefined || requirement === finding.requirement),
    )
    return { ...finding, known: entry === undefined ? null : { reason: entry.reason, issue: entry.issue } }
  })
}

/** Verdicts that say nothing about the case's requirements. */
const unjudged: readonly Verdict[] = ['blocked', 'not-testable', 'not-applicable', 'not-run']

/**
 * Entries whose cases pass: at least one case that they name was judged, and no such case shows the failure. Entries of findings are never
 * stale, because a run that does not find them may not have made their calls.
 */
export const staleEntries = (cases: readonly Judged[], entries: readonly KnownEntry[]): KnownEntry[] =>
  entries.filter((entry) => {
    if (entry.sometimes === true) return false
    const named = cases.filter((testCase) => entryNamesCase(entry, testCase))
    const judged = named.filter((testCase) => !unjudged.includes(testCase.verdict))
    const shown = judged.some((testCase) =>
      entry.requirement === undefined
        ? testCase.verdict !== 'passed'
        : holdsNot(testCase.requirements[entry.requirement]),
    )
    return judged.length > 0 && !shown && (named.length === judged.length || entry.case !== undefined)
  })

const holdsNot = (verdict: Verdict | undefined): boolean => verdict !== undefined && verdict !== 'passed'

/**
 * The baseline that makes this run's failures known. Valid entries keep their reasons and issues, entries of cases that were not judged are
 * kept, stale ones are removed, and new failures get a reason for a person to replace.
 */
export function updatedKnown(
  { cases, findings, stale }: Pick<Report, 'cases' | 'findings' | 'stale'>,
  entries: readonly KnownEntry[],
): KnownEntry[] {
  const kept = entries.filter((entry) => !stale.includes(entry))
  const added = cases
    .filter((testCase) => testCase.verdict === 'failed')
    .flatMap((testCase) =>
      failedRequirements(testCase).map(
        (requirement): KnownEntry => ({
          scenario: testCase.id,
          ...(testCase.case === null ? {} : { case: testCase.case }),
          requirement,
          reason: unexplained,
          issue: null,
        }),
      ),
    )
  const found = findings
    .filter(({ known, level }) => known === null && level === 'must')
    .map(({ id, requirement }): KnownEntry => ({ scenario: id, requirement, reason: unexplained, issue: null }))
  return [...kept, ...added, ...found]
}

/** The reason that `--update-known` writes for a new failure, for a person to replace. */
const unexplained = 'not explained yet'
