import { SuiteError } from '../../engine/errors.ts'
import type { Ending } from './ending.ts'

/** Turns an error during an ended run into the reason of the end: it says nothing about the target. */
export function interruptedInstead(error: unknown, { reason }: Ending): unknown {
  if (!(error instanceof SuiteError) || error.exitCode !== 3 || reason?.kind !== 'interrupted') return error
  return interruptedBeforeCases(error)
}

export const interruptedBeforeCases = (cause?: unknown): SuiteError =>
  new SuiteError('interrupted', 'Interrupted before the first case', { cause })
