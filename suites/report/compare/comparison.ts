/**
 * Many reports as a page can hold them: a digit for each verdict, and messages for the newest report of each server only. Pure, and free of
 * Node, because the page uses it too, for a report that the reader drops on it.
 */
import type { Verdict } from '../../engine/judge/problem.ts'
import type { Requirement } from '../../engine/language/fixture-types.ts'
import { printed } from '../../engine/printable.ts'
import type { Report } from '../report.ts'
import { shardWords, targetWords, verdictOrder } from '../verdict-words.ts'

export interface Comparison {
  requirements: { id: string; level: Requirement['level']; text: string }[]
  /** `proves`: requirement ids. */
  cases: { key: string; title: string; proves: string[] }[]
  servers: ComparedServer[]
}

interface ComparedServer {
  name: string
  /** Oldest first; never empty. */
  reports: CompactReport[]
}

type CompactReport = ReturnType<typeof compactReport>

/** What a page needs of a report. */
type ComparedReport = Pick<Report, 'meta' | 'verdict' | 'exitCode' | 'requirements' | 'cases' | 'findings'>

export const noComparison: Comparison = { requirements: [], cases: [], servers: [] }

/** The verdict of a requirement in a report. One whose cases were not selected was not run: that says nothing about the target. */
export function verdictWhereRun({
  verdict,
  reasons,
}: Pick<Report['requirements'][number], 'verdict' | 'reasons'>): Verdict {
  return verdict === 'not-testable' && reasons.some(({ kind }) => kind === 'not-selected') ? 'not-run' : verdict
}

/** What several reports say of one requirement: `open` where none of them judged it. */
export function compareVerdicts(verdicts: readonly (Verdict | null)[]): 'differ' | 'agree' | 'open' {
  if (!verdicts.some((verdict) => verdict !== null && judged.has(verdict))) return 'open'
  return verdicts.every((verdict) => verdict === verdicts[0]) ? 'agree' : 'differ'
}

const judged: ReadonlySet<Verdict> = new Set(['passed', 'failed', 'warned', 'known'])

/** The verdict of a requirement or case in a report; null where the report does not know it. */
export function verdictAt(row: string, index: number): Verdict | null {
  return verdictOrder[Number.parseInt(row[index] ?? '', 10)] ?? null
}

/** The newest report of a server. */
export function newestOf({ reports }: ComparedServer): CompactReport {
  const newest = reports.at(-1)
  if (newest === undefined) throw new Error('A server has at least one report')
  return newest
}

/** The comparison with one more report in it; reports of one target are one server. Texts are made printable. */
export function addReport(comparison: Comparison, raw: ComparedReport): Comparison {
  const report = printed(raw, longestMessage)
  const requirements = withNew(
    comparison.requirements,
    report.requirements.map(({ id, level, text }) => ({ id, level, text })),
    ({ id }) => id,
  )
  const cases = withNew(
    comparison.cases,
    report.cases.map(({ key, title, proves }) => ({ key, title, proves })),
    ({ key }) => key,
  )
  const name = `${targetWords(report.meta)}${shardWords(report.meta)}`
  const compact = compactReport(report, requirements, cases)
  const server = comparison.servers.find((one) => one.name === name)
  const servers =
    server === undefined
      ? [...comparison.servers, { name, reports: [compact] }]
      : comparison.servers.map((one) =>
          one === server ? { name, reports: inTime([...server.reports, compact]) } : one,
        )
  return { requirements, cases, servers }
}

const longestMessage = 300

function withNew<T>(known: readonly T[], found: readonly T[], keyOf: (one: T) => string): T[] {
  const keys = new Set(known.map(keyOf))
  return [...known, ...found.filter((one) => !keys.has(keyOf(one)))]
}

function compactReport(
  { meta, verdict, exitCode, findings, ...report }: ComparedReport,
  requirements: Comparison['requirements'],
  cases: Comparison['cases'],
) {
  const ofRequirement = new Map(
    report.requirements.map((one) => [one.id, { verdict: verdictWhereRun(one), reason: one.reason }]),
  )
  const ofCase = new Map(report.cases.map((testCase) => [testCase.key, testCase]))
  const digitOf = (one?: Verdict): string => (one === undefined ? ' ' : String(verdictOrder.indexOf(one)))
  const texts = (all: readonly (string | null | undefined)[]): [number, string][] =>
    all.flatMap((text, index) => (text === null || text === undefined ? [] : [[index, text]]))
  return {
    /** ISO 8601. */
    started: meta.started,
    /** Of the suite. */
    version: meta.version,
    set: meta.set,
    verdict,
    exitCode,
    /** Cases by verdict, in the order of `verdictOrder`. */
    counts: verdictOrder.map((one) => report.cases.filter((testCase) => testCase.verdict === one).length),
    /** A digit for each requirement of the comparison, its place in `verdictOrder`; a blank where this report does not know it. */
    requirements: requirements.map(({ id }) => digitOf(ofRequirement.get(id)?.verdict)).join(''),
    /** The same for each case. */
    cases: cases.map(({ key }) => digitOf(ofCase.get(key)?.verdict)).join(''),
    /** What the newest report of a server says of cases that did not pass: the index of the case and the message. */
    why: texts(cases.map(({ key }) => ofCase.get(key)?.problem?.message)),
    /** The same of requirements that are open. */
    reasons: texts(requirements.map(({ id }) => ofRequirement.get(id)?.reason)),
    /** Findings of the model, of the newest report only. */
    findings: findings.map(({ requirement, message }) => ({ requirement, message })),
  }
}

/** In the order of time; only the newest keeps its messages. */
function inTime(reports: readonly CompactReport[]): CompactReport[] {
  const sorted = reports.toSorted((one, other) => (one.started < other.started ? -1 : 1))
  const newest = sorted.at(-1)
  return sorted.map((one) => (one === newest ? one : { ...one, why: [], reasons: [], findings: [] }))
}

/** What differs between two reports: requirements first, then cases, each in its order. */
export function changesBetween(comparison: Comparison, from: CompactReport, to: CompactReport) {
  const changes = (of: 'requirements' | 'cases', kind: 'requirement' | 'case', id: string, index: number) => {
    const [one, other] = [verdictAt(from[of], index), verdictAt(to[of], index)]
    // What was not testable does not change because a report did not try it.
    const isUntried =
      kind === 'requirement' && [one, other].every((verdict) => verdict !== null && untried.has(verdict))
    return one === other || isUntried ? [] : [{ kind, id, from: one, to: other }]
  }
  return [
    ...comparison.requirements.flatMap(({ id }, index) => changes('requirements', 'requirement', id, index)),
    ...comparison.cases.flatMap(({ key }, index) => changes('cases', 'case', key, index)),
  ]
}

const untried: ReadonlySet<Verdict> = new Set(['not-run', 'not-testable'])

/** A to Z, then AA. */
export function columnName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26))
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter
}
