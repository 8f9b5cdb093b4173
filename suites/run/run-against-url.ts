import type { CreatedKey, CreatedKeysEntry, RunEvent, RunListener } from '../engine/conversation/conversation.ts'
import { SuiteError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import { systemRandom } from '../engine/random.ts'
import type { Target } from '../engine/target.ts'
import { stopText } from '../report/problem-text.ts'
import { urlTarget } from '../targets/url.ts'
import type { Endings } from './ending/ending.ts'
import { interruptedBeforeCases } from './ending/interrupted.ts'
import { collectKeys } from './events-channel.ts'
import { cleanUp, cleanUpLimitMs } from './keys/clean-up.ts'
import { stillValidKeys } from './keys/kept-test-keys.ts'
import { asEntries, type KeysOfTarget, openKeysOfTarget } from './keys/keys-of-target.ts'
import { leftKeyLines } from './keys/left-keys.ts'
import type { TargetOptions } from './options/options.ts'
import { type RunSetup, runPreflight } from './run.ts'
import { type ResultWithModel, runWithModel, type WorkerResult } from './run-with-model.ts'
import type { SuiteResult, SuiteRun } from './suite-run.ts'
import type { WorkerRequest } from './worker-request.ts'

/**
 * Runs against a URL: makes the preflight, lets the worker run the cases, and removes created keys, also after a failure.
 *
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130)
 */
export async function runAgainstUrl(
  suite: SuiteRun,
  options: TargetOptions,
  request: WorkerRequest,
  { endings, runInWorker }: { endings: Endings; runInWorker: (request: WorkerRequest) => Promise<WorkerResult> },
): Promise<SuiteResult> {
  const keys = openKeysOfTarget(options.keys)
  const target = urlTarget(options)
  const listener = both(suite.listener, keys.listener)
  let ran: ResultWithModel | undefined
  let left: string[] = []
  const created = collectKeys(request.endingChannel)
  try {
    const ending = endings.cases
    const setup: RunSetup = { ...request, target, items: [], random: systemRandom, ending, bail: null, listener }
    const { waitSeconds, timeoutSeconds } = suite.options.limits
    const goOn = (): void => demandToGoOn(endings, timeoutSeconds)
    const facts = await runPreflight(setup, waitSeconds * 1000).finally(goOn)
    const found = keys.read()
    const kept = await stillValidKeys({ ...setup, facts }, found.keys.filter(keys.isKept))
    goOn()
    await removeLeftovers(suite, { target, keys, endings })
    const earlier = asEntries(keys.read())
    const prepared = { ...request, facts, keyRecord: keys.record, keptTestKeys: kept, earlierKeys: earlier }
    const entries = (): CreatedKeysEntry[] => [...earlier, ...created.entries()]
    const { explore } = suite.options
    const ofKeys = { kept, created, entries, listener: keys.listener }
    ran =
      explore === null
        ? { result: await runInWorker(prepared), exploration: null }
        : await runWithModel({ ...explore, ...ofKeys, ending, suite, options, request: prepared, runInWorker })
  } finally {
    created.close()
    left = await finish(suite, options, { target, keys, endings })
    if (ran === undefined) for (const line of left) suite.say(`Left on the target: ${line}`)
  }
  return { ...ran.result, left, exploration: ran.exploration }
}

const both =
  (one: RunListener, other: RunListener): RunListener =>
  (event: RunEvent) => {
    one(event)
    other(event)
  }

/** @throws SuiteError (`interrupted`, `unreachable`) where the run was ended; it also replaces the error of a call that was ended with it */
function demandToGoOn({ cases: { reason } }: Endings, timeoutSeconds: number | null): void {
  if (reason === null) return
  if (reason.kind === 'interrupted') throw interruptedBeforeCases()
  const why = reason.kind === 'time' ? `--timeout ${timeoutSeconds} was too short` : stopText(reason)
  throw new SuiteError('unreachable', `The run ended before its first case: ${why}`)
}

/** What cleaning up needs of a run. */
type Cleaner = Pick<SuiteRun, 'corpus' | 'say'>

/** A target, the keys on it, and the endings of the run. */
interface Cleaned {
  target: Target
  keys: KeysOfTarget
  endings: Endings
}

/** Removes keys of runs that were killed, or that could not remove them. */
export async function removeLeftovers({ corpus, say }: Cleaner, { target, keys, endings }: Cleaned): Promise<void> {
  if (keys.record === null) return
  const found = keys.read().keys.filter((key) => !keys.isKept(key))
  if (found.length === 0) return
  const { left, problems } = await cleanUp({ target, corpus, listener: keys.listener }, found, endings.cases)
  const removed = found.length - left.length
  const why = problems.length === 0 ? '' : ` (${problems.join('; ')})`
  if (removed > 0) say(`Removed ${counted(removed, 'API key')} that earlier runs left on the target`)
  if (left.length > 0)
    say(
      `${counted(left.length, 'API key')} of earlier runs are still on the target${why}; "svc-conformance keys" lists them`,
    )
}

/**
 * Removes the keys that the run created, except kept test keys.
 *
 * @returns lines about the remaining keys
 */
export async function finish(
  { corpus, say }: Cleaner,
  { url, settings }: TargetOptions,
  { target, keys, endings: { cleanUp: ending } }: Cleaned,
): Promise<string[]> {
  const { keys: all, unanswered } = keys.read()
  const kept = all.filter(keys.isKept)
  const others = all.filter((key) => !keys.isKept(key))
  const deadline = setTimeout(() => ending.end({ kind: 'time', cleanUpLimitMs }), cleanUpLimitMs)
  let removal: { left: readonly CreatedKey[]; problems: readonly string[] } = { left: others, problems: [] }
  try {
    if (keys.record !== null && settings.cleanup !== undefined)
      removal = await cleanUp({ target, corpus, listener: keys.listener }, others, ending)
  } catch (error) {
    say(`Cannot clean up: ${(error as Error).message}`)
  } finally {
    clearTimeout(deadline)
    keys.close([...kept, ...removal.left])
  }
  return leftKeyLines({ kept, notRemoved: removal.left, unanswered, problems: removal.problems }, url, settings.cleanup)
}
