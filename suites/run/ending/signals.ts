import { interruptedExitCode } from '../../engine/errors.ts'
import type { Endings } from './ending.ts'

/** Handles Ctrl-C and SIGTERM; each further signal ends the process faster. */
interface SignalSteps {
  first(): void
  second(): void
}

const signals = ['SIGINT', 'SIGTERM'] as const

interface Listening {
  steps: SignalSteps
  count: number
}

/** The listeners; the last one handles the signal. */
const listening: Listening[] = []

/**
 * Handles the next signals until a later listener takes over; the third signal ends the process.
 *
 * @returns stops listening
 */
export function listenForSignals(steps: SignalSteps): () => void {
  const mine = { steps, count: 0 }
  if (listening.length === 0) for (const signal of signals) process.on(signal, onSignal)
  listening.push(mine)
  return () => {
    listening.splice(listening.indexOf(mine), 1)
    if (listening.length === 0) for (const signal of signals) process.removeListener(signal, onSignal)
  }
}

function onSignal(): void {
  const last = listening.at(-1)
  if (last === undefined) return
  last.count += 1
  if (last.count === 1) last.steps.first()
  else if (last.count === 2) last.steps.second()
  else process.exit(interruptedExitCode)
}

/**
 * Ends the cases at the first signal and the clean-up at the second.
 *
 * @param tell is called at the first signal
 * @returns stops listening
 */
export function endOnSignals({ cases, cleanUp }: Endings, tell: () => void = () => {}): () => void {
  return listenForSignals({
    first: () => {
      tell()
      cases.end({ kind: 'interrupted', during: 'run' })
    },
    second: () => cleanUp.end({ kind: 'interrupted', during: 'clean-up' }),
  })
}

/**
 * Exits at once: a run that has not begun has created nothing.
 *
 * @returns stops listening
 */
export function leaveOnSignal(): () => void {
  const leave = (): never => process.exit(interruptedExitCode)
  return listenForSignals({ first: leave, second: leave })
}
