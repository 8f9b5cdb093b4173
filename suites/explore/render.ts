/** Turns a step with names into the bytes of a call. */
import type { Operations } from '../engine/language/deviations.ts'
import { bodyForms, cutLetterForms, padded } from '../engine/signer/bodies.ts'
import {
  type Caller,
  type CallSettings,
  type Change,
  type Json,
  type Member,
  Unmakeable,
  writeCall,
} from '../engine/signer/changed-call.ts'
import { shortName } from '../engine/signer/random.ts'
import type { CallStep, Value } from './step.ts'

/** What a call needs besides its step. */
export interface Surroundings extends CallSettings {
  readonly operations: Operations
  lookUp(name: string): Value | undefined
  /** A text of this run only. */
  readonly unique: string
  /** The target refuses other names than short ones. */
  readonly shortSessionNames: boolean
  nextId(): number
}

export interface Rendered {
  readonly authorization: string | undefined
  readonly body: string
  readonly breaks: string | undefined
}

/** @throws Unmakeable */
export function render(step: CallStep, around: Surroundings): Rendered {
  const { method, nonce, change, also = [] } = step
  const params = resolveAll(step.params, around) as { [name: string]: Json }
  const caller = callerOf(step, around)
  const write = (members: Member[]): string => formOf(step.form, JSON.stringify(Object.fromEntries(members)))
  const call = { method, params, id: step.id ?? around.nextId(), caller, nonce, write }
  const changes = [...(change === undefined ? [] : [change]), ...also].map((one) => resolvedChange(one, around))
  const { authorization, body } = writeCall(call, changes, around)
  return { authorization, body, breaks: around.operations.breaks(change, step.auth.kind) }
}

function resolvedChange({ place, ...change }: NonNullable<CallStep['change']>, around: Surroundings): Change {
  if (place !== undefined) return { ...change, value: String(resolve(place, around)) }
  return change.value === undefined ? change : { ...change, value: resolveAll(change.value, around) }
}

function formOf(form: CallStep['form'], body: string): string {
  if (form === undefined) return body
  if (typeof form === 'number') return padded(body, form)
  return (bodyForms[form] ?? cutLetterForms[form] ?? ((text) => text))(body)
}

function callerOf({ auth }: CallStep, around: Surroundings): Caller {
  if (auth.kind === 'none') return auth
  if (auth.kind === 'token') return { kind: 'token', token: String(resolve(auth.token, around)) }
  if (auth.kind === 'header') return { kind: 'header', header: String(resolve(auth.header, around)) }
  const { id, secret, seed } = around.lookUp(auth.who) ?? {}
  if (id === undefined) throw new Unmakeable(`There is no key ${auth.who}`)
  return { kind: auth.kind, key: { id, secret, seed } }
}

/** Two digits of this run: with more a name would be no small number, which some readers treat in another way. */
const digitsOf = (unique: string): string =>
  Array.from(unique.slice(0, 2), (letter) => Number.parseInt(letter, 36) % 10).join('')

/** `$name.path` as a value; a text with such in it; `$unique` and `$digits`. */
function resolve(text: string, around: Surroundings): Json {
  const whole = /^\$([A-Za-z][\w-]*)((?:\.\w+)*)$/.exec(text)
  if (whole !== null && whole[1] !== 'unique' && whole[1] !== 'digits')
    return valueAt(whole[1] ?? '', whole[2] ?? '', around)
  const full = text.replaceAll('$unique', around.unique).replaceAll('$digits', digitsOf(around.unique))
  return around.shortSessionNames ? withShortSession(full) : full
}

/** A long session name becomes a short one; the same name always the same. */
const withShortSession = (word: string): string =>
  word.replace(/^session:(.+)$/, (whole, name: string) =>
    /^[a-z0-9]{1,8}$/.test(name) ? whole : `session:${shortName(name)}`,
  )

function valueAt(name: string, path: string, around: Surroundings): Json {
  let value: unknown = around.lookUp(name)
  for (const part of path.split('.').slice(1)) value = (value as { [name: string]: unknown } | undefined)?.[part]
  if (value === undefined) throw new Unmakeable(`There is no ${name}${path}`)
  return value as Json
}

export function resolveAll(value: Json, around: Surroundings): Json {
  if (typeof value === 'string') return resolve(value, around)
  if (Array.isArray(value)) return value.map((item) => resolveAll(item, around))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolveAll(item, around)]))
}
