/** The report about watched or recorded traffic: what the server answered wrongly, and what each client did. */
import { showExchange } from '../engine/conversation/exchange.ts'
import { counted, fewOf } from '../engine/group.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { printed } from '../engine/printable.ts'
import { createRedactor, type Redactor, redactExchange, redactValue } from '../engine/redact.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import type { Exchange, WireAnswer } from '../engine/target.ts'
import { buildReport } from '../report/build.ts'
import { conclusionItems, type Document, fact, soft, type Told } from '../report/document.ts'
import { renderersOf, type TestRun, testOfTold } from '../report/formats.ts'
import type { KnownEntry, Meta, Report, RunVerdict } from '../report/report.ts'
import { areaOf, exchangeBlocks, tellFinding, toTell } from '../report/tell.ts'
import { words } from '../report/verdict-words.ts'
import type { Outcome } from './session.ts'

/** A report of `run`, without cases, and with what `watch` and `judge` add (spec/schemas/report.schema.json). */
interface WatchReport extends Report {
  clients: ClientReport[]
  watched: Watched
}

type Client = Outcome['clients'][number]

interface ClientReport extends Omit<Client, 'checks'> {
  verdict: RunVerdict
  checks: CheckReport[]
}

type Check = Client['checks'][number]

type Seen = Check['findings'][number]['exchanges'][number]

interface CheckReport extends Pick<Check, 'id' | 'level' | 'verdict' | 'message'> {
  evidence?: {
    sentence: string
    source: string
    /** What the first finding rests on, with their starts in ISO 8601: the last call is wrong, the others came before it. */
    calls: { number: number; started: string }[]
    /** The numbers of the wrong calls of all findings. */
    wrong: number[]
    /** The wrong call of the first finding. */
    exchanges: Exchange[]
  }
}

interface Watched extends Pick<Outcome, 'calls' | 'judged' | 'refused' | 'ours' | 'lacks'> {
  /** Requests that were no calls of the interface. */
  others: number
}

interface BuildInput extends Pick<Watched, 'others' | 'lacks'> {
  corpus: Corpus
  outcome: Outcome
  meta: Pick<Meta, 'version' | 'target' | 'again'>
  started: Date
  known: readonly KnownEntry[]
  strict: boolean
  /** Whether secrets are shown. */
  trace: boolean
}

export function buildWatchReport(input: BuildInput): WatchReport {
  const { corpus, outcome, meta, started, known, strict, trace } = input
  const redactor = trace ? null : createRedactor(outcome.secrets)
  const { calls, judged, refused, ours } = outcome
  const base = buildReport({
    meta: {
      ...meta,
      started: started.toISOString(),
      durationMs: Date.now() - started.getTime(),
      stopped: null,
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
      message: `${message} (call ${observed.number} at ${timeOf(startOf(observed))}${times === 1 ? '' : `, seen ${times} times`})`,
      reproduced: { failed: 0, tries: 0 },
      exchanges: [shownExchange(observed, redactor)],
      history: [],
    })),
    known,
    options: { strict, partial: 'only' },
  })
  const clients = outcome.clients.map((client) => reportClient(client, redactor))
  const fresh = base.findings.filter((finding) => finding.known === null)
  const musts = fresh.filter(({ level }) => level === 'must').length
  const isKnown = base.findings.length > fresh.length
  const verdict: RunVerdict = musts > 0 || isKnown ? 'does-not-conform' : judged > 0 ? 'conforms' : 'inconclusive'
  const warnings = warningsIn(base.findings, clients)
  const wrong = clients.filter((client) => client.verdict === 'does-not-conform')
  const isWrong = musts > 0 || wrong.length > 0 || (strict && warnings > 0)
  const lacks = [...input.lacks, ...outcome.lacks]
  const said = (condition: boolean, line: string): string[] => (condition ? [line] : [])
  const conclusion = [
    ...wrong.slice(0, shownClients).map((client) => `Client ${nameAmong(clients, client)}: does not conform`),
    ...said(wrong.length > shownClients, `and ${wrong.length - shownClients} more clients that do not conform`),
    ...said(calls === 0, 'No call of the interface was seen, so nothing is known'),
    ...said(calls > 0, shareJudged(outcome)),
    ...said(musts > 0, `${counted(musts, 'answer')} of the server that the document does not allow`),
    ...said(
      judged > 0 && base.findings.length === 0,
      'No answer of the server contradicts the document, which proves little: a run with "svc-conformance run" asks what clients do not',
    ),
    ...said(
      wrong.length === 0 && clients.length > 0,
      `No call of ${clients.length === 1 ? 'the client' : `the ${clients.length} clients`} breaks a sentence of the document`,
    ),
    ...said(
      warnings > 0,
      `${counted(warnings, 'warning')}${strict ? ', which --strict makes fail' : ' (--strict makes them fail)'}`,
    ),
    ...said(refused > 0, `${counted(refused, 'call was', 'calls were')} refused`),
    ...said(ours > 0, `${counted(ours, 'answer is', 'answers are')} of this proxy, because the server gave none`),
    ...lacks,
  ]
  const report: WatchReport = {
    ...base,
    verdict,
    exitCode: isWrong ? 1 : calls === 0 ? 3 : 0,
    conclusion,
    observations: observationsOf(corpus, outcome.open),
    clients,
    watched: { calls, judged, refused, ours, others: input.others, lacks },
  }
  return redactor === null
    ? report
    : { ...report, ...redactValue({ findings: report.findings, clients, conclusion: report.conclusion }, redactor) }
}

/** In ISO 8601. */
const startOf = ({ startedMs }: Seen): string => new Date(startedMs).toISOString()

/** As in the line of the call. */
const timeOf = (started: string): string => started.slice(11, 23)

const shownClients = 5

/** For how many calls the document decides the answer, and why not for the others. */
function shareJudged({ calls, judged, notPosts }: Outcome): string {
  const open = calls - judged - notPosts
  const decided =
    judged === calls
      ? `The document decides the answer to ${calls === 1 ? 'the call' : `all ${calls} calls`}, or its form`
      : `Of ${counted(calls, 'call')} the document decides the answer to ${judged}, or its form`
  const isOpen = open === 1 ? 'one is open, because what it rests on' : `${open} are open, because what they rest on`
  return [
    decided,
    ...(open > 0 ? [`${isOpen} was not seen`] : []),
    ...(notPosts > 0
      ? [`${notPosts} ${notPosts === 1 ? 'is' : 'are'} not judged, because the document shows POST alone`]
      : []),
  ].join('; ')
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

function reportClient(client: Client, redactor: Redactor | null): ClientReport {
  const has = (verdict: string): boolean =>
    client.checks.some((check) => check.level === 'document' && check.verdict === verdict)
  const checks = client.checks.map(({ id, level, verdict, message, sentence, source, findings }): CheckReport => {
    const check = { id, level, verdict, message }
    const [first] = findings
    if (first === undefined) return check
    const calls = first.exchanges.map((call) => ({ number: call.number, started: startOf(call) }))
    const wrong = [...new Set(findings.flatMap(({ exchanges }) => exchanges.at(-1)?.number ?? []))]
    const exchanges = first.exchanges.slice(-1).map((call) => shownExchange(call, redactor))
    return { ...check, evidence: { sentence, source, wrong, calls, exchanges } }
  })
  return {
    ...client,
    checks,
    verdict: has('failed') ? 'does-not-conform' : has('passed') ? 'conforms' : 'inconclusive',
  }
}

/** An exchange as lines, without its secrets. */
function shownExchange(seen: Seen, redactor: Redactor | null): Exchange {
  const { httpMethod: method, target: path, headers, body, answer } = seen
  const wire: WireAnswer =
    answer === null
      ? { kind: 'none', reason: 'no answer', refusedConnection: false, stale: false }
      : { kind: 'answer', status: answer.status, headers: answer.headers, body: utf8(answer.body) }
  const shown = showExchange({ method, path, headers, body }, wire, undefined)
  return redactor === null ? shown : redactExchange(shown, redactor)
}

const clientName = ({ key, address }: Pick<ClientReport, 'key' | 'address'>): string =>
  [key === null ? 'unknown key' : `key ${key}`, ...(address === '' ? [] : [`from ${address}`])].join(' ')

/** `demo`, with its address where another client has the same key. */
function nameAmong(clients: readonly ClientReport[], client: ClientReport): string {
  const isAlone = clients.filter(({ key }) => key === client.key).length === 1
  return isAlone && client.key !== null ? client.key : clientName(client)
}

/** Traffic never proves that a server or a client conforms: what was not asked was not seen. */
const seenOf = (verdict: RunVerdict, warnings: number): string =>
  verdict !== 'conforms' ? words(verdict) : warnings > 0 ? 'warnings only' : 'nothing wrong seen'

const warningsOf = ({ checks }: { checks: readonly Pick<Check, 'verdict'>[] }): number =>
  checks.filter(({ verdict }) => verdict === 'warned').length

/** Of the server. */
const warningsAbout = (findings: readonly Pick<Report['findings'][number], 'level' | 'known'>[]): number =>
  findings.filter(({ level, known }) => level === 'implied' && known === null).length

/** On both sides. */
const warningsIn = (
  findings: Parameters<typeof warningsAbout>[0],
  clients: readonly Parameters<typeof warningsOf>[0][],
): number => clients.reduce((sum, client) => sum + warningsOf(client), warningsAbout(findings))

/** Words for the verdict on both sides; undefined where the verdict on the server is all. */
function saidOf({ verdict, exitCode, clients, findings }: PrintedReport): string | undefined {
  if (verdict === 'does-not-conform') return undefined
  const wrong = clients.filter((client) => client.verdict === 'does-not-conform').length
  if (wrong > 0) return wrong === 1 ? 'a client does not conform' : `${wrong} clients do not conform`
  if (exitCode === 1) return 'warnings, which --strict makes fail'
  return verdict === 'conforms' ? seenOf(verdict, warningsIn(findings, clients)) : undefined
}

/** The report in every format. */
export const watchRenderers = renderersOf<WatchReport>({
  document: (report) => tellTraffic(inPrint(report)),
  tests: testRun,
})

/** Findings with their verdicts, and scenarios as lines. */
const inPrint = (report: WatchReport) => printed({ ...report, findings: toTell(report.findings) })
type PrintedReport = ReturnType<typeof inPrint>

function tellTraffic(report: PrintedReport): Document {
  const { meta, findings, clients, watched, verdict, exitCode, conclusion } = report
  const ofClients = clients.flatMap(tellChecks)
  const said = saidOf(report)
  const seen = seenOf(verdict, warningsAbout(findings))
  const told = [...findings.map((finding) => tellFinding(report, finding, false)), ...ofClients]
  const order = ['failed', 'warned', 'known']
  const counts = (checks: readonly Pick<Check, 'verdict'>[]): number[] =>
    ['failed', 'warned', 'passed'].map((word) => checks.filter((check) => check.verdict === word).length)
  return {
    title: meta.target,
    verdict,
    ...(said === undefined ? {} : { said }),
    exitCode,
    head: [
      `svc-conformance ${meta.version} judged the traffic of ${meta.target}: ${counted(watched.calls, 'call')} in ${(meta.durationMs / 1000).toFixed(1)} s`,
      `Node ${meta.node}, ${meta.started}`,
    ],
    summary: `Server: ${seen}${verdict === 'conforms' ? ` in ${counted(watched.calls, 'call')}` : ''}`,
    problems: [],
    conclusion: conclusionItems(conclusion),
    told: told.sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict)),
    overview: [],
    rest: [
      {
        kind: 'table',
        heading: 'Clients',
        head: ['key', 'address', 'calls', 'verdict', 'failed', 'warned', 'passed'],
        rows: clients.map((client) => [
          ...[client.key ?? 'unknown', client.address, client.calls, seenOf(client.verdict, warningsOf(client))],
          ...counts(client.checks),
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

type PrintedClient = PrintedReport['clients'][number]
type PrintedCheck = PrintedClient['checks'][number]

/** What does not hold of a client. A check of the same area whose calls another one has told already stands below that one. */
function tellChecks(client: PrintedClient): Told[] {
  const told: { check: PrintedCheck; others: PrintedCheck[] }[] = []
  for (const check of client.checks.filter(({ verdict }) => verdict !== 'passed')) {
    const above = told.find(({ check: other }) => other.verdict === check.verdict && isToldIn(check, other))
    if (above === undefined) told.push({ check, others: [] })
    else above.others.push(check)
  }
  return told.map(({ check, others }) => tellCheck(client, check, others))
}

const isToldIn = (check: PrintedCheck, other: PrintedCheck): boolean =>
  areaOf(check.id) === areaOf(other.id) &&
  check.evidence?.wrong.every((number) => other.evidence?.wrong.includes(number)) === true

function tellCheck(client: PrintedClient, check: PrintedCheck, others: readonly PrintedCheck[] = []): Told {
  const { id, level, verdict, message, evidence } = check
  const { sentence = '', source = '', calls = [], wrong = [], exchanges = [] } = evidence ?? {}
  const [last, ...before] = calls.map(({ number, started }) => `${number} at ${timeOf(started)}`).reverse()
  const more = wrong.filter((number) => number !== calls.at(-1)?.number).map(String)
  const after = before.length === 0 ? '' : `, after ${before.reverse().join(' and ')}`
  const alsoWrong = more.length === 0 ? '' : `; also ${fewOf(more, shownCalls)}`
  return {
    kind: 'told',
    verdict,
    id: `${id} (${clientName(client)})`,
    title: message,
    message,
    blocks: [
      { kind: 'facts', items: fact(level.toUpperCase(), sentence, [soft(source)]) },
      {
        kind: 'facts',
        items: [
          ...fact('Call', last !== undefined && `${last}${after}${alsoWrong}`),
          ...others.flatMap((other) =>
            fact('Also', `${other.id}: ${other.message}`, [soft(other.evidence?.sentence ?? '')]),
          ),
        ],
      },
      ...exchangeBlocks(exchanges),
    ],
  }
}

const shownCalls = 10

function testRun(raw: WatchReport): TestRun {
  const report = inPrint(raw)
  const { meta, exitCode, verdict, findings, clients, watched } = report
  const ofServer = findings.map((finding) =>
    testOfTold(tellFinding(report, finding, false), { suite: ['server'], requirements: [finding.requirement] }),
  )
  const ofClients = clients.flatMap((client) => {
    const who = clientName(client)
    return client.checks.map((check) =>
      testOfTold(tellCheck(client, check), { id: `${who}: ${check.id}`, name: check.id, suite: [who] }),
    )
  })
  return { ...meta, exitCode, tests: [...ofServer, ...ofClients], extra: { verdict, exitCode, watched } }
}
