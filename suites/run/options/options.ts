import { type SuiteError, usageError } from '../../engine/errors.ts'
import { isLoopback } from '../../engine/target.ts'
import { shellWord } from '../../report/lines.ts'
import type { RunFlags } from './flags.ts'
import type { Environment } from './inputs.ts'
import { everyCase, requirementSets } from './requirement-sets.ts'
import { inputsOf, readTargetFile, readTargetOptions, type TargetOptions } from './target-options.ts'
import { count, oneOf, positive, type ReportRequest, readReports, readShard, readSkips, someSeconds } from './values.ts'

export type { TargetOptions }

/** All options of a run, from flags, the environment and the target file. */
export interface RunOptions {
  /** null: the bundled server. */
  target: TargetOptions | null
  selection: SelectionOptions
  limits: LimitOptions
  reporting: ReportingOptions
  /** How many calls the model makes after the cases; null: none. */
  explore: { calls: number; only: readonly string[] | null } | null
  /** Print what the run would do, and stop. */
  plan: boolean
  /** Files that were read for these options. `what` as in `the target file`. */
  inputs: { what: string; file: string }[]
}

/** Which cases run. */
interface SelectionOptions {
  only: string[]
  /** Rows of the table or the matrix were named, and no cases. */
  rowsAlone: boolean
  skip: { id: string; reason: string }[]
  shard: { index: number; count: number } | null
  /** A JSON report: only cases that failed or were blocked there run. */
  failed: string | null
  /** The folder of the user's own scenarios. */
  fixtures: string | null
  /** Decides the order of the cases; null: a new order in each run. */
  seed: number | null
  /** Run again whenever the target comes back. */
  watch: boolean
}

/** How long things may take. */
interface LimitOptions {
  /** How long to wait for the target to come up. */
  waitSeconds: number
  /** For the whole run; null: no limit. */
  timeoutSeconds: number | null
  /** Stop after this many failures; null: never. */
  bail: number | null
}

/** What happens with the results. */
interface ReportingOptions {
  /** The file of the baseline. */
  known: string | null
  updateKnown: boolean
  strict: boolean
  /** The requirement set that decides the verdict. */
  set: string
  /** Print the observations of each open question. */
  observations: boolean
  reports: ReportRequest[]
  trace: boolean
  /** The command that repeats this run, without secrets and without flags that select cases. */
  again: string
}

/**
 * @param flags as commander parsed them
 * @param env SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET, SVC_KEY_SECRET_FILE, SVC_PRIVATE_KEY_FILE, SVC_TARGET, SVC_SCHEME, SVC_TOKEN_PREFIX, SVC_ALLOW
 * @throws SuiteError (`usage`, `fixture`, exit code 2)
 */
export function readRunOptions(flags: RunFlags, env: Environment): RunOptions {
  const named = readTargetFile(flags, env)
  const target = readTargetOptions(flags, env, named)
  return {
    target,
    selection: selectionOf(flags, target),
    limits: {
      waitSeconds: positive('--wait', flags.wait, 0),
      timeoutSeconds: flags.timeout === undefined ? null : someSeconds('--timeout', flags.timeout),
      bail: flags.bail === undefined ? null : count('--bail', flags.bail),
    },
    reporting: reportingOf(flags, againCommand(flags, target, named.path)),
    explore: exploreOf(flags, target),
    plan: flags.plan === true,
    inputs: inputsOf(flags, env, named),
  }
}

const exploreCallsNearby = 16_000
const exploreCallsElsewhere = 1000

/** The model makes the calls of the rows of the table and of the matrix. */
const isRow = (id: string): boolean => /^(table|matrix)(\/|$)/.test(id)

/** Thousands of refused calls are made only at a disposable target, or if the user requests them. */
function exploreOf(flags: RunFlags, target: TargetOptions | null): RunOptions['explore'] {
  const rows = (flags.only ?? []).filter(isRow)
  if (target === null) {
    const [row] = rows
    const asked =
      flags.explore === true
        ? '--explore'
        : flags.exploreCalls !== undefined
          ? '--explore-calls'
          : row && `--only ${row}`
    if (asked !== undefined)
      throw usageError(
        `Name the target: "${asked}" needs "--url"; "svc-conformance explore" makes the calls of the model to the bundled server`,
      )
    return null
  }
  const isPart =
    flags.only !== undefined || flags.shard !== undefined || flags.failed !== undefined || flags.watch === true
  const wanted = flags.explore ?? (rows.length > 0 || (target.disposable && !isPart))
  if (!wanted) return null
  const nearby = isLoopback(target.url) ? exploreCallsNearby : exploreCallsElsewhere
  const calls = flags.exploreCalls === undefined ? nearby : count('--explore-calls', flags.exploreCalls)
  return { calls, only: rows.length === 0 ? null : rows }
}

function selectionOf(flags: RunFlags, target: TargetOptions | null): SelectionOptions {
  const shard = readShard(flags.shard)
  if (shard !== null && target !== null && !target.disposable) throw sharedShards()
  if (flags.watch === true && target === null)
    throw usageError('Name the target: "--watch" waits for a server to come back, and needs "--url"')
  return {
    only: (flags.only ?? []).filter((id) => !isRow(id)),
    rowsAlone: flags.only !== undefined && flags.only.length > 0 && flags.only.every(isRow),
    skip: readSkips(flags.skip ?? []),
    shard,
    failed: flags.failed ?? null,
    fixtures: flags.fixtures ?? null,
    seed: flags.seed === undefined ? null : seedOf(flags.seed),
    watch: flags.watch === true,
  }
}

function reportingOf(flags: RunFlags, again: string): ReportingOptions {
  if (flags.updateKnown === true && flags.known === undefined)
    throw usageError('Name the baseline to write: "--update-known" needs "--known FILE"')
  return {
    known: flags.known ?? null,
    updateKnown: flags.updateKnown === true,
    strict: flags.strict === true,
    set: setOf(flags.set),
    observations: flags.observations === true,
    reports: readReports(flags.report ?? []),
    trace: flags.trace === true,
    again,
  }
}

function seedOf(text: string): number {
  const seed = Number(text)
  if (!/^\d+$/.test(text) || seed >= 2 ** 32)
    throw usageError(`Cannot use "${text}" for "--seed": expected a whole number below ${2 ** 32}`)
  return seed
}

/** @throws SuiteError (`usage`) for a set that this version does not have */
function setOf(version: string | undefined): string {
  return version === undefined ? everyCase : oneOf('--set', version, [everyCase, ...requirementSets()])
}

function againCommand(flags: RunFlags, target: TargetOptions | null, targetPath: string | null): string {
  const words = ['npx', 'svc-conformance', 'run']
  if (target !== null) words.push('--url', target.url)
  if (targetPath !== null) words.push('--target', targetPath)
  if (flags.fixtures !== undefined) words.push('--fixtures', flags.fixtures)
  if (flags.scheme !== undefined) words.push('--scheme', flags.scheme)
  if (flags.tokenPrefix !== undefined) words.push('--token-prefix', flags.tokenPrefix)
  if (flags.disposable === true) words.push('--disposable')
  else if (target !== null && target.allow.length > 0) words.push('--allow', target.allow.join(','))
  return words.map(shellWord).join(' ')
}

function sharedShards(): SuiteError {
  return usageError(
    'Cannot run a shard against a shared URL: shards would use up one another\'s keys and sessions; give each shard its own instance and say so with "--disposable"',
  )
}
