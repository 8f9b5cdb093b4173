import { fileProblem } from '../run/inputs.ts'

const unwritableExitCode = 2

/**
 * What a process does when nobody reads what it prints, or the disk is full.
 *
 * A closed pipe (`svc-conformance list | head`) is no failure: it is silent, and the exit code stays what it is. Any other error is one
 * sentence on stderr and exit code 2.
 */
export interface OutputErrors {
  /** The exit code that an error demands, whatever the command says; undefined where there was none. */
  exitCode(): number | undefined
}

/** @param endsAtOnce a command that would go on for ever, such as `serve`, is ended by an error */
export function listenForOutputErrors(endsAtOnce: boolean): OutputErrors {
  let exitCode: number | undefined
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE' || exitCode !== undefined) return
    exitCode = unwritableExitCode
    process.exitCode = exitCode
    console.error(`Cannot write to stdout: ${fileProblem(error, 'file')}`)
    if (endsAtOnce) process.exit(exitCode)
  }
  process.stdout.on('error', onError)
  // There is no place left to say it.
  process.stderr.on('error', () => {})
  return { exitCode: () => exitCode }
}
