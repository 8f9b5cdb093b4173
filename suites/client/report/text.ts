import { counted, fewOf, groupBy } from '../../engine/group.ts'
import { type Printable, printable, printed, vouchedFor } from '../../engine/printable.ts'
import { areaOf, verdictLine } from '../../report/explain.ts'
import { joinSections, type Paint, paintOf } from '../../report/lines.ts'
import type { CheckEvidence, CheckReport, ClientReport, ScenarioReport, ShownExchange } from './client-report.ts'

/** How many mistakes are reported in full. */
const fullChecks = 20
const shownStderrLines = 6
const shownScenarios = 3

/** The report for people: first what is wrong, with its sentences and exchanges, then the verdict. */
export function renderText(raw: ClientReport, options: { colour: boolean; columns?: number | undefined }): Printable {
  const report = printed(raw)
  const paint = paintOf(options.colour, options.columns)
  const wrong = wrongChecks(report)
  const sections = [
    [headingOf(report)],
    ...wrong.slice(0, fullChecks).map((check) => wrongCheck(check, paint)),
    wrong.length > fullChecks ? [`and ${wrong.length - fullChecks} more checks; --only ID shows one`] : [],
    ...endings(raw, paint),
    report.stale.map(({ check }) => paint.red(`Stale baseline entry: ${check} passes now`)),
    table(report, paint),
    conclusion(report, paint),
  ]
  return vouchedFor(joinSections(sections))
}

/** Failed ones first, then warned ones, then known ones. */
export function wrongChecks({ checks }: ClientReport): CheckReport[] {
  const rank = ({ known, verdict }: CheckReport): number => (known !== null ? 2 : verdict === 'failed' ? 0 : 1)
  return checks
    .filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
    .sort((one, other) => rank(one) - rank(other))
}

/** What was judged; without a command, every client that called. */
export const clientOf = ({ command }: Pick<ClientReport['meta'], 'command'>): string => command ?? 'all callers'

/** `svc-conformance 1.2.3 judged node client.mjs: 12 scenarios in 3.1 s`. */
export function headingOf({ meta, scenarios }: ClientReport): string {
  const seconds = (meta.durationMs / 1000).toFixed(1)
  return `svc-conformance ${meta.version} judged ${clientOf(meta)}: ${counted(scenarios.length, 'scenario')} in ${seconds} s`
}

function wrongCheck(check: CheckReport, paint: Paint): string[] {
  const { id, title, level, sentence, source, evidence, verdict, known, scenarios } = check
  const mark = known !== null ? paint.yellow('~') : verdict === 'failed' ? paint.red('✗') : paint.yellow('!')
  const [first] = evidence
  return [
    `${mark} ${paint.bold(id)}`,
    `  ${title}`,
    '',
    ...paint.hanging(`  ${level.toUpperCase().padEnd(9)} `, sentence),
    paint.dim(`            ${source}`),
    '',
    ...paint.hanging('  But       ', check.message),
    ...(known === null ? [] : paint.hanging('  Known     ', known.reason)),
    ...paint.hanging('  In        ', fewOf(scenarios, shownScenarios)),
    ...(first === undefined ? [] : evidenceLines(first, paint)),
    '',
    `  Again     ${check.again}`,
  ]
}

function evidenceLines({ exchanges, diagnosis }: CheckEvidence, paint: Paint): string[] {
  return [
    ...diagnosis.flatMap((line) => paint.hanging('  Diagnosis ', line)),
    ...exchanges.flatMap((exchange) => ['', ...exchangeLines(exchange).map((line) => `  ${line}`)]),
  ]
}

/** `#3 at 120 ms on connection 1`, then both sides. */
export function exchangeLines({ number, atMs, connection, faults, request, answer }: ShownExchange): string[] {
  const spoilt = faults.length === 0 ? '' : `, fault: ${faults.join(', ')}`
  return [
    `request ${number}, ${atMs} ms after the start, connection ${connection}${spoilt}`,
    ...request.map((line) => `> ${line}`),
    ...answer.map((line) => `< ${line}`),
  ]
}

/** Starts that ended badly, with the client's own output. */
function endings({ scenarios }: ClientReport, paint: Paint): string[][] {
  const bad = scenarios.filter(
    (scenario) => scenario.stderr !== '' || scenario.ended.some((one) => one !== 'exit code 0'),
  )
  const [first] = bad
  if (first === undefined) return []
  const more = bad.length > 1 ? ` (and in ${bad.length - 1} more)` : ''
  const output = first.stderr === '' ? 'it wrote nothing to stderr' : 'its stderr ends with:'
  const sentence = printable(`In ${first.id}${more} the client ended with ${endingOf(first)}; ${output}`)
  return [[sentence, ...stderrLines(first).map((line) => paint.dim(`  ${line}`))]]
}

const endingOf = ({ ended }: ScenarioReport): string => [...new Set(ended)].join(', then ')

const stderrLines = ({ stderr }: ScenarioReport): string[] =>
  stderr === ''
    ? []
    : stderr
        .split('\n')
        .slice(-shownStderrLines)
        .map((line) => printable(line))

function table({ checks }: ClientReport, paint: Paint): string[] {
  return [...groupBy(checks, ({ id }) => areaOf(id))].map(([area, mine]) =>
    paint.hanging(`  ${area.padEnd(10)} `, mine.map(wordOf).join('  ')).join('\n'),
  )
}

const marks = { passed: '✓', failed: '✗', warned: '!', 'not-exercised': '–' } as const

const wordOf = ({ id, verdict, known }: CheckReport): string =>
  `${known === null ? marks[verdict] : '~'} ${id.split('/')[1]}`.replaceAll(' ', '\u00a0')

function conclusion(report: ClientReport, paint: Paint): string[] {
  const colour = report.exitCode === 0 ? paint.green : paint.red
  const lines = report.conclusion.map((line) => `  ${line}`)
  return [summaryOf(report.summary), colour(paint.bold(verdictLine(report))), ...lines]
}

/** `37 checks: 2 passed, 1 failed, 34 not exercised`. */
export function summaryOf({ passed, failed, warned, notExercised, known, stale }: ClientReport['summary']): string {
  const parts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warned > 0 ? [`${warned} warned`] : []),
    ...(known > 0 ? [`${known} known`] : []),
    ...(stale > 0 ? [`${stale} stale`] : []),
    `${notExercised} not exercised`,
  ]
  const all = passed + failed + warned + notExercised + known
  return `${counted(all, 'check')}: ${parts.join(', ')}`
}
