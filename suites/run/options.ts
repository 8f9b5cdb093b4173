import { SuiteError } from '../engine/errors.ts'
import { shellWord } from '../report/shell.ts'
import type { RunFlags } from './flags.ts'
import type { Environment } from './inputs.ts'
import { readTargetFile, readTargetOptions, type TargetOptions } from './target-options.ts'
import { positive, type ReportRequest, readReports, readShard, readSkips } from './values.ts'

export type { TargetOptions }

/** Everything that a run is told, whoever told it. */
export interface RunOptions {
  /** null: the bundled server. */
  target: TargetOptions | null
  selection: SelectionOptions
  limits: LimitOptions
  reporting: ReportingOptions
  /** Print what the run would do, and stop. */
  plan: boolean
}

/** Which cases are asked. */
export interface SelectionOptions {
  only: string[]
  skip: { id: string; reason: string }[]
  shard: { index: number; count: number } | null
}

/** How long things may take. */
export interface LimitOptions {
  /** How long to wait for the target to come up. */
  waitSeconds: number
  /** For the whole run; null: no limit. */
  timeoutSeconds: number | null
}

/** What is made of the results. */
export interface ReportingOptions {
  /** The file of the baseline. */
  known: string | null
  updateKnown: boolean
  strict: boolean
  reports: ReportRequest[]
  trace: boolean
  /** The command that repeats this run, without secrets and without what selects cases. */
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
    limits: { waitSeconds: positive('--wait', flags.wait, 0), timeoutSeconds: timeoutOf(flags) },
    reporting: reportingOf(flags, againCommand(flags, target, named.path)),
    plan: flags.plan === true,
  }
}

function selectionOf(flags: RunFlags, target: TargetOptions | null): SelectionOptions {
  const shard = readShard(flags.shard)
  if (shard !== null && target !== null && !target.disposable) throw sharedShards()
  return { only: flags.only ?? [], skip: readSkips(flags.skip ?? []), shard }
}

function reportingOf(flags: RunFlags, again: string): ReportingOptions {
  if (flags.updateKnown === true && flags.known === undefined)
    throw new SuiteError('usage', 'Name the baseline to write: "--update-known" needs "--known FILE"')
  return {
    known: flags.known ?? null,
    updateKnown: flags.updateKnown === true,
    strict: flags.strict === true,
    reports: readReports(flags.report ?? []),
    trace: flags.trace === true,
    again,
  }
}

function timeoutOf({ timeout }: RunFlags): number | null {
  if (timeout === undefined) return null
  const seconds = Number(timeout)
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new SuiteError('usage', `Cannot use "${timeout}" for "--timeout": expected a number of seconds above 0`)
  return seconds
}

function againCommand(flags: RunFlags, target: TargetOptions | null, targetPath: string | null): string {
  const words = ['npx', 'svc-conformance', 'run']
  if (target !== null) words.push('--url', target.url)
  if (targetPath !== null) words.push('--target', targetPath)
  if (flags.scheme !== undefined) words.push('--scheme', flags.scheme)
  if (flags.tokenPrefix !== undefined) words.push('--token-prefix', flags.tokenPrefix)
  if (flags.disposable === true) words.push('--disposable')
  else if (target !== null && target.allow.length > 0) words.push('--allow', target.allow.join(','))
  return words.map(shellWord).join(' ')
}

function sharedShards(): SuiteError {
  return new SuiteError(
    'usage',
    'Cannot run a shard against a shared URL: shards would use up one another\'s keys and sessions; give each shard an instance of its own and say so with "--disposable"',
  )
}
