/// <reference lib="dom" />
/** The details of one cell and of one server. */
import { counted } from '../../engine/group.ts'
import type { Verdict } from '../../engine/judge/problem.ts'
import { type Child, element } from '../../page/elements.ts'
import { casesOf, glyphs, verdictOrder, words } from '../verdict-words.ts'
import { writePlace } from './address.ts'
import {
  type Change,
  type CompactReport,
  type ComparedServer,
  type Comparison,
  changesBetween,
  newestOf,
  verdictAt,
} from './comparison.ts'
import { drawTrend } from './trend.ts'
import { dateWords, sign } from './verdict-sign.ts'

const title = (...text: Child[]): HTMLElement => element('h2', { id: 'dialog-title' }, ...text)

/** The cases of a requirement on a server, with what its newest report says of each, and the verdicts of all its reports. */
export function cellDetails(comparison: Comparison, server: ComparedServer, requirementId: string): Child[] {
  const index = comparison.requirements.findIndex(({ id }) => id === requirementId)
  const requirement = comparison.requirements[index]
  const newest = newestOf(server)
  if (requirement === undefined) return [title(requirementId), element('p', 'No report knows this requirement')]
  const link = writePlace({ kind: 'cell', server: server.name, requirement: requirementId })
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
export function serverDetails(
  comparison: Comparison,
  server: ComparedServer,
  { from, to, choose }: { from: string | null; to: string | null; choose(from: string, to: string): void },
): Child[] {
  const { reports } = server
  const older = reports.find(({ started }) => started === from) ?? reports.at(-2)
  const newer = reports.find(({ started }) => started === to) ?? newestOf(server)
  return [
    title(server.name),
    element('div', { class: 'large' }, ...drawTrend(reports)),
    ...(older === undefined
      ? [element('p', 'One report: nothing to compare it with')]
      : changesSection(comparison, server, { older, newer, choose })),
    element('h3', 'Reports, newest first'),
    element('div', { class: 'table' }, reportTable(reports)),
  ]
}

function changesSection(
  comparison: Comparison,
  { reports }: ComparedServer,
  { older, newer, choose }: { older: CompactReport; newer: CompactReport; choose(from: string, to: string): void },
): Child[] {
  const changes = changesBetween(comparison, older, newer)
  const from = reportSelect('from', reports, older)
  const to = reportSelect('to', reports, newer)
  for (const select of [from, to]) select.addEventListener('change', () => choose(from.value, to.value))
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

function changeItem({ id, from, to }: Change): HTMLElement {
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
