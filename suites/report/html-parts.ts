import { type Counts, countAreas, explainCase } from './explain.ts'
import type { CaseReport, RequirementReport } from './model.ts'
import type { PrintedReport } from './printed.ts'
import { glyphs, verdictOrder, words } from './verdict-words.ts'

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** The coverage picture: a bar per area, and a cell per requirement that filters by it. */
export function coverage(report: PrintedReport): string {
  const areas = countAreas(report.requirements).map(({ area, total, counts }) => {
    const mine = report.requirements.filter(({ id }) => id.split('/')[0] === area)
    return `<li><h3>${escapeHtml(area)} <span>${counts.passed} of ${total}</span></h3>${bar(counts, total)}
<div class="cells" role="group" aria-label="Requirements of ${escapeHtml(area)}">${mine.map(cell).join('')}</div></li>`
  })
  return `<ul class="areas">${areas.join('\n')}</ul>`
}

function bar(counts: Counts, total: number): string {
  let x = 0
  const parts = [...verdictOrder].reverse().map((verdict) => {
    const width = (counts[verdict] / total) * 100
    const part =
      width === 0 ? '' : `<rect class="${verdict}" x="${x.toFixed(2)}" y="0" width="${width.toFixed(2)}" height="5"/>`
    x += width
    return part
  })
  const said = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${words(verdict)}`)
  return `<svg class="bar" viewBox="0 0 100 5" preserveAspectRatio="none" role="img" aria-label="${said.join(', ')}">${parts.join('')}</svg>`
}

function cell({ id, level, verdict, text }: RequirementReport): string {
  const label = escapeHtml(`${id}, ${words(verdict)}: ${text}`)
  return `<button type="button" class="cell fill ${verdict} ${level}" data-requirement="${escapeHtml(id)}" aria-pressed="false" title="${label}" aria-label="${label}">${glyphs[verdict]}</button>`
}

/**
 * One case; what did not pass is explained within, and open where it failed.
 *
 * @param like the key of a case that failed for what looks like the same cause, and tells it
 */
export function caseDetails(report: PrintedReport, testCase: CaseReport, like: string | null): string {
  const said = explainCase(report, testCase)
  const search = [testCase.key, testCase.title, ...testCase.proves, said?.but ?? ''].join(' ').toLowerCase()
  const data = `data-verdict="${testCase.verdict}" data-proves="${escapeHtml(testCase.proves.join(' '))}" data-search="${escapeHtml(search)}"`
  const summary = `<summary><span class="mark ${testCase.verdict}" aria-hidden="true">${glyphs[testCase.verdict]}</span> <span class="${testCase.verdict}">${words(testCase.verdict)}</span> <code>${escapeHtml(testCase.key)}</code> ${escapeHtml(testCase.title)}</summary>`
  const open = testCase.verdict === 'failed' && like === null ? ' open' : ''
  return `<details class="case ${testCase.verdict}" ${data}${open}>${summary}<div class="body">${said === null ? proof(testCase) : explanation(testCase, said, like)}</div></details>`
}

function proof(testCase: CaseReport): string {
  const proves = testCase.proves.map((id) => `<code>${escapeHtml(id)}</code>`).join(', ')
  return `<dl><dt>Proves</dt><dd>${proves}</dd><dt>Calls</dt><dd>${testCase.calls}, ${Math.round(testCase.durationMs)} ms</dd></dl>${again(testCase)}`
}

function explanation(
  testCase: CaseReport,
  said: NonNullable<ReturnType<typeof explainCase>>,
  like: string | null,
): string {
  const sentences = said.sentences.map(
    ({ level, id, text, anchor }) =>
      `<p class="sentence"><b>${level}</b> <code>${escapeHtml(id)}</code> ${escapeHtml(text)} <span class="soft">${escapeHtml(anchor)}</span></p>`,
  )
  const facts: [string, string | null][] = [
    ['At', said.at === '' ? null : said.where === null ? said.at : `${said.at} (${said.where})`],
    [testCase.verdict === 'not-testable' ? 'Why' : 'But', said.but],
    ['Hint', said.hint],
    ['Blocked', testCase.blockedBy === null ? null : `by the failure of ${testCase.blockedBy}`],
    ['Alike', like === null ? null : `It fails like ${like}: most likely one cause`],
    [
      'Known',
      testCase.known === null
        ? null
        : [testCase.known.reason, testCase.known.issue].filter((part) => part !== null).join(', '),
    ],
  ]
  const list = facts.map(([name, text]) => (text === null ? '' : `<dt>${name}</dt><dd>${escapeHtml(text)}</dd>`))
  const exchanges = said.exchanges.map(
    ({ request, answer }) =>
      `<pre tabindex="0" aria-label="Exchange">${lines('out', '&gt;', request)}\n${lines('in', '&lt;', answer)}</pre>`,
  )
  return `${sentences.join('')}<dl>${list.join('')}</dl>${exchanges.join('')}${again(testCase)}`
}

function lines(kind: 'out' | 'in', sign: string, all: readonly string[]): string {
  return all.map((line) => `<span class="${kind}">${sign} ${escapeHtml(line)}</span>`).join('\n')
}

function again(testCase: CaseReport): string {
  return `<div class="again"><pre tabindex="0" aria-label="Command that repeats this case">${escapeHtml(testCase.again)}</pre><button type="button" class="copy" hidden>Copy</button></div>`
}

/** One line of the table of requirements. */
export function requirementLine({ id, level, verdict, text, reason, cases }: RequirementReport): string {
  const search = escapeHtml([id, text, reason ?? ''].join(' ').toLowerCase())
  const why = reason === null ? '' : `<br><span class="soft">${escapeHtml(reason)}</span>`
  return `<tr data-id="${escapeHtml(id)}" data-verdict="${verdict}" data-proves="${escapeHtml(id)}" data-search="${search}"><td class="nowrap ${verdict}">${glyphs[verdict]} ${words(verdict)}</td><td><code>${escapeHtml(id)}</code></td><td>${level}</td><td>${escapeHtml(text)}${why}</td><td class="nowrap">${cases.length === 1 ? '1 case' : `${cases.length} cases`}</td></tr>`
}
