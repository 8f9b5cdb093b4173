import { createHash } from 'node:crypto'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import { groupByCause } from './causes.ts'
import { answersOf, countVerdicts, notRunBecause, summarySentence } from './explain.ts'
import { caseDetails, coverage, escapeHtml, requirementLine } from './html-parts.ts'
import { htmlScript } from './html-script.ts'
import { htmlStyle } from './html-style.ts'
import type { CaseReport, Report } from './model.ts'
import { type PrintedReport, printedReport } from './printed.ts'
import { verdictOrder, words } from './verdict-words.ts'

/** One self-contained page: no network (its own policy forbids it), filters by verdict, requirement and words. */
export function renderHtml(raw: Report): Printable {
  const report = printedReport(raw)
  const target = report.meta.target === 'bundled' ? 'the bundled server' : report.meta.target
  const title = `${target}: ${words(report.verdict)}`
  return vouchedFor(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${htmlStyle}</style>
</head>
<body>
<a class="skip" href="#cases">Skip to the cases</a>
${header(report, target)}
<main>
<h2>Coverage</h2>
<p class="soft">One cell per requirement; a dashed one is implied by the document, the others are musts. Choose one to see its cases.</p>
${coverage(report)}
<h2 id="cases" tabindex="-1">Cases</h2>
${filters(report)}
${allRows(report)}
<h2>Requirements</h2>
<div class="table"><table class="stack"><thead><tr><th>verdict</th><th>id</th><th>level</th><th>sentence</th><th>shown by</th></tr></thead>
<tbody>${report.requirements.map(requirementLine).join('\n')}</tbody></table></div>
${observations(report)}
${list(
  'Stale baseline entries: listed, but they pass',
  report.stale.map(({ scenario, case: name, requirement }) =>
    [scenario, name, requirement].filter((part) => part !== undefined).join(', '),
  ),
)}
${list('Left on the target', report.left)}
</main>
<footer>svc-conformance ${escapeHtml(report.meta.version)}, Node ${escapeHtml(report.meta.node)}, seed ${escapeHtml(report.meta.seed)}, ${escapeHtml(report.meta.started)}</footer>
<script>${htmlScript}</script>
</body>
</html>
`)
}

const policy = `default-src 'none'; style-src '${hash(htmlStyle)}'; script-src '${hash(htmlScript)}'; base-uri 'none'; form-action 'none'`

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function header(report: PrintedReport, target: string): string {
  const kind = report.verdict === 'conforms' ? 'passed' : report.verdict === 'inconclusive' ? 'warned' : 'failed'
  const lines = report.conclusion.map(
    (line) => `<li${line.startsWith('  ') ? ' class="deep"' : ''}>${escapeHtml(line.trim())}</li>`,
  )
  const clock = report.meta.clock === null ? '' : `<p>${escapeHtml(report.meta.clock.sentence)}</p>`
  return `<header>
<h1>${escapeHtml(target)}</h1>
<p class="soft">${escapeHtml(summarySentence(report))}${report.meta.shard === null ? '' : `, shard ${escapeHtml(report.meta.shard)}`}</p>
<p class="verdict fill ${kind}">${words(report.verdict)}</p>
${clock}<ul class="conclusion">${lines.join('')}</ul>
</header>`
}

/** Hidden until the script runs, since nothing filters without it. */
function filters(report: PrintedReport): string {
  const counts = countVerdicts(report.cases)
  const chips = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map(
      (verdict) =>
        `<button type="button" class="chip ${verdict}" data-verdict-filter="${verdict}" aria-pressed="true">${words(verdict)} ${counts[verdict]}</button>`,
    )
  const missing = verdictOrder
    .filter((verdict) => counts[verdict] === 0)
    .map((verdict) => `<button type="button" hidden data-verdict-filter="${verdict}" aria-pressed="true"></button>`)
  return `<div class="filters" role="search" hidden><input id="text" type="search" placeholder="Filter by id or words (press /)" aria-label="Filter by id or words">${chips.join('')}${missing.join('')}<button type="button" id="clear" class="chip plain" hidden>Show all</button><span id="count" class="soft" role="status"></span></div>`
}

/** The worst first. Of failures that look like one cause the first is open, and the others come after it and point at it. */
function allRows(report: PrintedReport): string {
  const failed = report.cases.filter(({ verdict }) => verdict === 'failed')
  const failures = groupByCause(report.requirements, failed).flatMap(({ first, others }) => [
    caseDetails(report, first, null),
    ...others.map((testCase) => caseDetails(report, testCase, first.key)),
  ])
  const rest = verdictOrder
    .filter((verdict) => verdict !== 'failed' && verdict !== 'blocked')
    .flatMap((verdict) => report.cases.filter((testCase) => testCase.verdict === verdict))
  return [...failures, ...blockedRows(report), ...rest.map((testCase) => caseDetails(report, testCase, null))].join(
    '\n',
  )
}

/** One cause may block hundreds of cases: they are folded under one line. */
function blockedRows(report: PrintedReport): string[] {
  const byCause = new Map<string, CaseReport[]>()
  for (const testCase of report.cases.filter(({ verdict }) => verdict === 'blocked')) {
    const notRun = notRunBecause(testCase)
    const cause =
      testCase.blockedBy !== null
        ? `blocked by the failure of ${testCase.blockedBy}`
        : notRun === null
          ? testCase.key
          : `not run: ${notRun}`
    byCause.set(cause, [...(byCause.get(cause) ?? []), testCase])
  }
  return [...byCause].map(([cause, cases]) => {
    const details = cases.map((testCase) => caseDetails(report, testCase, null)).join('\n')
    return cases.length === 1 ? details : group(`${cases.length} cases ${cause}`, details)
  })
}

function group(title: string, content: string): string {
  return `<details class="group"><summary>${escapeHtml(title)}</summary>\n${content}\n</details>`
}

function observations(report: PrintedReport): string {
  if (report.observations.length === 0) return ''
  const cases = report.observations.map(
    (seen) =>
      `<tr><td><code>${escapeHtml(seen.question)}</code></td><td>${escapeHtml(seen.text)}</td><td>${answersOf(seen).map(answerLine).join('<br>')}</td><td class="soft">${escapeHtml(seen.reference)}</td></tr>`,
  )
  return `<h2>Open questions, observed and never judged</h2>
<div class="table"><table class="stack"><thead><tr><th>id</th><th>question</th><th>this server</th><th>the bundled server</th></tr></thead><tbody>${cases.join('\n')}</tbody></table></div>`
}

function answerLine({ answer, asked }: { answer: string; asked: string }): string {
  const when = asked === '' ? '' : `: <span class="soft">${escapeHtml(asked)}</span>`
  return `${escapeHtml(answer)}${when}`
}

function list(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `<h2>${escapeHtml(title)}</h2><ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`
}
