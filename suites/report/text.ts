import { counted } from '../engine/group.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import {
  answersOf,
  areaTable,
  type Counts,
  casesWith,
  groupNotTestable,
  openHeadings,
  summarySentence,
  verdictLine,
} from './explain.ts'
import { exploredLines } from './explored-lines.ts'
import { joinSections, type Paint, paintOf, table } from './lines.ts'
import { type PrintedReport, printedReport } from './printed.ts'
import { problemLines } from './problems.ts'
import type { Report } from './report.ts'
import {
  blockedBlocks,
  blockedByKnownBlocks,
  failedFindingBlocks,
  failureBlocks,
  newerCheckBlocks,
  notRunBlocks,
  otherFindingBlocks,
  warningBlocks,
} from './text-cases.ts'
import { casesOf, entryWords, glyphs, judgeWords, knownWords, shardWords, targetWords, words } from './verdict-words.ts'

const shownObservation = 80

/** How a text report is laid out. */
interface TextLayout {
  /** For a terminal only. */
  colour: boolean
  /** How wide the terminal is. */
  columns?: number | undefined
  /** Print every answer to the open questions, instead of their number. */
  observations?: boolean | undefined
}

/** The report for people: failures first, each with its sentence and bytes, then what is open, then the verdict. */
export function renderText(raw: Report, layout: TextLayout): Printable {
  const report = printedReport(raw)
  const paint = paintOf(layout.colour, layout.columns)
  const sections = [
    heading(report, paint),
    ...failureBlocks(report, paint),
    ...failedFindingBlocks(report, paint),
    ...blockedBlocks(report, paint),
    ...notRunBlocks(report, paint),
    ...warningBlocks(report, paint),
    ...otherFindingBlocks(report, paint),
    ...newerCheckBlocks(report, paint),
    known(report, paint),
    ...blockedByKnownBlocks(report, paint),
    stale(report, paint),
    areaLines(report, paint),
    ...notTestable(report, paint),
    layout.observations === true ? observations(report, paint) : observationCount(report),
    left(report, paint),
    exploredLines(report).flatMap((line, index) => paint.hanging(index === 0 ? '' : '  ', line)),
    conclusion(report, paint),
  ]
  return vouchedFor(joinSections(sections))
}

function heading({ meta }: PrintedReport, paint: Paint): string[] {
  return [
    paint.bold(`svc-conformance ${meta.version} against ${targetWords(meta)}`),
    ...(meta.clock === null ? [] : [meta.clock.sentence]),
    paint.dim(`seed ${meta.seed}, Node ${meta.node.replace(/^v/, '')}${shardWords(meta)}`),
    ...(meta.set === 'current' ? [] : [`judged by ${judgeWords(meta.set)}`]),
  ]
}

function known(report: PrintedReport, paint: Paint): string[] {
  const lines = casesWith(report, 'known').flatMap(({ key, known }) =>
    paint.hanging(`  ${glyphs.known} `, `${key}: ${known === null ? '' : knownWords(known)}`),
  )
  return lines.length === 0 ? [] : [paint.bold('Known failures'), ...lines]
}

function stale(report: PrintedReport, paint: Paint): string[] {
  if (report.stale.length === 0) return []
  return [
    paint.red('Stale baseline entries: listed, but they pass'),
    ...report.stale.map((entry) => `  ${glyphs.failed} ${entryWords(entry)}`),
  ]
}

function areaLines(report: PrintedReport, paint: Paint): string[] {
  const found = areaTable(report)
  if (found === null) return []
  const { columns, areas, total, totals } = found
  const row = (name: string, of: number, counts: Counts) => [name, of, ...columns.map((verdict) => counts[verdict])]
  const rows = [...areas.map(({ area, total: of, counts }) => row(area, of, counts)), row('all', total, totals)]
  const [head, ...body] = table([['Requirements', 'of', ...columns.map(words)], ...rows], '')
  return [paint.bold(head ?? ''), ...body]
}

/**
 * Lists open musts next to the verdict. Musts that --only leaves out are only counted, because their ids would hide the cases.
 */
function notTestable(report: PrintedReport, paint: Paint): string[][] {
  const all = groupNotTestable(report)
  const groups = all.filter((group) => group.kind !== 'must' && !group.notSelectedByOnly)
  const ran = new Set(report.cases.map(({ key }) => key))
  const isBegun = (id: string): boolean =>
    report.requirements.some((one) => one.id === id && one.cases.some((key) => ran.has(key)))
  const unselected = all.filter((group) => group.notSelectedByOnly).flatMap(({ ids }) => ids)
  const begun = unselected.filter(isBegun)
  const left = unselected.length - begun.length
  const kinds = [...new Set(groups.map(({ kind }) => kind))]
  const sections = kinds.map((kind) => [
    paint.bold(openHeadings[kind]),
    ...groups
      .filter((group) => group.kind === kind)
      .flatMap(({ reason, ids }) => [
        ...paint.hanging('  - ', reason),
        ...paint.hanging('      ', ids.join(', ')).map(paint.dim),
      ]),
  ])
  return [
    ...sections,
    ...(begun.length === 0 ? [] : [paint.hanging('', `Not proved by the selected cases alone: ${begun.join(', ')}`)]),
    ...(left === 0 ? [] : [[paint.dim(`Not selected by --only: ${counted(left, 'requirement')}`)]]),
  ]
}

function observationCount({ observations: { length } }: PrintedReport): string[] {
  if (length === 0) return []
  return [`Open questions: ${length} observed, never judged; --observations prints the answers`]
}

function observations(report: PrintedReport, paint: Paint): string[] {
  if (report.observations.length === 0) return []
  const width = Math.max(...report.observations.map(({ question }) => question.length)) + 4
  const lines = report.observations.flatMap((seen) =>
    answersOf(seen).flatMap(({ answer, asked }, index) => {
      const name = index === 0 ? `  ${seen.question}` : ''
      const short = answer.length <= shownObservation ? answer : `${answer.slice(0, shownObservation)}…`
      return paint.hanging(name.padEnd(width), asked === '' ? short : `${short}: ${asked}`)
    }),
  )
  return [paint.bold('Open questions observed (never judged)'), ...lines]
}

function left(report: PrintedReport, paint: Paint): string[] {
  if (report.left.length === 0) return []
  return [paint.yellow('Left on the target'), ...report.left.map((line) => `  ${line}`)]
}

function conclusion(report: PrintedReport, paint: Paint): string[] {
  const paintVerdict = report.exitCode !== 0 ? paint.red : report.verdict === 'conforms' ? paint.green : paint.yellow
  const seconds = (report.meta.durationMs / 1000).toFixed(1)
  return [
    `${casesOf(report.cases.length)} in ${seconds} s: ${summarySentence(report)}`,
    paint.bold(paintVerdict(verdictLine(report))),
    ...problemLines(report).flatMap((line) => paint.hanging('  ', line)),
    ...report.conclusion.flatMap((line) => paint.hanging(line.startsWith('  ') ? '    ' : '  ', line.trimStart())),
  ]
}
