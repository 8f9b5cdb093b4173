/** Ctrl-C and SIGTERM, of which each one asks for more haste than the one before. */
export interface SignalSteps {
  first(): void
  second(): void
}

const interruptedExitCode = 130

/** @returns stops listening */
export function listenForSignals({ first, second }: SignalSteps): () => void {
  let count = 0
  const onSignal = (): void => {
    count += 1
    if (count === 1) first()
    else if (count === 2) second()
    else process.exit(interruptedExitCode)
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.removeListener(signal, onSignal)
  }
}
