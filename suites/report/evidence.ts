/** Keeps a report small, whatever a server sends. Every exchange is short already; here it is all of them together. */
import type { Exchange } from '../engine/exchange.ts'
import { printableJson } from '../engine/printable.ts'
import type { CaseReport } from './model.ts'

/** For all exchanges of a report together, as JSON writes them. */
const mostCharacters = 3_000_000
/** How long a line may be, from what is kept usually to what is kept where every case shows a long answer. */
const lineLimits = [Number.POSITIVE_INFINITY, 2000, 500, 150, 40]

/** The cases with the lines of their exchanges cut as little as the limit for all of them allows. Pure. */
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
