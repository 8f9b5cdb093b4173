import { countBy, counted, firstFew, groupBy } from '../engine/group.ts'
import { type Printable, printed, vouchedFor } from '../engine/printable.ts'
import { type Cause, causesOfBlocked, causesOfProblems, problemLines } from './causes.ts'
import {
  answersOf,
  areaOf,
  areaTable,
  type Counts,
  exchangeLines,
  exploredLines,
  groupFindings,
  groupNotTestable,
  historyLines,
  notRunBecause,
  type PrintedFinding,
  type PrintedReport,
  printedReport,
  sinceLines,
  summarySentence,
  type Told,
  tellCase,
  tellFinding,
  verdictLine,
} from './explain.ts'
import { joinSections, type Paint, paintOf, table } from './lines.ts'
import type { CaseReport, Plan, Report } from './report.ts'
import { casesOf, entryWords, glyphs, judgeWords, knownWords, shardWords, targetWords, words } from './verdict-words.ts'

/** How many failures are reported in full; a server with more failures usually has one or two causes. */
const fullFailures = 30
/** The whole list is in the other reports. */
const shownAlike = 8
const shownObservation = 80
const shownIds = 8

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
  const { failed, warned } = causesOfProblems(report)
  const [failing, others] = [true, false].map((isFailure) =>
    report.findings.filter(({ verdict }) => (verdict === 'failed') === isFailure),
  ) as [PrintedFinding[], PrintedFinding[]]
  const sections = [
    heading(report, paint),
    ...failed.map((cause, index) => [
      ...causeBlock(report, cause, paint, index < fullFailures),
      ...blockedBy(report, cause.first, paint),
    ]),
    ...findingBlocks(report, failing, paint),
    ...causesOfBlocked(report).map((cause) => causeBlock(report, cause, paint)),
    ...notRunBlocks(report, paint),
    ...warned.map((cause) => causeBlock(report, cause, paint)),
    ...findingBlocks(report, others, paint),
    ...newerCheckBlocks(report, paint),
    known(report, paint),
    ...blockedByKnownBlocks(report, paint),
    stale(report, paint),
    areaLines(report, paint),
    ...notTestable(report, paint),
    layout.observations === true ? observations(report, paint) : observationCount(report),
    report.left.length === 0 ? [] : [paint.yellow('Left on the target'), ...report.left.map((line) => `  ${line}`)],
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

/** The block of a case, a finding or a check of a client. */
export function blockOf(told: Told, paint: Paint): string[] {
  const { title, sentences, steps, facts, known, history, exchanges, fixture, again } = told
  const labelled = [
    ...steps.map((text, index) => ({ label: `${index + 1}.`, text })),
    ...facts.map(({ label, text, where }) => ({ label, text: where === undefined ? text : `${text} (${where})` })),
    ...sinceLines(told).map((text) => ({ label: '', text })),
    ...(known === null ? [] : [{ label: 'Known', text: known }]),
  ]
  const width = Math.max(6, ...labelled.map(({ label }) => label.length + 1))
  return [
    titleLine(told, paint),
    ...paint.hanging('  ', title),
    // A case that only observes proves no sentence.
    ...(sentences.length === 0 ? [] : ['']),
    ...sentences.flatMap(({ level, id, text, anchor }) => {
      const head = `  ${level}  `
      const sentence = paint.hanging(head, id === '' ? text : `${id}: ${text}`)
      return [...sentence, paint.dim(`${' '.repeat(head.length)}${anchor}`)]
    }),
    '',
    ...labelled.flatMap(({ label, text }) => paint.hanging(`  ${label.padEnd(width)}`, text)),
    ...(history.length === 0 ? [] : ['', ...historyLines(history).map((line) => `  ${line}`)]),
    ...exchanges.flatMap((exchange) => ['', ...exchangeLines(exchange).map((line) => paint.dim(`  ${line}`))]),
    ...(fixture === null
      ? []
      : [
          '',
          '  This scenario shows it. Save it as DIR/scenarios/found/NAME.yaml beside DIR/language.yaml (language: 1), and use',
          '  run --fixtures DIR:',
          ...fixture.map((line) => paint.dim(`    ${line}`)),
        ]),
    ...(again === null ? [] : ['', `  ${'Again'.padEnd(Math.max(8, width))}${again}`]),
  ]
}

function titleLine({ verdict, id }: Pick<Told, 'verdict' | 'id'>, paint: Paint): string {
  const title = `${glyphs[verdict]} ${id}`
  return verdict === 'failed' ? paint.red(title) : paint.yellow(title)
}

/** The first case of a cause, in full or in short, then those that break in the same way. */
function causeBlock(report: PrintedReport, { first, others }: Cause, paint: Paint, full = true): string[] {
  const told = tellCase(report, first)
  const { verdict, key, title, problem } = first
  const block =
    told !== null && full
      ? blockOf(told, paint)
      : [titleLine({ verdict, id: key }, paint), ...paint.hanging('  ', problem?.message ?? title)]
  return [...block, ...alike(first, others, paint)]
}

const alikeWords: { readonly [verdict: string]: readonly [one: string, many: string] } = {
  failed: ['fails like this', 'fail like this'],
  warned: ['warns like this', 'warn like this'],
  blocked: ['is blocked by the same cause', 'are blocked by the same cause'],
}

/** The other cases of one cause, with the sentence that each breaks if it is a different one. */
function alike({ verdict, problem }: CaseReport, others: readonly CaseReport[], paint: Paint): string[] {
  if (others.length === 0) return []
  const broken = problem?.requirements ?? []
  const lines = others.map((testCase) => {
    const more = (testCase.problem?.requirements ?? []).filter((id) => !broken.includes(id))
    const differing = [...more, ...(testCase.verdict === verdict ? [] : [testCase.verdict])]
    return `${testCase.key}${differing.length === 0 ? '' : ` (${differing.join(', ')})`}`
  })
  const [one, many] = alikeWords[verdict] ?? ['', '']
  const count = others.length === 1 ? `one more case ${one}` : `${others.length} more cases ${many}`
  return [`  Also    ${count}:`, ...listed(lines, paint)]
}

function blockedBy({ cases }: PrintedReport, { key }: CaseReport, paint: Paint): string[] {
  const blocked = cases.flatMap((one) => (one.verdict === 'blocked' && one.blockedBy === key ? [one.key] : []))
  return blocked.length === 0 ? [] : [`  Blocks  ${casesOf(blocked.length)}:`, ...listed(blocked, paint)]
}

function listed(lines: readonly string[], paint: Paint): string[] {
  return firstFew(lines, shownAlike).flatMap((line) => paint.hanging('          ', line))
}

/** The first finding of each requirement; in short, where a case shows the same. */
function findingBlocks(report: PrintedReport, all: readonly PrintedFinding[], paint: Paint): string[][] {
  return groupFindings(report, all).map(({ first, others, shownBy }) => {
    const told = tellFinding(report, first)
    const short = `${first.message}. It breaks ${first.requirement}; the case ${shownBy} shows it too`
    const answers = counted(others.length, 'more answer breaks it', 'more answers break it')
    const ids = others.map(({ id }) => id)
    return [
      ...(shownBy === null ? blockOf(told, paint) : [titleLine(told, paint), ...paint.hanging('  ', short)]),
      ...(others.length === 0 ? [] : [`  Also    ${answers}:`, ...listed(ids, paint)]),
    ]
  })
}

/** Cases that the run did not reach, without useless details. */
function notRunBlocks({ cases }: PrintedReport, paint: Paint): string[][] {
  const notRun = cases.filter(({ verdict }) => verdict === 'not-run')
  return [...groupBy(notRun, (testCase) => notRunBecause(testCase) ?? '')].map(([reason, mine]) => {
    const count = `${casesOf(mine.length)} ${mine.length === 1 ? 'was' : 'were'}`
    const keys = mine.map(({ key }) => key)
    return [
      ...paint.hanging(`${glyphs['not-run']} `, `${count} not run: ${reason}`).map(paint.yellow),
      ...listed(keys, paint),
    ]
  })
}

/** Cases that a frozen set does not judge, under a separate heading. */
function newerCheckBlocks(report: PrintedReport, paint: Paint): string[][] {
  const { newer, meta } = report
  if (newer.cases.length + newer.findings.length === 0) return []
  const title = `Found by newer checks, which are not in set ${meta.set}; they change neither the verdict nor the exit code`
  return [
    paint.hanging('', title).map(paint.bold),
    ...newer.cases.map((first) => causeBlock(report, { first, others: [] }, paint)),
    ...findingBlocks(report, newer.findings, paint),
  ]
}

function known({ cases }: PrintedReport, paint: Paint): string[] {
  const lines = cases.flatMap(({ verdict, key, known: entry }) =>
    verdict === 'known' && entry !== null ? paint.hanging(`  ${glyphs.known} `, `${key}: ${knownWords(entry)}`) : [],
  )
  return lines.length === 0 ? [] : [paint.bold('Known failures'), ...lines]
}

/** Known failures are listed elsewhere; the cases that they block are listed here. */
function blockedByKnownBlocks(report: PrintedReport, paint: Paint): string[][] {
  return report.cases.flatMap((testCase) => {
    const blocked = testCase.verdict === 'known' ? blockedBy(report, testCase, paint) : []
    return blocked.length === 0 ? [] : [[paint.yellow(`${glyphs.known} ${testCase.key}`), ...blocked]]
  })
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

const openHeadings = {
  must: 'Musts that are not testable here',
  implied: 'Implied, and not testable here',
  excused: 'Not testable for a written reason',
} as const

/** Lists open musts next to the verdict. Musts that --only leaves out are only counted, because their ids would hide the cases. */
function notTestable(report: PrintedReport, paint: Paint): string[][] {
  const all = groupNotTestable(report)
  const groups = all.filter((group) => group.kind !== 'must' && !group.notSelectedByOnly)
  const ran = new Set(report.cases.map(({ key }) => key))
  const isBegun = (id: string): boolean =>
    report.requirements.some((one) => one.id === id && one.cases.some((key) => ran.has(key)))
  const unselected = all.filter((group) => group.notSelectedByOnly).flatMap(({ ids }) => ids)
  const begun = unselected.filter(isBegun)
  const left = unselected.length - begun.length
  const sections = [...groupBy(groups, ({ kind }) => kind)].map(([kind, mine]) => [
    paint.bold(openHeadings[kind]),
    ...mine.flatMap(({ reason, ids }) => [
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

/**
 * Describes what a run will do.
 *
 * @param options `ids`: list every requirement by its id, instead of their number for each area; `columns`: the width of the terminal
 */
export function renderPlan(planned: Plan, options: { ids: boolean; columns?: number | undefined }): Printable {
  const { cases, total, calls, seconds, refusals, notSelected, creates, cannot, model } = printed(planned)
  const paint = paintOf(false, options.columns)
  const leftOut = cannot.reduce((sum, one) => sum + one.cases, 0)
  const createsNothing = creates.length === 0 && (model === undefined || model.keys === 0)
  const lines = [
    // Observed calls may be refused too, which is not known in advance.
    `Plan: ${cases} of ${casesOf(total)}, about ${calls} calls${duration(seconds)}, at least ${refusals} of them expected to be refused`,
    ...(refusals > 0 ? ['  The refusals may look like an attack in the log of the server'] : []),
    ...(notSelected > 0 ? [`  ${casesOf(notSelected)} ${notSelected === 1 ? 'is' : 'are'} not selected`] : []),
    ...(createsNothing ? ['Creates nothing that lasts'] : []),
    ...(creates.length === 0 ? [] : ['Creates:', ...creates.flatMap((what) => paint.hanging('  - ', what))]),
    ...(model === undefined ? [] : [modelLine(model)]),
    ...(leftOut > 0 ? [`Cannot run ${casesOf(leftOut)}:`] : []),
    ...cannot.flatMap((one) => [
      ...paint.hanging('  - ', one.reason),
      ...paint.hanging('      ', `${casesOf(one.cases)}: ${openBy(one.requirements, options.ids)}`),
    ]),
  ]
  return vouchedFor(`${lines.join('\n')}\n`)
}

/** What the model does besides the cases. */
function modelLine({ calls, seconds, keys }: NonNullable<Plan['model']>): string {
  const created = keys === 0 ? '' : `; it creates at most ${counted(keys, 'API key')}`
  const pace = seconds === 0 ? '' : ` at ${Math.round((seconds * 1000) / calls)} ms each`
  return `Then the model makes at most ${counted(calls, 'call')}${duration(seconds)}${pace}, most of them with a mistake${created}`
}

function duration(seconds: number): string {
  if (seconds === 0) return ''
  return seconds >= 120 ? ` in ${Math.round(seconds / 60)} min` : ` in ${seconds} s`
}

function openBy(requirements: readonly string[], ids: boolean): string {
  if (requirements.length === 0) return 'only observed'
  if (ids || requirements.length <= shownIds) return requirements.join(', ')
  const areas = countBy(requirements, areaOf)
  return `${requirements.length} requirements of ${[...areas].map(([area, count]) => `${area} (${count})`).join(', ')}`
}
