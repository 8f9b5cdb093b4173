import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { bundledCases } from './bundled-cases.ts'
import { openCorpus } from './corpus-cache.ts'
import { createEnding } from './ending.ts'
import { startThreads } from './threads.ts'
import { openMainSide } from './worker.ts'

test.each(['bundled', 'url'])('the compiled thread for a %s run loads, and answers vitest', async (what) => {
  const thread = new Worker(join(packageRoot, 'dist', 'suites', 'run', 'early-thread.js'), { workerData: what })
  thread.postMessage({ __vitest_worker_request__: true, type: 'stop' })
  // `once` rejects if the thread fails.
  expect(await once(thread, 'message')).toMatchObject([{ type: 'stopped' }])
  await thread.terminate()
})

test('where nothing is compiled, vitest starts threads of its own', () => {
  const threads = startThreads({ target: null, plan: false, only: [], failed: null })
  expect(threads.take()).toBeUndefined()
  threads.close()
})

test('a thread tells the cases of an interrupted run that have ended, though vitest has not asked for them', async () => {
  const ending = createEnding()
  const passed: string[] = []
  const { close } = openMainSide('threads-test', ending, (event) => {
    if (event.kind !== 'case-ended') return
    ending.end({ kind: 'interrupted', during: 'run' })
    if (event.outcome.verdict === 'passed') passed.push(event.outcome.key)
  })
  const corpus = await openCorpus()
  const items = allItems(corpus).map(({ key }) => key)
  const request = { url: null, corpus, allow: [], items, seed: 1, unique: 'u', channel: 'threads-test' }
  expect(await bundledCases(request)).toEqual({ defects: [], stopped: ending.reason })
  await vi.waitFor(() => expect(passed).not.toEqual([]), { timeout: 60_000 })
  expect(passed.length).toBeLessThan(items.length)
  close()
})
