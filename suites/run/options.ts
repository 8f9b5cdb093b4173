import { dirname, resolve } from 'node:path'
import type { RunFlags } from '../commands/run-flags.ts'
import { SuiteError } from '../engine/errors.ts'
import type { SafetyClass } from '../engine/fixture/model.ts'
import type { RootKey, TargetSettings } from '../engine/target.ts'
import { shellWord } from '../report/shell.ts'
import { type Environment, given, readText } from './inputs.ts'
import { rootKey } from './root-key.ts'
import { parseTargetFile, type TargetFile } from './target-file/parse.ts'
import {
  baseUrl,
  oneOf,
  positive,
  type ReportRequest,
  readReports,
  readShard,
  readSkips,
  schemeWord,
} from './values.ts'

/** Everything that a run is told, whoever told it: flags win over the environment, the environment over the target file. */
export interface RunOptions {
  /** Without a trailing slash; null: the bundled server. */
  url: string | null
  /** null only for the bundled server. */
  root: RootKey | null
  settings: TargetSettings
  requestTimeoutMs: number
  /** `ca` is the text of a PEM file. */
  tls: { ca?: string; insecure?: boolean } | undefined
  /** Keeps the created keys for the next run. */
  testKeysFile: string | null
  allow: SafetyClass[]
  disposable: boolean
  only: string[]
  skip: { id: string; reason: string }[]
  known: string | null
  updateKnown: boolean
  strict: boolean
  reports: ReportRequest[]
  shard: { index: number; count: number } | null
  plan: boolean
  /** How long to wait for the target to come up. */
  waitSeconds: number
  /** For the whole run; null: no limit. */
  timeoutSeconds: number | null
  trace: boolean
  /** The command that repeats this run, without secrets and without what selects cases. */
  again: string
}

const safetyClasses: readonly SafetyClass[] = ['sessions', 'keys', 'limits']
const defaultWaitSeconds = 10
const defaultRequestTimeoutMs = 10_000

/**
 * @param flags as commander parsed them
 * @param env SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET, SVC_KEY_SECRET_FILE, SVC_PRIVATE_KEY_FILE, SVC_TARGET, SVC_SCHEME, SVC_TOKEN_PREFIX, SVC_ALLOW
 * @throws SuiteError (`usage`, `fixture`, exit code 2)
 */
export function readRunOptions(flags: RunFlags, env: Environment): RunOptions {
  const targetPath = flags.target ?? given(env.SVC_TARGET)
  const file = targetPath === undefined ? {} : parseTargetFile(readText(targetPath, 'the target file'), targetPath)
  const beside = (path: string): string => (targetPath === undefined ? path : resolve(dirname(targetPath), path))
  const url = optionalUrl(flags, env, file, targetPath)
  const disposable = flags.disposable === true
  const shard = readShard(flags.shard)
  if (shard !== null && url !== null && !disposable) throw sharedShards()
  if (flags.updateKnown === true && flags.known === undefined)
    throw new SuiteError('usage', 'Name the baseline to write: "--update-known" needs "--known FILE"')
  const root = url === null ? null : rootKey(url, flags, env, file, beside)
  const allow = disposable ? [...safetyClasses] : allowed(flags, env, file)
  const settings = settingsOf(flags, env, file)
  return {
    url,
    root,
    settings,
    requestTimeoutMs: file.requestTimeoutMs ?? defaultRequestTimeoutMs,
    tls: file.tls === undefined ? undefined : tlsOf(file.tls, beside),
    testKeysFile: file.testKeys === undefined ? null : beside(file.testKeys),
    allow,
    disposable,
    only: flags.only ?? [],
    skip: readSkips(flags.skip ?? []),
    known: flags.known ?? null,
    updateKnown: flags.updateKnown === true,
    strict: flags.strict === true,
    reports: readReports(flags.report ?? []),
    shard,
    plan: flags.plan === true,
    waitSeconds: positive('--wait', flags.wait, 0),
    timeoutSeconds: timeoutOf(flags),
    trace: flags.trace === true,
    again: againCommand(flags, url, allow, targetPath),
  }
}

function timeoutOf({ timeout }: RunFlags): number | null {
  if (timeout === undefined) return null
  const seconds = Number(timeout)
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new SuiteError('usage', `Cannot use "${timeout}" for "--timeout": expected a number of seconds above 0`)
  return seconds
}

function optionalUrl(
  flags: RunFlags,
  env: Environment,
  file: TargetFile,
  targetPath: string | undefined,
): string | null {
  const url = flags.url ?? given(env.SVC_URL) ?? file.url
  if (url !== undefined) return baseUrl(url)
  // Else a run that was meant for a server would show that the bundled one conforms.
  if (targetPath !== undefined)
    throw new SuiteError('usage', `Name the target: "${targetPath}" has no "url", and there is no "--url" or SVC_URL`)
  for (const [flag, value] of [
    ['--key-id', flags.keyId],
    ['--key-secret', flags.keySecret],
    ['--key-secret-file', flags.keySecretFile],
    ['--private-key', flags.privateKey],
    ['--disposable', flags.disposable],
    ['--allow', flags.allow],
    ['--rate', flags.rate],
    ['--scheme', flags.scheme],
    ['--token-prefix', flags.tokenPrefix],
  ])
    if (value !== undefined) throw new SuiteError('usage', `Name the target: "${flag}" needs "--url"`)
  return null
}

function allowed(flags: RunFlags, env: Environment, file: TargetFile): SafetyClass[] {
  const words = flags.allow ?? given(env.SVC_ALLOW)
  if (words === undefined) return file.allow ?? []
  const classes = words.split(',').map((word) => oneOf('--allow', word.trim(), safetyClasses))
  return safetyClasses.filter((one) => classes.includes(one))
}

function settingsOf(flags: RunFlags, env: Environment, file: TargetFile): TargetSettings {
  const rate = flags.rate === undefined ? (file.rate ?? 0) : positive('--rate', flags.rate, 0)
  return {
    scheme: schemeOf(flags, env) ?? file.scheme ?? 'svc-hmac-sha256',
    tokenPrefix: flags.tokenPrefix ?? given(env.SVC_TOKEN_PREFIX) ?? file.tokenPrefix,
    signedUri: file.signedUri ?? '/api',
    scopeNames: file.scopeNames ?? {},
    headers: file.headers ?? {},
    probes: Object.fromEntries(Object.entries(file.probes ?? {}).map(([area, call]) => [area, withParams(call)])),
    solutions: file.solutions ?? [],
    cleanup: file.cleanup === undefined ? undefined : withParams(file.cleanup),
    secondAddress: file.secondAddress,
    clientAddress: file.clientAddress,
    rate,
    maxWaitMs: positive('--wait', flags.wait, defaultWaitSeconds) * 1000,
  }
}

function schemeOf(flags: RunFlags, env: Environment): string | undefined {
  if (flags.scheme !== undefined) return schemeWord('--scheme', flags.scheme)
  const word = given(env.SVC_SCHEME)
  return word === undefined ? undefined : schemeWord('SVC_SCHEME', word)
}

function withParams(call: { method: string; params?: unknown }): { method: string; params: unknown } {
  return { method: call.method, params: call.params ?? {} }
}

function tlsOf(
  tls: NonNullable<TargetFile['tls']>,
  beside: (path: string) => string,
): { ca?: string; insecure?: boolean } {
  const { ca, ...rest } = tls
  return ca === undefined ? rest : { ...rest, ca: readText(beside(ca), 'the certificate') }
}

function againCommand(
  flags: RunFlags,
  url: string | null,
  allow: SafetyClass[],
  targetPath: string | undefined,
): string {
  const words = ['npx', 'svc-conformance', 'run']
  if (url !== null) words.push('--url', url)
  if (targetPath !== undefined) words.push('--target', targetPath)
  if (flags.scheme !== undefined) words.push('--scheme', flags.scheme)
  if (flags.tokenPrefix !== undefined) words.push('--token-prefix', flags.tokenPrefix)
  if (flags.disposable === true) words.push('--disposable')
  else if (url !== null && allow.length > 0) words.push('--allow', allow.join(','))
  return words.map(shellWord).join(' ')
}

function sharedShards(): SuiteError {
  return new SuiteError(
    'usage',
    'Cannot run a shard against a shared URL: shards would use up one another\'s keys and sessions; give each shard an instance of its own and say so with "--disposable"',
  )
}
