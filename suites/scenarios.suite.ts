import { afterAll, describe, expect, inject, test } from 'vitest'
import { allItems, type Item } from './engine/case/cases.ts'
import { endRun, startRun } from './engine/case/client.ts'
import { noFacts } from './engine/case/target-facts.ts'
import { seededRandom, systemRandom } from './engine/random.ts'
import { refineCapabilities } from './run/capabilities.ts'
import { openCorpus } from './run/corpus-cache.ts'
import { openCreatedKeysFile } from './run/created-keys-file.ts'
import { bundledCapabilities } from './run/expected-capabilities.ts'
import { preflight } from './run/preflight.ts'
import { createRunner } from './run/schedule.ts'
import type { WorkerRequest } from './run/worker-request.ts'
import { bundledTarget } from './targets/bundled.ts'
import { urlTarget } from './targets/url.ts'

/** Under plain vitest nothing is handed over: then everything is asked of the bundled server. */
async function everything(): Promise<WorkerRequest> {
  const corpus = await openCorpus()
  return {
    url: null,
    corpus,
    facts: null,
    capabilities: bundledCapabilities(corpus),
    items: allItems(corpus).map(({ key }) => key),
    seed: 1,
    unique: 'test',
    trace: false,
    createdKeysFile: null,
    keptTestKeys: [],
    deadlineMs: null,
  }
}

const handed: WorkerRequest | undefined = inject('request')
const request = handed ?? (await everything())
const { url, corpus, createdKeysFile, deadlineMs } = request

const run = startRun({
  target: url === null ? bundledTarget() : urlTarget(url),
  corpus,
  facts: request.facts ?? noFacts(),
  random: url === null ? seededRandom(request.seed) : systemRandom,
  unique: request.unique,
  trace: request.trace,
  keptTestKeys: request.keptTestKeys,
  timeIsUp: () => deadlineMs !== null && Date.now() > deadlineMs,
  ...(createdKeysFile === null ? {} : { openCreatedKeys: () => openCreatedKeysFile(createdKeysFile) }),
})
if (request.facts === null) await preflight(run, request.capabilities.allow)
const capabilities = refineCapabilities(request.capabilities, run.facts, url?.settings.maxWaitMs ?? 0)
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
