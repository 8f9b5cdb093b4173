/**
 * The cases of the bundled server that a worker runs. It begins as soon as it knows what is asked, and vitest collects the outcomes: until
 * vitest is loaded and asks for them, a third of the cases can have ended.
 */
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import { openRequested } from './run.ts'
import { openWorkerSide, type WorkerRequest } from './worker.ts'

type BundledCases = ReturnType<typeof takeCases>

let begun: BundledCases | undefined

/** The cases of this thread, which begins with them at the first call. */
export const bundledCases = (request: WorkerRequest): BundledCases => {
  begun ??= takeCases(request)
  return begun
}

/** Such cases do not wait, so few events tell enough. In ms. */
const everyMs = 100

async function takeCases(request: WorkerRequest) {
  const side = openWorkerSide(request, { everyMs, keys: false })
  const run = await openRequested(request, { ending: side.ending, listener: side.listener })
  let outcomes: CaseOutcome[] = []
  let defects: string[] = []
  let isOver = false
  let tell = (): void => {}
  const told = {
    ended(outcome: CaseOutcome): void {
      outcomes.push(outcome)
      tell()
    },
    failed(defect: string): void {
      defects.push(defect)
      tell()
    },
  }
  const taken = new Int32Array(request.taken ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const all = run.tellUntaken(taken, told).then(() => {
    isOver = true
    tell()
  })
  return {
    /** What has ended since the last call, once it is as many cases as this, or the last ones; and why the run has stopped. */
    async next(cases: number): Promise<{ outcomes: CaseOutcome[]; defects: string[]; stopped: StopReason | null }> {
      while (!isOver && outcomes.length < cases)
        await new Promise<void>((resolve) => {
          tell = resolve
        })
      const ended = { outcomes, defects, stopped: run.stopReason() }
      outcomes = []
      defects = []
      return ended
    },
    async end(): Promise<void> {
      await all
      await run.end()
      side.close()
    },
  }
}
