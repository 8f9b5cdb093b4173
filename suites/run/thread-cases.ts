/**
 * The cases of the bundled server that a worker runs. It begins as soon as it knows what is asked, and tells the main thread what has ended: until
 * vitest is loaded and waits for the cases, a third of them can have ended.
 */
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import { openRequested } from './run.ts'
import { openWorkerSide, type WorkerRequest } from './worker.ts'

let begun: ReturnType<typeof takeCases> | undefined

/** Runs the cases of this thread, which begins with them at the first call. */
export const bundledCases = (request: WorkerRequest): ReturnType<typeof takeCases> => {
  begun ??= takeCases(request)
  return begun
}

/** Such cases do not wait, so few events tell enough. In ms. */
const everyMs = 100

/** @returns what the suite itself could not do, and why the run has stopped */
async function takeCases(request: WorkerRequest): Promise<{ defects: string[]; stopped: StopReason | null }> {
  const side = openWorkerSide(request, { everyMs, keys: false })
  const run = await openRequested(request, { ending: side.ending, listener: side.listener })
  let outcomes: CaseOutcome[] = []
  const defects: string[] = []
  let timer: NodeJS.Timeout | undefined
  const tellEnded = (): void => {
    clearTimeout(timer)
    timer = undefined
    side.tell({ kind: 'cases-ended', outcomes })
    outcomes = []
  }
  const taken = new Int32Array(request.taken ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  try {
    await run.tellUntaken(taken, {
      ended(outcome) {
        outcomes.push(outcome)
        timer ??= setTimeout(tellEnded, everyMs)
      },
      failed: (defect) => void defects.push(defect),
    })
  } finally {
    tellEnded()
    await run.end()
    side.close()
  }
  return { defects, stopped: run.stopReason() }
}
