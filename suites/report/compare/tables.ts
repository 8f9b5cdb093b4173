/** Reports side by side, for a terminal and in Markdown: several as a matrix, or what differs between two. */
import { counted, fewOf } from '../../engine/group.ts'
import type { Verdict } from '../../engine/judge/problem.ts'
import type { Printable } from '../../engine/printable.ts'
import { type Block, code } from '../document.ts'
import { markdownOfBlocks } from '../markdown.ts'
import type { Report } from '../report.ts'
import { summarySentence } from '../tell.ts'
import { printBlocks } from '../text.ts'
import { glyphs, shardWords, targetWords, verdictOrder, words } from '../verdict-words.ts'
import { columnName, compareVerdicts, verdictWhereRun } from './comparison.ts'

/**
 * Servers × requirements: one column for each report, the requirements on which servers differ first, and last those that no report judged.
 * A requirement that a report of an older version does not know has no verdict there.
 *
 * @param options `files`: of the reports, to tell apart reports of one URL; `markdown`: as tables of Markdown
 */
export function renderMatrix(
  reports: readonly Report[],
  { files, markdown }: { files: readonly string[]; markdown: boolean },
): Printable {
  const ids = new Map(reports.flatMap(({ requirements }) => requirements.map(({ id, level }) => [id, level] as const)))
  const rows = [...ids].map(([id, level]) => ({
    id,
    level,
    verdicts: reports.map(({ requirements }) => {
      const mine = requirements.find((one) => one.id === id)
      return mine === undefined ? null : verdictWhereRun(mine)
    }),
  }))
  const used = verdictOrder.filter((verdict) => rows.some(({ verdicts }) => verdicts.includes(verdict)))
  const asTable = (heading: string, group: ReturnType<typeof compareVerdicts>): Block => ({
    kind: 'table',
    heading,
    ...(markdown && group !== 'differ' ? { folded: '' } : {}),
    head: ['requirement', 'level', ...reports.map((_, index) => columnName(index))],
    rows: rows
      .filter(({ verdicts }) => compareVerdicts(verdicts) === group)
      .map(({ id, level, verdicts }) => [id, level, ...verdicts.map((one) => (one === null ? '' : glyphs[one]))]),
  })
  const blocks: Block[] = [
    {
      kind: 'lines',
      lines: reports.map((report, index) => [
        `${columnName(index)}  `,
        code(`${files[index]}, ${targetWords(report.meta)}${shardWords(report.meta)}`),
        `: ${words(report.verdict)} (${summarySentence(report)})`,
      ]),
    },
    asTable('They differ on', 'differ'),
    asTable('They agree on', 'agree'),
    asTable(reports.length === 2 ? 'Judged on neither' : 'Judged on none', 'open'),
    { kind: 'lines', lines: [used.map((verdict) => `${glyphs[verdict]} ${words(verdict)}`).join(', ')] },
  ]
  return markdown ? markdownOfBlocks(blocks) : printBlocks(blocks)
}

type ReportDiff = ReturnType<typeof diffReports>

/** Compares what both reports know. Keys of cases that only one of the two has are listed: another version or another selection made it. Pure. */
function diffReports(one: Report, other: Report) {
  const requirements = new Map(other.requirements.map((requirement) => [requirement.id, requirement]))
  const cases = new Map(other.cases.map((testCase) => [testCase.key, testCase.verdict]))
  const keys = new Set(one.cases.map(({ key }) => key))
  return {
    one: runOf(one),
    other: runOf(other),
    requirements: one.requirements.flatMap((mine) => {
      const { id, level } = mine
      const found = requirements.get(id)
      // What neither report could judge does not differ because one of them did not try it.
      if (found === undefined || found.verdict === mine.verdict) return []
      return [{ id, level, one: verdictWhereRun(mine), other: verdictWhereRun(found) }]
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

const shownOnly = 8

/** `diff REPORT REPORT`: what differs, the same as text, and whether a verdict does: of the run, of a requirement, or of a case that both have. */
export function compareReports(one: Report, other: Report): { diff: ReportDiff; text: Printable; differs: boolean } {
  const diff = diffReports(one, other)
  const differs = diff.one.verdict !== diff.other.verdict || diff.requirements.length > 0 || diff.cases.length > 0
  return { diff, text: renderDiff(diff, differs), differs }
}

function renderDiff(diff: ReportDiff, differs: boolean): Printable {
  const change = ({ one, other }: { one: Verdict; other: Verdict }): string =>
    `${glyphs[one]} ${words(one)} → ${glyphs[other]} ${words(other)}`
  const runLine = (name: string, { target, started, version, verdict, summary }: ReportDiff['one']): string =>
    `${name}  ${target}, ${started.slice(0, 16).replace('T', ' ')}, version ${version}: ${words(verdict)} (${summary})`
  const onlyLines = (name: string, keys: readonly string[]): string[] =>
    keys.length === 0 ? [] : [`Only in ${name}: ${counted(keys.length, 'case')}: ${fewOf(keys, shownOnly)}`]
  return printBlocks([
    { kind: 'lines', lines: [runLine('A', diff.one), runLine('B', diff.other)] },
    {
      kind: 'table',
      head: ['requirement', 'level', 'A → B'],
      rows: diff.requirements.map((one) => [one.id, one.level, change(one)]),
    },
    { kind: 'table', head: ['case', 'A → B'], rows: diff.cases.map((one) => [one.key, change(one)]) },
    { kind: 'lines', lines: [...onlyLines('A', diff.onlyOne), ...onlyLines('B', diff.onlyOther)] },
    { kind: 'lines', lines: differs ? [] : ['No verdict differs'] },
  ])
}
