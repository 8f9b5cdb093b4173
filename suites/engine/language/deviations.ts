/** The operations and parts of fixtures/deviations.yaml, and the key `alter` of a step, which names them. */
import { SuiteError } from '../errors.ts'
import { isObject } from '../json.ts'
import { bodyForms, brokenBodies } from '../signer/bodies.ts'
import { type Change, type Json, removed, wraps } from '../signer/changed-call.ts'
import { mistakeById, mistakes } from '../signer/mistakes.ts'
import type { BytesOperation, TextOperation } from '../signer/operations.ts'
import type { Alter, Auth, CallStep } from './fixture-types.ts'
import { type Path, type Problem, readPackageYaml, suggestion } from './yaml-source.ts'

/** A part of a call that a step can change with `alter`. */
interface Part {
  /** What it is, for a reader. */
  readonly says?: string
  readonly operations: 'text' | 'bytes' | 'body forms' | 'broken bodies' | 'mistakes' | 'values'
  /** The ways to authorize that have it; undefined: every call. */
  readonly auth?: readonly string[]
}

/** A part of a call that the explorer changes. */
interface Field {
  readonly field: string
  /** The kinds of authorization, or of manager calls, that have this part. */
  readonly auth: readonly string[]
  /** Which operations apply: a word of `changesOf`, or a set of the file. */
  readonly operations: string
  /** The requirement that a change of this part breaks. */
  readonly breaks: string
}

interface DeviationsFile {
  readonly text: { readonly [name: string]: TextOperation | readonly TextOperation[] }
  readonly bytes: { readonly [name: string]: BytesOperation }
  readonly values: { readonly [name: string]: Json }
  readonly parts: { readonly [name: string]: Part }
  readonly fields: readonly Field[]
  readonly first: readonly string[]
  readonly sets: { readonly [name: string]: readonly string[] }
}

export type Operations = ReturnType<typeof readPackaged>

/** Read once, because the file belongs to the package. @throws SuiteError (`fixture`) where it names an operation that it does not have */
export function readDeviations(): Operations {
  packaged ??= readPackaged()
  return packaged
}

let packaged: Operations | undefined

function readPackaged() {
  const path = 'fixtures/deviations.yaml'
  const file = readPackageYaml(path).value as DeviationsFile
  const named = <Item>(items: { readonly [name: string]: Item }, name: string): Item => {
    const found = items[name]
    if (found === undefined)
      throw new SuiteError('fixture', `"${path}" has no operation "${name}"${suggestion(name, Object.keys(items))}`)
    return found
  }
  for (const names of Object.values(file.sets)) for (const name of names) named(file.text, name)
  const text = Object.keys(file.text)
  const words: { [operations: string]: readonly string[] } = {
    ...file.sets,
    text,
    bytes: Object.keys(file.bytes),
    'body forms': Object.keys(bodyForms),
    'broken bodies': Object.keys(brokenBodies),
    mistakes: mistakes.filter(({ made }) => made).map(({ id }) => id),
    values: [...text, ...wraps, removed],
  }
  /** The words that a part with these operations takes. */
  const wordsOf = (operations: string): readonly string[] => words[operations] ?? []
  return {
    parts: file.parts,
    fields: file.fields,
    /** Operations that are tried before all others. */
    first: file.first,
    wordsOf,
    text: (name: string) => named(file.text, name),
    bytes: (name: string) => named(file.bytes, name),
    /** Every change of a part, in the order of the file. */
    changesOf: ({ field, operations }: Field): Change[] => {
      if (operations === 'values')
        return [
          { field, operation: removed },
          ...Object.values(file.values).map((value) => ({ field, value })),
          ...wraps.map((operation) => ({ field, operation })),
        ]
      const others = notForEveryText[operations]
      const names = others === undefined ? wordsOf(operations) : text.filter((name) => !others.test(name))
      return names.map((operation) => ({ field, operation }))
    },
    /** The requirement that a change breaks, if any. */
    breaks: (change: Change | undefined, auth: string) => breaksOf(file, change, auth),
  }
}

/** Operations on a text that only some parts take, which name them by a set. */
const notForEveryText: { readonly [operations: string]: RegExp } = {
  text: /^(method|name|words|cut|hash)-/,
  'text and cuts': /^(method|name|words|hash)-/,
}

function breaksOf(file: DeviationsFile, change: Change | undefined, auth: string): string | undefined {
  if (change === undefined) return undefined
  const mistake = change.field === 'mistake' ? mistakeById(change.operation ?? '') : undefined
  const breaks = mistake?.requirement ?? file.fields.find(({ field }) => field === change.field)?.breaks
  return auth === 'ecc' ? breaks?.replace(/^signatures\/hmac(-length)?$/, 'signatures/ecc') : breaks
}

// The key `alter` of a step: one operation of fixtures/deviations.yaml on each of some parts of a call.

/** `param NAME`, `member NAME` (of the request), `name-of NAME`, and `scope 0`: a word of a list. */
const named: readonly [RegExp, Part][] = [
  [/^(param|member) \S+$/, { operations: 'values' }],
  [/^name-of \S+$|^[A-Za-z]+ \d+$/, { operations: 'text' }],
]

/** undefined: there is no such part. */
export function partNamed(name: string): Part | undefined {
  const { parts } = readDeviations()
  return Object.hasOwn(parts, name) ? parts[name] : named.find(([pattern]) => pattern.test(name))?.[1]
}

/** @param alter with its references resolved */
export function changesOf(alter: unknown): Change[] {
  return Object.entries(isObject(alter) ? alter : {}).map(([field, value]): Change => {
    return isObject(value) ? { field, value: value.value as Json } : { field, operation: String(value) }
  })
}

/** What the words that alter Basic credentials as a whole change. */
export const basicWords: { readonly [word: string]: Change } = {
  'unknown-id': { field: 'basic-id', by: { word: 'first-character-changed' } },
  // Junk between right characters: a decoder that skips it reads the right credentials.
  'malformed-base64': { field: 'basic-blob', by: { insert: '%', at: 4 } },
  'without-colon': { field: 'basic-colon', by: { instead: '' } },
  'plain-text': { field: 'basic-blob', by: { write: 'decoded' } },
}

/** The value of `alter` that makes these changes. */
export const alterOf = (...changes: readonly Change[]): Alter =>
  Object.fromEntries(
    changes.map(({ field, operation = '', value }) => [field, value === undefined ? operation : { value }]),
  )

/** What is wrong with the `alter` and the `nonce` of a step. */
export function problemsOfAlter({ alter, auth, nonce }: Pick<CallStep, 'alter' | 'auth' | 'nonce'>): Problem[] {
  const problems: Problem[] = []
  const say = (path: Path, message: string, onKey = false): void => void problems.push({ path, message, onKey })
  const signs = ['hmac', 'ecc', undefined].includes(wayOf(auth))
  if (nonce !== undefined && !signs) say(['nonce'], 'only a call with "auth: hmac" or "auth: ecc" has a nonce', true)
  if (!isObject(alter)) return problems
  for (const [name, value] of Object.entries(alter)) {
    const part = partNamed(name)
    if (part === undefined) {
      say(['alter', name], `unknown part "${name}"${suggestion(name, Object.keys(readDeviations().parts))}`, true)
      continue
    }
    const way = wayOf(auth)
    if (part.auth !== undefined && way !== undefined && !part.auth.includes(way)) {
      const others = part.auth.join(' or ')
      say(['alter', name], `a call with "auth: ${way}" has no part "${name}", only one with ${others}`, true)
    }
    const misfit = misfitOf(part.operations, value)
    if (misfit !== undefined) say(['alter', name], misfit)
    if (typeof value !== 'string' || value.startsWith('$')) continue
    const words = readDeviations().wordsOf(part.operations)
    if (!words.includes(value)) say(['alter', name], `unknown operation "${value}"${suggestion(value, words)}`)
  }
  return problems
}

/** What is wrong with `{ value: … }` in place of a part. */
function misfitOf(operations: Part['operations'], value: unknown): string | undefined {
  if (!isObject(value) || operations === 'values') return undefined
  if (operations !== 'text') return 'only a text or a JSON value can have another "value", write an operation'
  return typeof value.value === 'string' ? undefined : 'this part is a text, write its other "value" in quotes'
}

/** undefined for `key`, whose way the run chooses. */
function wayOf(auth: Auth): string | undefined {
  if (typeof auth === 'string') return auth.startsWith('$') ? undefined : auth
  const [way] = Object.keys(auth)
  return way === 'key' ? undefined : way
}
