/** What the reports for people and for test tools tell of a run: one value, made once, that each format puts into its own markup. */
import { countBy, counted, fewOf, firstFew, groupBy } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { printable, printed } from '../engine/printable.ts'
import { blockedByKnown, type Cause, countVerdicts, groupByCause, groupNotTestable, isLeftOutByOnly } from './causes.ts'
import { notRunText } from './problem-text.ts'
import type { CaseReport, Explored, Finding, KnownEntry, Report } from './report.ts'
import { casesOf, glyphs, knownWords, shardWords, targetWords, verdictOrder, words } from './verdict-words.ts'

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
  /** As `sinceLines` makes them. */
  since: string[]
  known: string | null
  /** Calls at the same time. */
  history: ReturnType<typeof drawHistory> | null
  /** Lines after `> ` were sent and after `< ` received; any other line tells this exchange from others. */
  exchanges: string[][]
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
  since: [] as string[],
  known: null,
  history: null,
  exchanges: [] as string[][],
  fixture: null,
  again: null,
}

/** The lines of an exchange, as every format shows them. */
export function exchangeLines({ request, answer }: { request: string[]; answer: string[] }): string[] {
  return [...request.map((line) => `> ${line}`), ...answer.map((line) => `< ${line}`)]
}

export type ToldRun = ReturnType<typeof tellRun>
export type ToldCase = ToldRun['cases'][number]
export type ToldFinding = ToldRun['findings'][number]

/** All texts are printable; findings are in the order of their verdicts, and newer cases are only those that show something. */
export function tellRun(raw: Report) {
  const report = printedReport(raw)
  const { meta, requirements, explored } = report
  const blocked = new Map<string | null, string[]>()
  for (const { key, verdict, blockedBy } of report.cases)
    if (verdict === 'blocked') blocked.set(blockedBy, [...(blocked.get(blockedBy) ?? []), key])
  const tellCases = (all: PrintedReport['cases']) =>
    all.map((testCase) => ({
      ...testCase,
      /** Null for a case without a problem. */
      told: tellCase(report, testCase),
      /** Keys of the cases that its failure blocks. */
      blocks: blocked.get(testCase.key) ?? [],
      /** A known failure blocks it, so it does not fail the run and must not look like a failure. */
      isExcused: blockedByKnown(report.cases, testCase),
      /** Why it was not run because the run ended before it; null for every other case. */
      notRun: testCase.problem?.kind === 'not-run' ? notRunText(testCase.problem.because) : null,
    }))
  const tellFindings = (all: readonly PrintedFinding[]) =>
    all.map((finding) => ({
      ...finding,
      told: tellFinding(report, finding),
      shownBy: caseThatShows(report.cases, finding),
    }))
  const cases = tellCases(report.cases)
  const findings = tellFindings(report.findings)
  const newerFindings = tellFindings(report.newer.findings)
  const broken = (['failed', 'warned'] as const).flatMap((verdict) => cases.filter((one) => one.verdict === verdict))
  const causes = groupByCause(requirements, broken).map(({ first, others }) => {
    // A warning that a failure explains is listed as its consequence.
    const failure = [first, ...others].find(({ verdict }) => verdict === 'failed')
    if (failure === undefined || first.verdict === 'failed') return { first, others }
    return { first: failure, others: [first, ...others.filter((testCase) => testCase !== failure)] }
  })
  const unexplained = cases.filter(({ verdict, blockedBy }) => verdict === 'blocked' && blockedBy === null)
  const byCause = {
    failed: causes.filter(({ first }) => first.verdict === 'failed'),
    /** Blocked cases that no failure explains, beginning with the cause that blocks most. */
    blocked: groupByCause(requirements, unexplained).sort((one, other) => other.others.length - one.others.length),
    warned: causes.filter(({ first }) => first.verdict === 'warned'),
  }
  const findingGroups = groupFindings(findings)
  return {
    ...report,
    cases,
    findings,
    findingGroups,
    newer: {
      cases: tellCases(report.newer.cases),
      findings: newerFindings,
      findingGroups: groupFindings(newerFindings),
    },
    byCause,
    problems: problemsOf(byCause, findingGroups),
    /** The target of the run as a reader knows it, what decided the verdict, and `, shard 1/4` after other facts. */
    target: targetWords(meta),
    judge: meta.set === 'current' ? 'every case of this version' : `requirement set ${meta.set}`,
    shard: shardWords(meta),
    sentence: summarySentence(report),
    known: cases.flatMap(({ verdict, key, known }) =>
      verdict === 'known' && known !== null ? [{ key, why: knownWords(known) }] : [],
    ),
    stale: report.stale.map((entry) => ({ entry: entryWords(entry), reason: entry.reason })),
    areas: areaTable(report),
    open: groupNotTestable(report),
    observations: report.observations.map((seen) => ({ ...seen, answers: answersOf(seen) })),
    /** How many calls the model made; null where it made none. `found`: at which parts of calls it found something. */
    explored: explored && {
      sentence: exploredSentence(explored),
      skipped: skippedLines(explored.skipped ?? []),
      found: [...countBy(findings, (finding) => finding.case)].map(
        ([name, count]) => `${name}: ${counted(count, 'finding')}`,
      ),
      parts: explored.parts,
    },
  }
}

/** The maximum length of a text: enough for the command that repeats a case. */
const longestText = 4000

type PrintedReport = ReturnType<typeof printedReport>
type PrintedFinding = PrintedReport['findings'][number]

/** The report that every format except JSON prints: findings in the order of their verdicts, and of newer cases only those that show something. */
function printedReport(report: Report) {
  const { findings, newer } = report
  const brokenCases = newer.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  return printed(
    { ...report, findings: toTell(findings), newer: { cases: brokenCases, findings: toTell(newer.findings) } },
    longestText,
  )
}

/** Findings with the verdict that a case would have for the same defect; the lines of their fixtures stay lines. */
function toTell(findings: readonly Finding[]) {
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

/** Null for a case without a problem. */
function tellCase(report: Pick<PrintedReport, 'requirements'>, testCase: CaseReport): Told | null {
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
    exchanges: exchanges.map(shortLines),
    again,
  }
}

function tellFinding({ requirements }: Pick<PrintedReport, 'requirements'>, finding: PrintedFinding): Told {
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
    since: sinceLines({ since }),
    known: known === null ? null : knownWords(known),
    history: history.length === 0 ? null : drawHistory(history),
    exchanges: exchanges.map(shortLines),
    fixture,
  }
}

/** Lines of an exchange are shorter than other texts. */
function shortLines({ request, answer }: { request: string[]; answer: string[] }): string[] {
  return exchangeLines({
    request: request.map((line) => printable(line)),
    answer: answer.map((line) => printable(line)),
  })
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

/** Groups findings by what they break: several answers that break one requirement usually have one cause. */
function groupFindings<Told extends PrintedFinding>(findings: readonly Told[]): { first: Told; others: Told[] }[] {
  const groups = groupBy(findings, ({ verdict, requirement }) => `${verdict} ${requirement}`)
  return [...groups.values()].flatMap(([first, ...others]) => (first === undefined ? [] : [{ first, others }]))
}

/**
 * A case that also shows the requirement of a finding broken: one of its name, else the first, failed ones before warned ones. A warned case
 * shows less than a finding that fails the run.
 */
function caseThatShows(cases: PrintedReport['cases'], { requirement, verdict }: PrintedFinding): string | null {
  const showing = cases.filter(({ problem }) => problem?.requirements.includes(requirement) === true)
  const verdicts: Verdict[] = verdict === 'failed' ? ['failed'] : ['failed', 'warned']
  const ordered = verdicts.flatMap((one) => showing.filter((testCase) => testCase.verdict === one))
  // The case that the requirement is named after is usually the one that is reported in full.
  const shown = ordered.find(({ id }) => id === requirement) ?? ordered[0]
  return shown?.key ?? null
}

/** One problem of the list that a reader looks at first, by the case or finding that represents it. */
interface ProblemItem {
  verdict: Verdict
  kind: 'case' | 'finding'
  /** Of the case or the finding. */
  id: string
  /** What follows the id: the broken requirements, and how many cases show or suffer it. */
  rest: string
}

/** Failed cases and findings, what no failure explains, then warned cases and findings. */
function problemsOf(
  {
    failed,
    blocked,
    warned,
  }: { [verdict in 'failed' | 'blocked' | 'warned']: Cause<CaseReport & { blocks: string[] }>[] },
  findingGroups: readonly Cause<PrintedFinding & { shownBy: string | null }>[],
): ProblemItem[] {
  const found = findingGroups.map(({ first: { verdict, id, shownBy }, others }): ProblemItem => {
    const rest = `${moreLike(others)}${shownBy === null ? '' : `; ${shownBy} shows the same`}`
    return { verdict, kind: 'finding', id, rest }
  })
  const ofCause = ({ first: { verdict, key, problem, blocks }, others }: (typeof failed)[number]): ProblemItem => {
    const broken = problem === null || problem.requirements.length === 0 ? '' : ` (${problem.requirements.join(', ')})`
    const effect = blocks.length === 0 ? '' : `; it blocks ${casesOf(blocks.length)}`
    return { verdict, kind: 'case', id: key, rest: `${broken}${moreLike(others)}${effect}` }
  }
  return [
    ...failed.map(ofCause),
    ...found.filter(({ verdict }) => verdict === 'failed'),
    ...blocked.map(ofCause),
    ...warned.map(ofCause),
    ...found.filter(({ verdict }) => verdict === 'warned'),
  ]
}

const moreLike = (others: readonly unknown[]): string =>
  others.length === 0 ? '' : `, and ${others.length} more like it`

/** How many problems are listed next to the verdict; the rest of the report has all. */
const shownProblems = 20

/** The same as lines, and how many more there are. */
export function problemLines({ problems }: { problems: readonly ProblemItem[] }): string[] {
  const lines = problems.map(({ verdict, id, rest }) => `${glyphs[verdict]} ${id}${rest}`)
  return firstFew(lines, shownProblems)
}

/** The scenario, case and requirement that an entry of a baseline names. */
function entryWords({ scenario, case: name, requirement }: Omit<KnownEntry, 'reason' | 'issue'>): string {
  return [scenario, name, requirement].filter((part) => part !== undefined).join(', ')
}

/** The first part of an id. */
export const areaOf = (id: string): string => id.split('/')[0] ?? id

/** The areas with selected requirements: one column for each verdict that occurs, best first; null without any. */
function areaTable({ requirements }: PrintedReport) {
  const selected = requirements.filter((one) => !isLeftOutByOnly(one))
  const totals = countVerdicts(selected)
  const columns = verdictOrder.toReversed().filter((verdict) => verdict === 'passed' || totals[verdict] > 0)
  const row = (name: string, mine: typeof selected): [string, ...number[]] => {
    const counts = countVerdicts(mine)
    return [name, mine.length, ...columns.map((verdict) => counts[verdict])]
  }
  const areas = [...groupBy(selected, ({ id }) => areaOf(id))].map(([area, mine]) => row(area, mine))
  return selected.length === 0 ? null : { columns: columns.map(words), areas, all: row('all', selected) }
}

/** The end of a case's key in words: `content type missing`. */
export const wordsOfKey = (key: string): string => key.replace(/^.*\//, '').replaceAll('-', ' ')

/** The answers to an open question, each with what was tried; the latter is empty if a single case without a name gave them. */
function answersOf({ answers }: Report['observations'][number]): { answer: string; asked: string }[] {
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

const laneWidth = 56

/** Calls at the same time: a lane for each connection, in the order of their first call, time to the right. Calls are numbered by their start. */
export function drawHistory(history: Finding['history']) {
  // Never 0, because positions are divided by it.
  const lastMs = Math.max(0.001, ...history.map(({ endMs }) => endMs))
  const calls = [...history]
    .sort((one, other) => one.startMs - other.startMs)
    .map((call, index) => ({ ...call, number: index + 1, start: call.startMs / lastMs, end: call.endMs / lastMs }))
  const lanes = [...groupBy(calls, ({ connection }) => `connection ${connection}`)]
  const sentences = calls.map(
    ({ call, answer, startMs, endMs }) => `${call}: ${answer} (${startMs.toFixed(1)} to ${endMs.toFixed(1)} ms)`,
  )
  const width = Math.max(0, ...lanes.map(([name]) => name.length))
  const drawn = lanes.map(([name, mine]) => {
    const lane = mine.reduce((drawing, { number, start, end }) => {
      const label = String(number)
      const from = Math.max(columnOf(start), drawing.length)
      return `${drawing.padEnd(from)}${barOf(label, Math.max(columnOf(end) - from + 1, label.length))}`
    }, '')
    return `${name.padEnd(width)}  ${lane}`.trimEnd()
  })
  /** `lines`: the drawing for a terminal, then one line for each call. */
  return { lanes, sentences, lines: [...drawn, ...sentences.map((sentence, index) => `${index + 1}  ${sentence}`)] }
}

const columnOf = (share: number): number => Math.round(share * (laneWidth - 1))

/** `├─1──┤`, or only the number where there is no more room. */
function barOf(label: string, room: number): string {
  if (room < label.length + 2) return label.padEnd(room, '─')
  const before = Math.floor((room - label.length - 2) / 2)
  return `├${'─'.repeat(before)}${label}${'─'.repeat(room - label.length - 2 - before)}┤`
}
