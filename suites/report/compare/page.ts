/// <reference lib="dom" />
/** The page of many servers: reads what the command put into it, draws, and follows its own address. */
import { counted } from '../../engine/group.ts'
import { byId, type Child, element } from '../../page/elements.ts'
import { glyphs, meanings, toneOf, verdictOrder, words } from '../verdict-words.ts'
import {
  addReport,
  type ComparedReport,
  type ComparedServer,
  type Comparison,
  newestOf,
  type Place,
  readPlace,
  verdictAt,
  writePlace,
} from './comparison.ts'
import { type Choices, cellDetails, dateWords, drawTable, drawTrend, serverButton, serverDetails } from './draw.ts'

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

const choose: Choices = {
  cell: (server, requirement) => show({ kind: 'cell', server, requirement }),
  server: (server) => show({ kind: 'server', server, from: null, to: null }),
}

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
    serverButton(index, server.name, choose),
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
  const { table, shown } = drawTable(comparison, wanted, choose)
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
  if (place.kind !== 'nothing') show(place)
  else document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

function bodyOf(place: Place): Child[] {
  if (place.kind === 'nothing') return []
  const server = comparison.servers.find(({ name }) => name === place.server)
  if (server === undefined)
    return [element('h2', { id: 'dialog-title' }, place.server), element('p', 'No report of this server is here')]
  if (place.kind === 'cell') return cellDetails(comparison, server, place.requirement)
  return serverDetails(comparison, server, {
    from: place.from,
    to: place.to,
    choose: (from, to) => show({ ...place, from, to }),
  })
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

drawHead()
drawMatrix()
byId('close').addEventListener('click', () => dialog.close())
text.addEventListener('input', drawMatrix)
differing.addEventListener('change', drawMatrix)
dialog.addEventListener('close', () => show({ kind: 'nothing' }))
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
