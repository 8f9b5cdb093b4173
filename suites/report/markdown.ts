import { fewOf } from '../engine/group.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import type { Cause } from './causes.ts'
import { answersOf, areaTable, casesWith, explainCase, groupNotTestable, summarySentence } from './explain.ts'
import { exploredLines } from './explored-lines.ts'
import { reproducedSentence, sinceTitle, sortFindings, verdictOfFinding } from './findings.ts'
import { historyLines } from './history.ts'
import { code, fenced, fitted, folded, html, inline } from './markup.ts'
import { brokenNewer, type PrintedFinding, type PrintedReport, printedReport } from './printed.ts'
import { causesOfBlocked, causesOfProblems, problemLines } from './problems.ts'
import type { CaseReport, Observation, Report } from './report.ts'
import { casesOf, entryWords, glyphs, judgeWords, knownWords, shardWords, targetWords, words } from './verdict-words.ts'

const shownAlike = 20

/** The report for a job summary or a pull request, failures unfolded in details. At most 400,000 bytes. */
export function renderMarkdown(raw: Report): Printable {
  const report = printedReport(raw)
  const blocked = casesWith(report, 'blocked')
  const { failed, warned } = causesOfProblems(report)
  const failures = [...failed, ...causesOfBlocked(report), ...warned]
  const before = [heading(report), problemList(report), areaRows(report)]
  const after = [
    ...sortFindings(report.findings).map((finding) => foundBlock(report, finding)),
    newerChecks(report),
    known(report),
    stale(report),
    notTestable(report),
    observations(report),
    left(report),
    explored(report),
  ]
  const details = failures.map((cause) =>
    failure(report, cause, blocked.filter(({ blockedBy }) => blockedBy === cause.first.key).length),
  )
  return vouchedFor(fitted(before, details, after))
}

/** How many calls the model made. */
function explored(report: PrintedReport): string {
  const [first, ...parts] = exploredLines(report)
  return first === undefined ? '' : [first, ...parts.map((part) => `- ${part}`)].join('\n')
}

function heading(report: PrintedReport): string {
  const { meta } = report
  const sign = glyphs[report.exitCode !== 0 ? 'failed' : report.verdict === 'conforms' ? 'passed' : 'warned']
  return [
    `## ${sign} ${inline(targetWords(meta))}: ${words(report.verdict)}`,
    '',
    `${summarySentence(report)} (svc-conformance ${meta.version}${shardWords(meta)}, judged by ${judgeWords(meta.set)}, seed ${code(meta.seed)})`,
    '',
    ...(meta.clock === null ? [] : [`- ${inline(meta.clock.sentence)}`]),
    ...report.conclusion.map((line) => `${line.startsWith('  ') ? '  ' : ''}- ${inline(line.trimStart())}`),
  ].join('\n')
}

/** What failed, before everything else. */
function problemList(report: PrintedReport): string {
  return problemLines(report)
    .map((line) => `- ${inline(line)}`)
    .join('\n')
}

function foundBlock(report: PrintedReport, finding: PrintedFinding): string {
  const { id, requirement, level, message, steps, fixture, exchanges, history, since } = finding
  const sentence = report.requirements.find((one) => one.id === requirement)?.text ?? ''
  return [
    '<details>',
    `<summary>${glyphs[verdictOfFinding(finding)]} <code>${html(id)}</code> ${html(message)}</summary>`,
    '',
    `**${level.toUpperCase()}** ${code(requirement)}: ${inline(sentence)}<br>`,
    `**Found** by the model. ${inline(reproducedSentence(finding))}`,
    '',
    ...steps.map((step, index) => `${index + 1}. ${inline(step)}`),
    ...(since === undefined
      ? []
      : ['', inline(sinceTitle(since)), '', ...since.calls.map((text) => `- ${inline(text)}`)]),
    ...(history.length === 0 ? [] : ['', ...fenced(historyLines(history))]),
    ...exchanges.flatMap(exchangeBlock),
    ...(fixture === null ? [] : ['', 'This scenario shows it:', '', ...fenced(fixture)]),
    '',
    '</details>',
  ].join('\n')
}

/** What a frozen set does not judge. */
function newerChecks(report: PrintedReport): string {
  const broken = brokenNewer(report)
  if (broken.length + report.newer.findings.length === 0) return ''
  return [
    `### Found by newer checks, which are not in set ${inline(report.meta.set)}`,
    '',
    ...broken.map((first) => failure(report, { first, others: [] }, 0)),
    ...sortFindings(report.newer.findings).map((finding) => foundBlock(report, finding)),
  ].join('\n')
}

function exchangeBlock({ request, answer }: { request: string[]; answer: string[] }): string[] {
  return ['', ...fenced([...request.map((line) => `> ${line}`), ...answer.map((line) => `< ${line}`)])]
}

function areaRows(report: PrintedReport): string {
  const found = areaTable(report)
  if (found === null) return ''
  const { columns, areas } = found
  return [
    `| requirements | of | ${columns.map(words).join(' | ')} |`,
    `|---|--:|${columns.map(() => '--:').join('|')}|`,
    ...areas.map(
      ({ area, total, counts }) =>
        `| ${area} | ${total} | ${columns.map((verdict) => counts[verdict] || '').join(' | ')} |`,
    ),
  ].join('\n')
}

function failure(report: PrintedReport, { first: testCase, others }: Cause, blocks: number): string {
  const summary = `<summary>${glyphs[testCase.verdict]} <code>${html(testCase.key)}</code> ${html(testCase.title)}</summary>`
  const explained = explainCase(report, testCase)
  if (explained === null) return `<details>${summary}</details>`
  return [
    '<details>',
    summary,
    '',
    ...explained.sentences.map(({ level, id, text }) => `**${level}** ${code(id)}: ${inline(text)}<br>`),
    ...(explained.at === ''
      ? []
      : [`**At** ${inline(explained.at)}${explained.where === null ? '' : ` (${code(explained.where)})`}<br>`]),
    `**But** ${inline(explained.but)}`,
    ...(explained.hint === null ? [] : [`<br>**Hint** ${inline(explained.hint)}`]),
    ...alike(testCase, others),
    ...(blocks === 0 ? [] : [`<br>**Blocks** ${casesOf(blocks)}`]),
    ...explained.exchanges.flatMap(exchangeBlock),
    '',
    ...fenced([testCase.again]),
    '',
    '</details>',
  ].join('\n')
}

function alike({ verdict }: CaseReport, others: readonly CaseReport[]): string[] {
  if (others.length === 0) return []
  const what =
    verdict === 'blocked' ? 'blocked by the same cause' : verdict === 'failed' ? 'fail like this' : 'warn like this'
  const keys = others.map(({ key }) => code(key))
  return [`<br>**Also** ${what}: ${fewOf(keys, shownAlike)}`]
}

function known(report: PrintedReport): string {
  return bullets(
    'Known failures',
    casesWith(report, 'known').map(
      ({ key, known }) => `${code(key)}: ${known === null ? '' : inline(knownWords(known))}`,
    ),
  )
}

function stale(report: PrintedReport): string {
  return bullets(
    'Stale baseline entries: listed, but they pass',
    report.stale.map((entry) => code(entryWords(entry))),
  )
}

function notTestable(report: PrintedReport): string {
  const groups = groupNotTestable(report)
  if (groups.length === 0) return ''
  const lines = groups.map(({ reason, ids }) => `- ${inline(reason)}: ${ids.map(code).join(', ')}`)
  return folded(`Not testable here (${groups.reduce((sum, { ids }) => sum + ids.length, 0)} requirements)`, lines)
}

function observations(report: PrintedReport): string {
  if (report.observations.length === 0) return ''
  const cases = report.observations.map(
    (seen) => `| ${code(seen.question)} | ${inline(seen.text)} | ${answerCell(seen)} |`,
  )
  const head = ['| open question | | this server |', '|---|---|---|']
  return folded(`Open questions observed, never judged (${cases.length})`, [...head, ...cases])
}

function answerCell(seen: Observation): string {
  return answersOf(seen)
    .map(({ answer, asked }) => inline(asked === '' ? answer : `${answer}: ${asked}`))
    .join('<br>')
}

function left(report: PrintedReport): string {
  return bullets('Left on the target', report.left.map(inline))
}

/** A list under its heading; empty without items. */
function bullets(heading: string, items: readonly string[]): string {
  return items.length === 0 ? '' : [`### ${heading}`, '', ...items.map((item) => `- ${item}`)].join('\n')
}
