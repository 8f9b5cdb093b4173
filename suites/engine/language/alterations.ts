/** The key `alter` of a step: one operation of fixtures/deviations.yaml on each of some parts of a call. */

import { isObject } from '../json.ts'
import { bodyForms, brokenBodies } from '../signer/bodies.ts'
import {
  type Change,
  type Json,
  type OperationsOfPart,
  partNamed,
  partNames,
  type Wrap,
  wraps,
} from '../signer/changed-call.ts'
import { mistakes } from '../signer/mistakes.ts'
import { readDeviations } from './deviations.ts'
import { suggestion } from './did-you-mean.ts'
import type { Auth, CallStep } from './fixture-types.ts'
import type { Path } from './yaml-source.ts'

/** The word that leaves a param or a member out. */
const removed = 'removed'

/** @param alter with its references resolved */
export function changesOf(alter: unknown): Change[] {
  return Object.entries(isObject(alter) ? alter : {}).map(([field, value]): Change => {
    if (isObject(value)) return { field, value: value.value as Json }
    const operation = String(value)
    if (partNamed(field)?.operations !== 'values') return { field, operation }
    if (operation === removed) return { field, remove: true }
    return isWrap(operation) ? { field, wrap: operation } : { field, operation }
  })
}

const isWrap = (word: string): word is Wrap => wraps.some((one) => one === word)

/** The value of `alter` that makes a change. */
export function alterOf({ field, operation = '', value, remove, wrap }: Change): { [part: string]: unknown } {
  if (value !== undefined) return { [field]: { value } }
  return { [field]: remove === true ? removed : (wrap ?? operation) }
}

/** The words that a part of a call takes. */
export function wordsOfPart(operations: OperationsOfPart): readonly string[] {
  const { textNames, bytesNames } = readDeviations()
  switch (operations) {
    case 'text':
      return textNames
    case 'bytes':
      return bytesNames
    case 'body forms':
      return Object.keys(bodyForms)
    case 'broken bodies':
      return Object.keys(brokenBodies)
    case 'mistakes':
      return mistakes.filter(({ made }) => made).map(({ id }) => id)
    case 'values':
      return [...textNames, ...wraps, removed]
  }
}

interface Said {
  readonly path: Path
  readonly message: string
  readonly onKey?: boolean
}

type Altered = Pick<CallStep, 'alter' | 'auth' | 'but' | 'nonce'>

/** What is wrong with the `alter` and the `nonce` of a step. */
export function problemsOfAlter({ alter, auth, but, nonce }: Altered): Said[] {
  const problems: Said[] = []
  const signs = ['hmac', 'ecc', undefined].includes(wayOf(auth))
  if (nonce !== undefined && !signs)
    problems.push({ path: ['nonce'], onKey: true, message: 'only a call with "auth: hmac" or "auth: ecc" has a nonce' })
  if (!isObject(alter)) return problems
  if (but !== undefined)
    problems.push({ path: ['but'], onKey: true, message: 'with "alter", write "but" as "param <name>" there' })
  if (typeof auth === 'object' && 'but' in auth && !isKeyIdAlone(auth.but))
    problems.push({
      path: ['auth', 'but'],
      onKey: true,
      message: 'with "alter", only "but: { key-id: … }" can stand here',
    })
  for (const [name, value] of Object.entries(alter)) {
    const part = partNamed(name)
    if (part === undefined) {
      const hint = suggestion(name, partNames)
      problems.push({ path: ['alter', name], onKey: true, message: `unknown part "${name}"${hint}` })
      continue
    }
    const way = wayOf(auth)
    if (part.callers !== undefined && way !== undefined && !part.callers.includes(way))
      problems.push({
        path: ['alter', name],
        onKey: true,
        message: `a call with "auth: ${way}" has no part "${name}", only one with ${part.callers.join(' or ')}`,
      })
    const misfit = misfitOf(part.operations, value)
    if (misfit !== undefined) problems.push({ path: ['alter', name], message: misfit })
    if (typeof value !== 'string' || value.startsWith('$')) continue
    const words = wordsOfPart(part.operations)
    if (!words.includes(value))
      problems.push({ path: ['alter', name], message: `unknown operation "${value}"${suggestion(value, words)}` })
  }
  return problems
}

/** What is wrong with `{ value: … }` in place of a part. */
function misfitOf(operations: OperationsOfPart, value: unknown): string | undefined {
  if (!isObject(value) || operations === 'values') return undefined
  if (operations !== 'text') return 'only a text or a JSON value can have another "value", write an operation'
  return typeof value.value === 'string' ? undefined : 'this part is a text, write its other "value" in quotes'
}

/** A key that the scenario created with the public key of a test key signs as `{ ecc: bob, but: { key-id: $key.id } }`. */
const isKeyIdAlone = (but: unknown): boolean =>
  (typeof but === 'string' && but.startsWith('$')) || (isObject(but) && Object.keys(but).join() === 'key-id')

/** undefined for `key`, whose way the run chooses. */
function wayOf(auth: Auth): string | undefined {
  if (typeof auth === 'string') return auth.startsWith('$') ? undefined : auth
  const [way] = Object.keys(auth)
  return way === 'key' ? undefined : way
}
