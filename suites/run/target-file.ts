import { SuiteError } from '../engine/errors.ts'
import { isObject } from '../engine/json.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import { problemWith } from '../engine/language/schemas.ts'
import { type Problem, readYaml, suggestion, type YamlSource } from '../engine/language/yaml-source.ts'
import type { TargetSettings } from '../engine/target.ts'
import type { Tls } from '../targets/transport.ts'

/** The content of a target file; every key is optional. Paths are as written. */
interface TargetFile extends Partial<Omit<TargetSettings, 'likelyAddresses' | 'maxWaitMs'>> {
  url?: string
  root?: { id: string; secret?: string; privateKeyFile?: string }
  allow?: SafetyClass[]
  testKeys?: string
  requestTimeoutMs?: number
  maxAnswerBytes?: number
  tls?: Tls
}

/** Which parts of a target file hold secrets. */
const secretParts: readonly unknown[] = ['root', 'headers']

/** The part of an error that repeats the value of the file. */
const valueAtStart = /^(?:.* is not |unknown value .*; expected )/s

/** The references that the params of a declared call may and must contain. */
const parameters: { [call: string]: readonly string[] } = {
  cleanup: ['id', 'name'],
  disable: ['id', 'name'],
  'solution-context': ['solution'],
}

/** Headers that cases send themselves, by their lower-case names, with the key to use instead. */
const ownHeaders = new Map([
  [
    'authorization',
    'cases set this header themselves; name the key in "root", and use another header for a gateway in front of the server',
  ],
  ['content-type', 'cases set this header themselves, usually to "application/json"; leave it out'],
  ['content-length', 'it follows from the body of each call; leave it out'],
  ['transfer-encoding', 'it follows from the body of each call; leave it out'],
  ['host', 'it follows from "url"; name the host there'],
])

/** The scope words of the document; a restriction or an id follows a colon. */
const scopeWords = [
  ...['apikey', 'apiKey', 'solution', 'context', 'thread', 'store', 'inbox', 'stream'],
  ...['session', 'ipAddr', 'expiresIn'],
]

/**
 * @param file the path that errors name
 *
 * @throws SuiteError (`fixture`) for an unknown key, with a did-you-mean, and for a wrong value. Errors give the place, and no text of the
 * file except the names of keys: a secret may be in the wrong line, or under an alias
 */
export function parseTargetFile(text: string, file: string): TargetFile {
  const source = readTarget(text, file)
  if (source.value === null) return {}
  const fail = (problem: Problem): SuiteError => {
    const message = problem.onKey ? withoutName(problem) : problem.message.replace(valueAtStart, 'this is not ')
    return withoutLine(source.error({ ...problem, message }))
  }
  // The key of an earlier version.
  if (isObject(source.value) && 'cast' in source.value)
    throw fail({ path: ['cast'], onKey: true, message: 'rename "cast" to "testKeys"' })
  const problem = problemWith(source.value, 'target')
  if (problem !== undefined) throw fail(problem)
  const target = source.value as TargetFile
  if (target.root?.secret !== undefined && target.root.privateKeyFile !== undefined) {
    const message = 'a key has a secret or a private key, name one of "secret" and "privateKeyFile"'
    throw fail({ path: ['root', 'privateKeyFile'], onKey: true, message })
  }
  for (const wrong of [...wrongNames(target), ...wrongReferences(target)]) throw fail(wrong)
  // Without params a declared call has an empty object.
  for (const call of [target.cleanup ?? [], Object.values(target.probes ?? {})].flat()) call.params ??= {}
  return target
}

/** Removes quotations of the file from an error of the YAML parser. */
function readTarget(text: string, file: string): YamlSource {
  try {
    return readYaml(text, file)
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    const { code, message } = withoutLine(error)
    const place = `Cannot load ${file}`.length
    throw new SuiteError(code, message.slice(0, place) + message.slice(place).replace(/(: .*?):? ["'`*].*$/s, '$1'))
  }
}

function withoutLine(error: SuiteError): SuiteError {
  return new SuiteError(error.code, error.message.split('\n')[0] ?? error.message)
}

/** An unknown key where secrets are expected may be a secret itself, so errors do not name it. */
function withoutName({ path, message }: Problem): string {
  return secretParts.includes(path[0])
    ? message.replace(/^unknown key ".*", expected/s, 'unknown key, expected')
    : message
}

/** Refuses names that would spoil the run later, or have no effect. */
function* wrongNames({ headers = {}, scopeNames = {}, absent = [], probes = {} }: TargetFile): Generator<Problem> {
  for (const name of Object.keys(headers)) {
    const instead = ownHeaders.get(name.toLowerCase())
    if (instead === undefined) continue
    yield { path: ['headers', name], onKey: true, message: `"${name}" cannot be sent with every call: ${instead}` }
  }
  for (const [index, area] of absent.entries()) {
    if (!Object.hasOwn(probes, area)) continue
    yield { path: ['absent', index], message: `"${area}" has a probe, so it is there: remove one of the two` }
  }
  for (const name of Object.keys(scopeNames)) {
    const word = name.split(':')[0] ?? name
    if (scopeWords.includes(word)) continue
    yield { path: ['scopeNames', name], onKey: true, message: `unknown key "${name}"${suggestion(word, scopeWords)}` }
  }
}

/** Checks that a call that deletes or disables a key names the key: a misspelt reference would be found only after the run. */
function* wrongReferences({ cleanup, probes }: TargetFile): Generator<Problem> {
  const calls = [
    ...(cleanup === undefined ? [] : [{ path: ['cleanup'], name: 'cleanup', call: cleanup }]),
    ...Object.entries(probes ?? {}).map(([name, call]) => ({ path: ['probes', name], name, call })),
  ]
  for (const { path, name, call } of calls) {
    const allowed = parameters[name] ?? []
    const used = [...JSON.stringify(call.params ?? {}).matchAll(/\$([a-zA-Z][\w.]*)/g)].map(([, word = '']) => word)
    const unknown = used.find((word) => !allowed.includes(word))
    const [wanted] = allowed
    if (unknown !== undefined) {
      const known = wanted === undefined ? ', its params are sent as they are' : `, expected "$${wanted}"`
      yield { path: [...path, 'params'], message: `unknown reference "$${unknown}"${known}` }
    } else if (wanted !== undefined && used.length === 0) {
      yield { path, message: `missing reference "$${wanted}" in "params", as in "params: { ${wanted}: $${wanted} }"` }
    }
  }
}
