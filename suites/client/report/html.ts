import { type Printable, printed } from '../../engine/printable.ts'
import { htmlPage } from '../../report/html-page.ts'
import { escapeHtml, factList, list } from '../../report/html-text.ts'
import { knownWords, toneOf, words } from '../../report/verdict-words.ts'
import type { CheckEvidence, CheckReport, ClientReport, ScenarioReport } from './client-report.ts'
import { exchangeLines, headingOf, summaryOf, wrongChecks } from './text.ts'

/** One self-contained page without a script; its own policy forbids the network. */
export function renderHtml(raw: ClientReport): Printable {
  const report = printed(raw)
  const title = `${report.meta.command ?? 'Clients'}: ${words(report.verdict)}`
  const wrong = wrongChecks(report)
  const rest = report.checks.filter((check) => !wrong.includes(check))
  const body = `<header>
<h1>${escapeHtml(report.meta.command ?? 'Clients')}</h1>
<p class="soft">${escapeHtml(headingOf(report))}. ${escapeHtml(summaryOf(report.summary))}</p>
<p class="verdict fill ${toneOf(report.verdict)}">${words(report.verdict)}</p>
<ul class="conclusion">${report.conclusion.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>
</header>
<main>
<h2>Checks</h2>
${[...wrong, ...rest].map(checkDetails).join('\n')}
<h2>Scenarios</h2>
<div class="table"><table class="stack"><thead><tr><th>scenario</th><th>what happens</th><th class="nowrap">requests</th><th class="nowrap">accepted</th><th class="nowrap">ok</th><th class="nowrap">error</th><th>ended with</th></tr></thead>
<tbody>${report.scenarios.map(scenarioLine).join('\n')}</tbody></table></div>
${list(
  'Stale baseline entries: listed, but they pass',
  report.stale.map(({ check, reason }) => `${check} ${reason}`),
)}
</main>
<footer>svc-conformance ${escapeHtml(report.meta.version)}, Node ${escapeHtml(report.meta.node)}, ${escapeHtml(report.meta.started)}</footer>`
  return htmlPage(title, body, null)
}

/** The classes of the style that the report of a server shares. */
const styleOf = ({ verdict, known }: CheckReport): string =>
  known !== null ? 'known' : verdict === 'not-exercised' ? 'not-testable' : verdict

function checkDetails(check: CheckReport): string {
  const { id, title, level, sentence, source, verdict, known, message, scenarios, evidence, again } = check
  const kind = styleOf(check)
  const facts = factList([
    [verdict === 'failed' || verdict === 'warned' ? 'But' : 'Shown', escapeHtml(message)],
    ['Known', known === null ? null : escapeHtml(knownWords(known))],
    ['In', scenarios.length === 0 ? null : escapeHtml(scenarios.join(', '))],
  ])
  return `<details class="case ${kind}"${verdict === 'failed' && known === null ? ' open' : ''}><summary><span class="mark ${kind}">${known === null ? words(verdict) : 'known'}</span> <code>${escapeHtml(id)}</code> ${escapeHtml(title)}</summary><div class="body"><p class="sentence"><b>${level}</b> ${escapeHtml(sentence)} <span class="soft">${escapeHtml(source)}</span></p>${facts}${evidence.map(evidencePart).join('')}<pre tabindex="0">${escapeHtml(again)}</pre></div></details>`
}

function evidencePart({ scenario, message, diagnosis, exchanges }: CheckEvidence): string {
  const lines = [`${scenario}: ${message}`, ...diagnosis].map((line) => `<p>${escapeHtml(line)}</p>`)
  const shown = exchanges.map(
    (exchange) => `<pre tabindex="0" aria-label="Exchange">${escapeHtml(exchangeLines(exchange).join('\n'))}</pre>`,
  )
  return lines.join('') + shown.join('')
}

function scenarioLine({ id, about, requests, accepted, ok, error, ended }: ScenarioReport): string {
  const cells = [requests, accepted, ok, error].map((number) => `<td class="nowrap">${number}</td>`).join('')
  return `<tr><td><code>${escapeHtml(id)}</code></td><td>${escapeHtml(about)}</td>${cells}<td>${escapeHtml(ended.join(', then '))}</td></tr>`
}
