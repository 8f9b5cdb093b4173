/// <reference lib="dom" />
/** The page of many servers: reads what the command put into it, draws, and follows its own address. */
import { counted } from '../../engine/group.ts'
import type { Verdict } from '../../engine/judge/problem.ts'
import { html, type Markup, type Part } from '../../page/markup.ts'
import { glyphs, legendOf, toneOf, verdictOrder, words } from '../verdict-words.ts'
import {
  addReport,
  type Comparison,
  changesBetween,
  columnName,
  compareVerdicts,
  newestOf,
  verdictAt,
} from './comparison.ts'

type ComparedReport = Parameters<typeof addReport>[1]

type CompactReport = ComparedServer['reports'][number]

type ComparedServer = Comparison['servers'][number]

interface PageData {
  comparison: Comparison
  /** ISO 8601. */
  made: string
  version: string
}

/**
 * The place that the page's address names after its `#`, so that everything on the page can be linked to: with a requirement its cases on the
 * server, else the server and the changes between two of its reports; without them the last two.
 */
interface Place {
  server?: string
  requirement?: string
  from?: string
  to?: string
}

const data = JSON.parse(byId('data').textContent ?? '') as PageData
const text = byId<HTMLInputElement>('text')
const differing = byId<HTMLInputElement>('differing')
const dialog = byId<HTMLDialogElement>('dialog')
/** Names of servers with a report that was added by hand. */
const own = new Set<string>()
let comparison = data.comparison

function byId<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E
}

/** Everything that is drawn goes through here. Markup escapes what was read from a report. */
function draw(element: Element, markup: Markup): void {
  element.innerHTML = markup.markup
}

function drawHead(): void {
  const { servers, requirements } = comparison
  const reports = servers.reduce((sum, server) => sum + server.reports.length, 0)
  const used = servers.flatMap((server) =>
    requirements.map((_, index) => verdictAt(newestOf(server).requirements, index)),
  )
  byId('title').textContent = `Conformance of ${counted(servers.length, 'server')}`
  byId('made').textContent = `${counted(reports, 'report')}, made ${dateWords(data.made)} UTC`
  byId('footer').textContent = `svc-conformance ${data.version}`
  draw(byId('servers'), html`${servers.map(serverCard)}`)
  draw(byId('legend'), html`${legendOf(new Set(used))}`)
}

function serverCard(server: ComparedServer, index: number): Markup {
  const { counts, findings, verdict, started, version } = newestOf(server)
  const notPassed = verdictOrder.flatMap((one, at) => {
    const number = counts[at] ?? 0
    return number === 0 || one === 'passed' ? [] : [`${number} ${words(one)}`]
  })
  const found = findings.length === 0 ? [] : [counted(findings.length, 'finding')]
  return html`<li class="${own.has(server.name) ? 'own' : ''}">${serverButton(index, server.name)} <span class="name">${server.name}</span>
<span class="more"><span class="state ${toneOf(verdict)}">${words(verdict)}</span>
<span>${[...notPassed, ...found].join(', ') || 'all cases passed'}</span>
<span>${dateWords(started)}, version ${version}</span>${trend(server.reports)}</span></li>`
}

/** The letter that stands for a server. */
function serverButton(index: number, name: string): Markup {
  const letter = columnName(index)
  return html`<button type="button" class="letter" data-place="${writePlace({ server: name })}" aria-label="${letter}: ${name}">${letter}</button>`
}

/** The requirements that have the words, and on which servers differ if only those are wanted. One cell at a time is in the tab order. */
function drawMatrix(): void {
  const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean)
  const newest = comparison.servers.map((server) => ({ name: server.name, row: newestOf(server).requirements }))
  const rows = comparison.requirements
    .map((one, index) => ({ ...one, verdicts: newest.map(({ row }) => verdictAt(row, index)) }))
    .filter(({ verdicts }) => !differing.checked || compareVerdicts(verdicts) === 'differ')
    .filter(({ id, text }) => wanted.every((word) => `${id} ${text}`.toLowerCase().includes(word)))
  const head = newest.map(
    ({ name }, index) => html`<th scope="col" role="columnheader" title="${name}">${serverButton(index, name)}</th>`,
  )
  const body = rows.map(
    ({
      id,
      level,
      text,
      verdicts,
    }) => html`<tr role="row"><th scope="row" role="rowheader" title="${text}"><code>${breakable(id)}</code></th>
<td class="level" role="gridcell">${level}</td>${verdicts.map((verdict, index) => cell(verdict, newest[index]?.name ?? '', id))}</tr>`,
  )
  draw(
    byId('table'),
    html`<table role="grid" aria-label="Requirements by server"><thead role="rowgroup"><tr role="row">
<th scope="col" role="columnheader">requirement</th><th scope="col" role="columnheader" class="level">level</th>${head}</tr></thead>
<tbody role="rowgroup">${body}</tbody></table>`,
  )
  byId('table').querySelector('tbody button')?.setAttribute('tabindex', '0')
  byId('status').textContent = `${rows.length} of ${comparison.requirements.length} requirements`
}

/** An id that a narrow column may break after a slash. */
const breakable = (id: string): Part => id.split(/(?<=\/)/).map((part) => html`${part}<wbr>`)

function cell(verdict: Verdict | null, server: string, requirement: string): Markup {
  if (verdict === null) return html`<td role="gridcell" title="not run"></td>`
  const label = `${requirement}, ${server}: ${words(verdict)}`
  return html`<td role="gridcell"><button type="button" class="cell fill ${verdict}" data-place="${writePlace({ server, requirement })}" aria-label="${label}" title="${label}" tabindex="-1">${glyphs[verdict]}</button></td>`
}

const steps: { readonly [key: string]: readonly [rows: number, columns: number] } = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
}

/** Arrow keys go from cell to cell. */
function moveByArrows(event: KeyboardEvent): void {
  const step = steps[event.key]
  const here = (event.target as HTMLElement).closest('tbody td')
  if (step === undefined || here === null) return
  const rows = [...byId('table').querySelectorAll('tbody tr')].map((row) => [...row.children])
  const row = rows.findIndex((cells) => cells.includes(here))
  const next = rows[row + step[0]]?.[(rows[row]?.indexOf(here) ?? 0) + step[1]]?.querySelector('button')
  if (next === null || next === undefined) return
  event.preventDefault()
  here.querySelector('button')?.setAttribute('tabindex', '-1')
  next.setAttribute('tabindex', '0')
  next.focus()
}

const readPlace = (hash: string): Place => Object.fromEntries(new URLSearchParams(hash.replace(/^#/, '')))

const writePlace = (place: Place): string =>
  place.server === undefined ? '' : `#${new URLSearchParams(Object.entries(place))}`

/** Opens what a place names, and makes it the address. */
function show(place: Place): void {
  history.replaceState(null, '', `${location.pathname}${location.search}${writePlace(place)}`)
  if (place.server === undefined) {
    dialog.close()
    return
  }
  const server = comparison.servers.find(({ name }) => name === place.server)
  const details =
    server === undefined
      ? html`${title(place.server)}<p>No report of this server is here</p>`
      : place.requirement === undefined
        ? serverDetails(server, place)
        : cellDetails(server, place.requirement)
  draw(byId('dialog-body'), details)
  if (!dialog.open) dialog.showModal()
}

/** Opens what the address names: a place, or an element of the page. */
function follow(): void {
  const place = readPlace(location.hash)
  if (place.server !== undefined) show(place)
  else document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

const title = (text: Part): Markup => html`<h2 id="dialog-title">${text}</h2>`

/** The sign of a verdict, with its word for those who do not see it. */
function sign(verdict: Verdict | null, about = ''): Markup {
  const label = `${about}${verdictWords(verdict)}`
  return html`<span class="sign fill ${verdict}" role="img" title="${label}" aria-label="${label}">${verdict && glyphs[verdict]}</span>`
}

const verdictWords = (verdict: Verdict | null): string => (verdict === null ? 'not run' : words(verdict))

/** `2026-01-02 03:04`, in UTC as in the report. */
const dateWords = (iso: string): string => iso.slice(0, 16).replace('T', ' ')

const list = (items: readonly Part[]): Markup => html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`

/** Cases that failed, from report to report. A single report has no trend. */
function trend(reports: readonly CompactReport[]): Markup {
  if (reports.length < 2) return html``
  const failed = reports.map(({ counts }) => counts[verdictOrder.indexOf('failed')] ?? 0)
  const most = Math.max(...failed)
  const points = failed.map((count, index) => {
    const x = (index / (failed.length - 1)) * 100
    return `${x.toFixed(1)},${(19 - (count / Math.max(1, most)) * 18).toFixed(1)}`
  })
  const label = `Failed cases over ${reports.length} reports: from ${failed[0] ?? 0} to ${failed.at(-1) ?? 0}, at most ${most}`
  return html`<svg class="trend ${most === 0 ? 'passed' : 'failed'}" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label="${label}"><title>${label}</title>
<polyline points="${points.join(' ')}"/></svg>`
}

/** The cases of a requirement on a server, with what its newest report says of each, and the verdicts of all its reports. */
function cellDetails(server: ComparedServer, id: string): Markup {
  const index = comparison.requirements.findIndex((one) => one.id === id)
  const requirement = comparison.requirements[index]
  if (requirement === undefined) return html`${title(id)}<p>No report knows this requirement</p>`
  const newest = newestOf(server)
  const verdict = verdictAt(newest.requirements, index)
  const found = newest.findings.filter((finding) => finding.requirement === id).map(({ message }) => message)
  const strip = server.reports.map(
    ({ started, requirements }) => html`<li>${sign(verdictAt(requirements, index), `${dateWords(started)}: `)}</li>`,
  )
  return html`${title(html`<code>${id}</code>`)}
<p><b>${requirement.level}</b> ${requirement.text}</p>
<p>${sign(verdict)} ${verdictWords(verdict)} on ${server.name}, ${dateWords(newest.started)} UTC. <a href="${writePlace({ server: server.name, requirement: id })}">Link to this</a></p>
${newest.reasons.filter(([at]) => at === index).map(([, reason]) => html`<p class="soft">${reason}</p>`)}
${found.length === 0 ? null : html`<h3>Found by the model</h3>${list(found)}`}
<h3>Cases</h3>${caseList(newest, id)}
<h3>${server.reports.length === 1 ? 'One report' : `All ${server.reports.length} reports, oldest first`}</h3>
<ol class="strip" aria-label="Verdicts over time">${strip}</ol>`
}

function caseList(report: CompactReport, requirement: string): Markup {
  const why = new Map(report.why)
  const items = comparison.cases.flatMap(({ key, title: claim, proves }, index) => {
    const verdict = verdictAt(report.cases, index)
    if (!proves.includes(requirement) || verdict === null) return []
    const because = why.get(index)
    const reason = because === undefined ? null : html`<span class="because">${because}</span>`
    return [{ verdict, item: html`${sign(verdict)} <code>${key}</code> ${claim}${reason}` }]
  })
  if (items.length === 0) return html`<p>No case of this report proves it</p>`
  items.sort((one, other) => verdictOrder.indexOf(one.verdict) - verdictOrder.indexOf(other.verdict))
  return list(items.map(({ item }) => item))
}

/** The reports of a server, their trend, and what changed between two of them. */
function serverDetails(server: ComparedServer, { from, to }: Place): Markup {
  const { name, reports } = server
  const older = reports.find(({ started }) => started === from) ?? reports.at(-2)
  const newer = reports.find(({ started }) => started === to) ?? newestOf(server)
  const used = verdictOrder.filter((_, index) => reports.some(({ counts }) => (counts[index] ?? 0) > 0))
  const rows = reports.toReversed().map((report) => {
    const counts = used.map((verdict) => report.counts[verdictOrder.indexOf(verdict)] ?? 0)
    const cells = [dateWords(report.started), report.version, report.set, words(report.verdict), ...counts]
    return html`<tr>${cells.map((text) => html`<td>${text}</td>`)}</tr>`
  })
  const head = ['date (UTC)', 'version', 'set', 'verdict', ...used.map(words)]
  return html`${title(name)}<div class="large">${trend(reports)}</div>
${older === undefined ? html`<p>One report: nothing to compare it with</p>` : changes(server, older, newer)}
<h3>Reports, newest first</h3>
<div class="table"><table><thead><tr>${head.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`
}

function changes({ reports }: ComparedServer, older: CompactReport, newer: CompactReport): Markup {
  const all = changesBetween(comparison, older, newer)
  const items = (kind: 'requirement' | 'case') =>
    all
      .filter((change) => change.kind === kind)
      .map(
        ({ id, from, to }) =>
          html`${sign(from)} → ${sign(to)} <code>${id}</code> ${verdictWords(from)}, now ${verdictWords(to)}`,
      )
  const [requirements, cases] = [items('requirement'), items('case')]
  const sum = `${counted(requirements.length, 'requirement')} and ${counted(cases.length, 'case')} changed`
  return html`<h3>What changed</h3>
<p><label>from ${select('from', reports, older)}</label> <label>to ${select('to', reports, newer)}</label></p>
<p role="status">${all.length === 0 ? 'Nothing changed' : sum}</p><div class="changes">${list(requirements)}</div>
${cases.length === 0 ? null : html`<details><summary>${counted(cases.length, 'case')}</summary>${list(cases)}</details>`}`
}

function select(name: string, reports: readonly CompactReport[], chosen: CompactReport): Markup {
  const options = reports.map(
    (report) =>
      html`<option value="${report.started}"${report === chosen ? html` selected` : null}>${dateWords(report.started)}, ${words(report.verdict)}</option>`,
  )
  return html`<select name="${name}" aria-label="Report to compare ${name}">${options}</select>`
}

/** Adds each JSON report that is chosen or dropped, and says which files are not reports. */
async function addFiles(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    const report = readReport(await file.text())
    if (report !== null) addOwn(report)
    else byId('status').textContent = `${file.name} is not a JSON report of svc-conformance (run --report json=FILE)`
  }
}

/** Checks only the members that the page uses. */
function readReport(text: string): ComparedReport | null {
  try {
    const { meta, requirements, cases, findings, ...report } = JSON.parse(text) as ComparedReport
    const words = [
      meta.target,
      meta.started,
      ...requirements.flatMap(({ id, text, reasons }) => [id, text, ...reasons.map(({ kind }) => kind)]),
    ]
    const ofCases = cases.flatMap(({ key, title, proves }) => [key, title, ...proves])
    const isReport = [...words, ...ofCases, ...findings.map(({ message }) => message)].every(
      (word) => typeof word === 'string',
    )
    return isReport ? { ...report, meta, requirements, cases, findings } : null
  } catch {
    return null
  }
}

function addOwn(report: ComparedReport): void {
  const before = new Set(comparison.servers)
  comparison = addReport(comparison, report)
  const added = comparison.servers.find((server) => !before.has(server))
  if (added !== undefined) own.add(added.name)
  drawHead()
  drawMatrix()
  byId('status').textContent = `Added a report of ${added?.name ?? 'a server'}; it stays in your browser`
}

drawHead()
drawMatrix()
document.addEventListener('click', (event) => {
  const place = (event.target as Element).closest('[data-place]')?.getAttribute('data-place')
  if (typeof place === 'string') show(readPlace(place))
})
dialog.addEventListener('change', () => {
  const [from, to] = [...dialog.querySelectorAll('select')].map(({ value }) => value)
  const { server } = readPlace(location.hash)
  if (server !== undefined && from !== undefined && to !== undefined) show({ server, from, to })
})
byId('close').addEventListener('click', () => dialog.close())
byId('table').addEventListener('keydown', moveByArrows)
text.addEventListener('input', drawMatrix)
differing.addEventListener('change', drawMatrix)
dialog.addEventListener('close', () => show({}))
addEventListener('hashchange', follow)
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || document.activeElement === text || dialog.open) return
  event.preventDefault()
  text.focus()
})
const input = byId<HTMLInputElement>('file')
input.addEventListener('change', () => {
  void addFiles([...(input.files ?? [])])
  input.value = ''
})
document.addEventListener('dragover', (event) => event.preventDefault())
document.addEventListener('drop', (event) => {
  event.preventDefault()
  void addFiles([...(event.dataTransfer?.files ?? [])])
})
if (location.hash !== '') follow()
document.documentElement.dataset.ready = String(Math.round(performance.now()))
