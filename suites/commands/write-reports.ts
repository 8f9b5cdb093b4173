import { SuiteError } from '../engine/errors.ts'
import { lines, type Printable, printable, vouchedFor } from '../engine/printable.ts'
import type { Report } from '../report/report.ts'
import type { Look } from '../report/text.ts'
import { verdictLine } from '../report/verdict-words.ts'
import { type Environment, given, replaceFile } from '../run/files.ts'
import type * as flag from '../run/flags.ts'
import { writeError, writeOut } from './console.ts'

/** Colours on a terminal only, and never with NO_COLOR. */
export function lookOfStdout(env: Environment = process.env): Look {
  return {
    colour: process.stdout.isTTY === true && given(env.NO_COLOR) === undefined && env.TERM !== 'dumb',
    columns: process.stdout.columns ?? process.stderr.columns,
  }
}

type Renderers<R> = {
  readonly [format in flag.ReportRequest['format']]: (
    report: R,
    look: Look & { observations?: boolean | undefined },
  ) => Printable
}

/**
 * Writes every requested report from the same data, and creates missing folders. If nothing goes to stdout, the verdict goes to stderr.
 *
 * @throws SuiteError (`usage`) for a file that cannot be written, after the others were written
 */
export function writeFormats<R extends Pick<Report, 'verdict' | 'exitCode' | 'conclusion'>>(
  report: R,
  renderers: Renderers<R>,
  requests: readonly flag.ReportRequest[],
  { observations }: { observations?: boolean } = {},
): void {
  const problems: SuiteError[] = []
  for (const { format, file } of requests) {
    const text = renderers[format](report, { ...(file === null ? lookOfStdout() : { colour: false }), observations })
    if (file === null) writeOut(text)
    else problems.push(...writeFile(file, text))
  }
  if (!requests.some(({ file }) => file === null))
    writeError(lines([vouchedFor(verdictLine(report)), ...report.conclusion.map((one) => printable(one))]))
  if (problems[0] !== undefined) throw problems[0]
}

function writeFile(file: string, text: string): SuiteError[] {
  try {
    replaceFile(file, text, 'the report')
    return []
  } catch (error) {
    if (error instanceof SuiteError) return [error]
    throw error
  }
}
