/** The only file that writes to stdout and stderr. It accepts only printable text, so that no foreign text gets there by accident. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'
import type { Printable } from '../engine/printable.ts'
import { fileProblem } from '../run/files.ts'

/** Prints results, which a user may send to a file or another program. */
export function writeOut(text: Printable): void {
  process.stdout.write(text)
}

/** Everything besides the results: the plan, the progress, errors. */
export function writeError(text: Printable): void {
  process.stderr.write(text)
}

const unwritableExitCode = 2

/**
 * Handles output that nobody reads, or a full disk. A closed pipe (`svc-conformance list | head`) is not an error: the process prints
 * nothing more and keeps its exit code. Any other error is one sentence on stderr and exit code 2.
 *
 * @param endsAtOnce a command that would run for ever, such as `serve`, is ended by an error
 * @returns the exit code after an output error, which overrides that of the command; undefined without an error
 */
export function listenForOutputErrors(endsAtOnce: boolean): () => number | undefined {
  let exitCode: number | undefined
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE' || exitCode !== undefined) return
    exitCode = unwritableExitCode
    process.exitCode = exitCode
    console.error(`Cannot write to stdout: ${fileProblem(error, 'file')}`)
    if (endsAtOnce) process.exit(exitCode)
  }
  process.stdout.on('error', onError)
  // stderr fails too, so the error cannot be reported.
  process.stderr.on('error', () => {})
  return () => exitCode
}

/** The version of this package. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version
}
