import { groupBy } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import type { Printable } from '../engine/printable.ts'
import { asset } from '../page/build-page.ts'
import { answersOf, casesWith, countVerdicts, notRunBecause, summarySentence } from './explain.ts'
import { exploredLines, skippedLines } from './explored-lines.ts'
import { sortFindings } from './findings.ts'
import { caseDetails, findingDetails } from './html-cases.ts'
import { htmlPage, scriptFile } from './html-page.ts'
import { coverage, fixtureTexts, legend, requirementLine } from './html-parts.ts'
import { escapeHtml, linkTo, list } from './html-text.ts'
import { brokenNewer, type PrintedReport, printedReport } from './printed.ts'
import { causesOfProblems, problemsOf } from './problems.ts'
import type { CaseReport, Report } from './report.ts'
import type { Sources } from './sources.ts'
import {
  casesOf,
  entryWords,
  glyphs,
  judgeWords,
  shardWords,
  targetWords,
  toneOf,
  verdictOrder,
  words,
} from './verdict-words.ts'

/**
 * One self-contained page: no network (its own policy forbids it), filters by verdict, requirement and words.
 *
 * @param sources the texts that its links lead to; without them sentences and fixtures are named only
 */
export function renderHtml(raw: Report, sources: Sources = new Map()): Printable {
  const report = printedReport(raw)
  const target = targetWords(report.meta)
  const title = `${target}: ${words(report.verdict)}`
  const body = `<a class="skip" href="#cases">Skip to the cases</a>
${header(report, target)}
<main>
${filters(report)}
<h2>Coverage</h2>
<p class="soft">One cell for each requirement. Choose one to see its cases.</p>
${coverage(report)}
${legend(report)}
${findings(report)}${explored(report)}
<h2 id="cases" tabindex="-1">Cases</h2>
${allCases(report, sources)}
<h2 id="requirements">Requirements</h2>
<div class="table"><table class="stack"><thead><tr><th>verdict</th><th>id</th><th>level</th><th>sentence</th><th>shown by</th></tr></thead>
<tbody>${report.requirements.map((one) => requirementLine(one, sources)).join('\n')}</tbody></table></div>
${newerChecks(report, sources)}
${observations(report)}
${list('Stale baseline entries: listed, but they pass', report.stale.map(entryWords))}
${list('Left on the target', report.left)}
${fixtureTexts(report.cases, sources)}
</main>
<footer>svc-conformance ${escapeHtml(report.meta.version)}, Node ${escapeHtml(report.meta.node)}, seed ${escapeHtml(report.meta.seed)}, ${escapeHtml(report.meta.started)}</footer>`
  // In a block, so that its names stay out of the page.
  return htmlPage(title, body, `{\n${asset(scriptFile)}}`)
}

function header(report: PrintedReport, target: string): string {
  const { meta, verdict } = report
  const lines = report.conclusion.map(
    (line) => `<li${line.startsWith('  ') ? ' class="deep"' : ''}>${escapeHtml(line.trim())}</li>`,
  )
  const clock = meta.clock === null ? '' : `<p>${escapeHtml(meta.clock.sentence)}</p>`
  return `<header>
<p class="product">svc-conformance ${escapeHtml(meta.version)}, conformance report</p>
<h1>${escapeHtml(target)}</h1>
<p class="soft"><time datetime="${escapeHtml(meta.started)}">${dateWords(meta.started)}</time>, ${(meta.durationMs / 1000).toFixed(1)} s, judged by ${escapeHtml(judgeWords(meta.set))}${escapeHtml(shardWords(meta))}</p>
<p class="verdict fill ${toneOf(verdict)}">${words(verdict)} <span class="exit">exit code ${report.exitCode}</span></p>
<p>${casesOf(report.cases.length)}: ${escapeHtml(summarySentence(report))}</p>
${problemList(report)}${clock}<ul class="conclusion">${lines.join('')}</ul>
</header>`
}

const months = 'January February March April May June July August September October November December'.split(' ')

/** `2 January 2026, 03:04 UTC`, the same wherever it is made. */
function dateWords(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return escapeHtml(iso)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}, ${date.toISOString().slice(11, 16)} UTC`
}

function problemList(report: PrintedReport): string {
  const items = problemsOf(report).map(
    ({ verdict, kind, id, rest }) =>
      `<li><span class="${verdict}" aria-hidden="true">${glyphs[verdict]}</span> ${words(verdict)} ${linkTo(`${kind}/${id}`, `<code>${escapeHtml(id)}</code>`)}${escapeHtml(rest)}</li>`,
  )
  return items.length === 0 ? '' : `<ul class="problems" aria-label="Problems">${items.join('')}</ul>\n`
}

/** Hidden until the script runs, because filters need it. */
function filters(report: PrintedReport): string {
  const counts = countVerdicts(report.cases)
  const chips = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map(
      (verdict) =>
        `<button type="button" class="chip ${verdict}" data-verdict-filter="${verdict}" aria-pressed="false">${glyphs[verdict]} ${words(verdict)} ${counts[verdict]}</button>`,
    )
  return `<div class="filters" role="search" aria-label="Cases" hidden><input id="text" type="search" placeholder="Filter by id or words (press /)" aria-label="Filter by id or words">${chips.join('')}<button type="button" id="clear" class="chip plain" hidden>Show all</button><span id="count" class="soft" role="status"></span></div>`
}

function findings(report: PrintedReport): string {
  if (report.findings.length === 0) return ''
  const details = sortFindings(report.findings).map((finding) => findingDetails(report, finding))
  return `<h2 id="findings">Found by the model</h2>\n<p class="soft">Answers that no reading of the document allows.</p>\n${details.join('\n')}`
}

/** How many calls the model made: one line for each part of each kind of call. */
function explored(report: PrintedReport): string {
  const [first] = exploredLines(report)
  if (report.explored === null || first === undefined) return ''
  const rows = report.explored.parts.map(
    ({ case: name, asked, all }) => `<li><code>${escapeHtml(name)}</code> ${asked} of ${all}</li>`,
  )
  const skipped = skippedLines(report.explored.skipped ?? []).map((text) => `<p class="soft">${escapeHtml(text)}</p>`)
  return `<details class="explored"><summary>${escapeHtml(first)}</summary><ul>${rows.join('')}</ul></details>${skipped.join('')}`
}

/** What a frozen set does not judge. */
function newerChecks(report: PrintedReport, sources: Sources): string {
  const broken = brokenNewer(report)
  if (broken.length + report.newer.findings.length === 0) return ''
  const details = [
    ...broken.map((testCase) => caseDetails(report, testCase, { sources, like: null, prefix: 'newer' })),
    ...sortFindings(report.newer.findings).map((finding) => findingDetails(report, finding)),
  ]
  return `<h2 id="newer">Found by newer checks</h2>\n<p class="soft">Set ${escapeHtml(report.meta.set)} does not contain them, so they change neither the verdict nor the exit code.</p>\n<div class="newer">${details.join('\n')}</div>`
}

/** The worst first. Of failures with one likely cause, the first is open, and the others follow and point to it. */
function allCases(report: PrintedReport, sources: Sources): string {
  const { failed, warned } = causesOfProblems(report)
  const byCause = [...failed, ...warned].flatMap(({ first, others }) => [
    { testCase: first, like: null },
    ...others.map((testCase) => ({ testCase, like: first.key })),
  ])
  const ofVerdict = (verdict: string): string[] =>
    byCause
      .filter(({ testCase }) => testCase.verdict === verdict)
      .map(({ testCase, like }) => caseDetails(report, testCase, { sources, like }))
  const folded = foldedCases(report, sources, ['blocked', 'not-run'])
  const rest = verdictOrder
    .filter((verdict) => verdict !== 'failed' && verdict !== 'warned' && verdict !== 'blocked' && verdict !== 'not-run')
    .flatMap((verdict) =>
      verdict === 'not-testable'
        ? foldedCases(report, sources, [verdict])
        : casesWith(report, verdict).map((testCase) => caseDetails(report, testCase, { sources, like: null })),
    )
  return [...ofVerdict('failed'), ...folded, ...ofVerdict('warned'), ...rest].join('\n')
}

/** One cause may block hundreds of cases, and one reason leave as many open, so they are folded under one line. */
function foldedCases(report: PrintedReport, sources: Sources, verdicts: readonly Verdict[]): string[] {
  const open = report.cases.filter(({ verdict }) => verdicts.includes(verdict))
  return [...groupBy(open, causeWords)].map(([cause, cases]) => {
    const details = cases.map((testCase) => caseDetails(report, testCase, { sources, like: null })).join('\n')
    if (cases.length === 1) return details
    return `<details class="group"><summary>${escapeHtml(`${cases.length} cases ${cause}`)}</summary>\n${details}\n</details>`
  })
}

function causeWords(testCase: CaseReport): string {
  const notRun = notRunBecause(testCase)
  if (notRun !== null) return `not run: ${notRun}`
  if (testCase.verdict === 'not-testable') return `not testable: ${testCase.problem?.message ?? ''}`
  return testCase.blockedBy === null ? testCase.key : `blocked by the failure of ${testCase.blockedBy}`
}

function observations(report: PrintedReport): string {
  if (report.observations.length === 0) return ''
  const cases = report.observations.map(
    (seen) =>
      `<tr><td><code>${escapeHtml(seen.question)}</code></td><td>${escapeHtml(seen.text)}</td><td>${answersOf(seen).map(answerLine).join('<br>')}</td><td class="soft">${escapeHtml(seen.reference)}</td></tr>`,
  )
  return `<h2 id="questions">Open questions, observed and never judged</h2>
<div class="table"><table class="stack"><thead><tr><th>id</th><th>question</th><th>this server</th><th>the bundled server</th></tr></thead><tbody>${cases.join('\n')}</tbody></table></div>`
}

function answerLine({ answer, asked }: { answer: string; asked: string }): string {
  const when = asked === '' ? '' : `: <span class="soft">${escapeHtml(asked)}</span>`
  return `${escapeHtml(answer)}${when}`
}
