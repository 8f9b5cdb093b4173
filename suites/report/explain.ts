/** What every format tells of a report: cases and findings that need attention, and what is counted and named alike everywhere. */
import { countBy, counted, fewOf, groupBy } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { type Printed, printable, printed } from '../engine/printable.ts'
import { joinReasons, keyOfReason, notRunText, reasonText } from './problem-text.ts'
import type { CaseReport, Explored, Finding, HistoryCall, Observation, Report, RequirementReport } from './report.ts'
import { knownWords, verdictOrder, words } from './verdict-words.ts'

/** A finding with the verdict that a case would have for the same defect; the lines of its fixture stay lines. */
type ToldFinding = Omit<Finding, 'fixture'> & { fixture: string[] | null; verdict: Verdict }

/** A report whose texts are all printable. */
export type PrintedReport = Printed<
  Omit<Report, 'findings' | 'newer'> & {
    findings: ToldFinding[]
    newer: { cases: CaseReport[]; findings: ToldFinding[] }
  }
>
export type PrintedFinding = PrintedReport['findings'][number]

/** The maximum length of a text: enough for the command that repeats a case. */
const longestText = 4000

/** The report that every format except JSON prints: findings in the order of their verdicts, and of newer cases only those that show something. */
export function printedReport(report: Report): PrintedReport {
  const { findings, newer } = report
  const brokenCases = newer.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  return printed(
    { ...report, findings: toTell(findings), newer: { cases: brokenCases, findings: toTell(newer.findings) } },
    longestText,
  )
}

function toTell(findings: readonly Finding[]): ToldFinding[] {
  const order: readonly Verdict[] = ['failed', 'warned', 'known']
  return findings
    .map((finding) => ({
      ...finding,
      fixture: finding.fixture?.trimEnd().split('\n') ?? null,
      verdict: verdictOfFinding(finding),
    }))
    .sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict))
}

/** The verdict that a case would have for the same defect. */
export function verdictOfFinding({ level, known }: Pick<Finding, 'level' | 'known'>): Verdict {
  if (known !== null) return 'known'
  return level === 'must' ? 'failed' : 'warned'
}

/**
 * A case, a finding or the check of a client that a reader needs to understand. Each format puts it into its own markup; all texts are
 * printable.
 */
export interface Told {
  verdict: Verdict
  id: string
  title: string
  /** The sentences that failed, or for a blocked case those that stay open. `id`: empty where sentences have none. */
  sentences: { level: string; id: string; text: string; anchor: string }[]
  /** What was called, in order. */
  steps: string[]
  /** `where`: the place in a fixture, for formats that do not show the fixture. */
  facts: { label: string; text: string; where?: string }[]
  since: Finding['since']
  known: string | null
  history: readonly HistoryCall[]
  /** `head`: what tells this exchange from others. */
  exchanges: { head?: string; request: string[]; answer: string[] }[]
  fixture: string[] | null
  /** The command that repeats it. */
  again: string | null
}

/** A report that consists of what is told and a table, such as that of a client. All texts are printable. */
export interface ToldReport extends Pick<Report, 'verdict' | 'exitCode' | 'conclusion'> {
  /** What was judged. */
  title: string
  /** Two sentences without their full stops. */
  heading: string
  summary: string
  told: Told[]
  table: { title: string; head: string[]; rows: (string | number)[][] }
  stale: string[]
  /** Who made it, and when. */
  made: string
}

/** A `Told` has only some of these. */
export const nothingTold = {
  steps: [] as string[],
  since: undefined,
  known: null,
  history: [] as HistoryCall[],
  exchanges: [] as Told['exchanges'],
  fixture: null,
  again: null,
}

/** Null for a case without a problem. */
export function tellCase(report: Pick<PrintedReport, 'requirements'>, testCase: CaseReport): Told | null {
  const { problem, verdict, key, title, proves, known, again } = testCase
  if (problem === null) return null
  const { step, where, message, hint, exchanges } = problem
  const ids = problem.requirements.length > 0 ? problem.requirements : proves
  return {
    ...nothingTold,
    verdict,
    id: key,
    title,
    sentences: report.requirements
      .filter(({ id }) => ids.includes(id))
      .map((one) => ({ ...one, level: one.level.toUpperCase() })),
    facts: [
      ...(step === '' ? [] : [{ label: 'At', text: step, ...(where === undefined ? {} : { where }) }]),
      { label: verdict === 'not-testable' ? 'Why' : 'But', text: message },
      ...(hint === undefined ? [] : [{ label: 'Hint', text: hint.message }]),
    ],
    known: known === null ? null : knownWords(known),
    exchanges: exchanges.map(shortExchange),
    again,
  }
}

export function tellFinding({ requirements }: Pick<PrintedReport, 'requirements'>, finding: PrintedFinding): Told {
  const { verdict, id, requirement, level, message, steps, since, known, history, exchanges, fixture } = finding
  const { text = '', anchor = '' } = requirements.find((one) => one.id === requirement) ?? {}
  return {
    ...nothingTold,
    verdict,
    id,
    title: message,
    sentences: [{ level: level.toUpperCase(), id: requirement, text, anchor }],
    steps,
    facts: [{ label: 'Found', text: `by the model. ${reproducedSentence(finding)}` }],
    since,
    known: known === null ? null : knownWords(known),
    history,
    exchanges: exchanges.map(shortExchange),
    fixture,
  }
}

/** Lines of an exchange are shorter than other texts. */
function shortExchange({ request, answer }: { request: string[]; answer: string[] }): Told['exchanges'][number] {
  return { request: request.map((line) => printable(line)), answer: answer.map((line) => printable(line)) }
}

/** The lines of an exchange, as every format shows them. */
export function exchangeLines({ head, request, answer }: Told['exchanges'][number]): string[] {
  return [
    ...(head === undefined ? [] : [head]),
    ...request.map((line) => `> ${line}`),
    ...answer.map((line) => `< ${line}`),
  ]
}

/** Describes how often the finding happened again. */
export function reproducedSentence({
  reproduced: { failed, tries },
  least,
  message,
}: Pick<Finding, 'reproduced' | 'least' | 'message'>): string {
  if (tries === 0)
    return `It was not tried again${message.includes('manager/createApiKey') ? ', because each try may take a place for a key' : ''}`
  const often = `Repeated ${counted(tries, 'time')}, seen ${counted(failed, 'time')}`
  if (failed === 0) return `${often}: it rests on what happened before, or on chance`
  if (failed < tries) return `${often}: it depends on timing or chance`
  return least === true ? `${often}; not seen without any single one of these steps and words of scope` : often
}

/** What came between a right answer and the wrong one: a sentence, then a line for each call. */
export const sinceLines = ({ since }: Pick<Finding, 'since'>): string[] =>
  since === undefined ? [] : [`${since.from}. What came between:`, ...since.calls.map((text) => `- ${text}`)]

/** Findings that break one requirement. */
interface FindingGroup {
  first: PrintedFinding
  others: PrintedFinding[]
  /** The failed or warned case that also shows this requirement broken; null: only the model does. */
  shownBy: string | null
}

/** Groups findings by what they break: several answers that break one requirement usually have one cause. */
export function groupFindings({ cases }: PrintedReport, findings: readonly PrintedFinding[]): FindingGroup[] {
  const groups = groupBy(findings, ({ verdict, requirement }) => `${verdict} ${requirement}`)
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ first, others, shownBy: caseThatShows(cases, first) }],
  )
}

/**
 * A case that also shows the requirement of a finding broken: one of its name, else the first, failed ones before warned ones. A warned case
 * shows less than a finding that fails the run.
 */
export function caseThatShows(cases: PrintedReport['cases'], { requirement, verdict }: PrintedFinding): string | null {
  const showing = cases.filter(({ problem }) => problem?.requirements.includes(requirement) === true)
  const verdicts: Verdict[] = verdict === 'failed' ? ['failed'] : ['failed', 'warned']
  const ordered = verdicts.flatMap((one) => showing.filter((testCase) => testCase.verdict === one))
  // The case that the requirement is named after is usually the one that is reported in full.
  const shown = ordered.find(({ id }) => id === requirement) ?? ordered[0]
  return shown?.key ?? null
}

/** Why a case was not run because the run ended before it; null for every other case. */
export function notRunBecause({ problem }: Pick<CaseReport, 'problem'>): string | null {
  return problem?.kind === 'not-run' ? notRunText(problem.because) : null
}

/** The first part of an id. */
export const areaOf = (id: string): string => id.split('/')[0] ?? id

export type Counts = { [verdict in Verdict]: number }

/** How many there are of each verdict, 0 included. */
export function countVerdicts(all: readonly { verdict: Verdict }[]): Counts {
  const counts = Object.fromEntries(verdictOrder.map((verdict) => [verdict, 0])) as Counts
  for (const { verdict } of all) counts[verdict] += 1
  return counts
}

/** The areas with selected requirements: one column for each verdict that occurs, best first; null without any. */
export function areaTable({ requirements }: Pick<Report, 'requirements'>) {
  const selected = requirements.filter((one) => !isLeftOutByOnly(one))
  const totals = countVerdicts(selected)
  const columns = verdictOrder.toReversed().filter((verdict) => verdict === 'passed' || totals[verdict] > 0)
  const areas = [...groupBy(selected, ({ id }) => areaOf(id))].map(([area, mine]) => ({
    area,
    total: mine.length,
    counts: countVerdicts(mine),
  }))
  return selected.length === 0 ? null : { columns, areas, total: selected.length, totals }
}

/** `must`: open for this target; `implied`: the same for what is implied; `excused`: for a written reason that holds here. */
type OpenKind = 'must' | 'implied' | 'excused'

interface OpenGroup {
  kind: OpenKind
  reason: string
  /** Cases that `--only` left out are not listed: the user knows them. */
  notSelectedByOnly: boolean
  ids: string[]
}

/**
 * Groups not-testable requirements by kind and reason, beginning with those that a run could change. Each reason is given once, so a
 * requirement with two reasons is in two groups; all reasons that need a probe are one.
 */
export function groupNotTestable({ requirements }: Pick<Report, 'requirements'>): OpenGroup[] {
  const open = requirements.flatMap(({ id, level, verdict, reasons, gap }) => {
    if (verdict !== 'not-testable') return []
    const kind: OpenKind = gap ? 'must' : level === 'must' ? 'excused' : 'implied'
    const byKey =
      reasons.length === 0
        ? new Map([['none', []]])
        : groupBy(reasons, (reason) => (reason.kind === 'needs-probe' ? 'probes' : keyOfReason(reason)))
    return [...byKey].map(([key, mine]) => ({ kind, key: `${kind} ${key}`, reasons: mine, id }))
  })
  const order: readonly OpenKind[] = ['must', 'implied', 'excused']
  return [...groupBy(open, ({ key }) => key).values()]
    .map((mine): OpenGroup => {
      const reasons = mine.flatMap((one) => one.reasons)
      const [joined] = joinReasons(reasons)
      return {
        kind: mine[0]?.kind ?? 'must',
        reason: joined === undefined ? 'No reason given' : reasonText(joined.reasons),
        notSelectedByOnly: isLeftOutByOnly({ reasons }),
        ids: mine.map(({ id }) => id),
      }
    })
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind) || other.ids.length - one.ids.length)
}

/** The user selected other cases and knows that this requirement is not judged. */
export function isLeftOutByOnly({ reasons }: Pick<RequirementReport, 'reasons'>): boolean {
  return reasons.some((one) => one.kind === 'not-selected' && one.by === 'only')
}

/** The end of a case's key in words: `content type missing`. */
export const wordsOfKey = (key: string): string => key.replace(/^.*\//, '').replaceAll('-', ' ')

/** The answers to an open question, each with what was tried; the latter is empty if a single case without a name gave them. */
export function answersOf({ answers }: Observation): { answer: string; asked: string }[] {
  const keys = new Set(answers.flatMap(({ cases }) => cases))
  const plain = keys.size === 1 ? [...keys].map(wordsOfKey) : []
  return answers.map(({ answer, asked }) => ({
    answer,
    asked: asked.filter((one) => !plain.includes(one)).join('; '),
  }))
}

/** The verdict of the run and its exit code, on one line that scripts may look for. */
export function verdictLine({ verdict, exitCode }: Pick<Report, 'verdict' | 'exitCode'>): string {
  return `Verdict: ${words(verdict)} (exit code ${exitCode})`
}

/** `170 passed, 3 failed, 1 finding`, leaving out what is zero. */
export function summarySentence({
  summary,
  findings,
}: Pick<Report, 'summary'> & { findings: readonly { known: unknown }[] }): string {
  const fresh = findings.filter(({ known }) => known === null).length
  const known = findings.length - fresh
  const parts: [number, string][] = [
    [summary.passed, 'passed'],
    [summary.failed, 'failed'],
    [summary.blocked, 'blocked'],
    [summary.known, 'known'],
    [summary.warned, 'warned'],
    [summary.notTestable, 'not testable'],
    [summary.notApplicable, 'not applicable'],
    [summary.notRun, 'not run'],
    [fresh, fresh === 1 ? 'finding' : 'findings'],
    [known, known === 1 ? 'known finding' : 'known findings'],
    [summary.stale, summary.stale === 1 ? 'stale baseline entry' : 'stale baseline entries'],
  ]
  const counts = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`)
  return counts.length === 0 ? 'no cases' : counts.join(', ')
}

/** How many calls the model made, and at which parts of calls it found something; empty where it made none. */
export function exploredLines({ explored, findings }: Pick<PrintedReport, 'explored' | 'findings'>): string[] {
  if (explored === null) return []
  const found = countBy(findings, (finding) => finding.case)
  return [
    exploredSentence(explored),
    ...skippedLines(explored.skipped ?? []),
    ...[...found].map(([name, count]) => `${name}: ${counted(count, 'finding')}`),
  ]
}

/** Describes how much was covered: parts of calls, changes of them, and pairs of the matrix. @param seconds how long it took, where that is said */
export function exploredSentence(explored: Explored, seconds?: number): string {
  const { calls, repeated, changes, pairs, parts } = explored
  const begun = parts.filter(({ asked }) => asked > 0).length
  const time = seconds === undefined ? '' : ` in ${seconds.toFixed(1)} s`
  const again = repeated === 0 ? '' : `, and ${inWords(repeated)} to repeat findings`
  const changed = `${shareOf(begun, parts.length)} parts of a call in ${shareOf(changes.asked, changes.all)} ways`
  return `The model made ${inWords(calls)} calls${time}${again}. It changed ${changed}, and tried ${shareOf(pairs.covered, pairs.all)} combinations`
}

const shareOf = (some: number, all: number): string => `${inWords(some)} of ${inWords(all)}`

/** `14,444` */
const inWords = (count: number): string => count.toLocaleString('en-US')

const shownSkipped = 5

/** Names the first sequences that the model left out; empty if it made all. */
export function skippedLines(skipped: readonly string[]): string[] {
  return skipped.length === 0 ? [] : [`Too few calls or too little time for: ${fewOf(skipped, shownSkipped)}`]
}

/** Calls at the same time, to be drawn: a lane for each connection, in the order of their first call. Calls are numbered by their start. */
export function lanesOf(history: readonly HistoryCall[]) {
  // Never 0, because positions are divided by it.
  const lastMs = Math.max(0.001, ...history.map(({ endMs }) => endMs))
  const calls = [...history]
    .sort((one, other) => one.startMs - other.startMs)
    .map((call, index) => ({ ...call, number: index + 1, start: call.startMs / lastMs, end: call.endMs / lastMs }))
  return {
    lanes: [...groupBy(calls, ({ connection }) => `connection ${connection}`)],
    sentences: calls.map(
      ({ call, answer, startMs, endMs }) => `${call}: ${answer} (${startMs.toFixed(1)} to ${endMs.toFixed(1)} ms)`,
    ),
  }
}

const laneWidth = 56

/** The drawing for a terminal: the lanes, then one line for each call. */
export function historyLines(history: readonly HistoryCall[]): string[] {
  const { lanes, sentences } = lanesOf(history)
  const width = Math.max(0, ...lanes.map(([name]) => name.length))
  const drawn = lanes.map(([name, calls]) => {
    const lane = calls.reduce((drawing, { number, start, end }) => {
      const label = String(number)
      const from = Math.max(columnOf(start), drawing.length)
      return `${drawing.padEnd(from)}${barOf(label, Math.max(columnOf(end) - from + 1, label.length))}`
    }, '')
    return `${name.padEnd(width)}  ${lane}`.trimEnd()
  })
  return [...drawn, ...sentences.map((sentence, index) => `${index + 1}  ${sentence}`)]
}

const columnOf = (share: number): number => Math.round(share * (laneWidth - 1))

/** `├─1──┤`, or only the number where there is no more room. */
function barOf(label: string, room: number): string {
  if (room < label.length + 2) return label.padEnd(room, '─')
  const before = Math.floor((room - label.length - 2) / 2)
  return `├${'─'.repeat(before)}${label}${'─'.repeat(room - label.length - 2 - before)}┤`
}
