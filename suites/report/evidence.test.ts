import { expect, test } from 'vitest'
import { madeUpReport } from '../self/made-up-report.ts'
import { boundEvidence } from './build.ts'
import { renderCtrf, renderJson, renderJunit, testRun } from './formats.ts'
import { renderHtml } from './html.ts'
import { renderMarkdown } from './markdown.ts'
import type { CaseReport, Report } from './report.ts'
import { renderText } from './text.ts'

const report = madeUpReport()
const failed = report.cases.find(({ id }) => id === 'signatures/hmac-accepted') as CaseReport

/** Every case failed, with as long an answer as is recorded, of characters that every format escapes. */
function longest(count: number): CaseReport[] {
  const line = '\u001b'.repeat(4096)
  const exchanges = [{ request: ['POST /api', line], answer: ['HTTP 200', line, line] }]
  return Array.from({ length: count }, (_, index) => ({
    ...failed,
    key: `a/${index}`,
    problem: failed.problem === null ? null : { ...failed.problem, exchanges },
  }))
}

const everythingLong = boundEvidence(longest(800))

test('however long the answers are, every format of a report stays below 5 MB', () => {
  const long: Report = { ...report, cases: everythingLong }
  const sizes = {
    json: renderJson(long).length,
    html: renderHtml(long).length,
    junit: renderJunit(testRun(long)).length,
    ctrf: renderCtrf(testRun(long)).length,
    markdown: renderMarkdown(long).length,
    text: renderText(long, { colour: false }).length,
  }
  for (const [format, size] of Object.entries(sizes)) expect(size, format).toBeLessThan(5_000_000)
})

test('short evidence is unchanged, and cut evidence shows its original length', () => {
  expect(boundEvidence(report.cases)).toEqual(report.cases)
  const [first] = everythingLong
  expect(first?.problem?.exchanges[0]?.answer[1]).toContain('… (4096 characters)')
})
