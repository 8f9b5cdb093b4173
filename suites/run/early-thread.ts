/** The thread of a vitest worker that was started before vitest was loaded (threads.ts): it loads what the cases need meanwhile. */
import { parentPort, workerData } from 'node:worker_threads'
import { init, runBaseTests, setupEnvironment } from 'vitest/worker'
import { threadCases, type ThreadRequest } from './run.ts'

init({
  post: (message) => parentPort?.postMessage(message),
  on: (hear) => parentPort?.on('message', hear),
  off: (hear) => parentPort?.off('message', hear),
  teardown: () => parentPort?.removeAllListeners('message'),
  runTests: (state, traces) => runBaseTests('run', state, traces),
  collectTests: (state, traces) => runBaseTests('collect', state, traces),
  setup: setupEnvironment,
})

// What goes wrong is reported when vitest asks for the cases.
parentPort?.on('message', ({ request }: { request?: ThreadRequest }) => {
  if (request !== undefined) threadCases(request).catch(() => {})
})

if (workerData === 'bundled') await Promise.all([import('../targets/bundled.ts'), import('../targets/in-memory.ts')])
else await Promise.all([import('../explore/listen.ts'), import('../targets/url.ts')])
