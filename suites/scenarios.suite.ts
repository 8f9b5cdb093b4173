import { afterAll, inject, test } from 'vitest'
import { bundledCases } from './run/bundled-cases.ts'
import { recordKeys } from './run/keys.ts'
import { openRequested } from './run/run.ts'
import { openWorkerSide, type WorkerRequest } from './run/worker.ts'

const asked: WorkerRequest = inject('request')

/** The thread tells the outcomes itself, so vitest only waits for its end. */
function reportBundled(): void {
  test('cases of the bundled server', async ({ task }) => {
    const { defects, stopped } = await bundledCases(asked)
    Object.assign(task.meta, { defects }, stopped === null ? {} : { stopped })
  })
}

async function runAgainstUrl(): Promise<void> {
  const side = openWorkerSide(asked, { everyMs: 0, keys: true })
  // What such a run needs is loaded before the preflight has its answers.
  await Promise.all([import('./explore/listen.ts'), import('./targets/url.ts')])
  const request: WorkerRequest = { ...asked, ...(await side.prepared) }
  const { keyRecord = null } = request
  const noteKeys = keyRecord === null ? () => {} : recordKeys(keyRecord)
  const run = await openRequested(request, {
    ending: side.ending,
    listener: (event) => {
      noteKeys(event)
      side.listener(event)
    },
  })
  afterAll(async () => {
    await run.end()
    side.close()
  })
  // The cases of one server are scheduled by the run, so all of them wait for their turn at once, and each reports as soon as it has ended.
  for (const item of run.items)
    test.concurrent(item.key, async ({ task }) => {
      await run.tellItem(item, {
        ended: (outcome) => void Object.assign(task.meta, { outcomes: [outcome] }),
        failed: (defect) => void Object.assign(task.meta, { defects: [defect] }),
      })
      const stopped = run.stopReason()
      if (stopped !== null) task.meta.stopped = stopped
    })
}

await (asked.url === null ? reportBundled() : runAgainstUrl())
