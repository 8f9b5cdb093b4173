/** What a process does about Ctrl-C and SIGTERM, of which each one asks for more haste than the one before. */
interface SignalSteps {
  first(): void
  second(): void
}

/** 128 + SIGINT. */
export const interruptedExitCode = 130

const signals = ['SIGINT', 'SIGTERM'] as const

interface Listening {
  steps: SignalSteps
  count: number
}

/** Who listens; the last one is asked. */
const listening: Listening[] = []

/** Whoever listens last decides what the next signals do; the third of them ends the process. @returns stops listening */
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

/** A run that has not begun leaves nothing behind. @returns stops listening */
export function leaveOnSignal(): () => void {
  const leave = (): never => process.exit(interruptedExitCode)
  return listenForSignals({ first: leave, second: leave })
}
