import { afterAll, describe, inject, test } from 'vitest'
import type { Item } from './engine/conversation/cases.ts'
import type { CaseOutcome } from './engine/judge/problem.ts'
import { recordKeys } from './run/keys.ts'
import { openRequested } from './run/run.ts'
import { openWorkerSide, type WorkerRequest } from './run/worker.ts'

const asked: WorkerRequest = inject('request')
const { url } = asked

/** The keys of the bundled server need not be removed, and its cases do not wait. */
const bundledEveryMs = 100
const side = openWorkerSide(asked, { everyMs: url === null ? bundledEveryMs : 0, keys: url !== null })
if (url !== null) {
  // What such a run needs is loaded before the preflight has its answers.
  await Promise.all([import('./explore/listen.ts'), import('./targets/url.ts')])
}
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

/** Cases of one server are scheduled by the run, so all of them wait for their turn at once. */
const ask = url === null ? test : test.concurrent

/** A run reads outcomes and not tests: the fewer tests, the less vitest has to do. By URL each case reports as soon as it has ended. */
const casesOfATest = url === null ? 25 : 1

/** All threads take the cases from one list. A faster one takes more, so that all end at about the same time. */
const taken = request.taken === undefined ? null : new Int32Array(request.taken)

/** @param index the place of a test and of a case in it, which is the place of the case if there is one worker */
const itemAt = (index: number): Item | undefined => run.items[taken === null ? index : Atomics.add(taken, 0, 1)]

describe('scenarios', () => {
  for (let at = 0; at < run.items.length; at += casesOfATest) {
    const name = casesOfATest === 1 ? `${run.items[at]?.key}` : `from ${at + 1}`
    ask(name, async ({ task }) => {
      const outcomes: CaseOutcome[] = []
      const defects: string[] = []
      Object.assign(task.meta, { outcomes, defects })
      let index = at
      const takeCases = async (): Promise<void> => {
        while (index < at + casesOfATest) {
          const item = itemAt(index)
          index += 1
          if (item === undefined) break
          try {
            outcomes.push(await run.runItem(item))
          } catch (error) {
            defects.push(`${item.key}: ${(error as Error).message}`)
          }
        }
      }
      // While a case on the bundled server waits for an answer, another one goes on.
      await Promise.all(url === null ? [takeCases(), takeCases()] : [takeCases()])
      const stopped = run.stopReason()
      if (stopped !== null) task.meta.stopped = stopped
    })
  }
})
