/** The report about watched or recorded traffic: what the server answered wrongly, and what each client did. */
import { showExchange } from '../engine/conversation/exchange.ts'
import { interruptedExitCode } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { printed } from '../engine/printable.ts'
import { createRedactor, type Redactor, redactExchange, redactValue } from '../engine/redact.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import type { WireAnswer } from '../engine/target.ts'
import { buildReport } from '../report/build.ts'
import { conclusionItems, type Document, fact, soft, type Told } from '../report/document.ts'
import { type ReportedTest, renderersOf, type TestRun } from '../report/formats.ts'
import { htmlOfDocument } from '../report/html.ts'
import type { KnownEntry, Meta, Report, RunVerdict } from '../report/report.ts'
import { exchangeBlocks, scenarioBlocks, toTell } from '../report/tell.ts'
import { unwrappedText } from '../report/text.ts'
import { knownWords, words } from '../report/verdict-words.ts'
import type { Observed } from './records.ts'
import type { Outcome } from './session.ts'

/** A report of `run`, without cases, and with what `watch` and `judge` add (spec/schemas/report.schema.json). */
interface WatchReport extends Report {
  clients: ClientReport[]
  watched: Watched
}

type Client = Outcome['clients'][number]

interface ClientReport extends Client {
  verdict: RunVerdict
}

interface Watched {
  calls: number
  /** Calls of which the answer, or its form, was certain; every other one was open. */
  judged: number
  refused: number
  /** Answers that the proxy gave instead of the server. */
  ours: number
  /** Requests that were no calls of the interface. */
  others: number
  /** What was not seen, or is not remembered. */
  lacks: string[]
}

interface BuildInput {
  corpus: Corpus
  outcome: Outcome
  meta: Pick<Meta, 'version' | 'target' | 'started' | 'durationMs' | 'again' | 'stopped'>
  known: readonly KnownEntry[]
  strict: boolean
  others: number
  lacks: readonly string[]
  /** Whether secrets are shown. */
  trace: boolean
  interrupted?: boolean
}

export function buildWatchReport({ corpus, outcome, meta, known, strict, trace, ...input }: BuildInput): WatchReport {
  const redactor = trace ? null : createRedactor(outcome.secrets)
  const { calls, judged, refused, ours } = outcome
  const base = buildReport({
    meta: {
      ...meta,
      seed: '0',
      node: process.versions.node,
      set: 'current',
      allow: [],
      absent: [],
      clock: null,
      shard: null,
    },
    outcomes: [],
    corpus,
    findings: outcome.found.map(({ message, observed, times, ...found }) => ({
      ...found,
      case: 'watch',
      message: times === 1 ? message : `${message} (seen ${times} times)`,
      reproduced: { failed: 0, tries: 0 },
      exchanges: [shownExchange(observed, redactor)],
      history: [],
    })),
    known,
    options: { strict, partial: 'only' },
  })
  const clients = outcome.clients.map(reportClient)
  const fresh = base.findings.filter((finding) => finding.known === null)
  const musts = fresh.filter(({ level }) => level === 'must').length
  const isKnown = base.findings.length > fresh.length
  const verdict: RunVerdict = musts > 0 || isKnown ? 'does-not-conform' : judged > 0 ? 'conforms' : 'inconclusive'
  const warned = [
    ...fresh.filter(({ level }) => level === 'implied'),
    ...clients.flatMap(({ checks }) => checks.filter((check) => check.verdict === 'warned')),
  ]
  const isWrong =
    musts > 0 || clients.some((client) => client.verdict === 'does-not-conform') || (strict && warned.length > 0)
  const lacks = [...input.lacks, ...outcome.lacks]
  const report: WatchReport = {
    ...base,
    verdict,
    exitCode: isWrong ? 1 : calls === 0 ? 3 : 0,
    conclusion: conclusionOf({ outcome, musts, warned: warned.length, strict, clients, lacks }),
    observations: observationsOf(corpus, outcome.open),
    clients,
    watched: { calls, judged, refused, ours, others: input.others, lacks },
  }
  if (input.interrupted === true) report.exitCode = interruptedExitCode
  return redactor === null
    ? report
    : { ...report, ...redactValue({ findings: report.findings, clients, conclusion: report.conclusion }, redactor) }
}

function conclusionOf({
  outcome,
  musts,
  warned,
  strict,
  clients,
  lacks,
}: {
  outcome: Outcome
  musts: number
  warned: number
  strict: boolean
  clients: readonly ClientReport[]
  lacks: readonly string[]
}): string[] {
  const { calls, judged, refused, ours } = outcome
  const wrong = clients.filter(({ verdict }) => verdict === 'does-not-conform').length
  const said = (condition: boolean, line: string): string[] => (condition ? [line] : [])
  return [
    ...said(calls === 0, 'No call of the interface was seen, so nothing is known'),
    ...said(
      calls > 0,
      `Server: of ${counted(calls, 'call')} the document decides the answer to ${judged}, or its form; the others are open, because what they rest on was not seen`,
    ),
    ...said(musts > 0, `${counted(musts, 'answer')} of the server that the document does not allow`),
    ...said(
      calls > 0 && judged > 0 && musts === 0,
      'No answer of the server contradicts the document; a run with "svc-conformance run" asks what clients do not',
    ),
    ...said(
      wrong > 0,
      `${counted(wrong, 'client')} of ${clients.length} ${wrong === 1 ? 'breaks' : 'break'} a sentence of the document`,
    ),
    ...said(
      wrong === 0 && clients.length > 0,
      `No call of ${clients.length === 1 ? 'the client' : `the ${clients.length} clients`} breaks a sentence of the document`,
    ),
    ...said(
      warned > 0,
      `${counted(warned, 'warning')}${strict ? ', which --strict makes fail' : ' (--strict makes them fail)'}`,
    ),
    ...said(refused > 0, `${counted(refused, 'call was', 'calls were')} refused`),
    ...said(ours > 0, `${counted(ours, 'answer is', 'answers are')} of this proxy, because the server gave none`),
    ...lacks,
  ]
}

function observationsOf({ questions }: Corpus, open: Outcome['open']): Report['observations'] {
  return questions.flatMap(({ id, question: text, reference }) => {
    const answers = open
      .filter(({ question }) => question === id)
      .map(({ answer, times }) => ({ answer, cases: [], asked: [`seen ${counted(times, 'time')}`] }))
    if (answers.length === 0) return []
    return [{ question: id, answer: answers.map(({ answer }) => answer).join('; '), answers, text, reference }]
  })
}

function reportClient(client: Client): ClientReport {
  const has = (verdict: string): boolean =>
    client.checks.some((check) => check.level === 'document' && check.verdict === verdict)
  return { ...client, verdict: has('failed') ? 'does-not-conform' : has('passed') ? 'conforms' : 'inconclusive' }
}

/** An exchange as lines, without its secrets. */
function shownExchange(observed: Observed, redactor: Redactor | null) {
  const { httpMethod: method, target: path, headers, body, answer } = observed
  const wire: WireAnswer =
    answer === null
      ? { kind: 'none', reason: 'no answer', refusedConnection: false, stale: false }
      : { kind: 'answer', status: answer.status, headers: answer.headers, body: utf8(answer.body) }
  const shown = showExchange({ method, path, headers, body }, wire, undefined)
  return redactor === null ? shown : redactExchange(shown, redactor)
}

const clientName = ({ key, address }: Pick<ClientReport, 'key' | 'address'>): string =>
  [key === null ? 'unknown key' : `key ${key}`, ...(address === '' ? [] : [`from ${address}`])].join(' ')

/** The report in every format. */
export const watchRenderers = renderersOf<WatchReport>({
  document: (report) => tellTraffic(inPrint(report)),
  page: (report) => htmlOfDocument(tellTraffic(inPrint(report))),
  tests: testRun,
})

/** Findings with their verdicts, and scenarios as lines. */
const inPrint = (report: WatchReport) => printed({ ...report, findings: toTell(report.findings) })
type PrintedReport = ReturnType<typeof inPrint>

function tellTraffic(report: PrintedReport): Document {
  const { meta, findings, clients, watched, verdict, exitCode, conclusion } = report
  const ofClients = clients.flatMap((client) => client.checks.flatMap((check) => tellCheck(client, check)))
  const told = [...findings.map((finding) => tellFinding(report, finding)), ...ofClients]
  const order = ['failed', 'warned', 'known']
  const counts = (checks: Client['checks']): number[] =>
    ['failed', 'warned', 'passed'].map((word) => checks.filter((check) => check.verdict === word).length)
  return {
    title: meta.target,
    verdict,
    exitCode,
    head: [
      `svc-conformance ${meta.version} judged the traffic of ${meta.target}: ${counted(watched.calls, 'call')} in ${(meta.durationMs / 1000).toFixed(1)} s`,
      `Node ${meta.node}, ${meta.started}`,
    ],
    summary: `Server: ${words(verdict)}; ${counted(clients.length, 'client')}`,
    problems: [],
    conclusion: conclusionItems(conclusion),
    told: told.sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict)),
    overview: [],
    rest: [
      {
        kind: 'table',
        heading: 'Clients',
        head: ['key', 'address', 'calls', 'verdict', 'failed', 'warned', 'passed'],
        rows: clients.map(({ key, address, calls, verdict: own, checks }) => [
          ...[key ?? 'unknown', address, calls, words(own)],
          ...counts(checks),
        ]),
      },
      {
        kind: 'facts',
        heading: 'Open questions, as they were answered (never judged)',
        items: report.observations.flatMap(({ question, answer }) => fact(question, answer)),
      },
    ],
  }
}

function tellFinding({ requirements }: Pick<Report, 'requirements'>, finding: PrintedReport['findings'][number]): Told {
  const { id, requirement, level, message, steps, known, exchanges, fixture, verdict } = finding
  const { text = '', anchor = '' } = requirements.find((one) => one.id === requirement) ?? {}
  return {
    kind: 'told',
    verdict,
    id,
    title: message,
    message,
    blocks: [
      { kind: 'facts', items: fact(level.toUpperCase(), `${requirement}: ${text}`, [soft(anchor)]) },
      {
        kind: 'facts',
        items: [
          ...steps.flatMap((step, index) => fact(`${index + 1}.`, step)),
          ...fact('Known', known && knownWords(known)),
        ],
      },
      ...exchangeBlocks(exchanges),
      ...scenarioBlocks(fixture),
    ],
  }
}

function tellCheck(client: ClientReport, { id, level, verdict, message }: Client['checks'][number]): Told[] {
  if (verdict === 'passed') return []
  const about = level === 'document' ? 'breaks a sentence of the document' : 'departs from good practice'
  return [
    {
      kind: 'told',
      verdict,
      id: `${id} (${clientName(client)})`,
      title: message,
      message,
      blocks: [
        {
          kind: 'facts',
          items: fact('Client', `${clientName(client)} ${about}; "svc-conformance client --list" names the checks`),
        },
      ],
    },
  ]
}

function testRun(raw: WatchReport): TestRun {
  const report = inPrint(raw)
  const { meta, exitCode, verdict, findings, clients, watched } = report
  const ofServer = findings.map((finding): ReportedTest => {
    const { id, level, message, requirement, known, verdict: own } = finding
    const outcome = known !== null ? 'skipped' : level === 'must' ? 'failed' : 'warned'
    const text = unwrappedText(tellFinding(report, finding))
    return {
      id,
      name: id,
      outcome,
      verdict: own,
      suite: ['server'],
      durationMs: 0,
      message,
      text,
      requirements: [requirement],
    }
  })
  const ofClients = clients.flatMap((client) =>
    client.checks.map(
      (check): ReportedTest => ({
        id: `${clientName(client)}: ${check.id}`,
        name: check.id,
        outcome: check.verdict,
        verdict: check.verdict,
        suite: [clientName(client)],
        durationMs: 0,
        ...(check.verdict === 'passed' ? {} : { message: check.message }),
      }),
    ),
  )
  return { ...meta, exitCode, tests: [...ofServer, ...ofClients], extra: { verdict, exitCode, watched } }
}
