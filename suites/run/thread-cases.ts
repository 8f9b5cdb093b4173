/** The cases that a worker runs. It begins as soon as it knows what is asked: until vitest is loaded and waits for them, a third can have ended. */
import { recordKeys } from './keys.ts'
import { type RanCases, runRequested, type WorkerRequest } from './run.ts'
import { openWorkerSide } from './worker.ts'

let begun: Promise<RanCases> | undefined

/** Runs the cases of this thread, which begins with them at the first call. */
export const threadCases = (request: WorkerRequest): Promise<RanCases> => {
  begun ??= runCases(request)
  return begun
}

async function runCases(request: WorkerRequest): Promise<RanCases> {
  const { keyRecord = null } = request
  const noteKeys = keyRecord === null ? () => {} : recordKeys(keyRecord)
  const side = openWorkerSide(request)
  return runRequested(request, {
    ending: side.ending,
    listener: (event) => {
      noteKeys(event)
      side.listener(event)
    },
  }).finally(side.close)
}
