import { afterAll, describe, expect, inject, test } from 'vitest'
import { allItems, type Item } from './engine/case/cases.ts'
import type { CaseOutcome } from './engine/judge/outcome.ts'
import { seededRandom, systemRandom } from './engine/random.ts'
import type { Target } from './engine/target.ts'
import { applyKnown } from './report/known.ts'
import { problemText } from './report/problem-text.ts'
import { openCorpus } from './run/corpus-cache.ts'
import { receiveEnding } from './run/ending/ending-channel.ts'
import { announceEvents } from './run/events-channel.ts'
import { recordKeys } from './run/keys/key-record.ts'
import { openRun } from './run/run.ts'
import type { WorkerRequest } from './run/worker-request.ts'

/** Under plain vitest no request is handed over: then all cases run against the bundled server. */
async function everything(): Promise<WorkerRequest> {
  const corpus = await openCorpus()
  return {
    url: null,
    corpus,
    facts: null,
    allow: ['sessions', 'keys', 'limits'],
    items: allItems(corpus).map(({ key }) => key),
    seed: 1,
    unique: 'test',
    trace: false,
    bail: null,
    keyRecord: null,
    keptTestKeys: [],
    earlierKeys: [],
    endingChannel: 'svc-conformance-test',
    endsAtMs: null,
  }
}

const handed: WorkerRequest | undefined = inject('request')
const request = handed ?? (await everything())
const { url, corpus, seed, keyRecord, bail } = request

/** Only one of the two is needed, and loading the other takes time. */
async function openTarget(): Promise<Target> {
  if (url === null) return (await import('./targets/bundled.ts')).bundledTarget()
  return (await import('./targets/url.ts')).urlTarget(url)
}

const { ending, close } = receiveEnding(request.endingChannel, request.endsAtMs)
/** The keys of the bundled server need not be removed, and its cases do not wait. */
const bundledEveryMs = 100
const events = announceEvents(request.endingChannel, { everyMs: url === null ? bundledEveryMs : 0, keys: url !== null })
const noteKeys = keyRecord === null ? () => {} : recordKeys(keyRecord)
const itemOf = new Map(allItems(corpus).map((item) => [item.key, item]))
const run = await openRun({
  ...request,
  target: await openTarget(),
  items: request.items.map((key) => itemOf.get(key) as Item),
  random: url === null ? seededRandom(seed) : systemRandom,
  bail: bail === null ? null : { ...bail, isKnown: (outcome) => applyKnown(outcome, bail.known).verdict === 'known' },
  ending,
  // The model has judged every exchange with the bundled server: suites/explore/third-witness.long.test.ts.
  listens: url !== null,
  listener: (event) => {
    noteKeys(event)
    events.listener(event)
  },
})
afterAll(async () => {
  await run.end()
  close()
  events.close()
})

/** Which of the workers this is, where there are several. */
const { searchParams } = new URL(import.meta.url)
const part = Number(searchParams.get('part') ?? 0)
const parts = Number(searchParams.get('of') ?? 1)

/** Cases of one server are scheduled by the run, so all of them wait for their turn at once. */
const ask = url === null ? test : test.concurrent

const mine = run.items.filter((_item, index) => index % parts === part)

/** A run reads outcomes and not tests: the fewer tests, the less vitest has to do. By URL each case reports as soon as it has ended. */
const casesOfATest = handed !== undefined && url === null ? 25 : 1

describe('scenarios', () => {
  for (let at = 0; at < mine.length; at += casesOfATest) {
    const items = mine.slice(at, at + casesOfATest)
    const [first] = items
    ask(items.length === 1 ? `${first?.key}` : `${first?.key} and ${items.length - 1} more`, async ({ task }) => {
      const outcomes: CaseOutcome[] = []
      task.meta.outcomes = outcomes
      for (const item of items) outcomes.push(await run.runItem(item))
      const stopped = run.stopReason()
      if (stopped !== null) task.meta.stopped = stopped
      if (handed === undefined) for (const { problem } of outcomes) expect(problem, problemText(problem)).toBeNull()
    })
  }
})
