/** A run against a URL, in the main thread: it outlives the worker that runs the cases. */

import { setTimeout } from 'node:timers/promises'
import { fillsPlaces, notReached } from '../engine/conversation/cases.ts'
import { type CreatedKeysEntry, openCreatedKeys, type RunListener } from '../engine/conversation/conversation.ts'
import { isUnavailable } from '../engine/conversation/target-facts.ts'
import { SuiteError } from '../engine/errors.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import { stopText } from '../report/problem-text.ts'
import { listens, type UrlTargetOptions, urlTarget } from '../targets/url.ts'
import { type Endings, interruptedBeforeCases } from './ending.ts'
import { openModelOfRun } from './explore/explore-after-cases.ts'
import { asEntries } from './key-record.ts'
import { workAtTarget } from './keys.ts'
import type { TargetOptions } from './options.ts'
import { runPreflight, stillValidKeys } from './run.ts'
import { type CasesResult, runInWorkers, type SuiteResult, type SuiteRun } from './run-vitest.ts'
import type { WorkerRequest } from './worker.ts'

/**
 * Runs against a URL: makes the preflight, lets workers run the cases, and removes created keys, also after a failure.
 *
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130)
 */
export async function runAgainstUrl(
  suite: SuiteRun,
  options: TargetOptions,
  request: WorkerRequest,
  endings: Endings,
): Promise<SuiteResult> {
  const { wait, timeout, explore } = suite.options
  const { result, left } = await workAtTarget(options, { endings, say: suite.say }, async (held) => {
    const { target, keys, removeLeftovers } = held
    const listener: RunListener = (event) => {
      suite.listener(event)
      keys.listener(event)
    }
    const setup = { ...request, target, items: [], random: systemRandom, ending: endings.cases, bail: null, listener }
    const goOn = (): void => demandToGoOn(endings, timeout)
    const facts = await runPreflight(setup, (wait ?? 0) * 1000).finally(goOn)
    const kept = await stillValidKeys({ ...setup, facts }, keys.read().keys.filter(keys.isKept))
    goOn()
    await removeLeftovers()
    const earlierKeys = asEntries(keys.read())
    const prepared = { ...request, facts, keyRecord: keys.record, keptTestKeys: kept, earlierKeys }
    if (explore === null) return { ...(await runInWorkers(suite, prepared, endings)), exploration: null }
    return runWithModel(suite, { ...explore, options, request: prepared, listener: keys.listener }, endings)
  })
  return { ...result, left }
}

/** @throws SuiteError (`interrupted`, `unreachable`) where the run was ended; it also replaces the error of a call that was ended with it */
function demandToGoOn({ cases: { reason } }: Endings, timeoutSeconds: number | null): void {
  if (reason === null) return
  if (reason.kind === 'interrupted') throw interruptedBeforeCases()
  const why = reason.kind === 'time' ? `--timeout ${timeoutSeconds} was too short` : stopText(reason)
  throw new SuiteError('unreachable', `The run ended before its first case: ${why}`)
}

interface WithModel {
  calls: number
  /** Of the table and the matrix, these rows alone; null: everything. */
  only: readonly string[] | null
  options: TargetOptions
  request: WorkerRequest
  /** Records created keys. */
  listener: RunListener
}

/**
 * Runs the cases, the model, the cases that fill the places for keys, and last the calls that may lock a key: the model makes its calls
 * while places for keys are free.
 */
async function runWithModel(
  suite: SuiteRun,
  { calls, only, options, request, listener }: WithModel,
  endings: Endings,
): Promise<Omit<SuiteResult, 'left'>> {
  const entries: CreatedKeysEntry[] = [...request.earlierKeys]
  const heard: SuiteRun = {
    ...suite,
    listener: (event) => {
      if (event.kind === 'key-noted') entries.push(event.entry)
      suite.listener(event)
    },
  }
  const filling = suite.planned.selected.filter(fillsPlaces)
  const keysOfFilling = filling.map(({ key }) => key)
  const before = request.items.filter((key) => !keysOfFilling.includes(key))
  const first = before.length === 0 ? nothingRan : await runInWorkers(heard, { ...request, items: before }, endings)
  if (first.stopped !== null)
    return { ...first, outcomes: [...first.outcomes, ...notReached(filling, first.stopped)], exploration: null }
  const ending = endings.cases
  const { keys } = openCreatedKeys(() => {}, entries.slice(request.earlierKeys.length))
  const testKeys = [...request.keptTestKeys, ...keys.filter(({ member }) => member !== undefined)]
  const places = { entries: [...entries], testKeys, hasPlaces: options.disposable }
  const model = await openModelOfRun(
    suite,
    options,
    { allow: options.allow, calls, only, ending, ...places },
    (created) => {
      entries.push({ created })
      listener({ kind: 'key-noted', entry: { created } })
    },
  )
  await model.ask()
  const later = { ...request, items: keysOfFilling, keptTestKeys: testKeys, earlierKeys: entries }
  const last = filling.length === 0 || ending.reason !== null ? null : await runInWorkers(heard, later, endings)
  if (last !== null) model.giveWay()
  const exploration = await model.finish()
  const stopped = ending.reason ?? (last ?? first).stopped
  return {
    ...(last ?? first),
    outcomes: [...first.outcomes, ...(last?.outcomes ?? notReached(filling, stopped))],
    stopped,
    defects: [...first.defects, ...(last?.defects ?? [])],
    isStuck: first.isStuck || last?.isStuck === true,
    exploration,
  }
}

const nothingRan: CasesResult = { outcomes: [], facts: null, stopped: null, defects: [], isStuck: false }

const lookEveryMs = 250
const patienceMs = 2000

/** Resolves with true when a server has gone away and come back, and with false when the signal is aborted before. */
export async function targetReturned(target: UrlTargetOptions, signal: AbortSignal): Promise<boolean> {
  const instance = await urlTarget(target).open()
  const isThere = presenceOf(instance)
  try {
    for (let wasAway = false; !signal.aborted; ) {
      const isHere = await isThere()
      if (isHere && wasAway) return true
      wasAway ||= !isHere
      await setTimeout(lookEveryMs, undefined, { signal }).catch(() => {})
    }
    return false
  } finally {
    await instance.close()
  }
}

/**
 * Tells whether the server answers. A proxy in front of it accepts connections while the server is away; so a connection is enough only
 * where no answer was ever seen.
 */
function presenceOf(instance: Instance): () => Promise<boolean> {
  let hasAnswered = false
  return async () => {
    const answer = await instance.send({
      method: 'GET',
      path: '/api',
      headers: Object.entries(instance.settings.headers),
      body: new Uint8Array(),
      connection: 'fresh',
      raw: true,
      timeoutMs: patienceMs,
    })
    if (answer.kind !== 'none' && isUnavailable(answer.status)) return false
    if (answer.kind === 'none')
      return !hasAnswered && !answer.refusedConnection && (await isListening(instance.baseUrl))
    hasAnswered = true
    return true
  }
}

function isListening(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  return listens(hostname.replace(/^\[|\]$/g, ''), Number(port) || (protocol === 'https:' ? 443 : 80))
}
