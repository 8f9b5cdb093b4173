/** The report about a client in every format that people read, and as a list of tests for the others. */
import { counted, fewOf, groupBy } from '../engine/group.ts'
import { type Printable, printable, printed, vouchedFor } from '../engine/printable.ts'
import { type ReportedTest, type TestRun, testOfStale, textOf } from '../report/formats.ts'
import { renderToldHtml } from '../report/html.ts'
import { joinSections, type Paint, paintOf } from '../report/lines.ts'
import { renderToldMarkdown } from '../report/markdown.ts'
import { areaOf, exchangeLines, nothingTold, type Told, verdictLine } from '../report/tell.ts'
import { blockOf } from '../report/text.ts'
import { glyphs, knownWords } from '../report/verdict-words.ts'
import type { CheckReport, ClientReport } from './report.ts'

/** How many mistakes are reported in full. */
const fullChecks = 20
const shownStderrLines = 6
const shownScenarios = 3

/** The verdicts of the report about a server, whose words, signs and colours this report shares. */
const verdictOf = ({ verdict, known }: CheckReport) =>
  known !== null ? 'known' : verdict === 'not-exercised' ? 'not-testable' : verdict

/** A check as every format shows it. @param most how many pieces of evidence and names of scenarios are shown */
function tellCheck(check: CheckReport, most: { evidence?: number; scenarios?: number } = {}): Told {
  const { id, title, level, sentence, source, verdict, known, message, scenarios, evidence, again } = check
  const isWrong = verdict === 'failed' || verdict === 'warned'
  const mine = evidence.slice(0, most.evidence)
  return {
    ...nothingTold,
    verdict: verdictOf(check),
    id,
    title,
    sentences: [{ level: level.toUpperCase(), id: '', text: sentence, anchor: source }],
    facts: [
      { label: isWrong ? 'But' : 'Shown', text: message },
      ...(scenarios.length === 0 ? [] : [{ label: 'In', text: fewOf(scenarios, most.scenarios ?? scenarios.length) }]),
      ...mine.slice(1).map((one) => ({ label: 'Also', text: `${one.scenario}: ${one.message}` })),
      ...mine.flatMap(({ diagnosis }) => diagnosis.map((text) => ({ label: 'Diagnosis', text }))),
    ],
    known: known === null ? null : knownWords(known),
    exchanges: mine.flatMap(({ scenario, exchanges }) =>
      exchanges.map(({ number, atMs, connection, faults, request, answer }) => {
        const spoilt = faults.length === 0 ? '' : `, fault: ${faults.join(', ')}`
        const head = `${scenario}: request ${number}, ${atMs} ms after the start, connection ${connection}${spoilt}`
        return [head, ...exchangeLines({ request, answer })]
      }),
    ),
    again,
  }
}

/** Failed ones first, then warned ones, then known ones. */
function wrongChecks({ checks }: ClientReport): CheckReport[] {
  const order = ['failed', 'warned', 'known']
  return checks
    .filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
    .sort((one, other) => order.indexOf(verdictOf(one)) - order.indexOf(verdictOf(other)))
}

/** What was judged; without a command, every client that called. */
const clientOf = ({ command }: Pick<ClientReport['meta'], 'command'>): string => command ?? 'all callers'

/** `svc-conformance 1.2.3 judged node client.mjs: 12 scenarios in 3.1 s`. */
function headingOf({ meta, scenarios }: ClientReport): string {
  const seconds = (meta.durationMs / 1000).toFixed(1)
  return `svc-conformance ${meta.version} judged ${clientOf(meta)}: ${counted(scenarios.length, 'scenario')} in ${seconds} s`
}

/** `37 checks: 2 passed, 1 failed, 34 not exercised`. */
function summaryOf({ passed, failed, warned, notExercised, known, stale }: ClientReport['summary']): string {
  const found = Object.entries({ failed, warned, known, stale })
    .filter(([, number]) => number > 0)
    .map(([word, number]) => `${number} ${word}`)
  const all = passed + failed + warned + notExercised + known
  return `${counted(all, 'check')}: ${[`${passed} passed`, ...found, `${notExercised} not exercised`].join(', ')}`
}

/** The report for people: first what is wrong, with its sentences and exchanges, then the verdict. */
export function renderText(raw: ClientReport, options: { colour: boolean; columns?: number | undefined }): Printable {
  const report = printed(raw)
  const paint = paintOf(options.colour, options.columns)
  const wrong = wrongChecks(report)
  const colour = report.exitCode === 0 ? paint.green : paint.red
  const sections = [
    [headingOf(report)],
    ...wrong
      .slice(0, fullChecks)
      .map((check) => blockOf(tellCheck(check, { evidence: 1, scenarios: shownScenarios }), paint)),
    wrong.length > fullChecks ? [`and ${wrong.length - fullChecks} more checks; --only ID shows one`] : [],
    endings(raw, paint),
    report.stale.map(({ check }) => paint.red(`Stale baseline entry: ${check} passes now`)),
    [...groupBy(report.checks, ({ id }) => areaOf(id))].map(([area, mine]) =>
      paint.hanging(`  ${area.padEnd(10)} `, mine.map(wordOf).join('  ')).join('\n'),
    ),
    [
      summaryOf(report.summary),
      colour(paint.bold(verdictLine(report))),
      ...report.conclusion.map((line) => `  ${line}`),
    ],
  ]
  return vouchedFor(joinSections(sections))
}

const wordOf = (check: CheckReport): string =>
  `${glyphs[verdictOf(check)]} ${check.id.split('/')[1]}`.replaceAll(' ', '\u00a0')

/** The first start that ended badly, with the client's own output. */
function endings({ scenarios }: ClientReport, paint: Paint): string[] {
  const bad = scenarios.filter(({ stderr, ended }) => stderr !== '' || ended.some((one) => one !== 'exit code 0'))
  const [first] = bad
  if (first === undefined) return []
  const { id, stderr, ended } = first
  const more = bad.length > 1 ? ` (and in ${bad.length - 1} more)` : ''
  const output = stderr === '' ? 'it wrote nothing to stderr' : 'its stderr ends with:'
  const how = [...new Set(ended)].join(', then ')
  const lines = stderr === '' ? [] : stderr.split('\n').slice(-shownStderrLines)
  return [
    printable(`In ${id}${more} the client ended with ${how}; ${output}`),
    ...lines.map((line) => paint.dim(`  ${printable(line)}`)),
  ]
}

/** The report for a job summary or a pull request, with details of what is wrong. */
export function renderMarkdown(raw: ClientReport): Printable {
  const report = printed(raw)
  return renderToldMarkdown({
    ...tellReport(report),
    told: wrongChecks(report).map((check) => tellCheck(check, { evidence: 1 })),
    table: {
      title: 'Every check',
      head: ['check', 'level', 'verdict'],
      rows: report.checks.map(({ id, level, verdict, known }) => [id, level, known === null ? verdict : 'known']),
    },
  })
}

/** One self-contained page without a script; its own policy forbids the network. */
export function renderHtml(raw: ClientReport): Printable {
  const report = printed(raw)
  const wrong = wrongChecks(report)
  const rest = report.checks.filter((check) => !wrong.includes(check))
  return renderToldHtml({
    ...tellReport(report),
    told: [...wrong, ...rest].map((check) => tellCheck(check)),
    table: {
      title: 'Scenarios',
      head: ['scenario', 'what happens', 'requests', 'accepted', 'ok', 'error', 'ended with'],
      rows: report.scenarios.map(({ id, about, requests, accepted, ok, error, ended }) => [
        ...[id, about, requests, accepted, ok, error],
        ended.join(', then '),
      ]),
    },
  })
}

function tellReport(report: ClientReport) {
  const { meta, verdict, exitCode, conclusion, summary, stale } = report
  return {
    title: meta.command ?? 'Clients',
    heading: headingOf(report),
    summary: summaryOf(summary),
    verdict,
    exitCode,
    conclusion,
    stale: stale.map(({ check, reason }) => `${check} passes now (${reason})`),
    made: `svc-conformance ${meta.version}, Node ${meta.node}, ${meta.started}`,
  }
}

/** One test for each check and each stale baseline entry. */
export function testRun(raw: ClientReport): TestRun {
  const { meta, verdict, exitCode, summary, checks, stale } = printed(raw)
  const { version, started, durationMs } = meta
  return {
    version,
    target: clientOf(meta),
    started,
    durationMs,
    shard: null,
    exitCode,
    tests: [...checks.map(testOfCheck), ...stale.map(({ check, reason }) => testOfStale(check, reason))],
    extra: { verdict, exitCode, summary },
  }
}

function testOfCheck(check: CheckReport): ReportedTest {
  const { id, title, known, verdict, message } = check
  const isExercised = verdict !== 'not-exercised'
  return {
    id,
    name: title,
    outcome: known === null && isExercised ? verdict : 'skipped',
    verdict: known === null ? verdict : 'known',
    suite: id.split('/'),
    durationMs: 0,
    message: known !== null ? `Known: ${known.reason}` : isExercised ? message : `Not exercised: ${message}`,
    text: textOf(tellCheck(check)),
  }
}
