import { expect, test } from 'vitest'
import { madeUpReport, mended } from '../../self/made-up-report.ts'
import type { Report } from '../report.ts'
import { addReport, changesBetween, columnName, newestOf, noComparison, verdictAt } from './comparison.ts'

const report = madeUpReport()
const newCase = { ...(report.cases[0] as Report['cases'][number]), key: 'new/case' }
const later: Report = {
  ...mended(report),
  meta: { ...report.meta, started: '2026-02-02T00:00:00.000Z' },
  cases: [...mended(report).cases, newCase],
}
const elsewhere: Report = { ...report, meta: { ...report.meta, target: 'bundled' } }

test('reports of one target are one server, ordered by time and not by file', () => {
  const comparison = [later, elsewhere, report].reduce(addReport, noComparison)
  expect(comparison.servers.map(({ name, reports }) => [name, reports.length])).toEqual([
    ['http://127.0.0.1:9111', 2],
    ['the bundled server', 1],
  ])
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
  const partial: Report = {
    ...later,
    requirements: report.requirements.map((one) =>
      ['basic/credentials', 'addresses/bound'].includes(one.id)
        ? { ...one, verdict: 'not-testable', reasons: [{ kind: 'not-selected', by: 'only' }] }
        : one,
    ),
    cases: report.cases,
  }
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
