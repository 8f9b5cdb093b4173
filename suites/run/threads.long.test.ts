import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import type { RunEvent } from '../engine/conversation/conversation.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { runBuilt } from '../self/printed-by.ts'
import { openCorpus } from './corpus-cache.ts'
import type { RanCases } from './run.ts'
import { startThreads } from './threads.ts'
import { runInThread } from './worker.ts'

test.each(['bundled', 'url'])('the compiled thread for a %s run loads', async (what) => {
  const thread = new Worker(join(packageRoot, 'dist', 'suites', 'run', 'early-thread.js'), { workerData: what })
  // `once` rejects if the thread fails.
  await once(thread, 'online')
  thread.postMessage({ corpus: 'no corpus' })
  await expect(once(thread, 'exit')).rejects.toThrow('not valid JSON')
})

test.each(['throw new Error("it died")', 'process.exit(7)'])('a thread that dies is told at once: %s', async (die) => {
  const preload = join(mkdtempSync(join(tmpdir(), 'svc-thread-')), 'preload.cjs')
  writeFileSync(preload, `require('node:worker_threads').parentPort?.on('message', () => { ${die} })`)
  const { code, stderr } = await runBuilt(['run', '--only', 'basic'], {
    env: { NODE_OPTIONS: `--require=${preload}` },
  })
  const why = die.startsWith('throw') ? 'it died' : 'a thread ended with exit code 7 before its cases did'
  expect(stderr).toContain(`The suite itself failed, which is a defect of the suite: ${why}`)
  expect(code).toBe(2)
})

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

test('where nothing is compiled, no thread is started', async () => {
  const threads = startThreads({ target: null, plan: false, only: [], failed: null })
  expect(threads).toMatchObject({ most: 1, count: 0 })
  await threads.close()
})

test('a thread tells the cases of an interrupted run that have ended, before its own end', async () => {
  const { port1: port, port2: main } = new MessageChannel()
  const corpus = await openCorpus()
  const items = allItems(corpus).map(({ key }) => key)
  const taken = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const passed: string[] = []
  const ran = new Promise((resolve) => {
    main.on('message', ({ events = [], ran }: { events?: RunEvent[]; ran?: RanCases }) => {
      for (const event of events) {
        if (event.kind !== 'case-ended') continue
        main.postMessage({ kind: 'interrupted', during: 'run' })
        if (event.outcome.verdict === 'passed') passed.push(event.outcome.key)
      }
      if (ran !== undefined) resolve(ran)
    })
  })
  const request = { url: null, allow: [], items, taken, seed: 1, unique: 'u', corpus: JSON.stringify(corpus) }
  await runInThread(request, port)
  expect(await ran).toEqual({ defects: [], stopped: { kind: 'interrupted', during: 'run' } })
  expect(passed).not.toEqual([])
  expect(passed.length).toBeLessThan(items.length)
  main.close()
})
