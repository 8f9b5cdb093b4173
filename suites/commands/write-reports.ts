import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SuiteError } from '../engine/errors.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { lines, type Printable, printable, vouchedFor } from '../engine/printable.ts'
import { renderBadge, renderCtrf, renderJson, renderJunit, testRun } from '../report/formats.ts'
import { linkedFiles, renderHtml } from '../report/html.ts'
import { renderMarkdown } from '../report/markdown.ts'
import type { Report } from '../report/report.ts'
import { verdictLine } from '../report/tell.ts'
import { renderText } from '../report/text.ts'
import { type Environment, given, replaceFile } from '../run/files.ts'
import type * as flag from '../run/flags.ts'
import { writeError, writeOut } from './console.ts'

/** How a text looks. */
interface Look {
  colour: boolean
  /** The width of the terminal; undefined without a terminal. */
  columns?: number | undefined
  /** Whether the text lists the observations of each open question. */
  observations?: boolean | undefined
}

/** Colours on a terminal only, and never with NO_COLOR. */
export function lookOfStdout(env: Environment = process.env): Look {
  return {
    colour: process.stdout.isTTY === true && given(env.NO_COLOR) === undefined && env.TERM !== 'dumb',
    columns: process.stdout.columns ?? process.stderr.columns,
  }
}

interface WriteOptions {
  observations?: boolean
  /** The verdict was already printed. */
  isTold?: boolean
}

/**
 * Writes every requested report from the same data, and creates missing folders. If nothing goes to stdout, the verdict goes to stderr.
 *
 * @throws SuiteError (`usage`) for a file that cannot be written, after the others were written
 */
export function writeReports(
  report: Report,
  requests: readonly flag.ReportRequest[],
  options: WriteOptions = {},
): void {
  writeFormats(report, render, requests, options)
}

/** The same for a report of another kind, with its own renderers. */
export function writeFormats<R extends Pick<Report, 'verdict' | 'exitCode' | 'conclusion'>>(
  report: R,
  render: Renderers<R>,
  requests: readonly flag.ReportRequest[],
  { observations, isTold = false }: WriteOptions = {},
): void {
  const problems: SuiteError[] = []
  for (const { format, file } of requests) {
    const text = render[format](report, { ...(file === null ? lookOfStdout() : { colour: false }), observations })
    if (file === null) writeOut(text)
    else problems.push(...writeFile(file, text))
  }
  if (!isTold && !requests.some(({ file }) => file === null))
    writeError(lines([vouchedFor(verdictLine(report)), ...report.conclusion.map((one) => printable(one))]))
  if (problems[0] !== undefined) throw problems[0]
}

export type Renderers<R> = {
  readonly [format in flag.ReportFormat]: (report: R, look: Look) => Printable
}

const render: Renderers<Report> = {
  text: renderText,
  json: renderJson,
  junit: (report) => renderJunit(testRun(report)),
  html: (report) => renderHtml(report, readSources(report)),
  markdown: renderMarkdown,
  ctrf: (report) => renderCtrf(testRun(report)),
  badge: renderBadge,
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

/** The texts of this package that the page of a report embeds. Missing files are left out. */
function readSources({ cases }: Pick<Report, 'cases'>): Map<string, string> {
  const files = linkedFiles(cases).filter((file) => existsSync(join(packageRoot, file)))
  return new Map(files.map((file) => [file, readFileSync(join(packageRoot, file), 'utf8')]))
}
