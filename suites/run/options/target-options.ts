import { dirname, resolve } from 'node:path'
import { defaultScheme } from '../../engine/document.ts'
import { usageError } from '../../engine/errors.ts'
import { defined } from '../../engine/json.ts'
import type { SafetyClass } from '../../engine/language/fixture-types.ts'
import type { TargetSettings } from '../../engine/target.ts'
import { defaultMaxAnswerBytes } from '../../targets/read-answer.ts'
import type { UrlTargetOptions } from '../../targets/url.ts'
import type { KeysOfTargetOptions } from '../keys/keys-of-target.ts'
import { stateFolder } from '../keys/state-folder.ts'
import type { RunFlags } from './flags.ts'
import { type Environment, given, readText } from './inputs.ts'
import { proxyFor } from './proxy-for.ts'
import { rootKey } from './root-key.ts'
import { parseTargetFile, type TargetFile } from './target-file/parse.ts'
import { baseUrl, count, oneOf, positive, schemeWord } from './values.ts'

/** How a server at a URL is reached, and what may be done there. */
export interface TargetOptions extends UrlTargetOptions {
  allow: SafetyClass[]
  keys: KeysOfTargetOptions
}

const safetyClasses: readonly SafetyClass[] = ['sessions', 'keys', 'limits']
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
  const disposable = flags.disposable === true
  const root = rootKey(url, flags, env, named)
  const allow = disposable ? [...safetyClasses] : allowed(flags, env, file)
  return {
    url,
    root,
    settings: settingsOf(flags, env, file),
    requestTimeoutMs: file.requestTimeoutMs ?? defaultRequestTimeoutMs,
    maxAnswerBytes: file.maxAnswerBytes ?? defaultMaxAnswerBytes,
    proxy: proxyFor(url, env),
    tls: file.tls === undefined ? undefined : tlsOf(file.tls, beside),
    disposable,
    allow,
    keys: {
      owner: { url, rootId: root.id },
      folder: stateFolder(env),
      testKeysFile: file.testKeys === undefined ? null : beside(file.testKeys),
      mayCreate: allow.includes('keys'),
      fresh: disposable,
    },
  }
}

/** The files that readTargetOptions reads. */
export function inputsOf(flags: RunFlags, env: Environment, { path, file, beside }: NamedTargetFile) {
  const named: [string, string | undefined | null][] = [
    ['the target file', path],
    ['the key secret', flags.keySecretFile ?? given(env.SVC_KEY_SECRET_FILE)],
    ['the private key', flags.privateKey ?? given(env.SVC_PRIVATE_KEY_FILE)],
    ...[file.root?.privateKeyFile, file.tls?.ca, file.tls?.cert, file.tls?.key].map(
      (name): [string, string | undefined] => ['named by the target file', name === undefined ? name : beside(name)],
    ),
  ]
  return named.flatMap(([what, name]) => (typeof name === 'string' ? [{ what, file: name }] : []))
}

/** @returns null if no URL is named @throws SuiteError (`usage`) if the user seems to have forgotten it */
function targetUrl(flags: RunFlags, env: Environment, { path, file }: NamedTargetFile): string | null {
  const url = flags.url ?? given(env.SVC_URL) ?? file.url
  if (url !== undefined) return baseUrl(url)
  // Otherwise a run that should test a server would show that the bundled one conforms.
  if (path !== null) throw usageError(`Name the target: "${path}" has no "url", and there is no "--url" or SVC_URL`)
  for (const [flag, value] of [
    ['--key-id', flags.keyId],
    ['--key-secret', flags.keySecret],
    ['--key-secret-file', flags.keySecretFile],
    ['--private-key', flags.privateKey],
    ['--disposable', flags.disposable],
    ['--allow', flags.allow],
    ['--rate', flags.rate],
    ['--concurrency', flags.concurrency],
    ['--scheme', flags.scheme],
    ['--token-prefix', flags.tokenPrefix],
  ])
    if (value !== undefined) throw usageError(`Name the target: "${flag}" needs "--url"`)
  return null
}

function allowed(flags: RunFlags, env: Environment, file: TargetFile): SafetyClass[] {
  const words = flags.allow ?? given(env.SVC_ALLOW)
  if (words === undefined) return file.allow ?? []
  const classes = words.split(',').map((word) => oneOf('--allow', word.trim(), safetyClasses))
  return safetyClasses.filter((one) => classes.includes(one))
}

function settingsOf(flags: RunFlags, env: Environment, file: TargetFile): TargetSettings {
  return {
    scheme: schemeOf(flags, env) ?? file.scheme ?? defaultScheme,
    tokenPrefix: flags.tokenPrefix ?? given(env.SVC_TOKEN_PREFIX) ?? file.tokenPrefix,
    signedUri: file.signedUri ?? '/api',
    scopeNames: file.scopeNames ?? {},
    headers: file.headers ?? {},
    probes: Object.fromEntries(Object.entries(file.probes ?? {}).map(([area, call]) => [area, withParams(call)])),
    ...defined({ absent: file.absent, concurrency: concurrencyOf(flags, file) }),
    solutions: file.solutions ?? [],
    cleanup: file.cleanup === undefined ? undefined : withParams(file.cleanup),
    secondAddress: file.secondAddress,
    clientAddress: file.clientAddress,
    rate: flags.rate === undefined ? (file.rate ?? 0) : positive('--rate', flags.rate, 0),
    maxWaitMs: positive('--wait', flags.wait, defaultWaitSeconds) * 1000,
  }
}

function schemeOf(flags: RunFlags, env: Environment): string | undefined {
  if (flags.scheme !== undefined) return schemeWord('--scheme', flags.scheme)
  const word = given(env.SVC_SCHEME)
  return word === undefined ? undefined : schemeWord('SVC_SCHEME', word)
}

function withParams<T extends { method: string; params?: unknown }>(call: T): T & { params: unknown } {
  return { ...call, params: call.params ?? {} }
}

function concurrencyOf(flags: RunFlags, file: TargetFile): number | undefined {
  return flags.concurrency === undefined ? file.concurrency : count('--concurrency', flags.concurrency)
}

function tlsOf(tls: NonNullable<TargetFile['tls']>, beside: (path: string) => string): TargetOptions['tls'] {
  const { ca, cert, key, insecure } = tls
  const read = (file: string | undefined, what: string) => (file === undefined ? file : readText(beside(file), what))
  return defined({
    ca: read(ca, 'the certificate'),
    cert: read(cert, 'the client certificate'),
    key: read(key, 'the key of the client certificate'),
    insecure,
  })
}
