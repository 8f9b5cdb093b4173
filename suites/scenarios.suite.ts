import { afterAll, describe, expect, inject, test } from 'vitest'
import { bundledCapabilities } from './capabilities-of.ts'
import { openCorpus } from './corpus-cache.ts'
import { refineCapabilities } from './engine/capabilities.ts'
import { allItems, type Item } from './engine/items.ts'
import { emptyKnowledge } from './engine/knowledge.ts'
import { preflight } from './engine/preflight.ts'
import { seededRandom, systemRandom } from './engine/random.ts'
import { createRunner } from './engine/runner.ts'
import { endRun, startRun } from './engine/seat.ts'
import { openLedgerFile } from './ledger-file.ts'
import { bundledTarget } from './targets/bundled.ts'
import { urlTarget } from './targets/url.ts'
import type { WorkerRequest } from './worker-request.ts'

/** Under plain vitest nothing is handed over: then everything is asked of the bundled server. */
async function everything(): Promise<WorkerRequest> {
  const corpus = await openCorpus()
  return {
    url: null,
    corpus,
    knowledge: null,
    capabilities: bundledCapabilities(corpus),
    items: allItems(corpus).map(({ key }) => key),
    seed: 1,
    unique: 'test',
    trace: false,
    ledgerFile: null,
    keptCast: [],
    deadlineMs: null,
  }
}

const handed: WorkerRequest | undefined = inject('request')
const request = handed ?? (await everything())
const { url, corpus, ledgerFile, deadlineMs } = request

const run = startRun({
  target: url === null ? bundledTarget() : urlTarget(url),
  corpus,
  knowledge: request.knowledge ?? emptyKnowledge(),
  random: url === null ? seededRandom(request.seed) : systemRandom,
  unique: request.unique,
  trace: request.trace,
  keptCast: request.keptCast,
  timeIsUp: () => deadlineMs !== null && Date.now() > deadlineMs,
  ...(ledgerFile === null ? {} : { openLedger: () => openLedgerFile(ledgerFile) }),
})
if (request.knowledge === null) await preflight(run, request.capabilities.allow)
const capabilities = refineCapabilities(request.capabilities, run.knowledge, url?.settings.maxWaitMs ?? 0)
const items = new Map(allItems(corpus).map((item) => [item.key, item]))
const ordered = request.items.map((key) => items.get(key) as Item)
const runner = createRunner(run, ordered, capabilities)
afterAll(() => endRun(run))

describe('scenarios', () => {
  for (const item of ordered) {
    test(item.key, async ({ task }) => {
      const outcome = await runner(item)
      task.meta.outcome = outcome
      if (run.stopped !== null) task.meta.stopped = run.stopped
      if (handed === undefined) expect(outcome.problem, outcome.problem?.message).toBeNull()
    })
  }
})
