/** The blocks of the text report about cases and findings that need attention, one for each cause. */
import { counted, firstFew, groupBy } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { casesWith, explainCase, notRunBecause } from './explain.ts'
import { failsRun, groupFindings, reproducedSentence, sinceLines, verdictOfFinding } from './findings.ts'
import { historyLines } from './history.ts'
import type { Paint } from './lines.ts'
import { brokenNewer, type PrintedReport } from './printed.ts'
import { causesOfBlocked, causesOfProblems } from './problems.ts'
import type { CaseReport } from './report.ts'
import { casesOf, glyphs } from './verdict-words.ts'

/** How many failures are reported in full; a server with more failures usually has one or two causes. */
const fullFailures = 30
/** The whole list is in the other reports. */
const shownAlike = 8

/** Failures by cause: the first case of each in full, then those that fail like it, then those that it blocks. */
export function failureBlocks(report: PrintedReport, paint: Paint): string[][] {
  return causesOfProblems(report).failed.map(({ first, others }, index) => [
    ...caseBlock(report, first, paint, index < fullFailures),
    ...alike(first, others, 'fails like this', paint),
    ...blockedBy(report, first, paint),
  ])
}

/** Known failures are listed elsewhere; the cases that they block are listed here. */
export function blockedByKnownBlocks(report: PrintedReport, paint: Paint): string[][] {
  return casesWith(report, 'known').flatMap((testCase) => {
    const blocked = blockedBy(report, testCase, paint)
    return blocked.length === 0 ? [] : [[paint.yellow(`${glyphs.known} ${testCase.key}`), ...blocked]]
  })
}

export function warningBlocks(report: PrintedReport, paint: Paint): string[][] {
  return causesOfProblems(report).warned.map(({ first, others }) => [
    ...caseBlock(report, first, paint, true),
    ...alike(first, others, 'warns like this', paint),
  ])
}

/** Blocked cases that no failure explains, beginning with the cause that blocks most. */
export function blockedBlocks(report: PrintedReport, paint: Paint): string[][] {
  return causesOfBlocked(report).map(({ first, others }) => [
    ...caseBlock(report, first, paint, true),
    ...alike(first, others, 'is blocked by the same cause', paint),
  ])
}

/** Cases that the run did not reach, without useless details. */
export function notRunBlocks(report: PrintedReport, paint: Paint): string[][] {
  const byReason = groupBy(casesWith(report, 'not-run'), (testCase) => notRunBecause(testCase) ?? '')
  return [...byReason].map(([reason, cases]) => {
    const keys = cases.map(({ key }) => key)
    const count = `${casesOf(keys.length)} ${keys.length === 1 ? 'was' : 'were'}`
    return [
      ...paint.hanging(`${glyphs['not-run']} `, `${count} not run: ${reason}`).map(paint.yellow),
      ...listed(keys, paint),
    ]
  })
}

/** Cases that a frozen set does not judge, under a separate heading. */
export function newerCheckBlocks(report: PrintedReport, paint: Paint): string[][] {
  const { newer } = report
  const broken = brokenNewer(report)
  if (broken.length + newer.findings.length === 0) return []
  const heading = `Found by newer checks, which are not in set ${report.meta.set}; they change neither the verdict nor the exit code`
  return [
    paint.hanging('', heading).map(paint.bold),
    ...broken.map((testCase) => caseBlock(report, testCase, paint, true)),
    ...findingBlocks(report, newer.findings, paint),
  ]
}

/** Findings of the model that fail the run, like cases. */
export function failedFindingBlocks(report: PrintedReport, paint: Paint): string[][] {
  return findingBlocks(report, report.findings.filter(failsRun), paint)
}

/** All other findings: those that only warn, and known ones. */
export function otherFindingBlocks(report: PrintedReport, paint: Paint): string[][] {
  const others = report.findings.filter((finding) => !failsRun(finding))
  return findingBlocks(report, others, paint)
}

function findingBlocks(report: PrintedReport, all: PrintedReport['findings'], paint: Paint): string[][] {
  return groupFindings(report, all).map(({ first: finding, others, shownBy }) => {
    const verdict = verdictOfFinding(finding)
    const title = titleLine(verdict, finding.id, paint)
    const also = moreAnswers(others, paint)
    if (shownBy !== null)
      return [
        title,
        ...paint.hanging(
          '  ',
          `${finding.message}. It breaks ${finding.requirement}; the case ${shownBy} shows it too`,
        ),
        ...also,
      ]
    const sentence = report.requirements.find(({ id }) => id === finding.requirement)
    return [
      title,
      ...paint.hanging('  ', finding.message),
      '',
      ...sentenceLines(
        { level: finding.level, id: finding.requirement, text: sentence?.text ?? '', anchor: sentence?.anchor ?? '' },
        paint,
      ),
      '',
      ...finding.steps.flatMap((step, index) => paint.hanging(`  ${`${index + 1}.`.padEnd(6)}`, step)),
      ...paint.hanging('  Found ', `by the model. ${reproducedSentence(finding)}`),
      ...sinceLines(finding).flatMap((text) => paint.hanging('        ', text)),
      ...(finding.known === null ? [] : paint.hanging('  Known ', finding.known.reason)),
      ...block(historyLines(finding.history)),
      ...finding.exchanges.flatMap((exchange) => exchangeLines(exchange, paint)),
      ...(finding.fixture === null
        ? []
        : [
            '',
            '  This scenario shows it. Save it as DIR/scenarios/found/NAME.yaml beside DIR/language.yaml (language: 1), and use',
            '  run --fixtures DIR:',
            ...finding.fixture.map((line) => paint.dim(`    ${line}`)),
          ]),
      ...also,
    ]
  })
}

/** What else the model found to break the same requirement. */
function moreAnswers(others: PrintedReport['findings'], paint: Paint): string[] {
  if (others.length === 0) return []
  const ids = others.map(({ id }) => id)
  return [`  Also    ${counted(ids.length, 'more answer breaks it', 'more answers break it')}:`, ...listed(ids, paint)]
}

function block(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines.map((line) => `  ${line}`)]
}

function titleLine(verdict: Verdict, id: string, paint: Paint): string {
  const title = `${glyphs[verdict]} ${id}`
  return verdict === 'failed' ? paint.red(title) : paint.yellow(title)
}

function caseBlock(report: PrintedReport, testCase: CaseReport, paint: Paint, full: boolean): string[] {
  const title = titleLine(testCase.verdict, testCase.key, paint)
  const explained = explainCase(report, testCase)
  if (explained === null) return [title, `  ${testCase.title}`]
  if (!full) return [title, ...paint.hanging('  ', explained.but)]
  return [
    title,
    ...paint.hanging('  ', testCase.title),
    // A case that only observes proves no sentence.
    ...(explained.sentences.length === 0 ? [] : ['']),
    ...explained.sentences.flatMap((sentence) => sentenceLines(sentence, paint)),
    '',
    ...(explained.at === ''
      ? []
      : paint.hanging('  At    ', explained.where === null ? explained.at : `${explained.at} (${explained.where})`)),
    ...paint.hanging('  But   ', explained.but),
    ...(explained.hint === null ? [] : paint.hanging('  Hint  ', explained.hint)),
    ...explained.exchanges.flatMap((exchange) => exchangeLines(exchange, paint)),
    '',
    `  Again   ${testCase.again}`,
  ]
}

function sentenceLines(
  { level, id, text, anchor }: { level: string; id: string; text: string; anchor: string },
  paint: Paint,
): string[] {
  const head = `  ${level.toUpperCase()}  `
  return [...paint.hanging(head, `${id}: ${text}`), paint.dim(`${' '.repeat(head.length)}${anchor}`)]
}

function exchangeLines({ request, answer }: { request: string[]; answer: string[] }, paint: Paint): string[] {
  return ['', ...request.map((line) => paint.dim(`  > ${line}`)), ...answer.map((line) => paint.dim(`  < ${line}`))]
}

const plural = (what: string): string => what.replace(/^is /, 'are ').replace(/^(fail|warn)s /, '$1 ')

/** The other cases of one cause, with the sentence that each breaks if it is a different one. */
function alike({ verdict, problem }: CaseReport, others: readonly CaseReport[], what: string, paint: Paint): string[] {
  if (others.length === 0) return []
  const broken = problem?.requirements ?? []
  const lines = others.map((testCase) => {
    const more = (testCase.problem?.requirements ?? []).filter((id) => !broken.includes(id))
    const words = [...more, ...(testCase.verdict === verdict ? [] : [testCase.verdict])]
    return `${testCase.key}${words.length === 0 ? '' : ` (${words.join(', ')})`}`
  })
  const count = others.length === 1 ? `one more case ${what}` : `${others.length} more cases ${plural(what)}`
  return [`  Also    ${count}:`, ...listed(lines, paint)]
}

function blockedBy(report: PrintedReport, { key }: CaseReport, paint: Paint): string[] {
  const blocked = casesWith(report, 'blocked').flatMap((other) => (other.blockedBy === key ? [other.key] : []))
  return blocked.length === 0 ? [] : [`  Blocks  ${casesOf(blocked.length)}:`, ...listed(blocked, paint)]
}

function listed(lines: readonly string[], paint: Paint): string[] {
  return firstFew(lines, shownAlike).flatMap((line) => paint.hanging('          ', line))
}
