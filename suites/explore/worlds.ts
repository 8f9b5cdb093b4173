/**
 * Worlds: a few steps each, in the words of the fixture language, that bring a target into an interesting state (fixtures/worlds/*.yaml). After each
 * step the laws look at what it made and used.
 *
 * `each` runs a world for every combination of its values. A block `{ repeat: 3, steps: […] }` or `{ for: $list, steps: […] }` repeats several steps,
 * and `beside` makes different calls at once. A wrong call (`expect: refused`) or a right one (`expect: accepted`) is made only if the
 * model is sure of it. A step that names what was not granted or created is left out. `session:` is a session of its own, `ipAddr:` our address,
 * `solution:` the one solution that is granted to the key.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../engine/json.ts'
import { type RawStep, writtenOut } from '../engine/language/corpus.ts'
import { changesOf } from '../engine/language/deviations.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { demand } from '../engine/language/schemas.ts'
import { readYaml } from '../engine/language/yaml-source.ts'
import type { Json } from '../engine/signer/changed-call.ts'
import type { Sizes } from './budget.ts'
import type { Explorer, Seen } from './explorer-types.ts'
import {
  byRoot,
  type Caller,
  endDoubt,
  endingOf,
  expectAccepted,
  expectRefused,
  freshName,
  mayCreate,
  pairOf,
  wordsOf,
} from './keyring.ts'
import { applyLateLaws, applyLaws } from './laws.ts'
import {
  type Auth,
  type BurstStep,
  basic,
  type CallStep,
  type Change,
  type Connection,
  create,
  ecc,
  grant,
  hmac,
  list,
  none,
} from './step.ts'
import { valuesOf } from './world-values.ts'

interface World {
  /** What is special about it; also the name of its stage. */
  readonly world: string
  readonly each?: { readonly [name: string]: unknown }
  /** How many combinations at most. */
  readonly most?: number | readonly number[]
  readonly needs?: readonly ('grants' | 'keys' | 'limits' | 'clock-control')[]
  /** false: further calls would disturb it. */
  readonly laws?: boolean
  /** Made once, before the first combination. */
  readonly before?: readonly RawStep[]
  /** Where one of these is not accepted, the combination is left out. */
  readonly given?: readonly RawStep[]
  readonly steps: readonly (RawStep | string)[]
}

/** What names stand for in a world: names of keys and pairs, lists, words, or functions for what changes. null: it was not granted or created. */
type Values = Map<string, unknown>

let packaged: ReadonlyMap<string, World> | undefined

/** Every world by its name; read once. @throws SuiteError (`fixture`) */
export function readWorlds(): ReadonlyMap<string, World> {
  packaged ??= new Map(
    readdirSync(join(packageRoot, 'fixtures', 'worlds'))
      .filter((file) => file.endsWith('.yaml'))
      .toSorted()
      .flatMap((file) => {
        const path = join('fixtures', 'worlds', file)
        const source = readYaml(readFileSync(join(packageRoot, path), 'utf8'), path)
        demand(source, 'worlds')
        return (source.value as World[]).map((world): [string, World] => [world.world, world])
      }),
  )
  return packaged
}

/** Names of sessions that are the same in every exploration. */
export const fixedSessionNames = (): string[] =>
  Array.from(JSON.stringify([...readWorlds().values()]).matchAll(/"session:([\w-]+)"/g), ([, name = '']) =>
    name.toLowerCase(),
  )

/** What a stage gives its worlds. */
interface WorldOptions {
  /** Further values, and those that replace values of the caller. */
  readonly values?: { readonly [name: string]: unknown }
  readonly sizes: Sizes
  /** Lets time pass, perhaps with calls that disturb nothing; by default nothing is called. */
  wait?(ms: number): Promise<void>
  isOver(): boolean
}

interface Run {
  readonly caller: Caller
  readonly world: World
  readonly options: WorldOptions
  /** The pairs and keys that this combination made. */
  readonly made: string[]
  readonly script: string
  /** A connection of its own. */
  readonly connection: string
}

/** How many combinations were begun; gives each a name, and the next item of a list that takes turns. */
let begun = 0

/**
 * Brings the target into the states of a world.
 *
 * @returns the pairs and keys that it made
 */
export async function runWorld(caller: Caller, name: string, options: WorldOptions): Promise<string[]> {
  const world = readWorlds().get(name)
  if (world === undefined) throw new Error(`There is no world "${name}"`)
  const { needs = [], before = [], each = {}, most = Number.POSITIVE_INFINITY, steps } = world
  if (!needs.every((need) => (need === 'clock-control' ? caller.x.options.clock.controlled : caller.keyring[need])))
    return []
  const all: string[] = []
  const values: Values = new Map([...valuesOf(caller, options.sizes), ...Object.entries(options.values ?? {})])
  const runOf = (of: Values): Run => {
    const who = of.get('who')
    const id = name.replaceAll(' ', '-')
    begun += 1
    const run = {
      caller,
      world,
      options,
      made: [],
      script: typeof who === 'string' ? `${id}/${who}` : id,
      connection: `world-${begun}`,
    }
    const own = freshName(caller.x, 'w')
    of.set('own', own)
      .set('ownDigits', own.slice(1))
      .set('made', () => run.made)
    caller.x.script = run.script
    return run
  }
  const first = runOf(values)
  await runSteps(first, before, values)
  all.push(...first.made)
  let tried = 0
  for (const combination of combinations(Object.entries(each), values, options.sizes.column)) {
    tried += 1
    if (options.isOver() || tried > sized(most, options.sizes.column)) break
    const run = runOf(combination)
    if (!(await areAccepted(run, combination))) continue
    await runSteps(run, steps, combination)
    if (world.laws !== false) await applyLateLaws(caller, run.made)
    all.push(...run.made)
  }
  return all
}

/** Every combination of the values of `each`; a later list may name an earlier value. */
function* combinations(
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
function listOf(written: unknown, values: Values, column: Sizes['column']): readonly unknown[] {
  if (isObject(written) && written.of !== undefined) {
    const { of, first, last, except, turn } = written
    const all = listOf(of, values, column).filter((one) => except === undefined || one !== filled(except, values))
    if (turn === true) return all.slice(begun % Math.max(1, all.length)).slice(0, 1)
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
const sized = (size: unknown, column: Sizes['column']): number => Number(Array.isArray(size) ? size[column] : size)

/** Something was not granted or created, so that what names it cannot be done. */
class Missing extends Error {}

/** A value with what its names stand for; a name alone keeps its type, and a list that stands in a list is part of it. @throws Missing */
function filled(value: unknown, values: Values): unknown {
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

/** Whether every step was accepted without which the combination means nothing. */
async function areAccepted(run: Run, values: Values): Promise<boolean> {
  for (const raw of run.world.given ?? []) {
    try {
      const step = stepOf(run, raw, values)
      if (step === null) return false
      await endDoubt(run.caller.x, step.call)
      if ((await run.caller.x.call(step.call))?.answer.kind !== 'accepted') return false
      bind(run, step, values)
    } catch (error) {
      if (error instanceof Missing) return false
      throw error
    }
  }
  return true
}

async function runSteps(run: Run, steps: World['steps'], values: Values): Promise<void> {
  for (const written of steps) {
    try {
      await runStep(run, typeof written === 'string' ? (filled(written, values) as RawStep) : written, values)
    } catch (error) {
      if (!(error instanceof Missing)) throw error
    }
  }
}

/** One step, as often as it says. @throws Missing */
async function runStep(run: Run, raw: RawStep, values: Values): Promise<void> {
  const { options } = run
  const { repeat, for: items, as = 'it', steps, parallel, beside, wait, keep } = raw
  if (isLeftOut(raw, values)) return
  if (wait !== undefined) return waitFor(run, filled(wait, values))
  if (parallel !== undefined || beside !== undefined) return callAtOnce(run, raw, values)
  const times =
    repeat === undefined
      ? 1
      : Array.isArray(repeat)
        ? sized(repeat, options.sizes.column)
        : Number(filled(repeat, values))
  const all =
    items === undefined ? Array.from({ length: times }, (_, at) => at + 1) : listOf(items, values, options.sizes.column)
  const kept: string[] = []
  for (const [at, it] of all.entries()) {
    if (options.isOver()) return
    values.set(String(as), it).set('n', at + 1)
    if (steps !== undefined) {
      await runSteps(run, steps as World['steps'], values)
      continue
    }
    const made = await makeCall(run, raw, values)
    if (made !== undefined) kept.push(made)
  }
  const isList = repeat !== undefined || items !== undefined
  for (const name of Object.keys(isObject(keep) ? keep : {})) values.set(name, isList ? kept : (kept[0] ?? null))
}

/** Whether something is there without which a step is made, or not there with which alone it is. */
function isLeftOut({ if: only, unless }: RawStep, values: Values): boolean {
  const isThere = (name: unknown): boolean => values.get(String(name).slice(1)) !== null
  return (only !== undefined && !isThere(only)) || (unless !== undefined && isThere(unless))
}

/** One call, and what the laws make of it. @returns the name of its result */
async function makeCall(run: Run, raw: RawStep, values: Values): Promise<string | undefined> {
  const { caller, world, script } = run
  const { x } = caller
  try {
    if (raw['pair-of'] !== undefined) {
      const kind = {
        who: String(filled(raw['pair-of'], values)),
        scope: (filled(raw.scope, values) as unknown[]).map(String),
      }
      return caller.keyring.grants ? await pairOf(x, caller.pairs, kind) : undefined
    }
    const step = stepOf(run, raw, values)
    const seen = step === null ? null : await send(run, step.call, raw.expect)
    if (step === null || seen === null) return undefined
    const made = bind(run, step, values)
    if (world.laws !== false) await applyLaws(caller, namesOf(step, made))
    x.script = script
    return made
  } catch (error) {
    if (error instanceof Missing) return undefined
    throw error
  }
}

interface Planned {
  readonly call: CallStep
  /** What the world calls its result. */
  readonly keep: string | undefined
  /** The key that it ends. */
  readonly ends?: { readonly who: string; readonly requirement: 'keys/can-be-disabled' | 'keys/can-be-deleted' }
}

/** What the laws look at: the pairs and keys that a step names, and what it made. */
function namesOf({ call }: Planned, made: string | undefined): string[] {
  const text = JSON.stringify([call.auth, call.params])
  const who = 'who' in call.auth ? [call.auth.who] : []
  const named = Array.from(text.matchAll(/\$([A-Za-z][\w-]*)\./g), ([, name = '']) => name)
  return [...(made === undefined ? [] : [made]), ...named, ...who].filter((name) => !name.endsWith('-own'))
}

async function send(run: Run, step: CallStep, expect: unknown): Promise<Seen | null> {
  const { x, keyring } = run.caller
  if (step.method === 'manager/createApiKey' && (expect === 'refused' ? !mayCreate(run.caller) : !keyring.keys))
    return null
  if (expect === 'refused') return expectRefused(x, step)
  return expect === 'accepted' ? expectAccepted(x, step) : x.call(step)
}

/** Takes the result of a step. @returns the name that the explorer has for it; undefined if there is no such result */
function bind(run: Run, { call, keep, ends }: Planned, values: Values): string | undefined {
  const { x } = run.caller
  const isAccepted = x.log.at(-1)?.seen[0]?.answer.kind === 'accepted'
  if (ends !== undefined && isAccepted) x.endKey(ends.who, ends.requirement)
  const made = call.as !== undefined && x.names.has(call.as) ? call.as : undefined
  if (made !== undefined) run.made.push(made)
  if (keep !== undefined) values.set(keep, made ?? null)
  return made
}

/** A step of a world as a step of the explorer; null if it cannot be made here. @throws Missing */
function stepOf(run: Run, raw: RawStep, values: Values): Planned | null {
  const { caller } = run
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
    ...(step.from === undefined ? {} : { from: String(step.from) }),
    ...(step.connection === undefined
      ? {}
      : { connection: step.connection === 'own' ? run.connection : (step.connection as Connection) }),
    ...(step.id === undefined ? {} : { id: Number(step.id) }),
    ...(step.nonce === undefined ? {} : { nonce: step.nonce as NonNullable<CallStep['nonce']> }),
    ...(step.body === undefined ? {} : { form: isObject(step.body) ? Number(step.body.size) : String(step.body) }),
    ...(isObject(step.headers) ? { inChunks: true } : {}),
    ...altered(step.alter),
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
  return { call: { do: 'call', method, params: { ...params, ...words }, auth, ...more }, keep }
}

type Params = { readonly [name: string]: Json }

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
function creationParams(
  { x, makeKeyPair }: Caller,
  { publicKey = 'none', ...params }: Params,
  as: string | undefined,
): Params {
  const named = { name: as === undefined ? 'deviation-$unique' : `${as}-$unique`, scope: ['solution'], ...params }
  if (publicKey === 'none') return named
  const spare = x.names.get('spare')
  if (as !== undefined && publicKey === 'spare' && spare !== undefined) x.names.set(`${as}-own`, spare)
  if (as === undefined || publicKey !== 'new')
    return { ...named, publicKey: publicKey === 'spare' ? '$spare.publicKey' : publicKey }
  const { seed, publicKeyPem } = makeKeyPair()
  x.names.set(`${as}-own`, { seed, publicKey: publicKeyPem })
  return { ...named, publicKey: `$${as}-own.publicKey` }
}

/** `{ value: $key.secret }` puts a credential in another place. */
function altered(alter: unknown): { change?: Change; also?: readonly Change[] } {
  const [change, ...also] = changesOf(alter).map(
    (one): Change =>
      typeof one.value === 'string' && one.value.startsWith('$') ? { field: one.field, place: one.value } : one,
  )
  return { ...(change === undefined ? {} : { change }), ...(also.length === 0 ? {} : { also }) }
}

function authOf(x: Explorer, auth: unknown): Auth {
  if (!isObject(auth)) return auth === 'root' ? byRoot(x) : none
  const [[kind, who] = ['', '']] = Object.entries(auth)
  const name = String(who)
  switch (kind) {
    case 'token':
      return { kind: 'token', token: name }
    case 'header':
      return { kind: 'header', header: name }
    case 'key':
      return x.names.get(name)?.seed === undefined ? basic(name) : ecc(name)
    case 'basic':
      return basic(name)
    default:
      return kind === 'ecc' ? ecc(name) : hmac(name)
  }
}

/** Calls at once: the same several times, or different ones. */
async function callAtOnce(run: Run, raw: RawStep, values: Values): Promise<void> {
  const { caller, options } = run
  const { x } = caller
  const { parallel, beside, connections = 'new', ...one } = raw
  const written = Array.isArray(beside)
    ? [one, ...(beside as RawStep[])]
    : Array.from({ length: sized(parallel, options.sizes.column) }, (): RawStep => one)
  const at = freshName(x, 'race')
  const planned = written.flatMap((step, lane) => {
    const planned = stepOf(run, step, new Map(values).set('n', lane + 1))
    return planned === null
      ? []
      : [{ ...planned, call: { ...planned.call, ...(planned.keep === undefined ? {} : { as: `${at}x${lane}` }) } }]
  })
  const on = filled(connections, values) === 'warm' ? 'warm' : 'new'
  if (on === 'warm') for (const [lane] of planned.entries()) await x.call(list(byRoot(x), { connection: lane + 1 }))
  const burst: BurstStep = { do: 'burst', calls: planned.map(({ call }) => call), on }
  await x.burst(burst)
  const kept = new Map<string, string[]>()
  for (const { call, keep } of planned) {
    if (keep === undefined) continue
    const names = kept.get(keep) ?? []
    kept.set(keep, names)
    if (call.as === undefined || !x.names.has(call.as)) continue
    names.push(call.as)
    run.made.push(call.as)
  }
  for (const [name, names] of kept) values.set(name, beside === undefined ? names : (names[0] ?? null))
  if (run.world.laws === false) return
  await applyLaws(caller, [...kept.values()].flat())
  x.script = run.script
}

const unitMs: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Lets time pass: then what expired must stay so. */
async function waitFor(run: Run, wait: unknown): Promise<void> {
  const { caller, options, world } = run
  const [, count, unit = 'ms'] = /^([\d.]+)(ms|s|m|h|d)?$/.exec(String(wait)) ?? []
  const ms = Math.floor(Number(count ?? 0) * (unitMs[unit] ?? 1))
  if (ms <= 0) return
  await (options.wait ?? caller.x.wait)(ms)
  caller.x.script = run.script
  if (world.laws !== false) await applyLaws(caller, run.made)
  caller.x.script = run.script
}
