/** Keeps a report small. Each exchange is already short; this limits all of them together. */
import type { Exchange } from '../engine/exchange.ts'
import { printableJson } from '../engine/printable.ts'
import type { CaseReport } from './report.ts'

/** For all exchanges of a report together, as JSON writes them. */
const mostCharacters = 3_000_000
/** The line lengths to try, from the usual one to the one for a report full of long answers. */
const lineLimits = [Number.POSITIVE_INFINITY, 2000, 500, 150, 40]

/** Cuts the lines of all exchanges just enough for the limit of the whole report. Pure. */
export function boundEvidence(cases: readonly CaseReport[]): CaseReport[] {
  const limit = lineLimits.find((one) => fits(cases, one)) ?? 0
  if (limit === Number.POSITIVE_INFINITY) return [...cases]
  return cases.map((testCase) => withShortLines(testCase, (line) => cut(line, limit)))
}

function fits(cases: readonly CaseReport[], limit: number): boolean {
  let size = 0
  for (const { problem } of cases)
    for (const { request, answer } of problem?.exchanges ?? [])
      for (const line of [...request, ...answer]) {
        size += printableJson(cut(line, limit)).length
        if (size > mostCharacters) return false
      }
  return true
}

function withShortLines(testCase: CaseReport, short: (line: string) => string): CaseReport {
  const { problem } = testCase
  if (problem === null) return testCase
  const exchanges = problem.exchanges.map(
    ({ request, answer }): Exchange => ({ request: request.map(short), answer: answer.map(short) }),
  )
  return { ...testCase, problem: { ...problem, exchanges } }
}

function cut(line: string, limit: number): string {
  return line.length <= limit ? line : `${line.slice(0, limit)}… (${line.length} characters)`
}
