import { type SuiteError, usageError } from '../../engine/errors.ts'
import { problemWith } from '../../engine/language/schemas.ts'
import { everyAnswer } from '../../report/outcomes.ts'
import type { Report } from '../../report/report.ts'
import { readText } from './inputs.ts'

const longestReport = 64 * 2 ** 20

/** Reads a JSON report that `run --report json=FILE` wrote. @throws SuiteError (`usage`) */
export function readReportFile(file: string): Report {
  const text = readText(file, 'the report', longestReport)
  const fail = (why: string, cause?: unknown): SuiteError =>
    usageError(`Cannot use "${file}": expected a JSON report (run --report json=FILE)${why}`, { cause })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw fail(', it is not JSON', cause)
  }
  const problem = problemWith(value, 'report')
  if (problem === undefined) return value as Report
  const place = problem.path.length === 0 ? '' : ` at ${problem.path.join('.')}`
  throw fail(`${place}: ${problem.message}`)
}

/** The items that `--failed` runs again: cases that failed or were blocked; for a case about every answer, its requirement. */
export function failedIds(report: Pick<Report, 'cases'>): string[] {
  const open = report.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'blocked')
  return [...new Set(open.flatMap(({ id, key, proves }) => (id === everyAnswer ? proves : [key])))]
}
