/** Reports side by side, for a terminal and in Markdown: several as a matrix, or what differs between two. */
import { fewOf } from '../../engine/group.ts'
import type { Verdict } from '../../engine/judge/problem.ts'
import { type Printable, printed, vouchedFor } from '../../engine/printable.ts'
import { summarySentence } from '../explain.ts'
import { joinSections, table } from '../lines.ts'
import type { Report } from '../report.ts'
import { casesOf, glyphs, shardWords, targetWords, verdictOrder, words } from '../verdict-words.ts'
import { columnName } from './comparison.ts'

/** Servers × requirements: one column per report. */
interface Matrix {
  servers: { label: string; target: string; verdict: string; summary: string }[]
  rows: { id: string; level: string; verdicts: (Verdict | null)[] }[]
}

/**
 * Compares reports. A requirement that a report of an older version does not know has no verdict there.
 *
 * @param files the files of the reports, to tell apart reports of one URL
 */
export function matrixOf(reports: readonly Report[], files: readonly string[]): Matrix {
  const ids = new Map(reports.flatMap(({ requirements }) => requirements.map(({ id, level }) => [id, level] as const)))
  return {
    servers: reports.map((report, index) => ({
      label: columnName(index),
      target: targetOf(report, files[index]),
      verdict: words(report.verdict),
      summary: summarySentence(report),
    })),
    rows: [...ids].map(([id, level]) => ({
      id,
      level,
      verdicts: reports.map(({ requirements }) => requirements.find((one) => one.id === id)?.verdict ?? null),
    })),
  }
}

function targetOf({ meta }: Report, file: string | undefined): string {
  return `${file === undefined ? '' : `${file}, `}${targetWords(meta)}${shardWords(meta)}`
}

/** The signs that occur, and what they mean. */
function legendOf({ rows }: Matrix): string {
  return verdictOrder
    .filter((verdict) => rows.some(({ verdicts }) => verdicts.includes(verdict)))
    .map((verdict) => `${glyphs[verdict]} ${words(verdict)}`)
    .join(', ')
}

/** Requirements on which the servers differ come first. */
export function renderMatrixText(raw: Matrix): Printable {
  const matrix = printed(raw)
  const line = ({ id, level, verdicts }: Matrix['rows'][number]) => [id, level, ...verdicts.map(glyphOf)]
  const [different, alike] = split(matrix)
  const head = ['requirement', 'level', ...matrix.servers.map(({ label }) => label)]
  const sections = [
    matrix.servers.map(({ label, target, verdict, summary }) => `${label}  ${target}: ${verdict} (${summary})`),
    different.length === 0 ? [] : ['They differ on', ...table([head, ...different.map(line)])],
    alike.length === 0 ? [] : ['They agree on', ...table([head, ...alike.map(line)])],
    [legendOf(matrix)],
  ]
  return vouchedFor(joinSections(sections))
}

/** The same as a Markdown table. */
export function renderMatrixMarkdown(raw: Matrix): Printable {
  const matrix = printed(raw)
  const [different, alike] = split(matrix)
  const lines = (rows: Matrix['rows']): string[] => [
    `| requirement | level | ${matrix.servers.map(({ label }) => label).join(' | ')} |`,
    `|---|---|${matrix.servers.map(() => ':-:').join('|')}|`,
    ...rows.map(({ id, level, verdicts }) => `| ${id} | ${level} | ${verdicts.map(glyphOf).join(' | ')} |`),
  ]
  const sections = [
    matrix.servers.map(
      ({ label, target, verdict, summary }) =>
        `- **${label}** \`${target.replaceAll('`', '')}\`: ${verdict} (${summary})`,
    ),
    different.length === 0 ? [] : ['### They differ on', '', ...lines(different)],
    alike.length === 0 ? [] : ['<details><summary>They agree on</summary>', '', ...lines(alike), '', '</details>'],
    [legendOf(matrix)],
  ]
  return vouchedFor(joinSections(sections))
}

const glyphOf = (verdict: Verdict | null): string => (verdict === null ? '' : glyphs[verdict])

function split({ rows }: Matrix): [different: Matrix['rows'], alike: Matrix['rows']] {
  const same = ({ verdicts }: Matrix['rows'][number]): boolean => verdicts.every((verdict) => verdict === verdicts[0])
  return [rows.filter((row) => !same(row)), rows.filter(same)]
}

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
