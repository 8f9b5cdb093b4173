/** The suite could not work: wrong usage, an unreadable file, an unreachable target. Never used for a check that did not hold. */
export class SuiteError extends Error {
  override readonly name = 'SuiteError'
  /** Stable, for scripts: `usage`, `fixture`, `target-file`, `command`, `unreachable`, `interrupted` */
  readonly code: string
  /** 2 for wrong usage and unreadable files, 3 for a target that cannot be used, 130 for a run that was interrupted before it began. */
  readonly exitCode: 2 | 3 | 130

  constructor(code: string, message: string, { cause }: { cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.exitCode = exitCodes[code] ?? 2
  }
}

/** The target cannot be used, or went away. */
export const unusableExitCode = 3
/** 128 + SIGINT. */
export const interruptedExitCode = 130

const exitCodes: { readonly [code: string]: 3 | 130 } = {
  unreachable: unusableExitCode,
  command: unusableExitCode,
  interrupted: interruptedExitCode,
}

/** Wrong usage: a flag, a file or a value that the user can correct. */
export function usageError(message: string, options: { cause?: unknown } = {}): SuiteError {
  return new SuiteError('usage', message, options)
}

const portProblems: { readonly [code: string]: string } = {
  EADDRINUSE: 'the port is taken, choose another one',
  EACCES: 'not allowed, choose a port above 1023',
}

/** Says why a server cannot listen. @param cause the error of node:net; any other error is returned unchanged */
export function portError(port: number, cause: unknown): unknown {
  const why = portProblems[String((cause as NodeJS.ErrnoException).code)]
  return why === undefined ? cause : usageError(`Cannot listen on port ${port}: ${why}`, { cause })
}
