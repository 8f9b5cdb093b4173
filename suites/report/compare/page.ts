/// <reference lib="dom" />
/** The page of many servers: reads what the command put into it, draws, and follows its own address. */
import { counted } from '../../engine/group.ts'
import type { Verdict } from '../../engine/judge/problem.ts'
import { byId, type Child, element, svgElement } from '../../page/elements.ts'
import { casesOf, glyphs, meanings, toneOf, verdictOrder, words } from '../verdict-words.ts'
import {
  addReport,
  type CompactReport,
  type ComparedReport,
  type ComparedServer,
  type Comparison,
  changesBetween,
  columnName,
  newestOf,
  verdictAt,
} from './comparison.ts'

interface PageData {
  comparison: Comparison
  /** ISO 8601. */
  made: string
  version: string
}

const data = JSON.parse(byId('data').textContent ?? '') as PageData
const text = byId('text') as HTMLInputElement
const differing = byId('differing') as HTMLInputElement
const dialog = byId('dialog') as HTMLDialogElement
/** Names of servers with a report that was added by hand. */
const own = new Set<string>()
let comparison = data.comparison

function drawHead(): void {
  const { servers } = comparison
  const reports = servers.reduce((sum, server) => sum + server.reports.length, 0)
  byId('title').textContent = `Conformance of ${counted(servers.length, 'server')}`
  byId('made').textContent = `${counted(reports, 'report')}, made ${dateWords(data.made)} UTC`
  byId('footer').textContent = `svc-conformance ${data.version}`
  byId('servers').replaceChildren(...servers.map(serverCard))
  byId('legend').replaceChildren(...legendItems())
}

function serverCard(server: ComparedServer, index: number): HTMLElement {
  const newest = newestOf(server)
  const counts = verdictOrder.flatMap((verdict, at) => {
    const number = newest.counts[at] ?? 0
    return number === 0 || verdict === 'passed' ? [] : [`${number} ${words(verdict)}`]
  })
  if (newest.findings.length > 0) counts.push(counted(newest.findings.length, 'finding'))
  return element(
    'li',
    own.has(server.name) ? { class: 'own' } : {},
    serverButton(index, server.name),
    element('span', { class: 'name' }, server.name),
    element(
      'span',
      { class: 'more' },
      element('span', { class: `state ${toneOf(newest.verdict)}` }, words(newest.verdict)),
      element('span', counts.length === 0 ? 'all cases passed' : counts.join(', ')),
      element('span', `${dateWords(newest.started)}, version ${newest.version}`),
      ...drawTrend(server.reports),
    ),
  )
}

function legendItems(): HTMLElement[] {
  const used = new Set(
    comparison.servers.flatMap((server) =>
      comparison.requirements.map((_, index) => verdictAt(newestOf(server).requirements, index)),
    ),
  )
  return verdictOrder
    .filter((verdict) => used.has(verdict))
    .map((verdict) =>
      element(
        'li',
        element('span', { class: `sign fill ${verdict}`, 'aria-hidden': 'true' }, glyphs[verdict]),
        ' ',
        element('b', words(verdict)),
        ` ${meanings[verdict]}`,
      ),
    )
}

function drawMatrix(): void {
  const wanted = { words: text.value.toLowerCase().split(/\s+/).filter(Boolean), onlyDiffering: differing.checked }
  const { table, shown } = drawTable(comparison, wanted)
  byId('table').replaceChildren(table)
  byId('status').textContent = `${shown} of ${comparison.requirements.length} requirements`
}

/** Opens what a place names, and makes it the address. */
function show(place: Place): void {
  history.replaceState(null, '', `${location.pathname}${location.search}${writePlace(place)}`)
  const body = bodyOf(place)
  byId('dialog-body').replaceChildren(...body)
  if (body.length === 0) dialog.close()
  else if (!dialog.open) dialog.showModal()
}

/** Opens what the address names: a place, or an element of the page. */
function follow(): void {
  const place = readPlace(location.hash)
  if (place.server !== undefined) show(place)
  else document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

function bodyOf(place: Place): Child[] {
  if (place.server === undefined) return []
  const server = comparison.servers.find(({ name }) => name === place.server)
  if (server === undefined) return [title(place.server), element('p', 'No report of this server is here')]
  if (place.requirement !== undefined) return cellDetails(comparison, server, place.requirement)
  return serverDetails(comparison, server, place)
}

function addOwn(report: ComparedReport): void {
  const before = new Map(comparison.servers.map((server) => [server.name, server]))
  comparison = addReport(comparison, report)
  const added = comparison.servers.find((server) => before.get(server.name) !== server)
  if (added !== undefined) own.add(added.name)
  drawHead()
  drawMatrix()
  byId('status').textContent = `Added a report of ${added?.name ?? 'a server'}; it stays in your browser`
}

/** Calls `add` with each JSON report that is chosen or dropped, and `refuse` with the reason if a file is not a report. */
function listenForReports(
  input: HTMLInputElement,
  add: (report: ComparedReport) => void,
  refuse: (sentence: string) => void,
): void {
  const readAll = async (files: Iterable<File>): Promise<void> => {
    for (const file of files) {
      const report = readReport(await file.text())
      if (report === null) refuse(`${file.name} is not a JSON report of svc-conformance (run --report json=FILE)`)
      else add(report)
    }
  }
  input.addEventListener('change', () => {
    void readAll([...(input.files ?? [])])
    input.value = ''
  })
  document.addEventListener('dragover', (event) => {
    event.preventDefault()
    document.body.classList.add('dropping')
  })
  for (const end of ['dragleave', 'drop'] as const)
    document.addEventListener(end, () => document.body.classList.remove('dropping'))
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    void readAll([...(event.dataTransfer?.files ?? [])])
  })
}

/** Checks only the members that the page uses. */
function readReport(text: string): ComparedReport | null {
  try {
    const report = JSON.parse(text) as ComparedReport
    const hasParts =
      typeof report.meta.target === 'string' &&
      typeof report.meta.started === 'string' &&
      report.requirements.every(({ id, text: sentence }) => typeof id === 'string' && typeof sentence === 'string') &&
      report.cases.every(
        ({ key, title, proves }) => [key, title].every((one) => typeof one === 'string') && Array.isArray(proves),
      ) &&
      Array.isArray(report.findings)
    return hasParts ? report : null
  } catch {
    return null
  }
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

const readPlace = (hash: string): Place => Object.fromEntries(new URLSearchParams(hash.replace(/^#/, '')))

const writePlace = (place: Place): string =>
  place.server === undefined ? '' : `#${new URLSearchParams(Object.entries(place))}`

/** The sign of a verdict, with its word for those who do not see it. */
function sign(verdict: Verdict | null): HTMLElement {
  if (verdict === null) return element('span', { class: 'sign', title: 'not run' }, '')
  const title = words(verdict)
  return element('span', { class: `sign fill ${verdict}`, title, role: 'img', 'aria-label': title }, glyphs[verdict])
}

/** `2026-01-02 03:04`, in UTC as in the report. */
function dateWords(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ')
}

interface Wanted {
  /** Words that a requirement must have. */
  words: readonly string[]
  onlyDiffering: boolean
}

/**
 * The table of servers and requirements. One cell at a time is in the tab order; arrow keys go from cell to cell.
 *
 * @returns the table, and how many requirements it shows
 */
function drawTable(comparison: Comparison, wanted: Wanted): { table: HTMLElement; shown: number } {
  const newest = comparison.servers.map((server) => ({ name: server.name, report: newestOf(server) }))
  const rows = comparison.requirements
    .map((requirement, index) => ({
      ...requirement,
      verdicts: newest.map(({ report }) => verdictAt(report.requirements, index)),
    }))
    .filter((row) => isWanted(row, wanted))
  const head = element(
    'tr',
    { role: 'row' },
    element('th', { scope: 'col', role: 'columnheader' }, 'requirement'),
    element('th', { scope: 'col', role: 'columnheader', class: 'level' }, 'level'),
    ...newest.map(({ name }, index) =>
      element('th', { scope: 'col', role: 'columnheader', title: name }, serverButton(index, name)),
    ),
  )
  const body = rows.map(({ id, level, text, verdicts }) =>
    element(
      'tr',
      { role: 'row' },
      element('th', { scope: 'row', role: 'rowheader', title: text }, element('code', ...breakable(id))),
      element('td', { class: 'level', role: 'gridcell' }, level),
      ...verdicts.map((verdict, index) => cellOf(verdict, newest[index]?.name ?? '', id)),
    ),
  )
  const table = element(
    'table',
    { role: 'grid', 'aria-label': 'Requirements by server' },
    element('thead', { role: 'rowgroup' }, head),
    element('tbody', { role: 'rowgroup' }, ...body),
  )
  moveByArrows(table)
  return { table, shown: rows.length }
}

/** The letter that stands for a server. */
function serverButton(index: number, name: string): HTMLElement {
  const letter = columnName(index)
  const button = element('button', { type: 'button', class: 'letter', 'aria-label': `${letter}: ${name}` }, letter)
  button.addEventListener('click', () => show({ server: name }))
  return button
}

function isWanted(row: { id: string; text: string; verdicts: (Verdict | null)[] }, wanted: Wanted): boolean {
  if (wanted.onlyDiffering && row.verdicts.every((verdict) => verdict === row.verdicts[0])) return false
  const text = `${row.id} ${row.text}`.toLowerCase()
  return wanted.words.every((word) => text.includes(word))
}

function cellOf(verdict: Verdict | null, server: string, requirement: string): HTMLElement {
  if (verdict === null) return element('td', { role: 'gridcell', title: 'not run' })
  const label = `${requirement}, ${server}: ${words(verdict)}`
  const button = element(
    'button',
    { type: 'button', class: `cell fill ${verdict}`, 'aria-label': label, title: label, tabindex: -1 },
    glyphs[verdict],
  )
  button.addEventListener('click', () => show({ server, requirement }))
  return element('td', { role: 'gridcell' }, button)
}

const steps: { readonly [key: string]: readonly [rows: number, columns: number] } = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
}

function moveByArrows(table: HTMLElement): void {
  const rows = [...table.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td:not(.level)')])
  const buttonAt = (row: number, column: number): HTMLElement | null =>
    rows[row]?.[column]?.querySelector<HTMLElement>('button') ?? null
  table.querySelector('tbody button')?.setAttribute('tabindex', '0')
  table.addEventListener('keydown', (event) => {
    const step = steps[event.key]
    const here = event.target as HTMLElement
    const row = rows.findIndex((cells) => cells.some((cell) => cell.contains(here)))
    if (step === undefined || row === -1) return
    const column = rows[row]?.findIndex((cell) => cell.contains(here)) ?? -1
    const next = buttonAt(row + step[0], column + step[1])
    if (next === null) return
    event.preventDefault()
    here.setAttribute('tabindex', '-1')
    next.setAttribute('tabindex', '0')
    next.focus()
  })
}

/** An id that a narrow column may break after a slash. */
const breakable = (id: string): Child[] =>
  id.split(/(?<=\/)/).flatMap((part, index) => (index === 0 ? [part] : [element('wbr'), part]))

const width = 100
const height = 20

/** Cases that failed, from report to report. A single report has no trend. */
function drawTrend(reports: readonly CompactReport[]): SVGElement[] {
  if (reports.length < 2) return []
  const failed = reports.map(failedCount)
  const most = Math.max(1, ...failed)
  const points = failed.map((count, index) => {
    const x = (index / (failed.length - 1)) * width
    return `${x.toFixed(1)},${(height - 1 - (count / most) * (height - 2)).toFixed(1)}`
  })
  const label = `Failed cases over ${reports.length} reports: from ${failed[0]} to ${failed.at(-1)}, at most ${Math.max(...failed)}`
  return [
    svgElement(
      'svg',
      {
        class: 'trend',
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': label,
      },
      svgElement('title', {}, label),
      svgElement('polyline', { class: 'base', points: `0,${height - 1} ${width},${height - 1}` }),
      svgElement('polyline', {
        class: failed.every((count) => count === 0) ? 'passed' : 'failed',
        points: points.join(' '),
      }),
    ),
  ]
}

/** How many cases failed in a report. */
function failedCount({ counts }: CompactReport): number {
  return counts[verdictOrder.indexOf('failed')] ?? 0
}

const title = (...text: Child[]): HTMLElement => element('h2', { id: 'dialog-title' }, ...text)

/** The cases of a requirement on a server, with what its newest report says of each, and the verdicts of all its reports. */
function cellDetails(comparison: Comparison, server: ComparedServer, requirementId: string): Child[] {
  const index = comparison.requirements.findIndex(({ id }) => id === requirementId)
  const requirement = comparison.requirements[index]
  const newest = newestOf(server)
  if (requirement === undefined) return [title(requirementId), element('p', 'No report knows this requirement')]
  const link = writePlace({ server: server.name, requirement: requirementId })
  return [
    title(element('code', requirementId)),
    element('p', element('b', requirement.level), ` ${requirement.text}`),
    element(
      'p',
      sign(verdictAt(newest.requirements, index)),
      ` ${verdictWords(verdictAt(newest.requirements, index))} on ${server.name}, ${dateWords(newest.started)} UTC. `,
      element('a', { href: link }, 'Link to this'),
    ),
    ...newest.reasons.filter(([at]) => at === index).map(([, reason]) => element('p', { class: 'soft' }, reason)),
    ...findingsOf(newest, requirementId),
    element('h3', 'Cases'),
    caseList(comparison, newest, requirementId),
    element('h3', server.reports.length === 1 ? 'One report' : `All ${server.reports.length} reports, oldest first`),
    element(
      'ol',
      { class: 'strip', 'aria-label': 'Verdicts over time' },
      ...server.reports.map((report) => stripItem(report, verdictAt(report.requirements, index))),
    ),
  ]
}

function verdictWords(verdict: Verdict | null): string {
  return verdict === null ? 'not run' : words(verdict)
}

function findingsOf({ findings }: CompactReport, requirement: string): Child[] {
  const mine = findings.filter((finding) => finding.requirement === requirement)
  if (mine.length === 0) return []
  return [element('h3', 'Found by the model'), element('ul', ...mine.map(({ message }) => element('li', message)))]
}

function caseList(comparison: Comparison, report: CompactReport, requirement: string): HTMLElement {
  const why = new Map(report.why)
  const items = comparison.cases.flatMap(({ key, title: claim, proves }, index) => {
    const verdict = verdictAt(report.cases, index)
    if (!proves.includes(requirement) || verdict === null) return []
    const because = why.get(index)
    const reason = because === undefined ? [] : [element('span', { class: 'because' }, because)]
    return [{ verdict, item: element('li', sign(verdict), ' ', element('code', key), ` ${claim}`, ...reason) }]
  })
  if (items.length === 0) return element('p', 'No case of this report proves it')
  items.sort((one, other) => verdictOrder.indexOf(one.verdict) - verdictOrder.indexOf(other.verdict))
  return element('ul', ...items.map(({ item }) => item))
}

function stripItem({ started }: CompactReport, verdict: Verdict | null): HTMLElement {
  const label = `${dateWords(started)}: ${verdictWords(verdict)}`
  const mark = element(
    'span',
    { class: `sign fill ${verdict ?? ''}`, role: 'img', 'aria-label': label, title: label },
    verdict === null ? '' : glyphs[verdict],
  )
  return element('li', mark)
}

/** The reports of a server, their trend, and what changed between two of them. */
function serverDetails(comparison: Comparison, server: ComparedServer, { from, to }: Place): Child[] {
  const { reports } = server
  const older = reports.find(({ started }) => started === from) ?? reports.at(-2)
  const newer = reports.find(({ started }) => started === to) ?? newestOf(server)
  return [
    title(server.name),
    element('div', { class: 'large' }, ...drawTrend(reports)),
    ...(older === undefined
      ? [element('p', 'One report: nothing to compare it with')]
      : changesSection(comparison, server, older, newer)),
    element('h3', 'Reports, newest first'),
    element('div', { class: 'table' }, reportTable(reports)),
  ]
}

function changesSection(
  comparison: Comparison,
  { name, reports }: ComparedServer,
  older: CompactReport,
  newer: CompactReport,
): Child[] {
  const changes = changesBetween(comparison, older, newer)
  const from = reportSelect('from', reports, older)
  const to = reportSelect('to', reports, newer)
  for (const select of [from, to])
    select.addEventListener('change', () => show({ server: name, from: from.value, to: to.value }))
  const requirements = changes.filter(({ kind }) => kind === 'requirement')
  const cases = changes.filter(({ kind }) => kind === 'case')
  return [
    element('h3', 'What changed'),
    element('p', element('label', 'from ', from), element('label', 'to ', to)),
    element(
      'p',
      { role: 'status' },
      changes.length === 0
        ? 'Nothing changed'
        : `${counted(requirements.length, 'requirement')} and ${casesOf(cases.length)} changed`,
    ),
    element('ul', { class: 'changes' }, ...requirements.map(changeItem)),
    ...(cases.length === 0
      ? []
      : [element('details', element('summary', casesOf(cases.length)), element('ul', ...cases.map(changeItem)))]),
  ]
}

function changeItem({ id, from, to }: ReturnType<typeof changesBetween>[number]): HTMLElement {
  return element(
    'li',
    sign(from),
    ' → ',
    sign(to),
    ' ',
    element('code', id),
    ` ${verdictWords(from)}, now ${verdictWords(to)}`,
  )
}

function reportSelect(name: string, reports: readonly CompactReport[], chosen: CompactReport): HTMLSelectElement {
  const options = reports.map((report) =>
    element(
      'option',
      { value: report.started, selected: report === chosen },
      `${dateWords(report.started)}, ${words(report.verdict)}`,
    ),
  )
  return element('select', { name, 'aria-label': `Report to compare ${name}` }, ...options) as HTMLSelectElement
}

function reportTable(reports: readonly CompactReport[]): HTMLElement {
  const used = verdictOrder.filter((_, index) => reports.some(({ counts }) => (counts[index] ?? 0) > 0))
  const head = ['date (UTC)', 'version', 'set', 'verdict', ...used.map(words)]
  const rows = reports.toReversed().map((report) => {
    const counts = used.map((verdict) => String(report.counts[verdictOrder.indexOf(verdict)] ?? 0))
    const cells = [dateWords(report.started), report.version, report.set, words(report.verdict), ...counts]
    return element('tr', ...cells.map((text) => element('td', text)))
  })
  return element(
    'table',
    element('thead', element('tr', ...head.map((text) => element('th', { scope: 'col' }, text)))),
    element('tbody', ...rows),
  )
}

drawHead()
drawMatrix()
byId('close').addEventListener('click', () => dialog.close())
text.addEventListener('input', drawMatrix)
differing.addEventListener('change', drawMatrix)
dialog.addEventListener('close', () => show({}))
addEventListener('hashchange', follow)
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || document.activeElement === text || dialog.open) return
  event.preventDefault()
  text.focus()
})
listenForReports(byId('file') as HTMLInputElement, addOwn, (sentence) => {
  byId('status').textContent = sentence
})
if (location.hash !== '') follow()
document.documentElement.dataset.ready = String(Math.round(performance.now()))
