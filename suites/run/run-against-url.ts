import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCall } from '../engine/case/call.ts'
import { endRun, openClient, type Run, startRun } from '../engine/case/client.ts'
import type { CreatedKey, CreatedKeys } from '../engine/case/created-keys.ts'
import { noFacts } from '../engine/case/target-facts.ts'
import { SuiteError } from '../engine/errors.ts'
import { systemRandom } from '../engine/random.ts'
import { type UrlTargetOptions, urlTarget } from '../targets/url.ts'
import { openCreatedKeysFile } from './created-keys-file.ts'
import type { RunOptions } from './options.ts'
import { preflight } from './preflight.ts'
import { removeKeys } from './run-item.ts'
import type { SuiteResult } from './run-suite.ts'
import { keptTestKeys, writeTestKeysFile } from './test-keys-file.ts'
import type { WorkerRequest } from './worker-request.ts'

/**
 * A run against a URL: looks at the target, hands over to the worker, and removes what was created, also after a failure.
 *
 * @throws SuiteError (`unreachable`, exit code 3)
 */
export async function runAgainstUrl(
  options: RunOptions,
  request: WorkerRequest,
  inWorker: (request: WorkerRequest) => Promise<Omit<SuiteResult, 'left'>>,
  say: (line: string) => void,
  interrupted: () => boolean,
): Promise<SuiteResult> {
  const url = targetOf(options)
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'))
  const createdKeysFile = join(folder, 'created-keys.jsonl')
  const run = startRun({
    target: urlTarget(url),
    corpus: request.corpus,
    facts: noFacts(),
    random: systemRandom,
    unique: request.unique,
    timeIsUp: interrupted,
    openCreatedKeys: () => openCreatedKeysFile(createdKeysFile),
  })
  let kept: CreatedKey[] = []
  // The second Ctrl-C ends the process at once: then this is the last that is heard of what was created.
  const onExit = (): void => {
    const createdKeys = openCreatedKeysFile(createdKeysFile)
    const left = keepAndTell(options, createdKeys, sortKeys(options, createdKeys, kept))
    rmSync(folder, { recursive: true, force: true })
    if (left.length > 0) say(`Left on the target: ${left.join('; ')}`)
  }
  process.once('exit', onExit)
  let suiteResult: Omit<SuiteResult, 'left'> | null = null
  let left: string[] = []
  try {
    await preflight(run, options.allow, options.waitSeconds * 1000)
    if (interrupted()) throw new SuiteError('interrupted', 'Interrupted before the first case', { exitCode: 130 })
    kept = await stillValid(run, keptTestKeys(options))
    const members = kept.flatMap(({ member }) => (member === undefined ? [] : [member]))
    suiteResult = await inWorker({
      ...request,
      url,
      facts: run.facts,
      capabilities: { ...request.capabilities, keptTestKeys: members },
      createdKeysFile,
      keptTestKeys: kept,
    })
  } finally {
    left = await cleanUp(run, options, createdKeysFile, suiteResult === null ? kept : [])
    await endRun(run)
    process.removeListener('exit', onExit)
    rmSync(folder, { recursive: true, force: true })
    if (suiteResult === null && left.length > 0) say(`Left on the target: ${left.join('; ')}`)
  }
  return { ...suiteResult, left }
}

function targetOf({ url, root, settings, requestTimeoutMs, tls, disposable }: RunOptions): UrlTargetOptions {
  if (url === null || root === null) throw new Error('a run against a URL without its URL or key')
  return { url, root, settings, requestTimeoutMs, tls, disposable }
}

/** Kept keys may have been removed meanwhile; those whose scope opens the probing call are tried, as all that cases create have. */
async function stillValid(run: Run, kept: CreatedKey[]): Promise<CreatedKey[]> {
  const client = await openClient(run)
  const opensSolutions = (key: CreatedKey): boolean =>
    run.corpus.testKeys.every(({ name, scope }) => name !== key.member || scope.includes('solution'))
  const valid: CreatedKey[] = []
  for (const key of kept) {
    const call = { method: 'solution/listSolutions', params: {}, auth: { key: key as never } }
    if (!opensSolutions(key) || (await makeCall(client, call)).answer.outcome === 'accepted') valid.push(key)
  }
  return valid
}

interface Sorted {
  /** The test keys, where a file keeps it. */
  kept: CreatedKey[]
  others: CreatedKey[]
  /** Why others are still there, where their removal was tried. */
  problems?: readonly string[]
}

/** @param unseated kept keys of a run that ended before it used them */
function sortKeys({ testKeysFile }: RunOptions, createdKeys: CreatedKeys, unused: readonly CreatedKey[]): Sorted {
  const keys = [...createdKeys.keys, ...unused.filter(({ id }) => !createdKeys.keys.some((key) => key.id === id))]
  const isKept = ({ member }: CreatedKey): boolean => testKeysFile !== null && member !== undefined
  return { kept: keys.filter(isKept), others: keys.filter((key) => !isKept(key)) }
}

/** Removes what the run created, except a test keys that is kept; says what is still there. */
async function cleanUp(
  run: Run,
  options: RunOptions,
  createdKeysFile: string,
  unused: CreatedKey[],
): Promise<string[]> {
  const createdKeys = openCreatedKeysFile(createdKeysFile)
  const { kept, others } = sortKeys(options, createdKeys, unused)
  // Without a request there is nothing to remove, and no client to take on a target that may be gone.
  const { left, problems } =
    others.length === 0 ? { left: [], problems: [] } : await removeKeys(await openClient(run), others)
  return keepAndTell(options, createdKeys, { kept, others: left, problems })
}

/** Writes the test keys file, with the keys that could not be removed too: the next run must know how many places are taken. */
function keepAndTell(
  { testKeysFile, url, root, settings }: RunOptions,
  createdKeys: CreatedKeys,
  { kept, others, problems = [] }: Sorted,
): string[] {
  if (testKeysFile !== null && url !== null && root !== null && kept.length + others.length > 0)
    writeTestKeysFile(testKeysFile, url, root.id, [...kept, ...others])
  const said = ({ id, name }: CreatedKey): string => `API key ${id} ("${name}")`
  return [
    ...others.map(said),
    ...(others.length > 0 && settings.cleanup === undefined
      ? ['(cleanup in the target file names the method that removes them)']
      : []),
    ...problems.map((problem) => `(${problem})`),
    ...kept.map((key) => `${said(key)}, kept for the next run`),
    ...createdKeys.unanswered.map((name) => `perhaps an API key "${name}": its creation was never answered`),
  ]
}
