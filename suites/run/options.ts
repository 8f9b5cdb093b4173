/** The options of a run, as one plain value: from flags, the environment and the target file. */
import { dirname, resolve } from 'node:path'
import { defaultScheme } from '../engine/document.ts'
import { usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { seedFromPkcs8 } from '../engine/signer/pem.ts'
import { isLoopback, type RootKey, type TargetSettings } from '../engine/target.ts'
import { shellWord } from '../report/lines.ts'
import type { UrlTargetOptions } from '../targets/url.ts'
import { safetyClasses } from './capabilities.ts'
import { demandPlaceFor, type Environment, given, isSameFile, readText } from './files.ts'
import { everyCase, requirementSets } from './inputs.ts'
import { stateFolder } from './key-record.ts'
import { parseTargetFile, type TargetFile } from './target-file.ts'
import {
  baseUrl,
  count,
  oneOf,
  positive,
  type ReportRequest,
  readReports,
  readShard,
  readSkips,
  schemeWord,
  someSeconds,
} from './values.ts'

/** The flags of `run` as they were typed. */
export interface RunFlags {
  url?: string
  keyId?: string
  keySecret?: string
  keySecretFile?: string
  privateKey?: string
  target?: string
  scheme?: string
  tokenPrefix?: string
  allow?: string
  disposable?: boolean
  only?: string[]
  skip?: string[]
  known?: string
  updateKnown?: boolean
  strict?: boolean
  report?: string[]
  shard?: string
  plan?: boolean
  wait?: string
  rate?: string
  concurrency?: string
  timeout?: string
  trace?: boolean
  observations?: boolean
  failed?: string
  watch?: boolean
  bail?: string
  fixtures?: string
  set?: string
  seed?: string
  explore?: boolean
  exploreCalls?: string
}

export interface RunOptions {
  /** null: the bundled server. */
  target: TargetOptions | null
  /** Print what the run would do, and stop. */
  plan: boolean
  /** How many calls the model makes after the cases, and the only rows of its table and matrix; null: none. */
  explore: { calls: number; only: readonly string[] | null } | null

  // Which cases run.
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

  // How long things may take.
  /** How long to wait for the target to come up. */
  waitSeconds: number
  /** For the whole run; null: no limit. */
  timeoutSeconds: number | null
  /** Stop after this many failures; null: never. */
  bail: number | null

  // How it is judged and printed.
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
  /** Files that were read for these options. `what` as in `the target file`. */
  inputs: NamedFile[]
}

/** How a server at a URL is reached, and what may be done there. */
export interface TargetOptions extends UrlTargetOptions {
  allow: SafetyClass[]
  /** The folder of the records of created keys. */
  stateFolder: string
  /** `testKeys` of the target file: the path of the record; the test keys are then kept. */
  testKeysFile: string | null
}

/**
 * @param flags as commander parsed them
 * @param env SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET, SVC_KEY_SECRET_FILE, SVC_PRIVATE_KEY_FILE, SVC_TARGET, SVC_SCHEME, SVC_TOKEN_PREFIX, SVC_ALLOW
 * @throws SuiteError (`usage`, `fixture`, exit code 2)
 */
export function readRunOptions(flags: RunFlags, env: Environment): RunOptions {
  const { only, seed, known, updateKnown = false, watch = false } = flags
  const named = readTargetFile(flags, env)
  const target = readTargetOptions(flags, env, named)
  const shard = readShard(flags.shard)
  if (shard !== null && target !== null && !target.disposable)
    throw usageError(
      'Cannot run a shard against a shared URL: shards would use up one another\'s keys and sessions; give each shard its own instance and say so with "--disposable"',
    )
  if (watch && target === null)
    throw usageError('Name the target: "--watch" waits for a server to come back, and needs "--url"')
  const skip = readSkips(flags.skip ?? [])
  if (seed !== undefined && !(/^\d+$/.test(seed) && Number(seed) < 2 ** 32))
    throw usageError(`Cannot use "${seed}" for "--seed": expected a whole number below ${2 ** 32}`)
  const limits = {
    waitSeconds: positive('--wait', flags.wait, 0),
    timeoutSeconds: flags.timeout === undefined ? null : someSeconds('--timeout', flags.timeout),
    bail: flags.bail === undefined ? null : count('--bail', flags.bail),
  }
  if (updateKnown && known === undefined)
    throw usageError('Name the baseline to write: "--update-known" needs "--known FILE"')
  return {
    target,
    plan: flags.plan === true,
    only: (only ?? []).filter((id) => !isRow(id)),
    rowsAlone: only !== undefined && only.length > 0 && only.every(isRow),
    skip,
    shard,
    failed: flags.failed ?? null,
    fixtures: flags.fixtures ?? null,
    seed: seed === undefined ? null : Number(seed),
    watch,
    ...limits,
    known: known ?? null,
    updateKnown,
    strict: flags.strict === true,
    set: flags.set === undefined ? everyCase : oneOf('--set', flags.set, [everyCase, ...requirementSets()]),
    observations: flags.observations === true,
    reports: readReports(flags.report ?? []),
    trace: flags.trace === true,
    explore: exploreOf(flags, target),
    again: againCommand(flags, target, named.path),
    inputs: inputsOf(flags, env, named),
  }
}

const exploreCallsNearby = 16_000
const exploreCallsElsewhere = 1000

/** The model makes the calls of the rows of the table and of the matrix. */
const isRow = (id: string): boolean => /^(table|matrix)(\/|$)/.test(id)

/** Thousands of refused calls are made only at a disposable target, or if the user requests them. */
function exploreOf(flags: RunFlags, target: TargetOptions | null): RunOptions['explore'] {
  const { only, explore, exploreCalls } = flags
  const rows = (only ?? []).filter(isRow)
  if (target === null) {
    const [row] = rows
    const ofCalls = exploreCalls === undefined ? row && `--only ${row}` : '--explore-calls'
    const asked = explore === true ? '--explore' : ofCalls
    if (asked === undefined) return null
    throw usageError(
      `Name the target: "${asked}" needs "--url"; "svc-conformance explore" makes the calls of the model to the bundled server`,
    )
  }
  const isPart = only !== undefined || flags.shard !== undefined || flags.failed !== undefined || flags.watch === true
  const wanted = explore ?? (rows.length > 0 || (target.disposable && !isPart))
  if (!wanted) return null
  const nearby = isLoopback(target.url) ? exploreCallsNearby : exploreCallsElsewhere
  const calls = exploreCalls === undefined ? nearby : count('--explore-calls', exploreCalls)
  return { calls, only: rows.length === 0 ? null : rows }
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

interface NamedFile {
  /** As in `Cannot write the report`. */
  what: string
  file: string
}

/** The files that the target's options are read from. */
function inputsOf(flags: RunFlags, env: Environment, { path, file, beside }: NamedTargetFile): NamedFile[] {
  const ofTarget = [file.root?.privateKeyFile, file.tls?.ca, file.tls?.cert, file.tls?.key]
  return namedFiles([
    ['the target file', path],
    ['the key secret', flags.keySecretFile ?? given(env.SVC_KEY_SECRET_FILE)],
    ['the private key', flags.privateKey ?? given(env.SVC_PRIVATE_KEY_FILE)],
    ...ofTarget.map((name) => ['named by the target file', name && beside(name)] as const),
  ])
}

const namedFiles = (all: (readonly [what: string, file: string | null | undefined])[]): NamedFile[] =>
  all.flatMap(([what, file]) => (typeof file === 'string' ? [{ what, file }] : []))

/**
 * Checks before the first request that every output file can be written and is not also an input: a run may take minutes and create keys.
 *
 * @throws SuiteError (`usage`)
 */
export function demandOwnFiles({ plan, reports, known, updateKnown, failed, target, inputs }: RunOptions): void {
  if (plan) return
  const written = reports.flatMap(({ file }) => file ?? [])
  for (const file of written) demandPlaceFor(file, 'the report', true)
  if (known !== null && updateKnown) demandPlaceFor(known, 'the baseline', false)
  const testKeys = target?.testKeysFile ?? null
  if (testKeys !== null) demandPlaceFor(testKeys, 'the kept test keys', true)
  const read = [
    ...inputs,
    ...namedFiles([
      ['the baseline', known],
      ['the report of --failed', failed],
      ['the kept test keys', testKeys],
    ]),
  ]
  for (const report of written) {
    const same = read.find(({ file }) => isSameFile(file, report))
    if (same !== undefined)
      throw usageError(`Cannot write the report "${report}": it is ${same.what}; name another file`)
  }
}

// The target.

const defaultWaitSeconds = 10
const defaultRequestTimeoutMs = 10_000

/** A target file and its path. */
interface NamedTargetFile {
  path: string | null
  file: TargetFile
  /** Resolves a path in the target file, relative to its folder. */
  beside(path: string): string
}

/** Reads the target file that `--target` or SVC_TARGET names; empty if neither does. @throws SuiteError (`usage`, `fixture`) */
export function readTargetFile(flags: Pick<RunFlags, 'target'>, env: Environment): NamedTargetFile {
  const path = flags.target ?? given(env.SVC_TARGET) ?? null
  return {
    path,
    file: path === null ? {} : parseTargetFile(readText(path, 'the target file'), path),
    beside: (name) => (path === null ? name : resolve(dirname(path), name)),
  }
}

/**
 * Reads the options of the target: flags win over the environment, the environment over the target file.
 *
 * @returns null if nothing names a URL; the bundled server is the target then
 * @throws SuiteError (`usage`, `fixture`, exit code 2)
 */
export function readTargetOptions(
  flags: RunFlags,
  env: Environment,
  named = readTargetFile(flags, env),
): TargetOptions | null {
  const { file, beside } = named
  const url = targetUrl(flags, env, named)
  if (url === null) return null
  const root = rootKey(url, flags, env, named)
  const disposable = flags.disposable === true
  const words = flags.allow ?? given(env.SVC_ALLOW)
  const read = (path: string | undefined, what: string) => (path === undefined ? path : readText(beside(path), what))
  return {
    url,
    root,
    allow: disposable ? [...safetyClasses] : words === undefined ? (file.allow ?? []) : allowed(words),
    settings: settingsOf(flags, env, file),
    requestTimeoutMs: file.requestTimeoutMs ?? defaultRequestTimeoutMs,
    ...defined({ maxAnswerBytes: file.maxAnswerBytes }),
    proxy: proxyFor(url, env),
    tls:
      file.tls === undefined
        ? undefined
        : defined({
            ca: read(file.tls.ca, 'the certificate'),
            cert: read(file.tls.cert, 'the client certificate'),
            key: read(file.tls.key, 'the key of the client certificate'),
            insecure: file.tls.insecure,
          }),
    disposable,
    stateFolder: stateFolder(env),
    testKeysFile: file.testKeys === undefined ? null : beside(file.testKeys),
  }
}

/** @returns null if no URL is named @throws SuiteError (`usage`) if the user seems to have forgotten it */
function targetUrl(flags: RunFlags, env: Environment, { path, file }: NamedTargetFile): string | null {
  const url = flags.url ?? given(env.SVC_URL) ?? file.url
  if (url !== undefined) return baseUrl(url)
  // Otherwise a run that should test a server would show that the bundled one conforms.
  if (path !== null) throw usageError(`Name the target: "${path}" has no "url", and there is no "--url" or SVC_URL`)
  const useless = uselessWithoutUrl.find((name) => flags[name] !== undefined)
  if (useless === undefined) return null
  const flag = useless.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw usageError(`Name the target: "--${flag}" needs "--url"`)
}

const uselessWithoutUrl = [
  ...(['keyId', 'keySecret', 'keySecretFile', 'privateKey', 'disposable', 'allow', 'rate'] as const),
  ...(['concurrency', 'scheme', 'tokenPrefix'] as const),
]

function allowed(words: string): SafetyClass[] {
  const classes = words.split(',').map((word) => oneOf('--allow', word.trim(), safetyClasses))
  return safetyClasses.filter((one) => classes.includes(one))
}

function settingsOf(flags: RunFlags, env: Environment, file: TargetFile): TargetSettings {
  const word = given(env.SVC_SCHEME)
  const scheme =
    flags.scheme === undefined ? word && schemeWord('SVC_SCHEME', word) : schemeWord('--scheme', flags.scheme)
  const concurrency = flags.concurrency === undefined ? file.concurrency : count('--concurrency', flags.concurrency)
  return {
    scheme: scheme ?? file.scheme ?? defaultScheme,
    tokenPrefix: flags.tokenPrefix ?? given(env.SVC_TOKEN_PREFIX) ?? file.tokenPrefix,
    signedUri: file.signedUri ?? '/api',
    scopeNames: file.scopeNames ?? {},
    headers: file.headers ?? {},
    probes: Object.fromEntries(Object.entries(file.probes ?? {}).map(([area, call]) => [area, withParams(call)])),
    ...defined({ absent: file.absent, concurrency }),
    solutions: file.solutions ?? [],
    cleanup: file.cleanup === undefined ? undefined : withParams(file.cleanup),
    secondAddress: file.secondAddress,
    clientAddress: file.clientAddress,
    rate: flags.rate === undefined ? (file.rate ?? 0) : positive('--rate', flags.rate, 0),
    maxWaitMs: positive('--wait', flags.wait, defaultWaitSeconds) * 1000,
  }
}

function withParams<T extends { method: string; params?: unknown }>(call: T): T & { params: unknown } {
  return { ...call, params: call.params ?? {} }
}

/**
 * Reads the key of a run: id and secret from the first place that names them (flags, environment, target file).
 *
 * @throws SuiteError (`usage`) if no key or two keys are given, or a file cannot be used
 */
function rootKey(url: string, flags: RunFlags, env: Environment, { file, beside }: NamedTargetFile): RootKey {
  const { secret, privateKeyFile } = file.root ?? {}
  const id = flags.keyId ?? given(env.SVC_KEY_ID) ?? file.root?.id
  const found =
    oneSource({
      '"--key-secret"': flags.keySecret,
      '"--key-secret-file"': flags.keySecretFile,
      '"--private-key"': flags.privateKey,
    }) ??
    oneSource({
      SVC_KEY_SECRET: given(env.SVC_KEY_SECRET),
      SVC_KEY_SECRET_FILE: given(env.SVC_KEY_SECRET_FILE),
      SVC_PRIVATE_KEY_FILE: given(env.SVC_PRIVATE_KEY_FILE),
    }) ??
    // The reader of the target file allows only one of the two.
    oneSource({ secret, file: undefined, privateKeyFile: privateKeyFile && beside(privateKeyFile) })
  if (id === undefined || found === undefined) {
    const missing = id === undefined ? 'Name the API key' : 'Give the secret of the API key'
    const how = 'set SVC_KEY_ID and SVC_KEY_SECRET, or "root" in a target file'
    throw usageError(`${missing} to use at "${url}": ${how}`)
  }
  if (found.kind === 'secret') return { id, kind: 'secret', secret: found.value }
  const text = readText(found.value, found.kind === 'secret-file' ? 'the key secret' : 'the private key')
  if (found.kind === 'secret-file') {
    const secret = text.replace(/\r?\n$/, '')
    if (secret === '') throw usageError(`Cannot use the key secret "${found.value}": the file is empty`)
    return { id, kind: 'secret', secret }
  }
  try {
    seedFromPkcs8(text)
  } catch (cause) {
    throw usageError(`Cannot use the private key "${found.value}": ${(cause as Error).message}`, { cause })
  }
  return { id, kind: 'ed25519', privateKey: text }
}

const sourceKinds = ['secret', 'secret-file', 'private-key'] as const

/** @param sources a secret, the file of a secret and the file of a private key, by their names */
function oneSource(sources: { [name: string]: string | undefined }) {
  const found = Object.values(sources).flatMap((value, index) =>
    value === undefined ? [] : [{ kind: sourceKinds[index], value }],
  )
  if (found.length > 1) throw usageError(`Give the key once: only one of ${Object.keys(sources).join(', ')}`)
  return found[0]
}

/**
 * Finds the proxy for a URL, from HTTPS_PROXY (or HTTP_PROXY for an http URL) and NO_PROXY, in either case. The loopback is never reached
 * through a proxy.
 *
 * @returns the URL of the proxy; null without a proxy
 * @throws SuiteError (`usage`) for a proxy that is not an http or https URL
 */
export function proxyFor(url: string, env: Environment): string | null {
  const { protocol, hostname, port } = new URL(url)
  const variable = (name: string): string | undefined => given(env[name]) ?? given(env[name.toLowerCase()])
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxy = variable(name)
  if (proxy === undefined || isLoopback(url)) return null
  const withoutProxy = variable('NO_PROXY') ?? ''
  if (withoutProxy.split(',').some((entry) => namesHost(entry.trim(), hostname, port))) return null
  const address = /^\w+:\/\//.test(proxy) ? proxy : `http://${proxy}`
  if (!URL.canParse(address) || !/^https?:/.test(address))
    throw usageError(`Cannot use the proxy of ${name}: expected a URL such as "http://proxy.example:3128"`)
  return address
}

/** `*`, a host name, a domain with all below it, each with or without a port. */
function namesHost(entry: string, hostname: string, port: string): boolean {
  if (entry === '*') return true
  const [, host = '', wantedPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
  if (host === '' || (wantedPort !== undefined && wantedPort !== port)) return false
  return hostname === host || hostname.endsWith(`.${host}`)
}
