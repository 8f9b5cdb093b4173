/** Reports side by side, for a terminal and in Markdown: several as a matrix, or what differs between two. */
import { fewOf } from '../../engine/group.ts'
import type { Verdict } from '../../engine/judge/problem.ts'
import { type Printable, printed, vouchedFor } from '../../engine/printable.ts'
import { joinSections, markdownTable, table } from '../lines.ts'
import type { Report } from '../report.ts'
import { summarySentence } from '../tell.ts'
import { casesOf, glyphs, shardWords, targetWords, verdictOrder, words } from '../verdict-words.ts'
import { columnName } from './comparison.ts'

/**
 * Servers × requirements: one column for each report, the requirements on which servers differ first. A requirement that a report of an
 * older version does not know has no verdict there.
 *
 * @param options `files`: of the reports, to tell apart reports of one URL; `markdown`: as tables of Markdown
 */
export function renderMatrix(
  reports: readonly Report[],
  { files, markdown }: { files: readonly string[]; markdown: boolean },
): Printable {
  const labels = reports.map((_, index) => columnName(index))
  const ids = new Map(reports.flatMap(({ requirements }) => requirements.map(({ id, level }) => [id, level] as const)))
  const rows = printed(
    [...ids].map(([id, level]) => ({
      id,
      level,
      verdicts: reports.map(({ requirements }) => requirements.find((one) => one.id === id)?.verdict ?? null),
    })),
  )
  const isAlike = ({ verdicts }: (typeof rows)[number]): boolean => verdicts.every((one) => one === verdicts[0])
  const servers = printed(
    reports.map(({ meta }, index) => `${files[index]}, ${targetWords(meta)}${shardWords(meta)}`),
  ).map((target, index) => {
    const report = reports[index] as Report
    const [label, where] = markdown
      ? [`- **${labels[index]}** `, `\`${target.replaceAll('`', '')}\``]
      : [`${labels[index]}  `, target]
    return `${label}${where}: ${words(report.verdict)} (${summarySentence(report)})`
  })
  const legend = verdictOrder
    .filter((verdict) => rows.some(({ verdicts }) => verdicts.includes(verdict)))
    .map((verdict) => `${glyphs[verdict]} ${words(verdict)}`)
  const asTable = (mine: typeof rows): string[] => {
    if (mine.length === 0) return []
    const head = ['requirement', 'level', ...labels]
    const cells = mine.map(({ id, level, verdicts }) => [
      id,
      level,
      ...verdicts.map((verdict) => (verdict === null ? '' : glyphs[verdict])),
    ])
    const marks = ['---', '---', ...labels.map(() => ':-:')]
    return markdown ? markdownTable(head, marks, cells) : table([head, ...cells])
  }
  const different = asTable(rows.filter((row) => !isAlike(row)))
  const alike = asTable(rows.filter(isAlike))
  const folded = ['<details><summary>They agree on</summary>', '', ...alike, '', '</details>']
  const sections = [
    servers,
    different.length === 0 ? [] : [...(markdown ? ['### They differ on', ''] : ['They differ on']), ...different],
    alike.length === 0 ? [] : markdown ? folded : ['They agree on', ...alike],
    [legend.join(', ')],
  ]
  return vouchedFor(joinSections(sections))
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
