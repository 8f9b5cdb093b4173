import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { startThreads } from './threads.ts'

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
