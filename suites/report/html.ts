/** One self-contained page: no network (its own policy forbids it), filters by verdict, requirement and words. */
import { groupBy } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import { asset, pagePolicy, pageStyle } from '../page/build-page.ts'
import { countVerdicts } from './causes.ts'
import { escapeMarkup } from './lines.ts'
import type { CaseReport, Report, RequirementReport } from './report.ts'
import { areaOf, type Told, type ToldCase, type ToldFinding, type ToldReport, type ToldRun, tellRun } from './tell.ts'
import { casesOf, glyphs, meanings, toneOf, verdictOrder, words } from './verdict-words.ts'

/** The texts that a report refers to, by their path in this package: the document in our words, and the fixtures. The page embeds them, so that its links work. */
type Sources = ReadonlyMap<string, string>

/** The look of the reports, beside what all pages share. */
const styleFile = 'suites/report/report.css'
/** The filters of the page. */
const scriptFile = 'suites/report/html-filters.js'
/** What the package must have to make a page. */
export const pageAssets = ['suites/page/base.css', styleFile, scriptFile]

/** @param sources the texts that its links lead to; without them sentences and fixtures are named only */
export function renderHtml(raw: Report, sources: Sources = new Map()): Printable {
  const report = tellRun(raw)
  const { meta, newer, target } = report
  const findings = report.findings.map(findingDetails)
  const newerDetails = [
    ...newer.cases.map((testCase) => caseDetails(report, testCase, { sources, prefix: 'newer' })),
    ...newer.findings.map(findingDetails),
  ]
  const body = `<a class="skip" href="#cases">Skip to the cases</a>
<header>
<p class="product">svc-conformance ${escapeHtml(meta.version)}, conformance report</p>
${headerLines(report)}
</header>
<main>
${filters(report)}
<h2>Coverage</h2>
<p class="soft">One cell for each requirement. Choose one to see its cases.</p>
${coverage(report)}
${legend(report)}
${findings.length === 0 ? '' : `<h2 id="findings">Found by the model</h2>\n<p class="soft">Answers that no reading of the document allows.</p>\n${findings.join('\n')}`}${explored(report)}
<h2 id="cases" tabindex="-1">Cases</h2>
${allCases(report, sources)}
<h2 id="requirements">Requirements</h2>
${stackTable(
  ['verdict', 'id', 'level', 'sentence', 'shown by'],
  report.requirements.map((one) => requirementLine(one, sources)),
)}
${newerDetails.length === 0 ? '' : `<h2 id="newer">Found by newer checks</h2>\n<p class="soft">Set ${escapeHtml(meta.set)} does not contain them, so they change neither the verdict nor the exit code.</p>\n<div class="newer">${newerDetails.join('\n')}</div>`}
${observations(report)}
${list(
  'Stale baseline entries: listed, but they pass',
  report.stale.map(({ entry }) => entry),
)}
${list('Left on the target', report.left)}
${fixtureTexts(report.cases, sources)}
</main>
<footer>svc-conformance ${escapeHtml(meta.version)}, Node ${escapeHtml(meta.node)}, seed ${escapeHtml(meta.seed)}, ${escapeHtml(meta.started)}</footer>`
  // In a block, so that its names stay out of the page.
  return htmlPage(`${target}: ${words(report.verdict)}`, body, `{\n${asset(scriptFile)}}`)
}

/** A report about a client. It has no script. */
export function renderToldHtml({ title, heading, summary, verdict, exitCode, ...report }: ToldReport): Printable {
  const { conclusion, told, table, stale, made } = report
  const rows = table.rows.map(
    (cells) => `<tr>${cells.map((cell) => `<td>${escapeHtml(String(cell))}</td>`).join('')}</tr>`,
  )
  const body = `<header>
<h1>${escapeHtml(title)}</h1>
<p class="soft">${escapeHtml(heading)}. ${escapeHtml(summary)}</p>
${verdictLine(verdict, exitCode)}
${conclusionList(conclusion)}
</header>
<main>
<h2>Checks</h2>
${told.map((one) => detailsOf(one, toldBody(one), { id: `check/${one.id}`, isOpen: one.verdict === 'failed' })).join('\n')}
<h2>${escapeHtml(table.title)}</h2>
${stackTable(table.head, rows)}
${list('Stale baseline entries: listed, but they pass', stale)}
</main>
<footer>${escapeHtml(made)}</footer>`
  return htmlPage(`${title}: ${words(verdict)}`, body, null)
}

/**
 * A self-contained page whose own policy forbids the network.
 *
 * @param body made of printable parts only
 * @param script the only script of the page; null: it has no script
 */
function htmlPage(title: string, body: string, script: string | null): Printable {
  const style = pageStyle(styleFile)
  return vouchedFor(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${body}${script === null ? '' : `\n<script>${script}</script>`}
</body>
</html>
`)
}

function headerLines(report: ToldRun): string {
  const { meta, verdict, target } = report
  const clock = meta.clock === null ? '' : `<p>${escapeHtml(meta.clock.sentence)}</p>`
  const problems = report.problems.map(
    ({ verdict: tone, kind, id, rest }) =>
      `<li><span class="${tone}" aria-hidden="true">${glyphs[tone]}</span> ${words(tone)} ${linkTo(`${kind}/${id}`, codeOf(id))}${escapeHtml(rest)}</li>`,
  )
  const problemList =
    problems.length === 0 ? '' : `<ul class="problems" aria-label="Problems">${problems.join('')}</ul>\n`
  return `<h1>${escapeHtml(target)}</h1>
<p class="soft"><time datetime="${escapeHtml(meta.started)}">${dateWords(meta.started)}</time>, ${(meta.durationMs / 1000).toFixed(1)} s, judged by ${escapeHtml(report.judge)}${escapeHtml(report.shard)}</p>
${verdictLine(verdict, report.exitCode)}
<p>${casesOf(report.cases.length)}: ${escapeHtml(report.sentence)}</p>
${problemList}${clock}${conclusionList(report.conclusion)}`
}

function verdictLine(verdict: Report['verdict'], exitCode: number): string {
  return `<p class="verdict fill ${toneOf(verdict)}">${words(verdict)} <span class="exit">exit code ${exitCode}</span></p>`
}

function conclusionList(conclusion: readonly string[]): string {
  const lines = conclusion.map(
    (line) => `<li${line.startsWith('  ') ? ' class="deep"' : ''}>${escapeHtml(line.trim())}</li>`,
  )
  return `<ul class="conclusion">${lines.join('')}</ul>`
}

const months = 'January February March April May June July August September October November December'.split(' ')

/** `2 January 2026, 03:04 UTC`, the same wherever it is made. */
function dateWords(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return escapeHtml(iso)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}, ${date.toISOString().slice(11, 16)} UTC`
}

/** Hidden until the script runs, because filters need it. */
function filters(report: ToldRun): string {
  const counts = countVerdicts(report.cases)
  const chips = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map(
      (verdict) =>
        `<button type="button" class="chip ${verdict}" data-verdict-filter="${verdict}" aria-pressed="false">${glyphs[verdict]} ${words(verdict)} ${counts[verdict]}</button>`,
    )
  return `<div class="filters" role="search" aria-label="Cases" hidden><input id="text" type="search" placeholder="Filter by id or words (press /)" aria-label="Filter by id or words">${chips.join('')}<button type="button" id="clear" class="chip plain" hidden>Show all</button><span id="count" class="soft" role="status"></span></div>`
}

/** A bar per area, and a cell per requirement that filters by it. */
function coverage({ requirements }: ToldRun): string {
  const areas = [...groupBy(requirements, ({ id }) => areaOf(id))].map(([area, mine]) => {
    const counts = countVerdicts(mine)
    return `<li><h3>${escapeHtml(area)} <span>${counts.passed} of ${mine.length}</span></h3>${bar(counts, mine.length)}
<div class="cells" role="group" aria-label="Requirements of ${escapeHtml(area)}">${mine.map(cell).join('')}</div></li>`
  })
  return `<ul class="areas">${areas.join('\n')}</ul>`
}

function bar(counts: { [verdict in Verdict]: number }, total: number): string {
  let x = 0
  const parts = [...verdictOrder].reverse().map((verdict) => {
    const width = (counts[verdict] / total) * 100
    const part =
      width === 0 ? '' : `<rect class="${verdict}" x="${x.toFixed(2)}" y="0" width="${width.toFixed(2)}" height="5"/>`
    x += width
    return part
  })
  const counted = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${words(verdict)}`)
  return `<svg class="bar" viewBox="0 0 100 5" preserveAspectRatio="none" role="img" aria-label="${counted.join(', ')}">${parts.join('')}</svg>`
}

function cell({ id, level, verdict, text }: RequirementReport): string {
  const label = escapeHtml(`${id}, ${words(verdict)}: ${text}`)
  return `<button type="button" class="cell fill ${verdict} ${level}" data-requirement="${escapeHtml(id)}" aria-pressed="false" title="${label}" aria-label="${label}">${glyphs[verdict]}</button>`
}

/** The verdicts that occur. */
function legend({ requirements, cases }: ToldRun): string {
  const used = new Set([...requirements, ...cases].map(({ verdict }) => verdict))
  const items = verdictOrder
    .filter((verdict) => used.has(verdict))
    .map(
      (verdict) =>
        `<li><span class="sign fill ${verdict}" aria-hidden="true">${glyphs[verdict]}</span> <b>${words(verdict)}</b> ${meanings[verdict]}</li>`,
    )
  return `<ul class="legend" aria-label="Legend">${items.join('')}<li><span class="sign implied" aria-hidden="true"></span> <b>dashed</b> the document implies it; all others are musts</li></ul>`
}

/** How many calls the model made: one line for each part of each kind of call. */
function explored({ explored: made }: ToldRun): string {
  if (made === null) return ''
  const rows = made.parts.map(({ case: name, asked, all }) => `<li>${codeOf(name)} ${asked} of ${all}</li>`)
  const skipped = made.skipped.map((text) => `<p class="soft">${escapeHtml(text)}</p>`)
  return `<details class="explored"><summary>${escapeHtml(made.sentence)}</summary><ul>${rows.join('')}</ul></details>${skipped.join('')}`
}

/** The worst first. Of failures with one likely cause, the first is open, and the others follow and point to it. */
function allCases(report: ToldRun, sources: Sources): string {
  const details = (testCase: ToldCase, like?: string) => caseDetails(report, testCase, { sources, like })
  const broken = [...report.byCause.failed, ...report.byCause.warned].flatMap(({ first, others }) => [
    { verdict: first.verdict, html: details(first) },
    ...others.map((testCase) => ({ verdict: testCase.verdict, html: details(testCase, first.key) })),
  ])
  const all = (...verdicts: Verdict[]) => report.cases.filter(({ verdict }) => verdicts.includes(verdict))
  // One cause may block hundreds of cases, and one reason leave as many open, so they are folded under one line.
  const folded = (cases: readonly ToldCase[]): string[] =>
    [...groupBy(cases, causeWords)].map(([cause, mine]) => {
      const lines = mine.map((testCase) => details(testCase)).join('\n')
      if (mine.length === 1) return lines
      return `<details class="group ${mine[0]?.verdict}"><summary>${escapeHtml(`${mine.length} cases ${cause}`)}</summary>\n${lines}\n</details>`
    })
  return [
    ...broken.flatMap(({ verdict, html }) => (verdict === 'failed' ? [html] : [])),
    ...folded(all('blocked', 'not-run')),
    ...broken.flatMap(({ verdict, html }) => (verdict === 'warned' ? [html] : [])),
    ...all('known').map((testCase) => details(testCase)),
    ...folded(all('not-testable')),
    ...[...all('not-applicable'), ...all('passed')].map((testCase) => details(testCase)),
  ].join('\n')
}

function causeWords({ verdict, notRun, problem, blockedBy, key }: ToldCase): string {
  if (notRun !== null) return `not run: ${notRun}`
  if (verdict === 'not-testable') return `not testable: ${problem?.message ?? ''}`
  return blockedBy === null ? key : `blocked by the failure of ${blockedBy}`
}

/**
 * One case. A case that did not pass is explained inside, and is open if it failed.
 *
 * @param about `like`: the key of a case that failed for the same likely cause and is explained in full
 */
function caseDetails(
  report: ToldRun,
  testCase: ToldCase,
  { sources, like, prefix = 'case' }: { sources: Sources; like?: string | undefined; prefix?: 'case' | 'newer' },
): string {
  const { key, title, verdict, proves, problem, blockedBy, again, told } = testCase
  const search = [key, title, ...proves, problem?.message ?? ''].join(' ').toLowerCase()
  const fixture: Fact = ['Fixture', fixtureLink(testCase, sources)]
  const proved = proves.map((id) =>
    report.requirements.some((one) => one.id === id) ? linkTo(`requirement/${id}`, codeOf(id)) : codeOf(id),
  )
  const body =
    told === null
      ? `${factList([
          ['Proves', proved.length === 0 ? null : proved.join(', ')],
          ['Calls', `${testCase.calls}, ${Math.round(testCase.durationMs)} ms`],
          fixture,
        ])}${againPart(again)}`
      : toldBody(told, [
          ['Blocked', blockedBy === null ? null : `by the failure of ${caseLink(blockedBy)}`],
          ['Alike', like === undefined ? null : `It fails like ${caseLink(like)}, most likely for the same cause`],
          fixture,
        ])
  return detailsOf({ verdict, id: key, title }, body, {
    id: `${prefix}/${key}`,
    isOpen: verdict === 'failed' && like === undefined,
    data: ` data-verdict="${verdict}" data-proves="${escapeHtml(proves.join(' '))}" data-search="${escapeHtml(search)}"`,
  })
}

/** The file of the case, as a link to its text on this page; null if the page does not hold it. */
function fixtureLink(testCase: CaseReport, sources: Sources): string | null {
  const { file, line } = placeOfCase(testCase)
  if (!sources.has(file)) return null
  return linkTo(
    `file/${file}${line === null ? '' : `/${line}`}`,
    `${codeOf(file)}${line === null ? '' : `, line ${line}`}`,
  )
}

const caseLink = (key: string): string => linkTo(`case/${key}`, codeOf(key))

/** A finding of the model, like a case. */
function findingDetails({ told, shownBy }: ToldFinding): string {
  const body = toldBody(told, [['Case', shownBy === null ? null : `${caseLink(shownBy)} shows the same`]])
  return detailsOf(told, body, { id: `finding/${told.id}`, isOpen: told.verdict === 'failed', kind: 'finding case' })
}

/** What a reader unfolds. */
function detailsOf(
  { verdict, id, title }: Pick<Told, 'verdict' | 'id' | 'title'>,
  body: string,
  more: { id: string; isOpen: boolean; data?: string; kind?: string },
): string {
  const mark = `<span class="mark ${verdict}" aria-hidden="true">${glyphs[verdict]}</span> <span class="${verdict}">${words(verdict)}</span>`
  return `<details class="${more.kind ?? 'case'} ${verdict}" id="${escapeHtml(more.id)}"${more.data ?? ''}${more.isOpen ? ' open' : ''}><summary>${mark} ${codeOf(id)} ${escapeHtml(title)}</summary><div class="body">${body}</div></details>`
}

type Fact = readonly [name: string, html: string | null]

/** What is told of a case, a finding or a check. @param facts more facts, with text that is escaped already */
function toldBody(told: Told, facts: readonly Fact[] = []): string {
  const { sentences, steps, known, history, exchanges, fixture, again } = told
  const broken = sentences.map(({ level, id, text, anchor }) =>
    id === ''
      ? `<p class="sentence"><b>${escapeHtml(level)}</b> ${escapeHtml(text)} <span class="soft">${escapeHtml(anchor)}</span></p>`
      : `<p class="sentence"><b>${escapeHtml(level)}</b> ${codeOf(id)} ${escapeHtml(text)} ${linkTo(`requirement/${id}`, escapeHtml(anchor))}</p>`,
  )
  const [from, ...between] = told.since
  return [
    ...broken,
    factList([
      ...told.facts.map(({ label, text }): Fact => [label, escapeHtml(text)]),
      ['Known', known === null ? null : escapeHtml(known)],
      ...facts,
    ]),
    steps.length === 0 ? '' : `<ol>${steps.map(item).join('')}</ol>`,
    from === undefined
      ? ''
      : `<p>${escapeHtml(from)}</p><ul>${between.map((line) => item(line.slice(2))).join('')}</ul>`,
    history === null ? '' : drawHistory(history),
    ...exchanges.map((exchange) => pre('Exchange', exchange.map(exchangeLine).join('\n'))),
    fixture === null
      ? ''
      : `<p>This scenario shows it (<code>run --fixtures DIR</code>):</p>${pre('Scenario', fixture.map(escapeHtml).join('\n'))}`,
    again === null ? '' : againPart(again),
  ].join('')
}

function exchangeLine(line: string): string {
  const side = line.startsWith('> ') ? 'out' : line.startsWith('< ') ? 'in' : 'soft'
  return `<span class="${side}">${escapeBytes(line)}</span>`
}

function againPart(command: string): string {
  return `<div class="again">${pre('Command that repeats this case', escapeHtml(command))}<button type="button" class="copy" hidden>Copy</button></div>`
}

const laneHeight = 24
const nameWidth = 110
const timeWidth = 490

/** Calls at the same time: a lane for each connection, time to the right. */
function drawHistory({ lanes, sentences }: NonNullable<Told['history']>): string {
  const drawn = lanes.map(([name, calls], index) => {
    const y = index * laneHeight
    const bars = calls.map(({ number, start, end }) => {
      const x = nameWidth + start * timeWidth
      const width = Math.max(14, (end - start) * timeWidth)
      return `<rect x="${x.toFixed(1)}" y="${y + 3}" width="${width.toFixed(1)}" height="${laneHeight - 6}" rx="3"/><text class="number" x="${(x + width / 2).toFixed(1)}" y="${y + 16}">${number}</text>`
    })
    return `<text x="0" y="${y + 16}">${escapeHtml(name)}</text>${bars.join('')}`
  })
  return `<figure><svg class="history known" viewBox="0 0 ${nameWidth + timeWidth + 20} ${lanes.length * laneHeight}" role="img" aria-label="Calls at the same time, time to the right">${drawn.join('')}</svg><figcaption><ol>${sentences.map(item).join('')}</ol></figcaption></figure>`
}

/** One line of the table of requirements: our sentence, and what the document says. */
function requirementLine(
  { id, level, verdict, text, anchor, reason, cases }: RequirementReport,
  sources: Sources,
): string {
  const quoted = documentSentence(sources, id)
  const search = escapeHtml([id, text, reason ?? ''].join(' ').toLowerCase())
  const more = [
    quoted === null ? '' : `<br><q>${escapeHtml(quoted)}</q> <span class="soft">${escapeHtml(anchor)}</span>`,
    reason === null ? '' : `<br><span class="soft">${escapeHtml(reason)}</span>`,
  ]
  return `<tr id="requirement/${escapeHtml(id)}" data-id="${escapeHtml(id)}" data-verdict="${verdict}" data-proves="${escapeHtml(id)}" data-search="${search}"><td class="nowrap ${verdict}">${glyphs[verdict]} ${words(verdict)}</td><td>${linkTo(id, codeOf(id))}</td><td>${level}</td><td>${escapeHtml(text)}${more.join('')}</td><td class="nowrap">${casesOf(cases.length)}</td></tr>`
}

function observations(report: ToldRun): string {
  if (report.observations.length === 0) return ''
  const rows = report.observations.map((seen) => {
    const answers = seen.answers.map(({ answer, asked }) =>
      asked === '' ? escapeHtml(answer) : `${escapeHtml(answer)}: <span class="soft">${escapeHtml(asked)}</span>`,
    )
    return `<tr><td>${codeOf(seen.question)}</td><td>${escapeHtml(seen.text)}</td><td>${answers.join('<br>')}</td><td class="soft">${escapeHtml(seen.reference)}</td></tr>`
  })
  return `<h2 id="questions">Open questions, observed and never judged</h2>
${stackTable(['id', 'question', 'this server', 'the bundled server'], rows)}`
}

/** A table whose rows become blocks on a narrow screen. */
function stackTable(head: readonly string[], rows: readonly string[]): string {
  return `<div class="table"><table class="stack"><thead><tr>${head.map((name) => `<th>${name}</th>`).join('')}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>`
}

/** The texts of the fixtures, folded, with an anchor for each line that a case names. */
function fixtureTexts(cases: ToldRun['cases'], sources: Sources): string {
  const named = new Set(cases.map(placeOfCase).map(({ file, line }) => `file/${file}/${line}`))
  const texts = linkedFiles(cases)
    .slice(1)
    .flatMap((file) => {
      const text = sources.get(file)
      if (text === undefined) return []
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line, index) => {
          const id = `file/${file}/${index + 1}`
          return named.has(id) ? `<span id="${id}">${escapeBytes(line)}</span>` : escapeBytes(line)
        })
      return [
        `<details class="source" id="file/${file}"><summary><code>${file}</code></summary>${pre(file, lines.join('\n'))}</details>`,
      ]
    })
  return texts.length === 0 ? '' : `<h2>Fixtures</h2>\n${texts.join('\n')}`
}

const documentFile = 'spec/interface.md'

/** The file that a case was read from, and the line of the step that the report is about. */
function placeOfCase({ id, problem }: Pick<CaseReport, 'id' | 'problem'>): { file: string; line: number | null } {
  const [, file, line] = /^(.*):(\d+):\d+$/.exec(problem?.where ?? '') ?? []
  if (file !== undefined) return { file, line: Number(line) }
  return { file: id.startsWith('test-keys/') ? 'fixtures/test-keys.yaml' : `fixtures/scenarios/${id}.yaml`, line: null }
}

/** The files that a report links to: the document, and fixtures. Files of a user's own scenarios are not among them. */
export function linkedFiles(cases: readonly Pick<CaseReport, 'id' | 'problem'>[]): string[] {
  const files = cases.map((testCase) => placeOfCase(testCase).file)
  return [documentFile, ...[...new Set(files)].filter((file) => packagedFile.test(file)).sort()]
}

const packagedFile = /^fixtures\/(test-keys|scenarios(\/[a-z0-9-]+)+)\.yaml$/

/** The document's text at the anchor of a requirement, without markup; null if the text is not available. */
export function documentSentence(sources: Sources, requirement: string): string | null {
  const anchor = `<a id="${requirement.replace('/', '-')}"></a>`
  const line = sources
    .get(documentFile)
    ?.split('\n')
    .find((one) => one.includes(anchor))
  const [text = ''] = line?.slice(line.indexOf(anchor) + anchor.length).split(/<a id=| \|/) ?? []
  if (text === '') return null
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trim()
}

function escapeHtml(text: string): string {
  return escapeMarkup(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}

/** Sent bytes. Few fonts have ␊ and ␍, so the style shows LF and CR instead. */
function escapeBytes(text: string): string {
  return escapeHtml(text)
    .replaceAll('␊', '<span class="lf" title="line feed">␊</span>')
    .replaceAll('␍', '<span class="cr" title="carriage return">␍</span>')
}

const codeOf = (text: string): string => `<code>${escapeHtml(text)}</code>`

const item = (text: string): string => `<li>${escapeHtml(text)}</li>`

/** Lines as they are, which a keyboard can scroll. @param html escaped already */
function pre(label: string, html: string): string {
  return `<pre tabindex="0" role="region" aria-label="${label}">${html}</pre>`
}

/** A list of facts; a fact without text is left out. */
function factList(facts: readonly Fact[]): string {
  return `<dl>${facts.map(([name, html]) => (html === null ? '' : `<dt>${name}</dt><dd>${html}</dd>`)).join('')}</dl>`
}

/** A list under its heading; empty without lines. */
function list(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `<h2>${escapeHtml(title)}</h2><ul>${lines.map(item).join('')}</ul>`
}

/** A link inside the page. */
function linkTo(id: string, text: string): string {
  return `<a href="#${escapeHtml(encodeURI(id))}">${text}</a>`
}
