/** The report about a client as the document that every format for people lays out, and as a list of tests for the others. */
import { counted, fewOf, groupBy } from '../engine/group.ts'
import { printed } from '../engine/printable.ts'
import { type Block, conclusionItems, type Document, fact, soft, type Told } from '../report/document.ts'
import { type ReportedTest, renderersOf, type TestRun, testOfStale } from '../report/formats.ts'
import { htmlOfDocument } from '../report/html.ts'
import { areaOf, exchangeLines, staleBlock } from '../report/tell.ts'
import { unwrappedText } from '../report/text.ts'
import { glyphs, knownWords } from '../report/verdict-words.ts'
import type { ClientReport } from './report.ts'

type CheckReport = ClientReport['checks'][number]

const shownStderrLines = 6
const shownScenarios = 3

/** The report in every format. What is not wrong is told on the page only. */
export const clientRenderers = renderersOf<ClientReport>({
  document: (report) => tellClient(printed(report), { all: false }),
  page: (report) => htmlOfDocument(tellClient(printed(report), { all: true })),
  tests: testRun,
})

function tellClient(report: ClientReport, { all }: { all: boolean }): Document {
  const { meta, verdict, exitCode, conclusion, summary, stale, checks, scenarios } = report
  const order = ['failed', 'warned', 'known', ...(all ? ['passed', 'not-testable'] : [])]
  const told = checks
    .filter((check) => order.includes(verdictOf(check)))
    .sort((one, other) => order.indexOf(verdictOf(one)) - order.indexOf(verdictOf(other)))
  const areas = [...groupBy(checks, ({ id }) => areaOf(id))].map(([area, mine]) =>
    fact(area, mine.map(wordOf).join('  ')),
  )
  const rows = scenarios.map(({ id, about, requests, accepted, ok, error, ended }) => [
    ...[id, about, requests, accepted, ok, error],
    ended.join(', then '),
  ])
  return {
    title: clientOf(meta),
    verdict,
    exitCode,
    head: [
      `svc-conformance ${meta.version} judged ${clientOf(meta)}: ${counted(scenarios.length, 'scenario')} in ${(meta.durationMs / 1000).toFixed(1)} s`,
      `Node ${meta.node}, ${meta.started}`,
    ],
    summary: summaryOf(summary),
    problems: [],
    conclusion: conclusionItems(conclusion),
    told: told.map((check) => tellCheck(check, all ? {} : { evidence: 1, scenarios: shownScenarios })),
    overview: [],
    rest: [
      endings(scenarios),
      staleBlock(stale.map(({ check, reason }) => `${check} passes now (${reason})`)),
      { kind: 'facts', heading: 'Checks', items: areas.flat() },
      {
        kind: 'table',
        heading: 'Scenarios',
        folded: '',
        head: ['scenario', 'what happens', 'requests', 'accepted', 'ok', 'error', 'ended with'],
        rows,
      },
    ],
  }
}

/** The verdicts of the report about a server, whose words, signs and colours this report shares. */
const verdictOf = ({ verdict, known }: CheckReport) =>
  known !== null ? 'known' : verdict === 'not-exercised' ? 'not-testable' : verdict

const wordOf = (check: CheckReport): string =>
  `${glyphs[verdictOf(check)]} ${check.id.split('/')[1]}`.replaceAll(' ', '\u00a0')

/** What was judged; without a command, every client that called. */
const clientOf = ({ command }: Pick<ClientReport['meta'], 'command'>): string => command ?? 'all callers'

/** `37 checks: 2 passed, 1 failed, 34 not exercised`. */
function summaryOf({ passed, failed, warned, notExercised, known, stale }: ClientReport['summary']): string {
  const found = Object.entries({ failed, warned, known, stale })
    .filter(([, number]) => number > 0)
    .map(([word, number]) => `${number} ${word}`)
  const all = passed + failed + warned + notExercised + known
  return `${counted(all, 'check')}: ${[`${passed} passed`, ...found, `${notExercised} not exercised`].join(', ')}`
}

/** A check as every format shows it. @param most how many pieces of evidence and names of scenarios are shown */
function tellCheck(check: CheckReport, most: { evidence?: number; scenarios?: number } = {}): Told {
  const { id, title, level, sentence, source, verdict, known, message, scenarios, evidence, again } = check
  const isWrong = verdict === 'failed' || verdict === 'warned'
  const mine = evidence.slice(0, most.evidence)
  const facts = [
    ...fact(isWrong ? 'But' : 'Shown', message),
    ...fact('In', scenarios.length > 0 && fewOf(scenarios, most.scenarios ?? scenarios.length)),
    ...mine.slice(1).flatMap((one) => fact('Also', `${one.scenario}: ${one.message}`)),
    ...mine.flatMap(({ diagnosis }) => diagnosis.flatMap((text) => fact('Diagnosis', text))),
    ...fact('Known', known && knownWords(known)),
  ]
  const exchanges = mine.flatMap(({ scenario, exchanges }) =>
    exchanges.map(({ number, atMs, connection, faults, ...lines }): Block => {
      const spoilt = faults.length === 0 ? '' : `, fault: ${faults.join(', ')}`
      const head = `${scenario}: request ${number}, ${atMs} ms after the start, connection ${connection}${spoilt}`
      return { kind: 'code', label: 'Exchange', lines: [head, ...exchangeLines(lines)] }
    }),
  )
  return {
    kind: 'told',
    verdict: verdictOf(check),
    id,
    title,
    message,
    blocks: [
      { kind: 'facts', items: fact(level.toUpperCase(), sentence, [soft(source)]) },
      { kind: 'facts', items: facts },
      ...exchanges,
      { kind: 'command', label: 'Again', command: again },
    ],
  }
}

/** The first start that ended badly, with the client's own output. */
function endings(scenarios: ClientReport['scenarios']): Block {
  const bad = scenarios.filter(({ stderr, ended }) => stderr !== '' || ended.some((one) => one !== 'exit code 0'))
  const [first] = bad
  if (first === undefined) return { kind: 'lines', lines: [] }
  const { id, stderr, ended } = first
  const more = bad.length > 1 ? ` (and in ${bad.length - 1} more)` : ''
  const output = stderr === '' ? 'it wrote nothing to stderr' : 'its stderr ends with:'
  const heading = `In ${id}${more} the client ended with ${[...new Set(ended)].join(', then ')}; ${output}`
  const lines = stderr === '' ? [] : stderr.split('\n').slice(-shownStderrLines)
  return { kind: 'lines', lines: [heading, ...lines] }
}

/** One test for each check and each stale baseline entry. */
function testRun(raw: ClientReport): TestRun {
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
    text: unwrappedText(tellCheck(check)),
  }
}
