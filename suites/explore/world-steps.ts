/** The words of worlds and laws: names and lists with what they stand for, and steps as the explorer makes them. */

import { isObject } from '../engine/json.ts'
import { type RawStep, writtenOut } from '../engine/language/corpus.ts'
import { parseDuration } from '../engine/language/resolve.ts'
import type { Json } from '../engine/signer/changed-call.ts'
import type { Sizes } from './budget.ts'
import type { Explorer, Seen } from './explorer.ts'
import { type Caller, expectAccepted, expectRefused, freshName, mayTryCreation, wordsOf } from './keyring.ts'
import { readWorlds, type World } from './read-worlds.ts'
import { type Auth, anyCall, basic, type CallStep, create, ecc, grant, hmac, none } from './step.ts'

/** The pause that tells ages of sessions apart, as worlds name it; it is this long where the target may keep them in whole seconds. */
const apart = '$apart'
const longestApart = '1250ms'

/** @param text such as `1250ms` or `26h`; without a unit milliseconds */
export const durationMs = (text: unknown): number => Math.floor(parseDuration(String(text)) ?? (Number(text) || 0))

/** About how long a world waits, in ms. */
export function pausesOf(name: string, column: Sizes['column']): number {
  const ofSteps = (steps: World['steps']): number =>
    steps.reduce<number>((sum, step) => {
      if (typeof step === 'string') return sum
      const times = typeof step.repeat === 'string' ? 1 : sized(step.repeat ?? 1, column)
      return (
        sum +
        durationMs(step.wait === apart ? longestApart : step.wait) +
        times * ofSteps((step.steps ?? []) as World['steps'])
      )
    }, 0)
  const { before = [], steps = [] } = readWorlds().worlds.get(name) ?? {}
  return ofSteps(before) + ofSteps(steps)
}

/** What names stand for: names of keys and pairs, lists, words, or functions for what changes. null: it was not granted or created. */
export type Values = Map<string, unknown>

/** Every combination of the values of `each`; a later list may name an earlier value. */
export function* combinations(
  lists: readonly (readonly [string, unknown])[],
  values: Values,
  column: Sizes['column'],
): Generator<Values> {
  const [first, ...rest] = lists
  if (first === undefined) return void (yield new Map(values))
  const [name, written] = first
  for (const item of listOf(written, values, column))
    for (const more of combinations(rest, new Map(values).set(name, item), column)) yield more
}

/** A list, a name for one, or `{ of: list, first: n, last: n, except: name, turn: true }`; what it names and was not granted is left out. */
export function listOf(written: unknown, values: Values, column: Sizes['column']): readonly unknown[] {
  if (isObject(written) && written.of !== undefined) {
    const { of, first, last, except, turn } = written
    const all = listOf(of, values, column).filter((one) => except === undefined || one !== filled(except, values))
    if (turn === true) return all.slice(Number(filled('$turn', values)) % Math.max(1, all.length)).slice(0, 1)
    if (last !== undefined) return all.slice(-sized(last, column))
    return first === undefined ? all : all.slice(0, sized(first, column))
  }
  if (!Array.isArray(written)) {
    const value = filled(written, values)
    return Array.isArray(value) ? value : [value]
  }
  return written.flatMap((item): readonly unknown[] => {
    try {
      if (isObject(item) && item.of !== undefined) return listOf(item, values, column)
      const value = filled(item, values)
      return typeof item === 'string' && Array.isArray(value) ? value : [value]
    } catch (error) {
      if (error instanceof Missing) return []
      throw error
    }
  })
}

/** Of three sizes the budget decides. */
export const sized = (size: unknown, column: Sizes['column']): number =>
  Number(Array.isArray(size) ? size[column] : size)

/** Something was not granted or created, so that what names it cannot be done. */
export class Missing extends Error {}

/** A value with what its names stand for; a name alone keeps its type, and a list that stands in a list is part of it. @throws Missing */
export function filled(value: unknown, values: Values): unknown {
  if (Array.isArray(value))
    return value.flatMap((item) => {
      const one = filled(item, values)
      return typeof item === 'string' && Array.isArray(one) ? (one as unknown[]) : [one]
    })
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [String(filled(name, values)), filled(item, values)]),
    )
  if (typeof value !== 'string') return value
  const [whole, name = '', path = ''] = /^\$([A-Za-z]\w*)((?:\.-?\w+)*)$/.exec(value) ?? []
  if (whole !== undefined && values.has(name)) return valueAt(name, path, values)
  return value.replace(/\$([A-Za-z]\w*)((?:\.-?\w+)*)/g, (text, known: string, rest: string, at: number) => {
    if (!values.has(known)) return text
    const found = String(valueAt(known, rest, values))
    // What a name stands for is itself called by a name: `$pair.accessToken` becomes `$pair12.accessToken`.
    return rest === '' && /^(-own)?\./.test(value.slice(at + text.length)) ? `$${found}` : found
  })
}

/** @throws Missing */
function valueAt(name: string, path: string, values: Values): unknown {
  let value = values.get(name)
  if (typeof value === 'function') value = (value as () => unknown)()
  const parts = path.split('.').slice(1)
  while (parts.length > 0 && typeof value === 'object' && value !== null) {
    const part = parts.shift() ?? ''
    value = Array.isArray(value) ? value.at(Number(part)) : (value as { [part: string]: unknown })[part]
  }
  if (value === null || value === undefined) throw new Missing(name)
  return parts.length === 0 ? value : `$${String(value)}.${parts.join('.')}`
}

interface Planned {
  readonly call: CallStep
  /** What the world calls its result. */
  readonly keep: string | undefined
  /** The key that it ends. */
  readonly ends?: { readonly who: string; readonly requirement: 'keys/can-be-disabled' | 'keys/can-be-deleted' }
}

/** What a step of the explorer takes from that of a world as it is. */
const asWritten = ['from', 'connection', 'id', 'nonce', 'body', 'headers', 'alter'] as const

/** A step of a world as a step of the explorer; null if it cannot be made here, as where it names what was not granted or created. */
export function stepOf(caller: Caller, raw: RawStep, values: Values): Planned | null {
  try {
    return planned(caller, raw, values)
  } catch (error) {
    if (error instanceof Missing) return null
    throw error
  }
}

function planned(caller: Caller, raw: RawStep, values: Values): Planned | null {
  const { x } = caller
  const [keep] = Object.keys(isObject(raw.keep) ? raw.keep : {})
  const isKey = raw.call === 'manager/createApiKey'
  const as = keep === undefined ? undefined : freshName(x, isKey ? 'made' : 'pair')
  const own = as ?? freshName(x)
  const step = filled(
    writtenOut({ ...raw, keep: undefined, expect: undefined }),
    new Map(values).set('new', own),
  ) as RawStep
  const more = {
    ...(as === undefined ? {} : { as }),
    ...Object.fromEntries(asWritten.flatMap((name) => (step[name] === undefined ? [] : [[name, step[name]]]))),
    ...(step.connection === 'own' ? { connection: `world-${filled('$turn', values)}` } : {}),
  }
  const method = String(step.call)
  const params = (step.params ?? {}) as { [name: string]: Json }
  if (method === 'cleanup' || method === 'probe:disable') {
    const requirement = method === 'cleanup' ? 'keys/can-be-deleted' : 'keys/can-be-disabled'
    const way = caller.waysToEndKeys.find((one) => one.requirement === requirement)
    const who = String(params.key)
    return way === undefined ? null : { call: endingOf(x, who, way), keep, ends: { who, requirement } }
  }
  const auth = authOf(x, step.auth)
  if (method === 'manager/createApiKey') return { call: create(auth, creationParams(caller, params, as), more), keep }
  const words = Array.isArray(params.scope) ? { scope: scopeOf(x, params, step.from, own) } : {}
  const [, who] = /^\$([\w-]+)\.id$/.exec(String(params.apiKeyId)) ?? []
  const isPlain = who !== undefined && Object.keys(params).join() === 'grantType,apiKeyId,apiKeySecret,scope'
  if (isPlain && words.scope !== undefined) return { call: { ...grant(who, words.scope, more), auth }, keep }
  return { call: anyCall(method, { ...params, ...words }, auth, more), keep }
}

/** The call that ends a key. */
function endingOf(x: Explorer, who: string, { method, params }: Caller['waysToEndKeys'][number]): CallStep {
  const text = JSON.stringify(params).replaceAll('"$id"', `"$${who}.id"`).replaceAll('"$name"', `"$${who}.name"`)
  return anyCall(method, JSON.parse(text) as { [name: string]: Json }, x.byRoot)
}

type Params = { readonly [name: string]: Json }

/** Makes a call, as far as it is allowed, and the model is sure of the answer that it `expect`s. */
export async function makeStep(caller: Caller, step: CallStep, expect: unknown): Promise<Seen | null> {
  const { x, keyring } = caller
  if (step.params.grantType !== undefined && !keyring.grants) return null
  // Whether it takes a place must be certain: an accepted one would.
  if (step.call === 'manager/createApiKey' && (expect === 'refused' ? !mayCreate(caller) : !keyring.keys)) return null
  if (expect === 'refused') return expectRefused(x, step)
  return expect === 'accepted' ? expectAccepted(x, step) : x.call(step)
}

/** The scope words of a grant as they are sent; `ipAddr:` is the address that it comes from. */
function scopeOf(x: Explorer, { scope, apiKeyId }: Params, from: unknown, own: string): string[] {
  const [, who = 'root'] = /^\$([\w-]+)\.id$/.exec(String(apiKeyId)) ?? []
  const seen = x.addresses.find(({ name }) => name === from)?.seen
  const words = (scope as readonly Json[]).map((word) =>
    word === 'ipAddr:' && seen !== undefined ? `ipAddr:${seen}` : String(word),
  )
  return wordsOf(x, who, words, `${own}-$unique`)
}

/** What a creation asks for. A key with a public key signs with its private key. */
function creationParams({ x }: Caller, { publicKey = 'none', ...params }: Params, as: string | undefined): Params {
  const named = { name: as === undefined ? 'deviation-$unique' : `${as}-$unique`, scope: ['solution'], ...params }
  if (publicKey === 'none') return named
  const spare = x.names.get('spare')
  if (as !== undefined && publicKey === 'spare' && spare !== undefined) x.names.set(`${as}-own`, spare)
  if (as === undefined || publicKey !== 'new')
    return { ...named, publicKey: publicKey === 'spare' ? '$spare.publicKey' : publicKey }
  x.names.set(`${as}-own`, x.makeKeyPair())
  return { ...named, publicKey: `$${as}-own.publicKey` }
}

function authOf(x: Explorer, auth: unknown): Auth {
  if (!isObject(auth)) return auth === 'root' ? x.byRoot : none
  const [[kind, who] = ['', '']] = Object.entries(auth)
  const name = String(who)
  if (kind === 'token' || kind === 'header') return { [kind]: name } as Auth
  if (kind === 'key') return x.names.get(name)?.seed === undefined ? basic(name) : ecc(name)
  return kind === 'basic' ? basic(name) : kind === 'ecc' ? ecc(name) : hmac(name)
}

/** A place may be free also since a key has ended. */
const mayCreate = (caller: Caller): boolean =>
  mayTryCreation(caller) ||
  (caller.keyring.keys && [...caller.x.state().keys.values()].some(({ ended }) => ended !== undefined))
