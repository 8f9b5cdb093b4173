import type { Verdict } from '../outcome.ts'
import {
  countAreas,
  countVerdicts,
  explainRow,
  groupByCause,
  groupNotTestable,
  openHeadings,
  rowsWith,
  summarySentence,
} from './explain.ts'
import { type Colours, colours, hanging, table } from './lines.ts'
import type { Plan, Report, RowReport } from './model.ts'
import { printable } from './printable.ts'

/** So many failures are told in full; a server with more of them has one cause or two. */
const fullFailures = 30
const shownObservation = 80

/**
 * The report for people: failures first, each with its sentence and bytes, then what is open, then the verdict.
 *
 * @param options `colour`: for a terminal only
 */
export function renderText(raw: Report, options: { colour: boolean }): string {
  const report = printable(raw)
  const paint = colours(options.colour)
  const sections = [
    heading(report, paint),
    ...failures(report, paint),
    ...blocked(report, paint),
    ...rowsWith(report, 'warned').map((row) => failure(report, row, paint, true)),
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

/** What a run will do, before it does it. */
export function renderPlan(plan: Plan): string {
  const lines = [
    `Plan: ${plan.rows} rows, about ${plan.calls} calls, ${plan.refusals} of them meant to be refused`,
    ...(plan.refusals > 0 ? ['  The refusals may look like an attack in the log of the server'] : []),
    ...(plan.notSelected > 0 ? [`  ${plan.notSelected} rows are not selected`] : []),
    plan.creates.length === 0 ? 'Creates nothing that lasts' : `Creates: ${plan.creates.join(', ')}`,
  ]
  if (plan.cannot.length > 0) lines.push('Cannot show:')
  for (const { reason, requirements } of plan.cannot)
    lines.push(...hanging('  ', `${reason}: ${requirements.join(', ')}`))
  return `${lines.join('\n')}\n`
}

function heading({ meta }: Report, paint: Colours): string[] {
  const shard = meta.shard === null ? '' : `, shard ${meta.shard}`
  return [
    paint.bold(
      `svc-conformance ${meta.version} against ${meta.target === 'bundled' ? 'the bundled server' : meta.target}`,
    ),
    ...(meta.clock === null ? [] : [meta.clock.sentence]),
    paint.dim(`seed ${meta.seed}, Node ${meta.node.replace(/^v/, '')}${shard}`),
  ]
}

const marks: { [verdict in Verdict]: string } = {
  passed: '✓',
  failed: '✗',
  warned: '!',
  blocked: '■',
  known: '~',
  'not-testable': '-',
}

/** A hint that was given already, with its bytes, is only pointed at: many failures often have one cause. */
function failures(report: Report, paint: Colours): string[][] {
  const hinted = new Map<string, string>()
  return rowsWith(report, 'failed').map((row, index) => {
    const hint = row.problem?.hint
    const earlier = hint === undefined ? undefined : hinted.get(hint)
    if (hint !== undefined && earlier === undefined) hinted.set(hint, row.key)
    if (row.problem === null || earlier === undefined) return failure(report, row, paint, index < fullFailures)
    const problem = { ...row.problem, hint: `As for ${earlier}`, exchanges: [] }
    return failure(report, { ...row, problem }, paint, index < fullFailures)
  })
}

function failure(report: Report, row: RowReport, paint: Colours, full: boolean): string[] {
  const title = `${marks[row.verdict]} ${row.key}`
  const painted = row.verdict === 'failed' ? paint.red(title) : paint.yellow(title)
  const told = explainRow(report, row)
  if (told === null) return [painted, `  ${row.title}`]
  if (!full) return [painted, ...hanging('  ', told.but)]
  return [
    painted,
    ...hanging('  ', row.title),
    '',
    ...told.sentences.flatMap(({ level, id, text, anchor }) => [
      ...hanging(`  ${level}  `, `${id}: ${text}`),
      paint.dim(`${' '.repeat(level.length + 4)}${anchor}`),
    ]),
    '',
    ...hanging('  At    ', told.where === null ? told.at : `${told.at} (${told.where})`),
    ...hanging('  But   ', told.but),
    ...(told.hint === null ? [] : hanging('  Hint  ', told.hint)),
    ...told.exchanges.flatMap(({ request, answer }) => [
      '',
      ...request.map((line) => paint.dim(`  > ${line}`)),
      ...answer.map((line) => paint.dim(`  < ${line}`)),
    ]),
    '',
    `  Again   ${row.again}`,
  ]
}

/** One cause often blocks many rows: it is told once. */
function blocked(report: Report, paint: Colours): string[][] {
  return groupByCause(rowsWith(report, 'blocked')).map(({ rows }) => {
    const [first, ...others] = rows
    if (first === undefined) return []
    const told = failure(report, first, paint, true)
    if (others.length === 0) return told
    const keys = others.map((row) => row.key)
    const shown = keys.slice(0, 6).join(', ')
    const more = keys.length > 6 ? `, and ${keys.length - 6} more` : ''
    return [...told, ...hanging('  Also  ', `blocked by the same: ${shown}${more}`)]
  })
}

function known(report: Report, paint: Colours): string[] {
  const rows = rowsWith(report, 'known')
  if (rows.length === 0) return []
  return [
    paint.bold('Known failures'),
    ...rows.flatMap((row) =>
      hanging(
        `  ${marks.known} `,
        `${row.key}: ${row.known?.reason ?? ''}${row.known?.issue ? ` (${row.known.issue})` : ''}`,
      ),
    ),
  ]
}

function stale(report: Report, paint: Colours): string[] {
  if (report.stale.length === 0) return []
  return [
    paint.red('Stale baseline entries: listed, but they pass'),
    ...report.stale.map((entry) => {
      const row = entry.row === undefined ? '' : `, row "${entry.row}"`
      return `  ✗ ${entry.scenario}${row}${entry.requirement === undefined ? '' : `, ${entry.requirement}`}`
    }),
  ]
}

function areas(report: Report, paint: Colours): string[] {
  const all = countAreas(report.requirements)
  const order: Verdict[] = ['passed', 'warned', 'known', 'not-testable', 'blocked', 'failed']
  const totals = countVerdicts(report.requirements)
  const shown = order.filter((verdict) => verdict === 'passed' || totals[verdict] > 0)
  const rows = all.map(({ area, total, counts }) => [area, total, ...shown.map((verdict) => counts[verdict])])
  const foot = ['all', report.requirements.length, ...shown.map((verdict) => totals[verdict])]
  const [head, ...body] = table([['Requirements', 'of', ...shown], ...rows, foot], '')
  return [paint.bold(head ?? ''), ...body]
}

function notTestable(report: Report, paint: Colours): string[][] {
  const groups = groupNotTestable(report)
  const kinds = [...new Set(groups.map(({ kind }) => kind))]
  return kinds.map((kind) => [
    paint.bold(openHeadings[kind]),
    ...groups
      .filter((group) => group.kind === kind)
      .flatMap(({ reason, ids }) => [...hanging('  - ', reason), ...hanging('      ', ids.join(', ')).map(paint.dim)]),
  ])
}

function observations(report: Report, paint: Colours): string[] {
  if (report.observations.length === 0) return []
  const rows = report.observations.map(({ question, answer }) => [question, answer.slice(0, shownObservation)])
  return [paint.bold('Open questions observed (never judged)'), ...table(rows)]
}

function left(report: Report, paint: Colours): string[] {
  if (report.left.length === 0) return []
  return [paint.yellow('Left on the target'), ...report.left.map((line) => `  ${line}`)]
}

function conclusion(report: Report, paint: Colours): string[] {
  const [verdict = '', ...because] = report.conclusion
  const paintVerdict = report.exitCode === 1 ? paint.red : report.verdict === 'conforms' ? paint.green : paint.yellow
  const seconds = (report.meta.durationMs / 1000).toFixed(1)
  return [
    `${report.scenarios.length} rows in ${seconds} s: ${summarySentence(report)}`,
    paint.bold(paintVerdict(verdict)),
    ...because.flatMap((line) => hanging(line.startsWith('  ') ? '    ' : '  ', line.trimStart())),
  ]
}
