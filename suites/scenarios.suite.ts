import { afterAll, inject, test } from 'vitest'
import { bundledCases } from './run/bundled-cases.ts'
import { recordKeys } from './run/keys.ts'
import { openRequested } from './run/run.ts'
import { openWorkerSide, type WorkerRequest } from './run/worker.ts'

const asked: WorkerRequest = inject('request')

/** A run reads outcomes and not tests: the fewer tests, the less vitest has to do. */
const casesOfATest = 25

/** Several threads share these cases, so nobody knows which of them a test of this one will report. */
async function reportBundled(request: WorkerRequest): Promise<void> {
  const cases = await bundledCases(request)
  afterAll(cases.end)
  for (let at = 0; at < request.items.length; at += casesOfATest)
    test(`from ${at + 1}`, async ({ task }) => {
      const { stopped, ...ended } = await cases.next(casesOfATest)
      Object.assign(task.meta, ended, stopped === null ? {} : { stopped })
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

await (asked.url === null ? reportBundled(asked) : runAgainstUrl())
