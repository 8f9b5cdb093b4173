import { groupByCause } from './causes.ts'
import {
  answersOf,
  casesWith,
  countAreas,
  countVerdicts,
  explainCase,
  groupNotTestable,
  notRunBecause,
  openHeadings,
  summarySentence,
  verdictLine,
} from './explain.ts'
import { type Paint, paintOf, table } from './lines.ts'
import type { CaseReport, Plan, Report } from './model.ts'
import { printable } from './printable.ts'
import { glyphs, verdictOrder, words } from './verdict-words.ts'

/** So many failures are told in full; a server with more of them has one cause or two. */
const fullFailures = 30
/** The whole list is in the other reports. */
const shownAlike = 8
const shownObservation = 80
const shownIds = 8

/**
 * The report for people: failures first, each with its sentence and bytes, then what is open, then the verdict.
 *
 * @param options `colour`: for a terminal only; `columns`: how wide it is
 */
export function renderText(raw: Report, options: { colour: boolean; columns?: number | undefined }): string {
  const report = printable(raw)
  const paint = paintOf(options.colour, options.columns)
  const sections = [
    heading(report, paint),
    ...failures(report, paint),
    ...blocked(report, paint),
    ...warnings(report, paint),
    known(report, paint),
    stale(report, paint),
    areas(report, paint),
    ...notTestable(report, paint),
    observations(report, paint),
    left(report, paint),
    conclusion(report, paint),
  ]
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

/**
 * What a run will do, before it does it.
 *
 * @param options `ids`: every requirement by its id, and not only how many of each area; `columns`: how wide the terminal is
 */
export function renderPlan(plan: Plan, options: { ids: boolean; columns?: number | undefined }): string {
  const paint = paintOf(false, options.columns)
  const leftOut = plan.cannot.reduce((sum, { cases }) => sum + cases, 0)
  const lines = [
    // What is only observed may be refused too, and nobody knows before.
    `Plan: ${casesOf(plan.cases)}, about ${plan.calls} calls, at least ${plan.refusals} of them meant to be refused`,
    ...(plan.refusals > 0 ? ['  The refusals may look like an attack in the log of the server'] : []),
    ...(plan.notSelected > 0
      ? [`  ${casesOf(plan.notSelected)} ${plan.notSelected === 1 ? 'is' : 'are'} not selected`]
      : []),
    ...(plan.creates.length === 0
      ? ['Creates nothing that lasts']
      : ['Creates:', ...plan.creates.flatMap((what) => paint.hanging('  - ', what))]),
  ]
  if (leftOut > 0) lines.push(`Cannot ask ${casesOf(leftOut)}:`)
  for (const { reason, cases, requirements } of plan.cannot)
    lines.push(
      ...paint.hanging('  - ', reason),
      ...paint.hanging('      ', `${casesOf(cases)}: ${openBy(requirements, options.ids)}`),
    )
  return `${lines.join('\n')}\n`
}

const casesOf = (count: number): string => (count === 1 ? '1 case' : `${count} cases`)

function openBy(requirements: readonly string[], ids: boolean): string {
  if (requirements.length === 0) return 'only observed'
  if (ids || requirements.length <= shownIds) return requirements.join(', ')
  const areas = new Map<string, number>()
  for (const id of requirements) {
    const area = id.split('/')[0] ?? id
    areas.set(area, (areas.get(area) ?? 0) + 1)
  }
  return `${requirements.length} requirements of ${[...areas].map(([area, count]) => `${area} (${count})`).join(', ')}`
}

function heading({ meta }: Report, paint: Paint): string[] {
  const shard = meta.shard === null ? '' : `, shard ${meta.shard}`
  return [
    paint.bold(
      `svc-conformance ${meta.version} against ${meta.target === 'bundled' ? 'the bundled server' : meta.target}`,
    ),
    ...(meta.clock === null ? [] : [meta.clock.sentence]),
    paint.dim(`seed ${meta.seed}, Node ${meta.node.replace(/^v/, '')}${shard}`),
  ]
}

/** Failures by cause, the first of each in full. */
function failures(report: Report, paint: Paint): string[][] {
  return groupByCause(report.requirements, casesWith(report, 'failed')).map(({ first, others }, index) => [
    ...failure(report, first, paint, index < fullFailures),
    ...alike(first, others, 'fails like this', paint),
  ])
}

function warnings(report: Report, paint: Paint): string[][] {
  return groupByCause(report.requirements, casesWith(report, 'warned')).map(({ first, others }) => [
    ...failure(report, first, paint, true),
    ...alike(first, others, 'warns like this', paint),
  ])
}

const plural = (what: string): string => what.replace(/^is /, 'are ').replace(/^(fail|warn)s /, '$1 ')

/** The other cases of one cause, and the sentence that each of them breaks where it is another one. */
function alike({ problem }: CaseReport, others: readonly CaseReport[], what: string, paint: Paint): string[] {
  if (others.length === 0) return []
  const said = problem?.requirements ?? []
  const lines = others.map((testCase) => {
    const more = (testCase.problem?.requirements ?? []).filter((id) => !said.includes(id))
    return `${testCase.key}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
  })
  const count = others.length === 1 ? `one more case ${what}` : `${others.length} more cases ${plural(what)}`
  return [`  Also    ${count}:`, ...listed(lines, paint)]
}

function listed(lines: readonly string[], paint: Paint): string[] {
  const shown = lines.slice(0, shownAlike)
  if (lines.length > shownAlike) shown.push(`and ${lines.length - shownAlike} more`)
  return shown.flatMap((line) => paint.hanging('          ', line))
}

function failure(report: Report, testCase: CaseReport, paint: Paint, full: boolean): string[] {
  const title = `${glyphs[testCase.verdict]} ${testCase.key}`
  const painted = testCase.verdict === 'failed' ? paint.red(title) : paint.yellow(title)
  const said = explainCase(report, testCase)
  if (said === null) return [painted, `  ${testCase.title}`]
  if (!full) return [painted, ...paint.hanging('  ', said.but)]
  return [
    painted,
    ...paint.hanging('  ', testCase.title),
    // A case that only observes proves no sentence.
    ...(said.sentences.length === 0 ? [] : ['']),
    ...said.sentences.flatMap(({ level, id, text, anchor }) => [
      ...paint.hanging(`  ${level}  `, `${id}: ${text}`),
      paint.dim(`${' '.repeat(level.length + 4)}${anchor}`),
    ]),
    '',
    ...(said.at === '' ? [] : paint.hanging('  At    ', said.where === null ? said.at : `${said.at} (${said.where})`)),
    ...paint.hanging('  But   ', said.but),
    ...(said.hint === null ? [] : paint.hanging('  Hint  ', said.hint)),
    ...said.exchanges.flatMap(({ request, answer }) => [
      '',
      ...request.map((line) => paint.dim(`  > ${line}`)),
      ...answer.map((line) => paint.dim(`  < ${line}`)),
    ]),
    '',
    `  Again   ${testCase.again}`,
  ]
}

/** One cause often blocks many cases: it is told once, what blocks most first. */
function blocked(report: Report, paint: Paint): string[][] {
  const cases = casesWith(report, 'blocked')
  const blockers = new Set(cases.flatMap(({ blockedBy }) => blockedBy ?? []))
  const byFailures = [...blockers].map((blocker) => {
    const mine = cases.filter(({ blockedBy }) => blockedBy === blocker)
    const count = `${casesOf(mine.length)} ${mine.length === 1 ? 'is' : 'are'}`
    const title = paint.yellow(`${glyphs.blocked} ${count} blocked by the failure of ${blocker}`)
    return [
      title,
      ...listed(
        mine.map(({ key }) => key),
        paint,
      ),
    ]
  })
  const causes = groupByCause(
    report.requirements,
    cases.filter(({ blockedBy }) => blockedBy === null),
  )
  const byThemselves = causes
    .sort((one, other) => other.others.length - one.others.length)
    .map(({ first, others }) => {
      const notRun = notRunBecause(first)
      if (notRun !== null) return unrun([first, ...others], notRun, paint)
      return [...failure(report, first, paint, true), ...alike(first, others, 'is blocked by the same', paint)]
    })
  return [...byFailures, ...byThemselves]
}

/** Nothing about these cases helps with anything: the run ended before them. */
function unrun(cases: readonly CaseReport[], reason: string, paint: Paint): string[] {
  const count = `${casesOf(cases.length)} ${cases.length === 1 ? 'was' : 'were'}`
  return [
    ...paint.hanging(`${glyphs.blocked} `, `${count} not run: ${reason}`).map(paint.yellow),
    ...listed(
      cases.map(({ key }) => key),
      paint,
    ),
  ]
}

function known(report: Report, paint: Paint): string[] {
  const cases = casesWith(report, 'known')
  if (cases.length === 0) return []
  return [
    paint.bold('Known failures'),
    ...cases.flatMap((testCase) =>
      paint.hanging(
        `  ${glyphs.known} `,
        `${testCase.key}: ${testCase.known?.reason ?? ''}${testCase.known?.issue ? ` (${testCase.known.issue})` : ''}`,
      ),
    ),
  ]
}

function stale(report: Report, paint: Paint): string[] {
  if (report.stale.length === 0) return []
  return [
    paint.red('Stale baseline entries: listed, but they pass'),
    ...report.stale.map((entry) => {
      const name = entry.case === undefined ? '' : `, case "${entry.case}"`
      return `  ✗ ${entry.scenario}${name}${entry.requirement === undefined ? '' : `, ${entry.requirement}`}`
    }),
  ]
}

function areas(report: Report, paint: Paint): string[] {
  const all = countAreas(report.requirements)
  const totals = countVerdicts(report.requirements)
  const shown = verdictOrder.toReversed().filter((verdict) => verdict === 'passed' || totals[verdict] > 0)
  const cases = all.map(({ area, total, counts }) => [area, total, ...shown.map((verdict) => counts[verdict])])
  const foot = ['all', report.requirements.length, ...shown.map((verdict) => totals[verdict])]
  const [head, ...body] = table([['Requirements', 'of', ...shown.map(words)], ...cases, foot], '')
  return [paint.bold(head ?? ''), ...body]
}

/** What --only leaves out is a number: its ids would stand between the reader and the one case that was asked. */
function notTestable(report: Report, paint: Paint): string[][] {
  const all = groupNotTestable(report)
  const groups = all.filter((group) => !group.notSelectedByOnly)
  const unselected = all.filter((group) => group.notSelectedByOnly).flatMap(({ ids }) => ids).length
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
  const count = unselected === 1 ? '1 requirement' : `${unselected} requirements`
  return unselected === 0 ? sections : [...sections, [paint.dim(`Not selected by --only: ${count}`)]]
}

function observations(report: Report, paint: Paint): string[] {
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

function left(report: Report, paint: Paint): string[] {
  if (report.left.length === 0) return []
  return [paint.yellow('Left on the target'), ...report.left.map((line) => `  ${line}`)]
}

function conclusion(report: Report, paint: Paint): string[] {
  const paintVerdict = report.exitCode !== 0 ? paint.red : report.verdict === 'conforms' ? paint.green : paint.yellow
  const seconds = (report.meta.durationMs / 1000).toFixed(1)
  return [
    `${casesOf(report.cases.length)} in ${seconds} s: ${summarySentence(report)}`,
    paint.bold(paintVerdict(verdictLine(report))),
    ...report.conclusion.flatMap((line) => paint.hanging(line.startsWith('  ') ? '    ' : '  ', line.trimStart())),
  ]
}
