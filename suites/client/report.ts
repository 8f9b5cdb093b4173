/** The report about a client: what each check shows, its verdict and exit code, the sentences that explain both, and every format of it. */

import { interruptedExitCode } from '../engine/errors.ts'
import { counted, fewOf, groupBy } from '../engine/group.ts'
import { demand } from '../engine/language/schemas.ts'
import { readYaml, suggestion } from '../engine/language/yaml-source.ts'
import { printed } from '../engine/printable.ts'
import { createRedactor, type Redactor, redactExchange } from '../engine/redact.ts'
import { visibleLines } from '../engine/signer/bytes.ts'
import type { Exchange as ShownLines } from '../engine/target.ts'
import { type Block, conclusionItems, type Document, fact, soft, type Told } from '../report/document.ts'
import { renderersOf, type TestRun, testOfTold } from '../report/formats.ts'
import type { Meta, RunVerdict } from '../report/report.ts'
import { areaOf, exchangeBlocks, staleBlock } from '../report/tell.ts'
import { shellWord, unwrappedText } from '../report/text.ts'
import { glyphs, knownWords } from '../report/verdict-words.ts'
import { type Exchange, type Journal, type Request, readJournal, type Start, type Story } from './journal.ts'
import { checks as allChecks, type CheckResult, type selectChecks } from './judge.ts'

type Selected = ReturnType<typeof selectChecks>

/** As every format prints it. Plain data: it is also the JSON report (spec/schemas/client-report.schema.json). */
interface ClientReport {
  meta: ClientMeta
  verdict: RunVerdict
  /** The exit code of the process; 130 if it was interrupted. */
  exitCode: 0 | 1 | 130
  summary: {
    passed: number
    /** Failures and warnings that are not in the baseline. */
    failed: number
    warned: number
    notExercised: number
    /** Failed or warned, and listed in the baseline. */
    known: number
    stale: number
  }
  /** Why this verdict, and what would change it. */
  conclusion: string[]
  checks: CheckReport[]
  scenarios: ReturnType<typeof reportScenario>[]
  /** Baseline entries that are listed but pass. */
  stale: ClientKnownEntry[]
}

/** `again` repeats the run; `--only ID` is added to it. */
interface ClientMeta extends Pick<Meta, 'version' | 'started' | 'durationMs' | 'node' | 'again' | 'stopped'> {
  /** The judged command; null: a listening server judged every call. */
  command: string | null
  /** The ways to authorize that were tried. */
  auth: string[]
  /** What `--skip` left out, with reasons. */
  skipped: { id: string; reason: string }[]
}

interface CheckReport extends Omit<CheckResult, 'findings'> {
  evidence: {
    scenario: string
    /** What the client did, and what would be right. */
    message: string
    exchanges: ShownExchange[]
    /** The diagnosis of a signature, line by line. */
    diagnosis: string[]
  }[]
  /** The baseline entry that makes it a known failure. */
  known: Pick<ClientKnownEntry, 'reason' | 'issue'> | null
  /** The command that repeats the scenarios of this check. */
  again: string
}

interface ShownExchange extends ShownLines {
  number: number
  /** Since the first start of the client in this scenario. */
  atMs: number
  connection: number
  /** The deliberate faults that applied to it. */
  faults: string[]
}

/** One entry of a baseline file. */
interface ClientKnownEntry {
  check: string
  /** Only what this scenario shows. */
  scenario?: string
  reason: string
  issue: string | null
  /** An entry that passes sometimes is not stale. */
  sometimes: boolean
}

interface BuildInput {
  meta: ClientMeta
  journals: readonly Journal[]
  /** The results of every check, including those that are not reported. */
  results: readonly CheckResult[]
  selected: Selected
  known: readonly ClientKnownEntry[]
  strict: boolean
}

/** The report about a client. Pure; the same input gives the same report. */
export function buildReport(input: BuildInput): ClientReport {
  const { meta, journals, results, known, strict, selected } = input
  const stories = journals.map(readJournal)
  const redactor = createRedactor(stories.flatMap(({ secrets }) => [...secrets]))
  const reported = results.filter(({ id }) => selected.isReported(id))
  const checks = reported.map((result) => reportCheck(input, result, redactor))
  const stale = known.filter((entry) => isStale(entry, reported))
  const count = (verdict: CheckReport['verdict']): number =>
    checks.filter((check) => check.verdict === verdict && check.known === null).length
  const summary: ClientReport['summary'] = {
    passed: count('passed'),
    failed: count('failed'),
    warned: count('warned'),
    notExercised: count('not-exercised'),
    known: checks.filter((check) => check.known !== null).length,
    stale: stale.length,
  }
  const unknown = unknownBecause(input, stories, summary)
  const [verdict, fromChecks] = verdictOf(summary, meta.stopped !== null || unknown !== null)
  const isWrong = fromChecks === 1 || summary.stale > 0 || (strict && summary.warned > 0)
  return {
    meta: { ...meta, command: meta.command === null ? null : redactor.text(meta.command) },
    verdict,
    exitCode: meta.stopped !== null ? interruptedExitCode : isWrong ? 1 : 0,
    conclusion: conclusionOf(summary, meta.stopped, unknown, strict),
    summary,
    checks,
    scenarios: stories.map((story, at) =>
      reportScenario(selected, story, journals[at]?.exchanges.length ?? 0, redactor),
    ),
    stale,
  }
}

/** How many findings of a check are shown; the rest is counted. */
const shownFindings = 3

function reportCheck(
  { journals, meta, known, selected }: BuildInput,
  result: CheckResult,
  redactor: Redactor,
): CheckReport {
  const { findings, ...shown } = result
  const evidence = findings.slice(0, shownFindings).map(({ scenario, ...finding }) => {
    const { starts, exchanges } = journals.find((one) => one.scenario === scenario) as Journal
    const beginMs = starts?.[0]?.fromMs ?? exchanges[0]?.startedMs ?? 0
    return {
      scenario,
      message: redactor.text(finding.message),
      exchanges: finding.exchanges.map((exchange) => showExchange(exchange, beginMs, redactor)),
      diagnosis: (finding.diagnosis ?? []).map(redactor.text),
    }
  })
  const made = selected.madeFor(shown.id)
  const notShown =
    made.length > 0 ? `The client did nothing that shows it in ${made.join(', ')}` : 'No request of the client shows it'
  return {
    ...shown,
    message: shown.verdict === 'not-exercised' ? notShown : redactor.text(shown.message),
    evidence,
    known: knownReason(known, result),
    again: `${meta.again} --only ${shellWord(shown.id)}`,
  }
}

const covers = (entry: ClientKnownEntry, scenario: string): boolean =>
  entry.scenario === undefined || entry.scenario === scenario

/** The first entry for a check whose findings are all covered by its entries; null if a finding is new, or nothing was found. */
function knownReason(known: readonly ClientKnownEntry[], { id, findings }: CheckResult): CheckReport['known'] {
  const mine = known.filter((entry) => entry.check === id)
  const [first] = mine
  const isKnown = findings.every(({ scenario }) => mine.some((entry) => covers(entry, scenario)))
  return first !== undefined && findings.length > 0 && isKnown ? { reason: first.reason, issue: first.issue } : null
}

/** Whether the check of an entry passes. One that was not exercised says nothing about its entry. */
function isStale(entry: ClientKnownEntry, results: readonly CheckResult[]): boolean {
  const result = results.find(({ id }) => id === entry.check)
  if (result === undefined || result.verdict === 'not-exercised' || entry.sometimes) return false
  return !result.findings.some(({ scenario }) => covers(entry, scenario))
}

/** Why nothing is known about the client; null if something is. */
function unknownBecause(
  { journals, results }: BuildInput,
  stories: readonly Story[],
  summary: ClientReport['summary'],
): string | null {
  const { passed, failed, warned, known } = summary
  if (journals.every(({ exchanges }) => exchanges.length === 0))
    return 'No request of the client reached a server; it must call the URL in SVC_URL'
  if (passed + failed + warned + known === 0) return 'No check was exercised, so nothing is known about this client'
  const documentPassed = results.some(({ level, verdict }) => level === 'document' && verdict === 'passed')
  if (!documentPassed) return 'No check of the document passed, so nothing is known about this client'
  if (failed + known > 0 || stories.some((story) => acceptedOf(story).length > 0)) return null
  return 'No call of the client was accepted, so nothing is known about this client'
}

const acceptedOf = ({ requests }: Story): Request[] => requests.filter(({ outcome }) => outcome === 'accepted')

function verdictOf({ failed, known }: ClientReport['summary'], isOpen: boolean): [RunVerdict, 0 | 1] {
  if (failed > 0) return ['does-not-conform', 1]
  if (isOpen) return ['inconclusive', 1]
  return known > 0 ? ['does-not-conform', 0] : ['conforms', 0]
}

function conclusionOf(
  { failed, warned, known, stale, notExercised }: ClientReport['summary'],
  stopped: string | null,
  unknown: string | null,
  strict: boolean,
): string[] {
  const strictly = strict ? ', which --strict makes fail' : ' (--strict makes them fail)'
  const lines: [isSaid: boolean, line: string | null][] = [
    [stopped !== null, `The run stopped early: ${stopped}`],
    [failed > 0, `${counted(failed, 'check')} of the document failed; each says what is wrong and how to repeat it`],
    [unknown !== null, unknown],
    [warned > 0, `${counted(warned, 'check')} of good practice warned${strictly}`],
    [known > 0, `${counted(known, 'check')} known to fail (baseline)`],
    [stale > 0, `${counted(stale, 'baseline entry passes', 'baseline entries pass')} now: remove what is stale`],
    [notExercised > 0, `${counted(notExercised, 'check')} not exercised: the client did nothing that shows them`],
  ]
  return lines.flatMap(([isSaid, line]) => (isSaid && line !== null ? [line] : []))
}

function reportScenario({ scenarios }: Selected, story: Story, requests: number, redactor: Redactor) {
  const id = story.scenario
  const starts = story.starts ?? []
  const isTroubled = requests === 0 || starts.some(({ ended }) => ended.kind !== 'exit' || ended.code !== 0)
  const sum = (of: (start: Start) => number): number => starts.reduce((all, one) => all + of(one), 0)
  return {
    id,
    about: scenarios.find((one) => one.id === id)?.about ?? 'Every call was judged',
    /** Requests that reached the server, and calls of them that were accepted. */
    requests,
    accepted: acceptedOf(story).length,
    ok: sum(({ ok }) => ok),
    error: sum(({ error }) => error),
    /** How each start ended. */
    ended: starts.map(({ ended }) => showEnding(ended)),
    durationMs: Math.round(sum(({ fromMs, toMs }) => toMs - fromMs)),
    /** The end of the client's stderr, if it ended badly or did nothing. */
    stderr: isTroubled ? redactor.text(starts.map(({ stderr }) => stderr).join('')).trim() : '',
  }
}

/** What a start of the client ended with. */
function showEnding(ended: Start['ended']): string {
  switch (ended.kind) {
    case 'exit':
      return `exit code ${ended.code}`
    case 'signal':
      return ended.signal
    case 'timeout':
      return `SIGKILL, sent after ${ended.seconds} s`
    case 'runaway':
      return `SIGKILL, sent after ${ended.requests} requests`
    case 'interrupted':
      return 'SIGKILL, sent because the run was interrupted'
  }
}

const longestBody = 2000
const shownHeaders = ['authorization', 'content-type', 'cookie']
const shownAnswerHeaders = ['retry-after', 'location', 'date', 'www-authenticate']

/** An exchange as lines, without its secrets. */
function showExchange(exchange: Exchange, beginMs: number, redactor: Redactor): ShownExchange {
  const { number, connection, startedMs, httpMethod, target, headers, body, bodyBytes, faults } = exchange
  const request = [
    `${httpMethod} ${target}`,
    ...headers
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => shownHeaders.includes(name))
      .map(([name, value]) => `${name}: ${value}`),
    ...bodyLines(new TextDecoder().decode(body), bodyBytes),
  ]
  return {
    number,
    atMs: Math.max(0, Math.round(startedMs - beginMs)),
    connection,
    faults: [...faults],
    ...redactExchange({ request, answer: answerLines(exchange) }, redactor),
  }
}

function answerLines({ answer, deliveredMs }: Exchange): string[] {
  if (answer === null) return ['(no answer)']
  if (answer.status === 0) return ['(the connection was closed without an answer)']
  const { status, headers, body } = answer
  const names = headers.date === undefined ? [] : shownAnswerHeaders.filter((name) => headers[name] !== undefined)
  const lines = [`HTTP ${status}`, ...names.map((name) => `${name}: ${headers[name]}`), ...bodyLines(body, body.length)]
  return deliveredMs === null ? [...lines, '(the client did not wait for it)'] : lines
}

function bodyLines(text: string, bytes: number): string[] {
  const lines = visibleLines(text.slice(0, longestBody))
  return text.length > longestBody ? [...lines, `… (${bytes} bytes in all)`] : lines
}

/**
 * Parses a baseline of known failures of a client.
 *
 * @param file the path that errors name
 * @throws SuiteError (`fixture`): an unknown key or check, with its place and a did-you-mean
 */
export function parseClientKnown(text: string, file: string): ClientKnownEntry[] {
  const source = readYaml(text, file)
  if (source.value === null) return []
  demand(source, 'client-baseline')
  const ids = allChecks.map(({ id }) => id)
  return (source.value as Pick<ClientKnownEntry, 'check' | 'reason'>[]).map((entry, index) => {
    const { check } = entry
    if (!ids.includes(check))
      throw source.error({ path: [index, 'check'], message: `unknown check "${check}"${suggestion(check, ids)}` })
    return { issue: null, sometimes: false, ...entry }
  })
}

// ---- the report as the document that every format for people lays out, and as a list of tests for the others

const shownStderrLines = 6
const shownScenarios = 3

/** The report in every format. What is not wrong is told on the page only. */
export const clientRenderers = renderersOf<ClientReport>({
  document: (report, { whole = false }) => tellClient(printed(report), { all: whole }),
  tests: testRun,
})

function tellClient(report: ClientReport, { all }: { all: boolean }): Document {
  const { meta, verdict, exitCode, conclusion, summary, stale, checks, scenarios } = report
  const order = ['failed', 'warned', 'known', ...(all ? ['passed', 'not-testable'] : [])]
  const told = checks
    .filter((check) => order.includes(toneOf(check)))
    .sort((one, other) => order.indexOf(toneOf(one)) - order.indexOf(toneOf(other)))
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
const toneOf = ({ verdict, known }: CheckReport) =>
  known !== null ? 'known' : verdict === 'not-exercised' ? 'not-testable' : verdict

const wordOf = (check: CheckReport): string =>
  `${glyphs[toneOf(check)]} ${check.id.split('/')[1]}`.replaceAll(' ', '\u00a0')

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
    exchanges.map(({ number, atMs, connection, faults, ...lines }) => {
      const spoilt = faults.length === 0 ? '' : `, fault: ${faults.join(', ')}`
      const head = `${scenario}: request ${number}, ${atMs} ms after the start, connection ${connection}${spoilt}`
      return { head, ...lines }
    }),
  )
  return {
    kind: 'told',
    verdict: toneOf(check),
    id,
    title,
    message,
    blocks: [
      { kind: 'facts', items: fact(level.toUpperCase(), sentence, [soft(source)]) },
      { kind: 'facts', items: facts },
      ...exchangeBlocks(exchanges),
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
  return {
    ...meta,
    target: clientOf(meta),
    shard: null,
    exitCode,
    tests: checks.map(testOfCheck),
    stale: stale.map(({ check, reason }) => ({ id: check, reason })),
    extra: { verdict, exitCode, summary },
  }
}

function testOfCheck(check: CheckReport) {
  const { id, title, known, verdict, message } = check
  const told = tellCheck(check)
  const unlike = verdict === 'not-exercised' ? 'Not exercised: ' : ''
  return testOfTold(told, {
    name: title,
    verdict: known === null ? verdict : 'known',
    suite: id.split('/'),
    message: known === null ? `${unlike}${message}` : `Known: ${known.reason}`,
    text: unwrappedText(told),
  })
}
