import { expect, test } from 'vitest'
import { madeUpReport, mended } from '../../self/made-up-report.ts'
import type { Report } from '../report.ts'
import { addReport, changesBetween, columnName, newestOf, noComparison, verdictAt } from './comparison.ts'
import { compareReports, renderMatrix } from './tables.ts'

const report = madeUpReport()
const better = mended(report)
const newCase = { ...(report.cases[0] as Report['cases'][number]), key: 'new/case' }
const there = { ...report.meta, target: 'http://b.example' }
const other: Report = { ...better, meta: there, cases: [...better.cases.slice(1), newCase] }

/** The same requirements as --only leaves them: what was not selected was not run. */
const without = (...ids: string[]): Report['requirements'] =>
  report.requirements.map((one) =>
    ids.includes(one.id) ? { ...one, verdict: 'not-testable', reasons: [{ kind: 'not-selected', by: 'only' }] } : one,
  )

test('verdicts that differ are listed, and cases that only one has', () => {
  const { text, differs } = compareReports(report, other)
  expect(differs).toBe(true)
  expect(
    text,
  ).toBe(`A  http://127.0.0.1:9111, 2026-01-02 03:04, version 0.1.0: does not conform (4 passed, 2 failed, 3 blocked, 1 known, 1 warned, 1 not testable, 1 finding, 1 stale baseline entry)
B  http://b.example, 2026-01-02 03:04, version 0.1.0: does not conform (4 passed, 2 failed, 3 blocked, 1 known, 1 warned, 1 not testable, 1 finding, 1 stale baseline entry)

  requirement      level  A → B
  signatures/hmac  must   ✗ failed → ✓ passed

  case                                      A → B
  signatures/hmac-accepted/all-in-one-line  ✗ failed → ✓ passed

Only in A: 1 case: addresses/bound
Only in B: 1 case: new/case
`)
})

test('a report does not differ from itself', () => {
  const { text, differs } = compareReports(report, report)
  expect(differs).toBe(false)
  expect(text).toContain('\nNo verdict differs\n')
  // Neither does it from one without a case.
  expect(compareReports(report, { ...report, cases: report.cases.slice(1) }).differs).toBe(false)
})

test('a matrix has a column per report, and what the servers differ on first', () => {
  const few = (report: Report): Report => ({ ...report, requirements: report.requirements.slice(0, 2) })
  const reports = [few(report), few(other)]
  const matrix = (markdown: boolean): string => renderMatrix(reports, { files: ['one.json', 'two.json'], markdown })
  expect(matrix(false)).toMatch(/^A {2}one\.json, http:\/\/127.0.0.1:9111: does not conform \(4 passed, 2 failed, /)
  expect(matrix(false)).toContain(`
They differ on
  requirement      level  A  B
  signatures/hmac  must   ✗  ✓

They agree on
  requirement        level  A  B
  basic/credentials  must   ✗  ✗

✗ failed, ✓ passed
`)
  expect(matrix(true)).toContain('| signatures/hmac | must | ✗ | ✓ |')
})

const partial: Report = { ...report, requirements: without('basic/credentials') }

test('what --only left out was not run', () => {
  expect(compareReports(report, partial).text).toContain('basic/credentials  must   ✗ failed → … not run\n')
  const requirements = partial.requirements.map((requirement) => ({ ...requirement, reasons: [] }))
  expect(compareReports(partial, { ...partial, requirements }).differs).toBe(false)
  const matrix = renderMatrix([report, partial], { files: ['one.json', 'two.json'], markdown: false })
  expect(matrix).toMatch(/^ {2}basic\/credentials +must +✗ {2}…$/m)
  expect(matrix).toContain('… not run')
})

test('reports do not agree on what neither of them judged', () => {
  const matrix = (reports: Report[]): string => {
    const few = reports.map((report) => ({ ...report, requirements: report.requirements.filter(isOfTwo) }))
    return renderMatrix(few, { files: ['1.json', '2.json', '3.json'], markdown: false })
  }
  const isOfTwo = ({ id }: { id: string }): boolean => ['basic/credentials', 'addresses/bound'].includes(id)
  expect(matrix([report, report])).toContain(`
They agree on
  requirement        level  A  B
  basic/credentials  must   ✗  ✗

Judged on neither
  requirement      level  A  B
  addresses/bound  must   –  –
`)
  expect(matrix([partial, partial, partial])).toContain(`
Judged on none
  requirement        level  A  B  C
  basic/credentials  must   …  …  …
  addresses/bound    must   –  –  –
`)
  expect(matrix([partial, report])).toMatch(/They differ on\n.*\n {2}basic\/credentials .*\n\nJudged on neither\n/)
})

/** What the page compares. */

const meta = { ...report.meta, started: '2026-02-02T00:00:00.000Z' }
const later: Report = { ...better, meta, cases: [...better.cases, newCase] }
const elsewhere: Report = { ...report, meta: { ...report.meta, target: 'bundled' } }

test('reports of one target are one server, ordered by time and not by file', () => {
  const comparison = [later, elsewhere, report].reduce(addReport, noComparison)
  const servers = comparison.servers.map(({ name, reports }) => `${reports.length} of ${name}`)
  expect(servers).toEqual(['2 of http://127.0.0.1:9111', '1 of the bundled server'])
  expect(comparison.servers[0]?.reports.map(({ started }) => started.slice(5, 7))).toEqual(['01', '02'])
})

test('every verdict can be read back', () => {
  const comparison = addReport(noComparison, report)
  const [server] = comparison.servers
  if (server === undefined) throw new Error('no server')
  const { cases, requirements } = newestOf(server)
  const ofReport = (all: readonly { verdict: string }[]) => all.map(({ verdict }) => verdict)
  expect(comparison.cases.map((_, index) => verdictAt(cases, index))).toEqual(ofReport(report.cases))
  const read = comparison.requirements.map((_, index) => verdictAt(requirements, index))
  expect(read).toEqual(ofReport(report.requirements))
})

/** What changed in a later report of the server. */
function changesTo(one: Report) {
  const comparison = [report, one].reduce(addReport, noComparison)
  const [from, to] = comparison.servers[0]?.reports ?? []
  if (from === undefined || to === undefined) throw new Error('no reports')
  return changesBetween(comparison, from, to)
}

test('what changed between two reports, new cases included', () => {
  expect(changesTo(later)).toEqual([
    { kind: 'requirement', id: 'signatures/hmac', from: 'failed', to: 'passed' },
    { kind: 'case', id: 'signatures/hmac-accepted/all-in-one-line', from: 'failed', to: 'passed' },
    { kind: 'case', id: 'new/case', from: null, to: report.cases[0]?.verdict },
  ])
})

test('what --only left out was not run, and what is not testable does not change by that', () => {
  const requirements = without('basic/credentials', 'addresses/bound')
  const partial: Report = { ...later, requirements, cases: report.cases }
  const change = { kind: 'requirement', id: 'basic/credentials', from: 'failed', to: 'not-run' }
  expect(changesTo(partial)).toEqual([change])
})

test('only the newest report keeps its messages, printable and short', () => {
  const [server] = [later, report].reduce(addReport, noComparison).servers
  expect(server?.reports.map(({ why }) => why.length > 0)).toEqual([false, true])
  const text = JSON.stringify(server)
  expect(text).not.toMatch(/\p{C}/u)
  expect(Math.max(...(server?.reports[1]?.why ?? []).map(([, message]) => message.length))).toBeLessThanOrEqual(300)
})

test('columns are named A to Z, then AA', () => {
  expect([0, 25, 26, 51, 52].map(columnName)).toEqual(['A', 'Z', 'AA', 'AZ', 'BA'])
})
