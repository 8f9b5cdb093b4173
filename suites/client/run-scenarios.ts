import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Journal } from './journal.ts'
import { makePrivateKeyFile } from './judged-server.ts'
import { runScenario, type ScenarioResult } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'

interface ScenarioRunOptions {
  command: string
  scenarios: readonly Scenario[]
  timeoutSeconds: number
  /** Ends the run when it is aborted. */
  signal: AbortSignal
  onDone?: (done: number, total: number) => void
}

type RunResult =
  | { kind: 'journals'; journals: Journal[]; interrupted: boolean }
  /** The command cannot be started; the message of the shell. */
  | { kind: 'not-started'; stderr: string }

/** Starts of clients are staggered: a start needs much of a core, and many at once would delay timed clients. */
const startsPerCore = 2
/** The longest time that a client that does nothing delays the others. In ms. */
const longestStartMs = 1500

const lagResolutionMs = 20
/** A machine that answers within this time does not lag. */
const usualLagMs = 100

/** @param longestNs the longest time between two ticks of a timer */
function lagOf(longestNs: number): number {
  const lagMs = longestNs / 1e6 - lagResolutionMs
  return lagMs > usualLagMs ? Math.round(lagMs) : 0
}

const withLag = (journal: Journal, lagMs: number): Journal => ({ ...journal, setting: { ...journal.setting, lagMs } })

/** Runs every scenario, all at the same time. */
export async function runScenarios(options: ScenarioRunOptions): Promise<RunResult> {
  const privateKey = makePrivateKeyFile()
  const ended = new AbortController()
  const signal = AbortSignal.any([options.signal, ended.signal])
  const interrupted = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  const gate = createGate(availableParallelism() * startsPerCore)
  const delay = monitorEventLoopDelay({ resolution: lagResolutionMs })
  delay.enable()
  let done = 0
  const runOne = async (scenario: Scenario): Promise<ScenarioResult | null> => {
    const leave = await gate.enter()
    if (signal.aborted) {
      leave()
      return null
    }
    const late = setTimeout(leave, longestStartMs)
    const { command, timeoutSeconds } = options
    const result = await runScenario(scenario, { command, timeoutSeconds, privateKey, interrupted, onAwake: leave })
    clearTimeout(late)
    leave()
    done += 1
    options.onDone?.(done, options.scenarios.length)
    // The others would not start either.
    if (result.kind === 'not-started') ended.abort()
    return result
  }
  try {
    const results = await Promise.all(options.scenarios.map(runOne))
    const notStarted = results.find((result) => result?.kind === 'not-started')
    if (notStarted?.kind === 'not-started') return notStarted
    const lagMs = lagOf(delay.max)
    const journals = results.flatMap((result) => (result?.kind === 'journal' ? [withLag(result.journal, lagMs)] : []))
    return { kind: 'journals', journals, interrupted: options.signal.aborted }
  } finally {
    delay.disable()
    privateKey.remove()
  }
}

/** Lets at most this many in at the same time; leaving twice has no effect. */
function createGate(places: number): { enter(): Promise<() => void> } {
  let free = places
  const waiting: (() => void)[] = []
  const leaveOnce = (): (() => void) => {
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
  return {
    async enter() {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return leaveOnce()
    },
  }
}
