/** Runs the cases and the model together: the model makes its calls while places for keys are free, and last those that may lock a key. */
import { fillsPlaces, notReached } from '../engine/conversation/cases.ts'
import type { CreatedKey, CreatedKeysEntry, RunListener } from '../engine/conversation/conversation.ts'
import type { Ending } from './ending/ending.ts'
import type { CollectedKeys } from './events-channel.ts'
import { openModelOfRun } from './explore/explore-after-cases.ts'
import type { TargetOptions } from './options/target-options.ts'
import type { SuiteResult, SuiteRun } from './suite-run.ts'
import type { WorkerRequest } from './worker-request.ts'

/** The results of a worker. */
export type WorkerResult = Omit<SuiteResult, 'left' | 'exploration'>

export interface ResultWithModel {
  readonly result: WorkerResult
  readonly exploration: SuiteResult['exploration']
}

interface ModelAmongCases {
  readonly calls: number
  /** Of the table and the matrix, these rows alone; null: everything. */
  readonly only: readonly string[] | null
  readonly kept: readonly CreatedKey[]
  readonly created: CollectedKeys
  readonly listener: RunListener
  readonly suite: SuiteRun
  readonly options: TargetOptions
  readonly request: WorkerRequest
  /** Ends the model and the cases. */
  readonly ending: Ending
  /** Everything recorded about created keys until now. */
  entries(): CreatedKeysEntry[]
  runInWorker(request: WorkerRequest): Promise<WorkerResult>
}

/** Runs the cases, the model, the cases that fill the places for keys, and last the calls that may lock a key. */
export async function runWithModel(given: ModelAmongCases): Promise<ResultWithModel> {
  const { suite, options, request, calls, only, kept, created, ending, entries, listener, runInWorker } = given
  const filling = new Set(suite.selected.filter(fillsPlaces).map(({ key }) => key))
  const before = request.items.filter((key) => !filling.has(key))
  const first = before.length === 0 ? nothingRan : await runInWorker({ ...request, items: before })
  if (first.stopped !== null) return { result: withMissing(first, suite, filling), exploration: null }
  const testKeys = [...kept, ...created.testKeys()]
  const noted: CreatedKeysEntry[] = []
  const places = { entries: entries(), testKeys, hasPlaces: options.disposable }
  const after = { allow: options.allow, calls, only, ending, ...places }
  const model = await openModelOfRun(suite, options, after, (key) => {
    noted.push({ created: key })
    listener({ kind: 'key-noted', entry: { created: key } })
  })
  await model.ask()
  const later = { ...request, items: [...filling], keptTestKeys: testKeys, earlierKeys: [...entries(), ...noted] }
  const last = filling.size === 0 || ending.reason !== null ? null : await runInWorker(later)
  if (last !== null) model.giveWay()
  const exploration = await model.finish()
  const result = last === null ? first : joined(first, last)
  if (ending.reason === null) return { result, exploration }
  const stopped: WorkerResult = { ...result, stopped: ending.reason }
  return { result: last === null ? withMissing(stopped, suite, filling) : stopped, exploration }
}

const nothingRan: WorkerResult = { outcomes: [], facts: null, stopped: null, defects: [], isStuck: false }

/** Cases of the second part that the run did not reach. */
function withMissing(result: WorkerResult, { selected }: SuiteRun, keys: ReadonlySet<string>): WorkerResult {
  const missing = selected.filter(({ key }) => keys.has(key))
  return { ...result, outcomes: [...result.outcomes, ...notReached(missing, result.stopped)] }
}

const joined = (first: WorkerResult, last: WorkerResult): WorkerResult => ({
  ...last,
  outcomes: [...first.outcomes, ...last.outcomes],
  defects: [...first.defects, ...last.defects],
  isStuck: first.isStuck || last.isStuck,
})
