import { notReached } from '../engine/conversation/cases.ts'
import { interruptedInstead } from './ending/interrupted.ts'
import { endOnSignals } from './ending/signals.ts'
import { limitTime } from './ending/time-limit.ts'
import { runVitest } from './run-vitest.ts'
import type { SuiteResult, SuiteRun } from './suite-run.ts'
import type { WorkerRequest } from './worker-request.ts'

/**
 * Runs the selected items in a worker. Against a URL, this thread makes the preflight before and the clean-up afterwards, because it
 * outlives the worker.
 *
 * @throws SuiteError (exit code 3) when the target cannot be used at all
 */
export async function runSuite(suite: SuiteRun): Promise<SuiteResult> {
  const { endings, endsAtMs, stop } = limitTime(suite.options)
  const stopListening = endOnSignals(endings, () => printInterruption(suite))
  const request = requestOf(suite, endsAtMs)
  const runInWorker = async (prepared: WorkerRequest): Promise<Omit<SuiteResult, 'left' | 'exploration'>> => {
    const { outcomes, stopped, defects, isStuck } = await runVitest(prepared, endings, suite.listener)
    const reason = endings.cases.reason ?? stopped
    const reached = new Set(outcomes.map(({ key }) => key))
    const missing = suite.selected.filter(({ key }) => prepared.items.includes(key) && !reached.has(key))
    return {
      outcomes: [...outcomes, ...notReached(missing, reason)],
      facts: prepared.facts,
      stopped: reason,
      defects: reason === null ? defects : [],
      isStuck,
    }
  }
  try {
    if (suite.options.target === null) return { ...(await runInWorker(request)), left: [], exploration: null }
    const { runAgainstUrl } = await import('./run-against-url.ts')
    return await runAgainstUrl(suite, suite.options.target, request, { endings, runInWorker })
  } catch (error) {
    throw interruptedInstead(error, endings.cases)
  } finally {
    stop()
    stopListening()
  }
}

function printInterruption({ options, say }: SuiteRun): void {
  const cleansUp = options.target?.settings.cleanup !== undefined
  say(cleansUp ? 'Interrupted: cleaning up; press Ctrl-C again to leave at once' : 'Interrupted')
}

function requestOf({ options, corpus, selected, seed, known }: SuiteRun, endsAtMs: number | null): WorkerRequest {
  const unique = Date.now().toString(36)
  return {
    url: options.target,
    corpus,
    facts: null,
    allow: options.target === null ? ['sessions', 'keys', 'limits'] : options.target.allow,
    items: selected.map(({ key }) => key),
    seed,
    unique,
    trace: options.reporting.trace,
    bail: options.limits.bail === null ? null : { failures: options.limits.bail, known },
    keyRecord: null,
    keptTestKeys: [],
    earlierKeys: [],
    endsAtMs,
    taken: options.target === null ? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT) : null,
    endingChannel: `svc-conformance-${process.pid}-${unique}`,
  }
}
