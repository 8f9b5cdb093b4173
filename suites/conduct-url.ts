import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keptCast, writeCastFile } from './cast-file.ts'
import type { RunOptions } from './commands/run-options.ts'
import type { Conducted } from './conduct.ts'
import { SuiteError } from './engine/errors.ts'
import { emptyKnowledge } from './engine/knowledge.ts'
import type { CreatedKey, Ledger } from './engine/ledger.ts'
import { preflight } from './engine/preflight.ts'
import { systemRandom } from './engine/random.ts'
import { removeKeys } from './engine/run-item.ts'
import { endRun, type Run, startRun, takeSeat } from './engine/seat.ts'
import { makeCall } from './engine/steps/call.ts'
import { openLedgerFile } from './ledger-file.ts'
import { type UrlTargetOptions, urlTarget } from './targets/url.ts'
import type { WorkerRequest } from './worker-request.ts'

/**
 * A run against a URL: looks at the target, hands over to the worker, and removes what was created, also after a failure.
 *
 * @throws SuiteError (`unreachable`, exit code 3)
 */
export async function conductUrl(
  options: RunOptions,
  request: WorkerRequest,
  inWorker: (request: WorkerRequest) => Promise<Omit<Conducted, 'left'>>,
  say: (line: string) => void,
  interrupted: () => boolean,
): Promise<Conducted> {
  const url = targetOf(options)
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-'))
  const ledgerFile = join(folder, 'created-keys.jsonl')
  const run = startRun({
    target: urlTarget(url),
    corpus: request.corpus,
    knowledge: emptyKnowledge(),
    random: systemRandom,
    unique: request.unique,
    timeIsUp: interrupted,
    openLedger: () => openLedgerFile(ledgerFile),
  })
  let kept: CreatedKey[] = []
  // The second Ctrl-C ends the process at once: then this is the last that is heard of what was created.
  const onExit = (): void => {
    const ledger = openLedgerFile(ledgerFile)
    const left = keepAndTell(options, ledger, sortKeys(options, ledger, kept))
    rmSync(folder, { recursive: true, force: true })
    if (left.length > 0) say(`Left on the target: ${left.join('; ')}`)
  }
  process.once('exit', onExit)
  let conducted: Omit<Conducted, 'left'> | null = null
  let left: string[] = []
  try {
    await preflight(run, options.allow, options.waitSeconds * 1000)
    if (interrupted()) throw new SuiteError('interrupted', 'Interrupted before the first row', { exitCode: 130 })
    kept = await stillValid(run, keptCast(options))
    const members = kept.flatMap(({ member }) => (member === undefined ? [] : [member]))
    conducted = await inWorker({
      ...request,
      url,
      knowledge: run.knowledge,
      capabilities: { ...request.capabilities, keptCast: members },
      ledgerFile,
      keptCast: kept,
    })
  } finally {
    left = await cleanUp(run, options, ledgerFile, conducted === null ? kept : [])
    await endRun(run)
    process.removeListener('exit', onExit)
    rmSync(folder, { recursive: true, force: true })
    if (conducted === null && left.length > 0) say(`Left on the target: ${left.join('; ')}`)
  }
  return { ...conducted, left }
}

function targetOf({ url, root, settings, requestTimeoutMs, tls, disposable }: RunOptions): UrlTargetOptions {
  if (url === null || root === null) throw new Error('a run against a URL without its URL or key')
  return { url, root, settings, requestTimeoutMs, tls, disposable }
}

/** Kept keys may have been removed meanwhile; those whose scope opens the probing call are tried, as all that rows create have. */
async function stillValid(run: Run, kept: CreatedKey[]): Promise<CreatedKey[]> {
  const seat = await takeSeat(run)
  const opensSolutions = (key: CreatedKey): boolean =>
    run.corpus.cast.every(({ name, scope }) => name !== key.member || scope.includes('solution'))
  const valid: CreatedKey[] = []
  for (const key of kept) {
    const call = { method: 'solution/listSolutions', params: {}, auth: { key: key as never } }
    if (!opensSolutions(key) || (await makeCall(seat, call)).answer.outcome === 'accepted') valid.push(key)
  }
  return valid
}

interface Sorted {
  /** The cast, where a file keeps it. */
  kept: CreatedKey[]
  others: CreatedKey[]
  /** Why others are still there, where their removal was tried. */
  problems?: readonly string[]
}

/** @param unseated kept keys of a run that ended before it used them */
function sortKeys({ castFile }: RunOptions, ledger: Ledger, unseated: readonly CreatedKey[]): Sorted {
  const keys = [...ledger.keys, ...unseated.filter(({ id }) => !ledger.keys.some((key) => key.id === id))]
  const isKept = ({ member }: CreatedKey): boolean => castFile !== null && member !== undefined
  return { kept: keys.filter(isKept), others: keys.filter((key) => !isKept(key)) }
}

/** Removes what the run created, except a cast that is kept; says what is still there. */
async function cleanUp(run: Run, options: RunOptions, ledgerFile: string, unseated: CreatedKey[]): Promise<string[]> {
  const ledger = openLedgerFile(ledgerFile)
  const { kept, others } = sortKeys(options, ledger, unseated)
  // Without a request there is nothing to remove, and no seat to take on a target that may be gone.
  const { left, problems } =
    others.length === 0 ? { left: [], problems: [] } : await removeKeys(await takeSeat(run), others)
  return keepAndTell(options, ledger, { kept, others: left, problems })
}

/** Writes the cast file, with the keys that could not be removed too: the next run must know how many places are taken. */
function keepAndTell(
  { castFile, url, root, settings }: RunOptions,
  ledger: Ledger,
  { kept, others, problems = [] }: Sorted,
): string[] {
  if (castFile !== null && url !== null && root !== null && kept.length + others.length > 0)
    writeCastFile(castFile, url, root.id, [...kept, ...others])
  const told = ({ id, name }: CreatedKey): string => `API key ${id} ("${name}")`
  return [
    ...others.map(told),
    ...(others.length > 0 && settings.cleanup === undefined
      ? ['(cleanup in the target file names the method that removes them)']
      : []),
    ...problems.map((problem) => `(${problem})`),
    ...kept.map((key) => `${told(key)}, kept for the next run`),
    ...ledger.unanswered.map((name) => `perhaps an API key "${name}": its creation was never answered`),
  ]
}
