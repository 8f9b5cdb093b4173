/** The flags of `run` and of every command that asks a server, and what they, the environment and the target file say together. */
import { dirname, resolve } from 'node:path'
import { defaultScheme } from '../engine/document.ts'
import { type SuiteError, usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { seedFromPkcs8 } from '../engine/signer/pem.ts'
import { bareSettings, isLoopback } from '../engine/target.ts'
import type { Tls } from '../targets/transport.ts'
import type { UrlTargetOptions } from '../targets/url.ts'
import { safetyClasses } from './capabilities.ts'
import { demandPlaceFor, given, isSameFile, readText, stateFolder } from './files.ts'
import * as flag from './flags.ts'
import { everyCase, requirementSets } from './inputs.ts'
import { parseTargetFile } from './target-file.ts'

/** A server, and its root key. */
export const serverFlags = {
  url: { ...flag.value('--url <url>', 'base URL (SVC_URL); calls go to {url}/api', flag.baseUrl), variable: 'SVC_URL' },
  keyId: { ...flag.value('--key-id <id>', 'API key id (SVC_KEY_ID)'), variable: 'SVC_KEY_ID' },
  keySecret: flag.value('--key-secret <secret>', 'API key secret; better: SVC_KEY_SECRET, which no process list shows'),
  keySecretFile: flag.value('--key-secret-file <file>', 'read the secret from a file'),
  privateKey: flag.value('--private-key <file>', 'ED25519 private key (PEM) of a key with a public key'),
  target: { ...flag.value('--target <file>', 'target file, see "init"'), variable: 'SVC_TARGET' },
  scheme: { ...flag.value('--scheme <word>', 'scheme word of signatures', flag.schemeWord), variable: 'SVC_SCHEME' },
  tokenPrefix: {
    ...flag.value('--token-prefix <word>', 'word before an access token; "" for no word'),
    variable: 'SVC_TOKEN_PREFIX',
  },
}

/** A server, how it is called and what may be done there. @param more flags about the latter */
export const targetFlags = <F extends flag.Table>(
  more: F,
  heading = 'Target (without --url and SVC_URL: the bundled server)',
) => ({
  ...flag.grouped(heading, serverFlags),
  ...flag.grouped('What it may do there', {
    allow: {
      ...flag.value(
        '--allow <classes>',
        'what may be created or filled: sessions, keys, limits; joined by commas',
        flag.someOf(safetyClasses),
      ),
      variable: 'SVC_ALLOW',
    },
    disposable: flag.mark('--disposable', 'this instance is fresh and may be filled: allows all three'),
    rate: flag.value('--rate <number>', 'maximum number of calls a second', flag.number.notNegative),
    ...more,
  }),
})

const callFlags = {
  concurrency: flag.value('--concurrency <number>', 'maximum number of simultaneous calls', flag.number.count),
  wait: flag.value(
    '--wait <seconds>',
    'the longest wait: for the target to come up, or for a lifetime to pass',
    flag.number.notNegative,
  ),
}

export const runFlags = {
  ...targetFlags({
    plan: flag.mark('--plan', 'print what the run would do, and stop'),
    ...callFlags,
    timeout: flag.value('--timeout <seconds>', 'end the whole run after this time', flag.number.seconds),
  }),
  ...flag.grouped('What to run', {
    only: flag.many('--only <id>', 'run only the cases of this id prefix or requirement; repeatable'),
    skip: flag.many('--skip <id=reason>', 'leave out an id, with a reason; repeatable', flag.skip),
    failed: flag.value('--failed <report>', 'run only what failed or was blocked in this JSON report'),
    watch: flag.mark('--watch', 'run the failed cases again whenever the target comes back after a restart'),
    bail: flag.value('--bail <number>', 'stop after this many failures', flag.number.count),
    fixtures: flag.value('--fixtures <folder>', 'add your own scenarios'),
    seed: flag.value('--seed <number>', 'use the order of an earlier run', flag.number.seed),
    explore: flag.value(
      '--explore',
      'let the model of the document make further calls; on with --disposable',
      (typed) => Boolean(typed),
    ),
    noExplore: flag.mark('--no-explore', 'run the cases only; the model still judges their calls at a URL'),
    exploreCalls: flag.value(
      '--explore-calls <number>',
      'maximum number of these calls; 16000 on the loopback, 1000 elsewhere',
      flag.number.count,
    ),
    shard: flag.value(
      '--shard <i/n>',
      'run every n-th scenario, starting with the i-th; each shard needs its own instance',
      flag.shard,
    ),
  }),
  ...flag.grouped('How to judge', {
    known: flag.value('--known <file>', 'baseline of known failures'),
    updateKnown: flag.mark('--update-known', 'rewrite the baseline; reasons are kept'),
    set: flag.value('--set <version>', 'the requirement set that decides the verdict', (version, name) =>
      flag.oneOf([everyCase, ...requirementSets()])(version, name),
    ),
    strict: flag.mark('--strict', 'fail the run for warnings and for musts that are not testable'),
  }),
  ...flag.grouped('What to print', {
    report: flag.reportFlag,
    observations: flag.mark('--observations', 'print the observations of each open question'),
    trace: flag.mark('--trace', 'print whole exchanges, SECRETS INCLUDED'),
  }),
}

type RunFlags = flag.Values<typeof runFlags>

/** null stands for what is not given. */
export interface RunOptions
  extends Omit<RunFlags, keyof typeof serverFlags | 'explore' | 'noExplore' | 'exploreCalls' | 'set'> {
  /** null: the bundled server. */
  target: TargetOptions | null
  /** How many calls the model makes after the cases, and the only rows of its table and matrix; null: none. */
  explore: { calls: number; only: readonly string[] | null } | null
  /** Rows of the table or the matrix were named, and no cases. */
  rowsAlone: boolean
  set: string
  /** The command that repeats this run, without secrets and without flags that select cases but `--skip`. */
  again: string
  /** The beginning of the one that repeats a case. */
  againForCase: string
}

/** How a server at a URL is reached, and what may be done there. */
export interface TargetOptions extends UrlTargetOptions {
  allow: SafetyClass[]
  /** The folder of the records of created keys. */
  stateFolder: string
  /** `testKeys` of the target file: the path of the record; the test keys are then kept. */
  testKeysFile: string | null
  /** Files that were read for these options. */
  inputs: NamedFile[]
  /** What a user should be told before the first call. */
  doubts: string[]
}

/**
 * @param env see the variables of the flags; and SVC_KEY_SECRET, SVC_KEY_SECRET_FILE, SVC_PRIVATE_KEY_FILE
 * @throws SuiteError (`usage`, `fixture`, exit code 2)
 */
export function readRunOptions(typed: flag.Typed<typeof runFlags>, env: NodeJS.ProcessEnv): RunOptions {
  const named = readTargetFile(typed, env)
  const target = readTargetOptions(typed, env, named)
  const flags = flag.read(runFlags, typed, env)
  const { fixtures, scheme, tokenPrefix, disposable } = flags
  if (flags.shard !== null && target !== null && !target.disposable)
    throw usageError(
      'Cannot run a shard against a shared URL: shards would use up one another\'s keys and sessions; give each shard its own instance and say so with "--disposable"',
    )
  if (flags.watch && target === null)
    throw usageError('Name the target: "--watch" waits for a server to come back, and needs "--url"')
  if (flags.updateKnown && flags.known === null)
    throw usageError('Name the baseline to write: "--update-known" needs "--known FILE"')
  const explore = exploreOf(flags, target)
  if (explore === null && flags.exploreCalls !== null)
    target?.doubts.push(
      '"--explore-calls" has no effect: the model makes no calls in this run; "--explore" asks for them',
    )
  const repeated = {
    url: target?.url ?? null,
    target: named.path,
    fixtures,
    // Where the key is, but not its secret.
    keyId: typed.keyId ?? null,
    keySecretFile: typed.keySecretFile ?? null,
    privateKey: typed.privateKey ?? null,
    scheme: typed.scheme === undefined ? null : scheme,
    tokenPrefix: typed.tokenPrefix === undefined ? null : tokenPrefix,
    // What spares the target.
    rate: typed.rate ?? null,
    concurrency: typed.concurrency ?? null,
    disposable,
    allow: disposable || target === null || target.allow.length === 0 ? null : target.allow.join(','),
    // Some cases are only run with a longer wait.
    wait: (flags.wait ?? 0) > defaultWaitSeconds ? (typed.wait ?? null) : null,
    set: flags.set,
    known: flags.known,
    strict: flags.strict,
  }
  return {
    ...flags,
    target,
    only: flags.only.filter((id) => !isRow(id)),
    rowsAlone: flags.only.length > 0 && flags.only.every(isRow),
    explore,
    set: flags.set ?? everyCase,
    again: flag.commandLine('run', {
      ...repeated,
      skip: typed.skip ?? [],
      explore: flags.explore === true,
      noExplore: flags.explore === false,
      exploreCalls: typed.exploreCalls ?? null,
    }),
    againForCase: flag.commandLine('run', repeated),
  }
}

const exploreCallsNearby = 16_000
const exploreCallsElsewhere = 1000

/** The model makes the calls of the rows of the table and of the matrix. */
const isRow = (id: string): boolean => /^(table|matrix)(\/|$)/.test(id)

/** Thousands of refused calls are made only at a disposable target, or if the user requests them. */
function exploreOf(flags: RunFlags, target: TargetOptions | null): RunOptions['explore'] {
  const { only, explore, exploreCalls } = flags
  const rows = only.filter(isRow)
  if (target === null) {
    const [row] = rows
    const ofCalls = exploreCalls === null ? row && `--only ${row}` : '--explore-calls'
    const asked = explore === true ? '--explore' : ofCalls
    if (asked === undefined) return null
    throw usageError(
      `Name the target: "${asked}" needs "--url"; "svc-conformance explore" makes the calls of the model to the bundled server`,
    )
  }
  const isPart = only.length > 0 || flags.shard !== null || flags.failed !== null || flags.watch
  const wanted = explore ?? (rows.length > 0 || (target.disposable && !isPart))
  if (!wanted) return null
  const usual = isLoopback(target.url) ? exploreCallsNearby : exploreCallsElsewhere
  return { calls: exploreCalls ?? usual, only: rows.length === 0 ? null : rows }
}

interface NamedFile {
  /** As in `Cannot write the report "x": it is the target file`. */
  what: string
  file: string
}

/**
 * Checks before the first request that every output file can be written and is not also an input: a run may take minutes and create keys.
 *
 * @throws SuiteError (`usage`)
 */
export function demandOwnFiles({ plan, report, known, updateKnown, failed, target }: RunOptions): void {
  if (plan) return
  const written = report.flatMap(({ file }) => file ?? [])
  for (const file of written) demandPlaceFor(file, 'the report', true)
  if (known !== null && updateKnown) demandPlaceFor(known, 'the baseline', false)
  const testKeys = target?.testKeysFile ?? null
  if (testKeys !== null) demandPlaceFor(testKeys, 'the kept test keys', true)
  const read = [
    ...(target?.inputs ?? []),
    { what: 'the baseline', file: known },
    { what: 'the report of --failed', file: failed },
    { what: 'the kept test keys', file: testKeys },
  ]
  for (const file of written) {
    const same = read.find((one) => one.file !== null && isSameFile(one.file, file))
    if (same !== undefined) throw usageError(`Cannot write the report "${file}": it is ${same.what}; name another file`)
  }
}

// The target.

const defaultWaitSeconds = 10
const defaultRequestTimeoutMs = 10_000

/** A target file and its path. */
interface NamedTargetFile {
  path: string | null
  file: ReturnType<typeof parseTargetFile>
  /** Resolves a path in the target file, relative to its folder. */
  beside(path: string): string
}

/** Reads the target file that `--target` or SVC_TARGET names; empty if neither does. @throws SuiteError (`usage`, `fixture`) */
export function readTargetFile(
  typed: flag.Typed<Pick<typeof serverFlags, 'target'>>,
  env: NodeJS.ProcessEnv,
): NamedTargetFile {
  const { target: path } = flag.read({ target: serverFlags.target }, typed, env)
  return {
    path,
    file: path === null ? {} : parseTargetFile(readText(path, 'the target file'), path),
    beside: (name) => (path === null ? name : resolve(dirname(path), name)),
  }
}

const flagsOfTarget = targetFlags(callFlags)

/**
 * Reads the options of the target: flags win over the environment, the environment over the target file.
 *
 * @returns null if nothing names a URL; the bundled server is the target then
 * @throws SuiteError (`usage`, `fixture`, exit code 2)
 */
export function readTargetOptions(
  typed: flag.Typed<typeof flagsOfTarget>,
  env: NodeJS.ProcessEnv,
  named = readTargetFile(typed, env),
): TargetOptions | null {
  const flags = flag.read(flagsOfTarget, typed, env)
  const { file, beside } = named
  const { url: _url, root: _root, allow, testKeys, requestTimeoutMs, maxAnswerBytes, tls: _tls, ...ofFile } = file
  const url = flags.url ?? (file.url === undefined ? null : flag.baseUrl(file.url))
  if (url === null) return demandNothingOfUrl(typed, named)
  const { disposable } = flags
  const inputs: NamedFile[] = named.path === null ? [] : [{ what: 'the target file', file: named.path }]
  const read = (file: string, what: string): string => {
    inputs.push({ what, file })
    return readText(file, what)
  }
  const key = readGivenKey(typed, env, named, read)
  if (key === null) throw keyLacks('Name the API key', url)
  return {
    url,
    ...key,
    allow: disposable ? [...safetyClasses] : (flags.allow ?? allow ?? []),
    settings: {
      ...bareSettings,
      ...ofFile,
      ...defined({ concurrency: flags.concurrency ?? ofFile.concurrency }),
      scheme: flags.scheme ?? ofFile.scheme ?? defaultScheme,
      tokenPrefix: flags.tokenPrefix ?? ofFile.tokenPrefix,
      rate: flags.rate ?? ofFile.rate ?? 0,
      maxWaitMs: (flags.wait ?? defaultWaitSeconds) * 1000,
    },
    requestTimeoutMs: requestTimeoutMs ?? defaultRequestTimeoutMs,
    ...defined({ maxAnswerBytes }),
    proxy: proxyFor(url, env),
    tls: readTls(named, read),
    disposable,
    stateFolder: stateFolder(env),
    testKeysFile: testKeys === undefined ? null : beside(testKeys),
    inputs,
  }
}

/** The texts of the PEM files that a target file names. */
export function readTls({ file: { tls }, beside }: NamedTargetFile, read = readText): Tls | undefined {
  const pem = (path: string | undefined, what: string) => path && read(beside(path), what)
  return (
    tls &&
    defined({
      ca: pem(tls.ca, 'the certificate'),
      cert: pem(tls.cert, 'the client certificate'),
      key: pem(tls.key, 'the key of the client certificate'),
      insecure: tls.insecure,
    })
  )
}

/**
 * A forgotten URL must not lead to a run of the bundled server, which would show that it conforms.
 *
 * @throws SuiteError (`usage`) where a target file or a flag says that another server was meant
 */
function demandNothingOfUrl(typed: flag.Typed<typeof flagsOfTarget>, { path }: NamedTargetFile): null {
  if (path !== null) throw usageError(`Name the target: "${path}" has no "url", and there is no "--url" or SVC_URL`)
  const { url: _url, target: _target, wait: _wait, ...ofUrl } = flagsOfTarget
  const [, useless] = Object.entries(ofUrl).find(([name]) => typed[name as keyof typeof ofUrl] !== undefined) ?? []
  if (useless === undefined) return null
  throw usageError(`Name the target: "${useless.syntax.split(' ')[0]}" needs "--url"`)
}

const keyLacks = (missing: string, url: string): SuiteError =>
  usageError(`${missing} to use at "${url}": set SVC_KEY_ID and SVC_KEY_SECRET, or "root" in a target file`)

/**
 * Reads the key of a run: id and secret from the first place that names them (flags, environment, target file).
 *
 * @returns null where nothing of a key is given
 * @throws SuiteError (`usage`) if only a part of a key or two keys are given, or a file cannot be used
 */
export function readGivenKey(
  typed: flag.Typed<typeof flagsOfTarget>,
  env: NodeJS.ProcessEnv,
  { file, beside } = readTargetFile(typed, env),
  read = readText,
): Pick<TargetOptions, 'root' | 'doubts'> | null {
  const flags = flag.read(flagsOfTarget, typed, env)
  const { secret, privateKeyFile } = file.root ?? {}
  const id = flags.keyId ?? file.root?.id
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
    oneSource({
      'The secret in the target file': secret,
      file: undefined,
      privateKeyFile: privateKeyFile && beside(privateKeyFile),
    })
  if (id === undefined && found === undefined) return null
  const url = flags.url ?? file.url ?? 'the server'
  if (id === undefined) throw keyLacks('Name the API key', url)
  if (found === undefined) throw keyLacks('Give the secret of the API key', url)
  const doubtsOfId = doubtsOf(id, 'The key id', 'id')
  const { kind, name, value } = found
  if (kind === 'private-key') {
    const privateKey = read(value, 'the private key')
    try {
      seedFromPkcs8(privateKey)
    } catch (cause) {
      throw usageError(`Cannot use the private key "${value}": ${(cause as Error).message}`, { cause })
    }
    return { root: { id, kind: 'ed25519', privateKey }, doubts: doubtsOfId }
  }
  const isFile = kind === 'secret-file'
  const used = isFile ? read(value, 'the key secret').replace(/\r?\n$/, '') : value
  if (used === '') throw usageError(`Cannot use the key secret "${value}": the file is empty`)
  const doubtsOfSecret = doubtsOf(used, isFile ? `"${value}"` : name, 'secret')
  return { root: { id, kind: 'secret', secret: used }, doubts: [...doubtsOfId, ...doubtsOfSecret] }
}

/** What a shell, a file or a CI system often adds to an id or a secret. Nothing is taken away, because it may belong to it. */
function doubtsOf(value: string, source: string, part: 'id' | 'secret'): string[] {
  const added = [
    [/\r\n$/, 'ends with a carriage return and a line feed'],
    [/\n$/, 'ends with a line feed'],
    [/\r$/, 'ends with a carriage return'],
    [/^(["'`]).+\1$|^[“”„‘’‚«].+[“”‘’»]$/s, 'stands in quotes'],
    [/^\ufeff/, 'begins with a byte order mark'],
    [/^\s|\s$/, 'begins or ends with white space'],
  ] as const
  const what = added.find(([form]) => form.test(value))?.[1]
  return what === undefined
    ? []
    : [`${source} ${what}, and is used as it is: give it without, unless the ${part} has it`]
}

const sourceKinds = ['secret', 'secret-file', 'private-key'] as const

/** @param sources a secret, the file of a secret and the file of a private key, by their names */
function oneSource(sources: { [name: string]: string | null | undefined }) {
  const found = Object.entries(sources).flatMap(([name, value], index) =>
    typeof value === 'string' ? [{ kind: sourceKinds[index], name, value }] : [],
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
function proxyFor(url: string, env: NodeJS.ProcessEnv): string | null {
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
