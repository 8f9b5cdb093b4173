import { lines, type Printable, printable, vouchedFor } from '../engine/printable.ts'
import type { Report } from '../report/report.ts'
import type { Look } from '../report/text.ts'
import { verdictLine } from '../report/verdict-words.ts'
import { given, replaceFile } from '../run/files.ts'
import type * as flag from '../run/flags.ts'
import { writeError, writeOut } from './console.ts'

/** Colours on a terminal only, and never with NO_COLOR. */
export function lookOfStdout(env: NodeJS.ProcessEnv = process.env): Look {
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
  const problems: unknown[] = []
  for (const { format, file } of requests) {
    const text = renderers[format](report, { ...(file === null ? lookOfStdout() : { colour: false }), observations })
    try {
      if (file === null) writeOut(text)
      else replaceFile(file, text, 'the report')
    } catch (error) {
      problems.push(error)
    }
  }
  if (!requests.some(({ file }) => file === null))
    writeError(lines([vouchedFor(verdictLine(report)), ...report.conclusion.map((one) => printable(one))]))
  if (problems.length > 0) throw problems[0]
}
