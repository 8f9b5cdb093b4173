/** The parts of every format that explain a case that did not pass, and that count and name verdicts. */
import type { Exchange } from '../engine/exchange.ts'
import { groupBy } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { notRunText } from './obstacle-text.ts'
import { type PrintedReport, printedLine } from './printed.ts'
import { reasonText } from './problem-text.ts'
import { joinReasons, keyOfReason } from './reasons.ts'
import type { CaseReport, Observation, Report, RequirementReport } from './report.ts'
import { verdictOrder, words } from './verdict-words.ts'

export interface Explanation {
  sentences: { level: 'MUST' | 'IMPLIED'; id: string; text: string; anchor: string }[]
  /** The step, and where it is written. */
  at: string
  where: string | null
  but: string
  hint: string | null
  exchanges: Exchange[]
}

/** Null for a case without a problem. The sentences are those that failed, or for a blocked case those that stay open. */
export function explainCase(report: Pick<PrintedReport, 'requirements'>, testCase: CaseReport): Explanation | null {
  const { problem } = testCase
  if (problem === null) return null
  const ids = problem.requirements.length > 0 ? problem.requirements : testCase.proves
  return {
    sentences: report.requirements.filter(({ id }) => ids.includes(id)).map(sentenceOf),
    at: problem.step,
    where: problem.where ?? null,
    but: problem.message,
    hint: problem.hint?.message ?? null,
    exchanges: problem.exchanges.map(({ request, answer }) => ({
      request: request.map(printedLine),
      answer: answer.map(printedLine),
    })),
  }
}

/** The same line by line, for formats that take one text for a case. */
export function caseLines(report: Pick<PrintedReport, 'requirements'>, testCase: CaseReport): string[] {
  const explained = explainCase(report, testCase)
  if (explained === null) return [testCase.title]
  return [
    testCase.key,
    ...explained.sentences.map(({ level, id, text, anchor }) => `${level} ${id}: ${text} (${anchor})`),
    ...(explained.at === '' ? [] : [`At ${explained.at}${explained.where === null ? '' : ` (${explained.where})`}`]),
    `But ${explained.but}`,
    ...(explained.hint === null ? [] : [`Hint ${explained.hint}`]),
    ...explained.exchanges.flatMap(({ request, answer }) => [
      '',
      ...request.map((line) => `> ${line}`),
      ...answer.map((line) => `< ${line}`),
    ]),
    '',
    `Again ${testCase.again}`,
  ]
}

function sentenceOf({ level, id, text, anchor }: RequirementReport): Explanation['sentences'][number] {
  return { level: level === 'must' ? 'MUST' : 'IMPLIED', id, text, anchor }
}

/** Why a case was not run because the run ended before it; null for every other case. */
export function notRunBecause({ problem }: Pick<CaseReport, 'problem'>): string | null {
  return problem?.kind === 'not-run' ? notRunText(problem.because) : null
}

/** Cases of one verdict, in order. */
export function casesWith(report: Pick<Report, 'cases'>, verdict: Verdict): CaseReport[] {
  return report.cases.filter((testCase) => testCase.verdict === verdict)
}

/** The first part of an id. */
export const areaOf = (id: string): string => id.split('/')[0] ?? id

export type Counts = { [verdict in Verdict]: number }

/** Requirements per area and verdict, areas in the order of the register. */
export function countAreas(
  requirements: readonly RequirementReport[],
): { area: string; total: number; counts: Counts }[] {
  return [...groupBy(requirements, ({ id }) => areaOf(id))].map(([area, mine]) => ({
    area,
    total: mine.length,
    counts: countVerdicts(mine),
  }))
}

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
  return selected.length === 0 ? null : { columns, areas: countAreas(selected), total: selected.length, totals }
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
  const groups = new Map<string, { kind: OpenKind; reasons: RequirementReport['reasons']; ids: string[] }>()
  for (const { id, level, verdict, reasons, gap } of requirements) {
    if (verdict !== 'not-testable') continue
    const kind = gap ? 'must' : level === 'must' ? 'excused' : 'implied'
    for (const [key, mine] of reasonsByKey(reasons)) {
      const group = groups.get(`${kind} ${key}`) ?? { kind, reasons: [], ids: [] }
      group.reasons.push(...mine)
      group.ids.push(id)
      groups.set(`${kind} ${key}`, group)
    }
  }
  const order: readonly OpenKind[] = ['must', 'implied', 'excused']
  return [...groups.values()]
    .map(({ kind, reasons, ids }): OpenGroup => {
      const [joined] = joinReasons(reasons)
      const isLeftOut = isLeftOutByOnly({ reasons })
      const reason = joined === undefined ? 'No reason given' : reasonText(joined.reasons)
      return { kind, reason, notSelectedByOnly: isLeftOut, ids }
    })
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind) || other.ids.length - one.ids.length)
}

/** The user selected other cases and knows that this requirement is not judged. */
export function isLeftOutByOnly({ reasons }: Pick<RequirementReport, 'reasons'>): boolean {
  return reasons.some((one) => one.kind === 'not-selected' && one.by === 'only')
}

function reasonsByKey(reasons: RequirementReport['reasons']): Map<string, RequirementReport['reasons']> {
  if (reasons.length === 0) return new Map([['none', []]])
  return groupBy(reasons, (reason) => (reason.kind === 'needs-probe' ? 'probes' : keyOfReason(reason)))
}

/** Headings of these groups. */
export const openHeadings: { [kind in OpenKind]: string } = {
  must: 'Musts that are not testable here',
  implied: 'Implied, and not testable here',
  excused: 'Not testable for a written reason',
}

/** The end of a case's key in words: `content type missing`. */
export const wordsOfKey = (key: string): string => key.replace(/^.*\//, '').replaceAll('-', ' ')

/** The answers to an open question, each with what was tried; the latter is empty if a single case without a name gave them. */
export function answersOf({ answers }: Observation): { answer: string; asked: string }[] {
  const keys = new Set(answers.flatMap(({ cases }) => cases))
  const plain = keys.size === 1 ? [...keys].map(wordsOfKey) : []
  return answers.map(({ answer, asked }) => ({
    answer,
    asked: asked.filter((words) => !plain.includes(words)).join('; '),
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
