/** What differs between two reports: of two servers, or of one server before and after a change. */
import { fewOf } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { type Printable, printed, vouchedFor } from '../engine/printable.ts'
import { summarySentence } from './explain.ts'
import { joinSections, table } from './lines.ts'
import type { Report } from './report.ts'
import { casesOf, glyphs, words } from './verdict-words.ts'

type ReportDiff = ReturnType<typeof diffReports>

/** Compares what both reports know. Keys of cases that only one of the two has are listed: another version or another selection made it. Pure. */
export function diffReports(one: Report, other: Report) {
  const requirements = new Map(other.requirements.map((requirement) => [requirement.id, requirement.verdict]))
  const cases = new Map(other.cases.map((testCase) => [testCase.key, testCase.verdict]))
  const keys = new Set(one.cases.map(({ key }) => key))
  return {
    one: runOf(one),
    other: runOf(other),
    requirements: one.requirements.flatMap(({ id, level, verdict }) => {
      const found = requirements.get(id)
      return found === undefined || found === verdict ? [] : [{ id, level, one: verdict, other: found }]
    }),
    cases: one.cases.flatMap(({ key, verdict }) => {
      const found = cases.get(key)
      return found === undefined || found === verdict ? [] : [{ key, one: verdict, other: found }]
    }),
    onlyOne: [...keys].filter((key) => !cases.has(key)),
    onlyOther: [...cases.keys()].filter((key) => !keys.has(key)),
  }
}

function runOf(report: Report) {
  const { target, started, version } = report.meta
  return { target, started, version, verdict: report.verdict, summary: summarySentence(report) }
}

/** True where a verdict differs: of the run, of a requirement, or of a case that both have. */
export function verdictsDiffer({ one, other, requirements, cases }: ReportDiff): boolean {
  return one.verdict !== other.verdict || requirements.length > 0 || cases.length > 0
}

const shownOnly = 8

/** The text of `diff REPORT REPORT`. */
export function renderDiff(raw: ReportDiff): Printable {
  const diff = printed(raw)
  const change = (one: Verdict, other: Verdict): string =>
    `${glyphs[one]} ${words(one)} → ${glyphs[other]} ${words(other)}`
  const sections = [
    [runLine('A', diff.one), runLine('B', diff.other)],
    diff.requirements.length === 0
      ? []
      : [
          'Requirements',
          ...table(diff.requirements.map(({ id, level, one, other }) => [id, level, change(one, other)])),
        ],
    diff.cases.length === 0
      ? []
      : ['Cases', ...table(diff.cases.map(({ key, one, other }) => [key, change(one, other)]))],
    [...onlyLines('A', diff.onlyOne), ...onlyLines('B', diff.onlyOther)],
    verdictsDiffer(raw) ? [] : ['No verdict differs'],
  ]
  return vouchedFor(joinSections(sections))
}

function runLine(name: string, { target, started, version, verdict, summary }: ReportDiff['one']): string {
  return `${name}  ${target}, ${started.slice(0, 16).replace('T', ' ')}, version ${version}: ${words(verdict)} (${summary})`
}

function onlyLines(name: string, keys: readonly string[]): string[] {
  if (keys.length === 0) return []
  return [`Only in ${name}: ${casesOf(keys.length)}: ${fewOf(keys, shownOnly)}`]
}
