/**
 * Reports as one self-contained page of HTML: no network, its own policy forbids it. The page of a run has every case and requirement, with
 * filters by verdict, requirement and words.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { counted, groupBy } from '../engine/group.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import { asset, pagePolicy, pageStyle } from '../page/build-page.ts'
import { html, htmlLines, type Markup, type Part } from '../page/markup.ts'
import { countVerdicts } from './causes.ts'
import { type Block, code, type Document, fact, type Item, type Line, type Told } from './document.ts'
import type { CaseReport, Explored, Report, RequirementReport } from './report.ts'
import { areaOf, exploredLines, placeOfCase, type Shown, type ToldCase, tellRun } from './tell.ts'
import { glyphs, legendOf, toneOf, verdictOrder, words } from './verdict-words.ts'

type ToldRun = ReturnType<typeof tellRun>

/** The look of the reports, beside what all pages share. */
const styleFile = 'suites/report/report.css'

/** A page that shows every part of a document. */
export function htmlOfDocument(told: Document): Printable {
  const { told: all, overview, rest } = told
  return htmlPage(told, { main: htmlLines([...overview, ...all, ...rest].map(htmlOf)) })
}

/**
 * A page with the head of a document, and another main part.
 *
 * @param parts `skip`: links before the header, for those who use a keyboard; `script`: the path of the only script
 */
function htmlPage(
  told: Document,
  { main, skip = html``, script }: { main: Markup; skip?: Markup; script?: string },
): Printable {
  const { title, head, summary, verdict, said = words(verdict), exitCode, problems, conclusion } = told
  const tone = told.said === undefined ? toneOf(verdict) : exitCode === 0 ? 'not-testable' : 'failed'
  const style = pageStyle(styleFile)
  // In a block, so that its names stay out of the page.
  const code = script === undefined ? null : `{\n${asset(script)}}`
  // An ordinary string: bundlers treat the end of a script in a tagged one as a danger, and add a package that cannot be found.
  const scriptElement = { markup: code === null ? '' : `\n<script>${code}</script>` }
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${{ markup: pagePolicy(style, code) }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}: ${said}</title>
<style>${{ markup: style }}</style>
</head>
<body>
${skip}<header>
<h1>${title}</h1>
<p class="soft">${joined(head.map(htmlOfLine), html`<br>`)}</p>
<p class="verdict fill ${tone}">${said} <span class="exit">exit code ${exitCode}</span></p>
<p>${summary}</p>
${problems.length === 0 ? null : html`<div class="problems">${list(problems)}</div>`}${list(conclusion)}
</header>
<main>
${main}
</main>
<footer>${head[0] === undefined ? null : htmlOfLine(head[0])}</footer>
</body>${scriptElement}
</html>
`
  return vouchedFor(page.markup)
}

/** A block; nothing where it has no lines. */
function htmlOf(block: Block): Markup {
  const body = bodyOf(block)
  // Within a case there are no headings.
  if (block.kind === 'code') return block.heading === undefined ? body : html`<p>${block.heading}</p>${body}`
  return body.markup === '' || block.heading === undefined ? body : html`<h2>${block.heading}</h2>\n${body}`
}

function bodyOf(block: Block): Markup {
  switch (block.kind) {
    case 'lines':
      return htmlLines(block.lines.map((line) => html`<p>${htmlOfLine(line)}</p>`))
    case 'list':
      return list(block.items)
    case 'facts':
      return facts(block.items)
    case 'table': {
      const rows = block.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)
      return rows.length === 0 ? html`` : stackTable(block.head, rows)
    }
    case 'code':
      return block.lines.length === 0 ? html`` : pre(block.label, block.lines)
    case 'command':
      return html`<div class="again">${pre('Command that repeats it', [block.command])}<button type="button" class="copy" hidden>Copy</button></div>`
    case 'told':
      return toldDetails(block)
  }
}

/** What a reader unfolds. @param more how it differs from a case that is only open if it failed */
function toldDetails(told: Told, more: { id?: string; isOpen?: boolean; data?: Markup; kind?: string } = {}): Markup {
  const { verdict, id, title, blocks, also = [] } = told
  const { id: anchor = `check/${id}`, isOpen = verdict === 'failed', data = html``, kind = 'case' } = more
  const open = isOpen ? html` open` : null
  const body = [...blocks, { kind: 'facts' as const, items: also }].map(htmlOf)
  return html`<details class="${kind} ${verdict}" id="${anchor}"${data}${open}><summary>${signed(verdict)} <code>${id}</code> ${title}</summary><div class="body">${body}</div></details>`
}

/** The sign of a verdict and its word. */
const signed = (verdict: Told['verdict']): Markup =>
  html`<span class="${verdict}"><span class="mark" aria-hidden="true">${glyphs[verdict]}</span> ${words(verdict)}</span>`

function list(items: readonly Item[]): Markup {
  if (items.length === 0) return html``
  const lines = items.map(({ verdict, text, below = [] }) => {
    const sign = verdict === undefined ? null : html`${signed(verdict)} `
    return html`<li>${sign}${htmlOfLine(text)}${below.map((line) => html`<br>${htmlOfLine(line)}`)}</li>`
  })
  return html`<ul>${lines}</ul>`
}

function facts(items: readonly Item[]): Markup {
  if (items.length === 0) return html``
  const lines = items.map(
    ({ label = '', text, below = [] }) =>
      html`<dt>${label}</dt><dd>${joined([text, ...below].map(htmlOfLine), html`<br>`)}</dd>`,
  )
  return html`<dl>${lines}</dl>`
}

/** A table whose rows become blocks on a narrow screen. */
function stackTable(head: readonly string[], rows: readonly Markup[]): Markup {
  return html`<div class="table"><table class="stack"><thead><tr>${head.map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${htmlLines(rows)}</tbody></table></div>`
}

/** Lines as they are, which a keyboard can scroll. */
function pre(label: string, lines: readonly (string | Markup)[]): Markup {
  const written = lines.map((line) => {
    if (typeof line !== 'string') return line
    const side = line.startsWith('> ') ? 'out' : 'in'
    return /^[<>] /.test(line) ? html`<span class="${side}">${bytes(line)}</span>` : bytes(line)
  })
  return html`<pre tabindex="0" role="region" aria-label="${label}">${joined(written, html`\n`)}</pre>`
}

/** Sent bytes. Few fonts have ␊ and ␍, so LF and CR stand for them. */
function bytes(line: string): Markup {
  const parts = line.split(/([␊␍])/)
  return html`${parts.map((part) => (part === '␊' ? html`<i title="line feed">LF</i>` : part === '␍' ? html`<i title="carriage return">CR</i>` : part))}`
}

function htmlOfLine(line: Line): Markup {
  if (typeof line === 'string') return html`${line}`
  return html`${line.map((span) => {
    if (typeof span === 'string') return span
    if (span.as === 'soft') return html`<span class="soft">${span.text}</span>`
    return span.to === undefined ? html`<code>${span.text}</code>` : linkTo(span.to, html`<code>${span.text}</code>`)
  })}`
}

/** A link inside the page. */
const linkTo = (id: string, text: Markup): Markup => html`<a href="#${encodeURI(id)}">${text}</a>`

const joined = (parts: readonly Markup[], between: Markup): Markup =>
  html`${parts.map((part, index) => (index === 0 ? part : html`${between}${part}`))}`

/** The texts that a report refers to, by their path in this package: the document in our words, and the fixtures. The page embeds them, so that its links work. */
type Sources = ReadonlyMap<string, string>

/** The filters of the page. */
const script = 'suites/report/html-filters.js'

/** The page of a run, with the texts of this package that it links to. Files that are missing are not linked. */
export function pageOfRun(report: Report): Printable {
  const files = linkedFiles(report.cases).filter((file) => existsSync(join(packageRoot, file)))
  return renderHtml(report, new Map(files.map((file) => [file, readFileSync(join(packageRoot, file), 'utf8')])))
}

/** The page of a run.
 *
 * @param sources the texts that its links lead to; without them sentences and fixtures are named only */
export function renderHtml(raw: Report, sources: Sources = new Map()): Printable {
  const run = tellRun(raw, { files: new Set(sources.keys()), observations: true })
  const { requirements, cases, findings, newer, explored, causes, blocks } = run
  const used = new Set([...requirements, ...cases].map(({ verdict }) => verdict))
  const likeOf = new Map(causes.flatMap(({ first, others }) => others.map((one) => [one.key, first] as const)))
  const details = (one: Shown, prefix: string = one.kind): Markup => shownDetails(one, likeOf.get(one.key), prefix)
  const newerDetails = newer.map((one) => details(one, 'newer'))
  const main = htmlLines([
    filters(cases),
    section('Coverage', 'One cell for each requirement. Choose one to see its cases.', [
      coverage(requirements),
      html`<ul class="legend" aria-label="Legend">${legendOf(used)}<li><span class="sign implied" aria-hidden="true"></span> <b>dashed</b> the document implies it; all others are musts</li></ul>`,
    ]),
    section(
      'Found by the model',
      'Answers that no reading of the document allows.',
      findings.map((one) => details(one)),
    ),
    ...(explored === null ? [] : [exploredDetails(explored)]),
    html`<h2 id="cases" tabindex="-1">Cases</h2>`,
    ...allCases(run, details),
    html`<h2 id="requirements">Requirements</h2>`,
    stackTable(
      ['verdict', 'id', 'level', 'sentence', 'shown by'],
      requirements.map((one) => requirementRow(one, sources)),
    ),
    section(
      'Found by newer checks',
      `Set ${run.meta.set} does not contain them, so they change neither the verdict nor the exit code.`,
      newerDetails.length === 0 ? [] : [html`<div class="newer">${newerDetails}</div>`],
    ),
    ...[...blocks.open, blocks.observed, blocks.stale, blocks.left, ...blocks.again].map(htmlOf),
    section('Fixtures', null, fixtureTexts(cases, sources)),
  ])
  return htmlPage(run.document, { main, script, skip: html`<a class="skip" href="#cases">Skip to the cases</a>\n` })
}

/** Parts under their heading; nothing without any. */
function section(title: string, about: string | null, parts: readonly Markup[]): Markup {
  if (parts.length === 0) return html``
  return htmlLines([html`<h2>${title}</h2>`, about === null ? html`` : html`<p class="soft">${about}</p>`, ...parts])
}

/** Hidden until the script runs, because filters need it. */
function filters(cases: readonly ToldCase[]): Markup {
  const counts = countVerdicts(cases)
  const observed = cases.filter((one) => one.isObserved).length
  const chips = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map(
      (verdict) =>
        html`<button type="button" class="chip ${verdict}" data-verdict-filter="${verdict}" aria-pressed="false">${glyphs[verdict]} ${words(verdict)} ${counts[verdict] - (verdict === 'passed' ? observed : 0)}${verdict === 'passed' && observed > 0 ? `, observed ${observed}` : null}</button>`,
    )
  return html`<div class="filters" role="search" aria-label="Cases" hidden>
<input id="text" type="search" placeholder="Filter by id or words (press /)" aria-label="Filter by id or words">${chips}
<button type="button" id="clear" class="chip plain" hidden>Show all</button><span id="count" class="soft" role="status"></span></div>`
}

/** The areas, and a cell for each requirement that filters by it. */
function coverage(requirements: readonly RequirementReport[]): Markup {
  const areas = [...groupBy(requirements, ({ id }) => areaOf(id))].map(
    ([area, mine]) => html`<li><h3>${area} <span>${countVerdicts(mine).passed} of ${mine.length}</span></h3>
<div class="cells" role="group" aria-label="Requirements of ${area}">${mine.map(cell)}</div></li>`,
  )
  return html`<ul class="areas">${htmlLines(areas)}</ul>`
}

function cell({ id, level, verdict, text }: RequirementReport): Markup {
  const label = `${id}, ${words(verdict)}: ${text}`
  return html`<button type="button" class="cell fill ${verdict} ${level}" data-requirement="${id}" aria-pressed="false" title="${label}" aria-label="${label}">${glyphs[verdict]}</button>`
}

/** How many calls the model made: one line for each part of each kind of call. */
function exploredDetails(explored: Explored): Markup {
  const rows = explored.parts.map(
    ({ case: name, asked, all }) => html`<li><code>${name}</code> ${asked} of ${all}</li>`,
  )
  const [covered, ...gaps] = exploredLines(explored)
  const soft = gaps.map((text) => html`<p class="soft">${text}</p>`)
  return html`<details class="explored"><summary>${covered}</summary><ul>${rows}</ul></details>${soft}`
}

/** Cases of one cause one after another, the worst first; what is blocked or not testable for one reason is folded under one line. */
function allCases({ causes, cases }: ToldRun, details: (testCase: ToldCase) => Markup): Markup[] {
  const ranks = new Map(causes.flatMap(({ first, others }, index) => [first, ...others].map(({ key }) => [key, index])))
  const rank = ({ key, verdict }: ToldCase): number =>
    pageOrder.indexOf(verdict) * causes.length + (ranks.get(key) ?? 0)
  const sorted = [...cases].sort((one, other) => rank(one) - rank(other))
  return [...groupBy(sorted, foldedBy)].map(([cause, mine]) => {
    const lines = htmlLines(mine.map((testCase) => details(testCase)))
    if (mine.length === 1) return lines
    return html`<details class="group ${mine[0]?.verdict ?? null}"><summary>${mine.length} cases ${cause}</summary>\n${lines}\n</details>`
  })
}

const pageOrder = ['failed', 'blocked', 'not-run', 'warned', 'known', 'not-testable', 'not-applicable', 'passed']

/** What is folded under one line; a case that stands for itself has its own key. */
function foldedBy({ verdict, problem, blockedBy, key }: ToldCase): string {
  if (verdict === 'not-run') return problem?.message ?? ''
  if (verdict === 'not-testable') return `not testable: ${problem?.message ?? ''}`
  return verdict === 'blocked' && blockedBy !== null ? `blocked by the failure of ${blockedBy}` : key
}

/** A case or a finding. One that did not pass is explained inside, and is open if it failed and no other explains it. */
function shownDetails(one: Shown & { blockedBy?: string | null }, like: Shown | undefined, prefix: string): Markup {
  const { kind, key, verdict, proves, told, blockedBy } = one
  const facts = [
    ...fact('Blocked', blockedBy && ['by the failure of ', code(blockedBy, `case/${blockedBy}`)]),
    ...fact('Alike', like && ['like ', code(like.key, `${like.kind}/${like.key}`), ', most likely for the same cause']),
  ]
  const search = [key, told.title, ...proves, told.message].join(' ').toLowerCase()
  return toldDetails(
    { ...told, blocks: [{ kind: 'facts', items: facts }, ...told.blocks] },
    {
      id: `${prefix}/${key}`,
      kind: kind === 'case' ? 'case' : 'finding case',
      isOpen: verdict === 'failed' && like === undefined,
      data: html` data-verdict="${verdict}" data-proves="${proves.join(' ')}" data-search="${search}"`,
    },
  )
}

/** One line of the table of requirements: our sentence, and what the document says. */
function requirementRow(one: RequirementReport, sources: Sources): Markup {
  const { id, level, verdict, text, anchor, reason, cases } = one
  const quoted = documentSentence(sources, id)
  const more: Part[] = [
    quoted === null ? null : html`<br><q>${quoted}</q> <span class="soft">${anchor}</span>`,
    reason === null ? null : html`<br><span class="soft">${reason}</span>`,
  ]
  const search = [id, text, reason ?? ''].join(' ').toLowerCase()
  return html`<tr id="requirement/${id}" data-id="${id}" data-verdict="${verdict}" data-proves="${id}" data-search="${search}">
<td class="${verdict}">${glyphs[verdict]} ${words(verdict)}</td><td>${linkTo(id, html`<code>${id}</code>`)}</td><td>${level}</td>
<td>${text}${more}</td><td>${counted(cases.length, 'case')}</td></tr>`
}

/** The texts of the fixtures, folded, with an anchor for each line that a case names. */
function fixtureTexts(cases: ToldRun['cases'], sources: Sources): Markup[] {
  const named = new Set(cases.map(placeOfCase).map(({ file, line }) => `file/${file}/${line}`))
  return linkedFiles(cases)
    .filter((file) => file !== documentFile && sources.has(file))
    .map((file) => {
      const lines = (sources.get(file) ?? '').trimEnd().split('\n')
      const anchored = lines.map((line, index) => {
        const id = `file/${file}/${index + 1}`
        return named.has(id) ? html`<span id="${id}">${bytes(line)}</span>` : bytes(line)
      })
      return html`<details class="source" id="file/${file}"><summary><code>${file}</code></summary>${pre(file, anchored)}</details>`
    })
}

const documentFile = 'spec/interface.md'

/** The files that a report links to: the document, and fixtures. Files of a user's own scenarios are not among them. */
function linkedFiles(cases: readonly Pick<CaseReport, 'id' | 'problem'>[]): string[] {
  const files = cases.map((testCase) => placeOfCase(testCase).file)
  return [documentFile, ...[...new Set(files)].filter((file) => packagedFile.test(file)).sort()]
}

const packagedFile = /^fixtures\/(test-keys|scenarios(\/[a-z0-9-]+)+)\.yaml$/

/** The document's text at the anchor of a requirement, without markup; null if the text is not available. */
function documentSentence(sources: Sources, requirement: string): string | null {
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
