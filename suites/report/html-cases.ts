/** Cases and findings in the HTML report. */
import { type Explanation, explainCase } from './explain.ts'
import { caseThatShows, reproducedSentence, sinceTitle, verdictOfFinding } from './findings.ts'
import { callSentence, lanesOf, lastMs, numbered } from './history.ts'
import { escapeBytes, escapeHtml, factList, linkTo } from './html-text.ts'
import type { PrintedFinding, PrintedReport } from './printed.ts'
import type { CaseReport, Since } from './report.ts'
import { placeOfCase, type Sources } from './sources.ts'
import { glyphs, knownWords, words } from './verdict-words.ts'

/**
 * Renders one case. A case that did not pass is explained inside, and is open if it failed.
 *
 * @param like the key of a case that failed for the same likely cause and is explained in full
 */
export function caseDetails(
  report: PrintedReport,
  testCase: CaseReport,
  { sources, like, prefix = 'case' }: { sources: Sources; like: string | null; prefix?: 'case' | 'newer' },
): string {
  const explained = explainCase(report, testCase)
  const search = [testCase.key, testCase.title, ...testCase.proves, explained?.but ?? ''].join(' ').toLowerCase()
  const data = `data-verdict="${testCase.verdict}" data-proves="${escapeHtml(testCase.proves.join(' '))}" data-search="${escapeHtml(search)}"`
  const summary = `<summary>${verdictMark(testCase.verdict)} <code>${escapeHtml(testCase.key)}</code> ${escapeHtml(testCase.title)}</summary>`
  const open = testCase.verdict === 'failed' && like === null ? ' open' : ''
  const body =
    explained === null ? proof(report, testCase, sources) : explanation(testCase, explained, { sources, like })
  return `<details class="case ${testCase.verdict}" id="${prefix}/${escapeHtml(testCase.key)}" ${data}${open}>${summary}<div class="body">${body}</div></details>`
}

function verdictMark(verdict: CaseReport['verdict']): string {
  return `<span class="mark ${verdict}" aria-hidden="true">${glyphs[verdict]}</span> <span class="${verdict}">${words(verdict)}</span>`
}

function proof({ requirements }: PrintedReport, testCase: CaseReport, sources: Sources): string {
  const linked = (id: string): string => {
    const text = `<code>${escapeHtml(id)}</code>`
    return requirements.some((one) => one.id === id) ? linkTo(`requirement/${id}`, text) : text
  }
  const proves = testCase.proves.map(linked).join(', ')
  const facts = factList([
    ['Proves', proves === '' ? null : proves],
    ['Calls', `${testCase.calls}, ${Math.round(testCase.durationMs)} ms`],
    ['Fixture', fixtureLink(testCase, sources)],
  ])
  return `${facts}${again(testCase.again)}`
}

/** The file of the case, as a link to its text on this page; null if the page does not hold it. */
function fixtureLink(testCase: CaseReport, sources: Sources): string | null {
  const { file, line } = placeOfCase(testCase)
  if (!sources.has(file)) return null
  const place = line === null ? '' : `, line ${line}`
  return linkTo(`file/${file}${line === null ? '' : `/${line}`}`, `<code>${escapeHtml(file)}</code>${place}`)
}

function explanation(
  testCase: CaseReport,
  explained: Explanation,
  { sources, like }: { sources: Sources; like: string | null },
): string {
  const facts = factList([
    ['At', explained.at === '' ? null : escapeHtml(explained.at)],
    [testCase.verdict === 'not-testable' ? 'Why' : 'But', escapeHtml(explained.but)],
    ['Hint', explained.hint === null ? null : escapeHtml(explained.hint)],
    ['Blocked', testCase.blockedBy === null ? null : `by the failure of ${caseLink(testCase.blockedBy)}`],
    ['Alike', like === null ? null : `It fails like ${caseLink(like)}, most likely for the same cause`],
    ['Known', testCase.known === null ? null : escapeHtml(knownWords(testCase.known))],
    ['Fixture', fixtureLink(testCase, sources)],
  ])
  return `${explained.sentences.map(sentence).join('')}${facts}${exchanges(explained.exchanges)}${again(testCase.again)}`
}

function caseLink(key: string): string {
  return linkTo(`case/${key}`, `<code>${escapeHtml(key)}</code>`)
}

function sentence({ level, id, text, anchor }: Explanation['sentences'][number]): string {
  return `<p class="sentence"><b>${level}</b> <code>${escapeHtml(id)}</code> ${escapeHtml(text)} ${linkTo(`requirement/${id}`, escapeHtml(anchor))}</p>`
}

function exchanges(all: readonly { request: string[]; answer: string[] }[]): string {
  return all
    .map(
      ({ request, answer }) =>
        `<pre tabindex="0" role="region" aria-label="Exchange">${lines('out', '&gt;', request)}\n${lines('in', '&lt;', answer)}</pre>`,
    )
    .join('')
}

function lines(kind: 'out' | 'in', sign: string, all: readonly string[]): string {
  return all.map((line) => `<span class="${kind}">${sign} ${escapeBytes(line)}</span>`).join('\n')
}

function again(command: string): string {
  return `<div class="again"><pre tabindex="0" role="region" aria-label="Command that repeats this case">${escapeHtml(command)}</pre><button type="button" class="copy" hidden>Copy</button></div>`
}

const sinceList = (since: Since): string =>
  `<p>${escapeHtml(sinceTitle(since))}</p><ul>${since.calls.map((text) => `<li>${escapeHtml(text)}</li>`).join('')}</ul>`

/** Renders a finding of the model like a case. */
export function findingDetails(report: PrintedReport, finding: PrintedFinding): string {
  const verdict = verdictOfFinding(finding)
  const requirement = report.requirements.find(({ id }) => id === finding.requirement)
  const shownBy = caseThatShows(report.cases, finding)
  const facts = factList([
    ['Found', `by the model. ${escapeHtml(reproducedSentence(finding))}`],
    ['Case', shownBy === null ? null : `${caseLink(shownBy)} shows the same`],
    ['Known', finding.known === null ? null : escapeHtml(knownWords(finding.known))],
  ])
  const steps = finding.steps.map((step) => `<li>${escapeHtml(step)}</li>`).join('')
  const since = finding.since === undefined ? '' : sinceList(finding.since)
  const broken =
    requirement === undefined ? '' : sentence({ ...requirement, level: finding.level === 'must' ? 'MUST' : 'IMPLIED' })
  const fixture =
    finding.fixture === null
      ? ''
      : `<p>This scenario shows it (<code>run --fixtures DIR</code>):</p><pre tabindex="0" role="region" aria-label="Scenario">${finding.fixture.map(escapeHtml).join('\n')}</pre>`
  return `<details class="finding case ${verdict}" id="finding/${escapeHtml(finding.id)}"${verdict === 'failed' ? ' open' : ''}><summary>${verdictMark(verdict)} <code>${escapeHtml(finding.id)}</code> ${escapeHtml(finding.message)}</summary><div class="body">${broken}${facts}<ol>${steps}</ol>${since}${history(finding.history)}${exchanges(finding.exchanges)}${fixture}</div></details>`
}

const laneHeight = 24
const nameWidth = 110
const timeWidth = 490

/** Calls at the same time: a lane for each connection, time to the right. */
function history(calls: PrintedFinding['history']): string {
  if (calls.length === 0) return ''
  const end = lastMs(calls)
  const lanes = lanesOf(calls).map(({ connection, calls: mine }, index) => {
    const y = index * laneHeight
    const bars = mine.map(({ number, startMs, endMs }) => {
      const x = nameWidth + (startMs / end) * timeWidth
      const width = Math.max(14, ((endMs - startMs) / end) * timeWidth)
      return `<rect x="${x.toFixed(1)}" y="${y + 3}" width="${width.toFixed(1)}" height="${laneHeight - 6}" rx="3"/><text class="number" x="${(x + width / 2).toFixed(1)}" y="${y + 16}">${number}</text>`
    })
    return `<text x="0" y="${y + 16}">${escapeHtml(`connection ${connection}`)}</text>${bars.join('')}`
  })
  const height = lanes.length * laneHeight
  const list = numbered(calls).map((call) => `<li>${escapeHtml(callSentence(call).replace(/^\d+ +/, ''))}</li>`)
  return `<figure><svg class="history" viewBox="0 0 ${nameWidth + timeWidth + 20} ${height}" role="img" aria-label="Calls at the same time, time to the right">${lanes.join('')}</svg><figcaption><ol>${list.join('')}</ol></figcaption></figure>`
}
