import { afterAll, describe, expect, inject, test } from 'vitest'
import { loadCorpus } from './engine/fixture/corpus.ts'
import { packageRoot } from './engine/fixture/package-root.ts'
import { allItems, type Item } from './engine/items.ts'
import { emptyKnowledge } from './engine/knowledge.ts'
import { preflight } from './engine/preflight.ts'
import { seededRandom, systemRandom } from './engine/random.ts'
import { runItem, skipItem } from './engine/run-item.ts'
import { endRun, startRun } from './engine/seat.ts'
import { openLedgerFile } from './ledger-file.ts'
import { bundledTarget } from './targets/bundled.ts'
import { urlTarget } from './targets/url.ts'
import type { WorkerRequest } from './worker-request.ts'

// Under plain vitest nothing is handed over: then everything is asked of the bundled server.
const request: WorkerRequest | undefined = inject('request')
const corpus = request?.corpus ?? loadCorpus(packageRoot)
const items = new Map(allItems(corpus).map((item) => [item.key, item]))
const order = request?.items ?? [...items.keys()].map((key) => ({ key, cannot: null }))
const ledgerFile = request?.ledgerFile ?? null
const url = request?.url ?? null
const deadlineMs = request?.deadlineMs ?? null

const run = startRun({
  target: url === null ? bundledTarget() : urlTarget(url),
  corpus,
  knowledge: request?.knowledge ?? emptyKnowledge(),
  random: url === null ? seededRandom(request?.seed ?? 1) : systemRandom,
  unique: request?.unique ?? 'test',
  trace: request?.trace ?? false,
  keptCast: request?.keptCast ?? [],
  timeIsUp: () => deadlineMs !== null && Date.now() > deadlineMs,
  ...(ledgerFile === null ? {} : { openLedger: () => openLedgerFile(ledgerFile) }),
})
if (request === undefined) await preflight(run, ['sessions', 'keys', 'limits'])
afterAll(() => endRun(run))

describe('scenarios', () => {
  for (const { key, cannot } of order) {
    const item = items.get(key) as Item
    test(key, async ({ task }) => {
      const outcome = cannot === null ? await runItem(run, item) : skipItem(item, cannot)
      task.meta.outcome = outcome
      if (run.stopped !== null) task.meta.stopped = run.stopped
      if (request === undefined) expect(outcome.problem, outcome.problem?.message).toBeNull()
    })
  }
})
