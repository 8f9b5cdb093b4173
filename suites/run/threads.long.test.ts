import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { runBuilt } from '../self/printed-by.ts'
import { openCorpus } from './corpus-cache.ts'
import { createEnding } from './ending.ts'
import { threadCases } from './run.ts'
import { startThreads } from './threads.ts'
import { hearWorkers } from './worker.ts'

test.each(['bundled', 'url'])('the compiled thread for a %s run loads, and answers vitest', async (what) => {
  const thread = new Worker(join(packageRoot, 'dist', 'suites', 'run', 'early-thread.js'), { workerData: what })
  thread.postMessage({ __vitest_worker_request__: true, type: 'stop' })
  // `once` rejects if the thread fails.
  expect(await once(thread, 'message')).toMatchObject([{ type: 'stopped' }])
  await thread.terminate()
})

test.each(['start', 'run'])(
  'a thread that dies when vitest asks it to %s is told at once, with the cause',
  async (asked) => {
    const preload = join(mkdtempSync(join(tmpdir(), 'svc-thread-')), 'preload.cjs')
    const die = `(message) => { if (message.type === '${asked}') throw new Error('it died at ${asked}') }`
    writeFileSync(preload, `require('node:worker_threads').parentPort?.on('message', ${die})`)
    const { code, stderr } = await runBuilt(['run', '--only', 'basic'], {
      env: { NODE_OPTIONS: `--require=${preload}` },
    })
    // A thread that says nothing is given up after a minute, without a cause.
    expect(stderr).toContain(`The suite itself failed, which is a defect of the suite: it died at ${asked}`)
    expect(code).toBe(2)
  },
)

test('--bail counts the failures of all threads together', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-thread-'))
  const cases = Array.from({ length: 300 }, (_, index) => `  - { case: number ${index}, key: root }\n`).join('')
  const steps =
    'steps:\n  - { call: solution/listSolutions, auth: { basic: $case.key, but: first-half }, expect: accepted }\n'
  writeFileSync(join(folder, 'language.yaml'), 'language: 1\n')
  mkdirSync(join(folder, 'scenarios', 'own'), { recursive: true })
  const fails = `scenario: Half of a secret is enough\nproves: [basic/credentials]\neach:\n${cases}${steps}`
  writeFileSync(join(folder, 'scenarios', 'own', 'fails.yaml'), fails)
  const own = ['--fixtures', folder, '--only', 'own', '--bail', '40', '--report', 'json']
  const { stdout, stderr, code } = await runBuilt(['run', ...own])
  expect(code, stderr).toBe(1)
  const { summary, meta } = JSON.parse(stdout)
  expect(meta.stopped).toBe('40 cases failed (--bail 40)')
  // Some more are under way when the last one fails.
  expect(summary.failed).toBeGreaterThanOrEqual(40)
  expect(summary.failed).toBeLessThan(60)
})

test('where nothing is compiled, vitest starts threads of its own', () => {
  const threads = startThreads({ target: null, plan: false, only: [], failed: null })
  expect(threads.take()).toBeUndefined()
  threads.close()
})

test('a thread tells the cases of an interrupted run that have ended, though vitest has not asked for them', async () => {
  const ending = createEnding()
  const passed: string[] = []
  const close = hearWorkers('threads-test', ending, (event) => {
    if (event.kind !== 'case-ended') return
    ending.end({ kind: 'interrupted', during: 'run' })
    if (event.outcome.verdict === 'passed') passed.push(event.outcome.key)
  })
  const corpus = await openCorpus()
  const items = allItems(corpus).map(({ key }) => key)
  const taken = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const request = { url: null, allow: [], items, taken, seed: 1, unique: 'u', channel: 'threads-test' }
  expect(await threadCases({ ...request, corpus: JSON.stringify(corpus) })).toEqual({ defects: [], stopped: ending.reason })
  await vi.waitFor(() => expect(passed).not.toEqual([]), { timeout: 600_000 })
  expect(passed.length).toBeLessThan(items.length)
  close()
})
