import type { Verdict } from '../engine/judge/problem.ts'
import { type Printable, printed, vouchedFor } from '../engine/printable.ts'
import { columnName } from './compare/comparison.ts'
import { summarySentence } from './explain.ts'
import { joinSections, table } from './lines.ts'
import type { Report } from './report.ts'
import { glyphs, shardWords, targetWords, verdictOrder, words } from './verdict-words.ts'

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
