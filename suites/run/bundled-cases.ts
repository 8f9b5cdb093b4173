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
  // All threads take the cases from one list. A faster one takes more, so that all end at about the same time.
  const taken = new Int32Array(request.taken ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  let outcomes: CaseOutcome[] = []
  let defects: string[] = []
  let isOver = false
  let tell = (): void => {}
  const takeAll = async (): Promise<void> => {
    for (let item = run.items[Atomics.add(taken, 0, 1)]; item; item = run.items[Atomics.add(taken, 0, 1)]) {
      try {
        const outcome = await run.runItem(item)
        outcomes.push(outcome)
      } catch (error) {
        defects.push(`${item.key}: ${(error as Error).message}`)
      }
      tell()
    }
  }
  // While a case waits for an answer, another one goes on.
  const all = Promise.all([takeAll(), takeAll()]).then(() => {
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
