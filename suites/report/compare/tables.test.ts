import { expect, test } from 'vitest'
import { madeUpReport, mended } from '../../self/made-up-report.ts'
import type { Report } from '../report.ts'
import { compareReports, renderMatrix } from './tables.ts'

const one = madeUpReport()
const newCase = { ...(one.cases[0] as Report['cases'][number]), key: 'new/case' }
const other: Report = {
  ...mended(one),
  meta: { ...one.meta, target: 'http://b.example' },
  cases: [...mended(one).cases.slice(1), newCase],
}

test('verdicts that differ are listed, and cases that only one has', () => {
  const { text, differs } = compareReports(one, other)
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
  const { text, differs } = compareReports(one, one)
  expect(differs).toBe(false)
  expect(text).toContain('\nNo verdict differs\n')
  // Neither does it from one without a case.
  expect(compareReports(one, { ...one, cases: one.cases.slice(1) }).differs).toBe(false)
})

test('a matrix has a column per report, and what the servers differ on first', () => {
  const few = (report: Report): Report => ({ ...report, requirements: report.requirements.slice(0, 2) })
  const reports = [few(one), few(other)]
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

/** The same report as --only leaves it: what was not selected was not run. */
const partial: Report = {
  ...one,
  requirements: one.requirements.map((requirement) =>
    requirement.id === 'basic/credentials'
      ? { ...requirement, verdict: 'not-testable', reasons: [{ kind: 'not-selected', by: 'only' }] }
      : requirement,
  ),
}

test('what --only left out was not run', () => {
  expect(compareReports(one, partial).text).toContain('basic/credentials  must   ✗ failed → … not run\n')
  const untestable: Report = {
    ...partial,
    requirements: partial.requirements.map((requirement) => ({ ...requirement, reasons: [] })),
  }
  expect(compareReports(partial, untestable).differs).toBe(false)
  const matrix = renderMatrix([one, partial], { files: ['one.json', 'two.json'], markdown: false })
  expect(matrix).toMatch(/^ {2}basic\/credentials +must +✗ {2}…$/m)
  expect(matrix).toContain('… not run')
})

test('reports do not agree on what neither of them judged', () => {
  const matrix = (reports: Report[]): string => {
    const few = reports.map((report) => ({ ...report, requirements: report.requirements.filter(isOfTwo) }))
    return renderMatrix(few, { files: ['1.json', '2.json', '3.json'], markdown: false })
  }
  const isOfTwo = ({ id }: { id: string }): boolean => ['basic/credentials', 'addresses/bound'].includes(id)
  expect(matrix([one, one])).toContain(`
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
  expect(matrix([partial, one])).toMatch(/They differ on\n.*\n {2}basic\/credentials .*\n\nJudged on neither\n/)
})
