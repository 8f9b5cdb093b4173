/**
 * Worlds: a few steps each, in the words of the fixture language, that bring a target into an interesting state (fixtures/worlds/*.yaml). After each
 * step the laws look at what it made and used.
 *
 * `each` runs a world for every combination of its values. A block `{ repeat: 3, steps: […] }` or `{ for: $list, steps: […] }` repeats several steps,
 * and `beside` makes different calls at once. A wrong call (`expect: refused`) or a right one (`expect: accepted`) is made only if the
 * model is sure of it. A step that names what was not granted or created is left out. `session:` is a session of its own, `ipAddr:` our address,
 * `solution:` the one solution that is granted to the key.
 */
import { isObject } from '../engine/json.ts'
import type { RawStep } from '../engine/language/corpus.ts'
import type { Sizes } from './budget.ts'
import { type Caller, endDoubt, freshName, isAccepted, pairOf } from './keyring.ts'
import { applyLateLaws, applyLaws } from './laws.ts'
import { readWorlds, type World } from './read-worlds.ts'
import { atOnce, list, named, nameOf, whoOf } from './step.ts'
import {
  combinations,
  durationMs,
  filled,
  listOf,
  Missing,
  makeStep,
  sized,
  stepOf,
  type Values,
} from './world-steps.ts'
import { valuesOf } from './world-values.ts'

/** What a stage gives its worlds. */
interface WorldOptions {
  /** Further values, and those that replace values of the caller. */
  readonly values?: { readonly [name: string]: unknown }
  readonly sizes: Sizes
  /** Lets time pass, perhaps with calls that disturb nothing; by default nothing is called. */
  wait?(ms: number): Promise<void>
  isOver(): boolean
  /** The only combination that is made, counted from 0. */
  readonly only?: number | undefined
}

interface Run {
  readonly caller: Caller
  readonly world: World
  readonly options: WorldOptions
  /** The pairs and keys that this combination made. */
  readonly made: string[]
  readonly script: string
  /** Whether the laws follow its steps. */
  readonly rides: boolean
}

/**
 * Brings the target into the states of a world.
 *
 * @returns the pairs and keys that it made
 */
export async function runWorld(caller: Caller, name: string, options: WorldOptions): Promise<string[]> {
  const world = readWorlds().worlds.get(name)
  if (world === undefined) throw new Error(`There is no world "${name}"`)
  const { x, keyring, turns } = caller
  const { sizes } = options
  const { needs = [], before = [], each = {}, takes = [], most = Number.POSITIVE_INFINITY, steps } = world
  const missing = takes.find((one) => options.values?.[one] === undefined)
  if (missing !== undefined) throw new Error(`The world "${name}" needs a value for $${missing}`)
  if (!needs.every((need) => (need === 'clock-control' ? x.clock.controlled : keyring[need]))) return []
  if (sized(most, sizes.column) === 0) return []
  /** How many combinations were begun; gives each the next item of a list that takes turns. */
  const turn = (): number => turns.get('worlds') ?? 0
  const all: string[] = []
  const runOf = (of: Values): Run => {
    turns.set('worlds', turn() + 1)
    const [who, id] = [of.get('who'), name.replaceAll(' ', '-')]
    const script = typeof who === 'string' ? `${id}/${who}` : id
    const run: Run = { caller, world, options, made: [], script, rides: world.laws !== false }
    const own = freshName(x, 'w')
    of.set('own', own)
      .set('ownDigits', own.slice(1))
      .set('made', () => [...run.made])
    x.script = script
    return run
  }
  const values: Values = new Map([...valuesOf(caller, sizes), ...Object.entries({ ...options.values, turn })])
  const first = runOf(values)
  await runSteps(first, before, values)
  all.push(...first.made)
  let tried = 0
  for (const combination of combinations(Object.entries(each), values, sizes.column)) {
    tried += 1
    if (options.isOver() || tried > sized(most, sizes.column)) break
    if (options.only !== undefined && tried !== options.only + 1) continue
    const run = runOf(combination)
    if (!(await areAccepted(run, combination))) continue
    await runSteps(run, steps, combination)
    if (run.rides) await applyLateLaws(caller, run.made)
    all.push(...run.made)
    leaveLater(run, combination)
  }
  if (world.leaves !== undefined) caller.left.set(world.leaves, [...(caller.left.get(world.leaves) ?? []), ...all])
  return all
}

/** Makes steps that belong to no world, without laws. @returns the pairs and keys that they made */
export async function runWritten(
  caller: Caller,
  steps: readonly RawStep[],
  values: Values,
  sizes: Sizes,
): Promise<readonly string[]> {
  const run: Run = {
    caller,
    world: { world: 'steps', steps },
    options: { sizes, isOver: () => false },
    made: [],
    script: caller.x.script,
    rides: false,
  }
  await runSteps(run, steps, values)
  return run.made
}

/** Notes what a combination does later, when laws may follow each step. */
function leaveLater({ caller, ...run }: Run, values: Values): void {
  const { later, x } = caller
  for (const { after, steps } of run.world.later ?? [])
    later.push({
      name: run.world.world,
      due: after === 'end' ? Number.POSITIVE_INFINITY : x.clock.now() + durationMs(after),
      pairs: run.made.length,
      run: async () => {
        x.script = run.script
        await runSteps({ ...run, caller, rides: true }, steps, values)
        await applyLateLaws(caller, run.made)
      },
    })
}

/** Whether every step was accepted without which the combination means nothing. */
async function areAccepted(run: Run, values: Values): Promise<boolean> {
  const { x } = run.caller
  for (const raw of run.world.given ?? []) {
    const step = stepOf(run.caller, raw, values)
    if (step === null) return false
    await endDoubt(x, step.call)
    if (!(await isAccepted(x, step.call))) return false
    bind(run, step, values)
  }
  return true
}

/** What names something that was not granted or created is left out. */
async function unlessMissing<T>(otherwise: T, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof Missing) return otherwise
    throw error
  }
}

async function runSteps(run: Run, steps: World['steps'], values: Values): Promise<void> {
  for (const written of steps)
    await unlessMissing(undefined, () =>
      runStep(run, typeof written === 'string' ? (filled(written, values) as RawStep) : written, values),
    )
}

/** One step, as often as it says. @throws Missing */
async function runStep(run: Run, raw: RawStep, values: Values): Promise<void> {
  const { options } = run
  const { column } = options.sizes
  const { repeat, for: items, as = 'it', steps, parallel, beside, wait, keep } = raw
  if (isLeftOut(raw, values)) return
  if (wait !== undefined) return waitFor(run, filled(wait, values))
  if (parallel !== undefined || beside !== undefined) return callAtOnce(run, raw, values)
  const isList = repeat !== undefined || items !== undefined
  const times = Array.isArray(repeat) ? sized(repeat, column) : Number(filled(repeat ?? 1, values))
  const all = items === undefined ? Array.from({ length: times }) : listOf(items, values, column)
  const kept: string[] = []
  for (const [at, it] of all.entries()) {
    if (options.isOver()) return
    // Of a step that stands in a block, these are those of the block.
    if (items !== undefined) values.set(String(as), it)
    if (isList) values.set('n', at + 1)
    if (steps !== undefined) await runSteps(run, steps as World['steps'], values)
    else kept.push(...(await unlessMissing([], () => makeCall(run, raw, values))))
  }
  if (steps !== undefined) return
  for (const name of Object.keys(isObject(keep) ? keep : {})) values.set(name, isList ? kept : (kept[0] ?? null))
}

/** Whether something is there without which a step is made, or not there with which alone it is. */
function isLeftOut({ if: only, unless }: RawStep, values: Values): boolean {
  const isThere = (name: unknown): boolean => values.get(String(name).slice(1)) !== null
  return (only !== undefined && !isThere(only)) || (unless !== undefined && isThere(unless))
}

/** One call, and what the laws make of it. @returns the name of its result, if it has one */
async function makeCall(run: Run, raw: RawStep, values: Values): Promise<string[]> {
  const { caller } = run
  if (raw['pair-of'] !== undefined) {
    const scope = (filled(raw.scope, values) as unknown[]).map(String)
    const pair = caller.keyring.grants
      ? await pairOf(caller.x, { who: String(filled(raw['pair-of'], values)), scope })
      : undefined
    return pair === undefined ? [] : [pair]
  }
  const step = stepOf(caller, raw, values)
  if (step === null || (await makeStep(caller, step.call, raw.expect)) === null) return []
  const made = bind(run, step, values)
  await ride(run, namesOf(step, made))
  return made === undefined ? [] : [made]
}

/** Tries the laws after a step. */
async function ride({ caller, rides, script }: Run, names: readonly string[]): Promise<void> {
  if (rides) await applyLaws(caller, names)
  caller.x.script = script
}

type Planned = NonNullable<ReturnType<typeof stepOf>>

/** What the laws look at: the pairs and keys that a step names, and what it made. */
function namesOf({ call }: Planned, made: string | undefined): string[] {
  const text = JSON.stringify([call.auth, call.params])
  const who = whoOf(call.auth) ?? []
  const named = Array.from(text.matchAll(/\$([A-Za-z][\w-]*)\./g), ([, name = '']) => name)
  return [...(made === undefined ? [] : [made]), ...named, who].flat().filter((name) => !name.endsWith('-own'))
}

/** Takes the result of a step. @returns the name that the explorer has for it; undefined if there is no such result */
function bind(run: Run, { call, keep, ends }: Planned, values: Values): string | undefined {
  const { x } = run.caller
  const isAccepted = x.log.at(-1)?.seen[0]?.answer.kind === 'accepted'
  if (ends !== undefined && isAccepted) x.endKey(ends.who, ends.requirement)
  const name = nameOf(call)
  const made = name !== undefined && x.names.has(name) ? name : undefined
  if (made !== undefined) run.made.push(made)
  if (keep !== undefined) values.set(keep, made ?? null)
  return made
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
    const one = stepOf(caller, step, new Map(values).set('n', lane + 1))
    return one?.keep === undefined ? (one ?? []) : { ...one, call: named(one.call, `${at}x${lane}`) }
  })
  if (planned.length < written.length) return
  const on = filled(connections, values) === 'warm' ? 'warm' : 'new'
  if (on === 'warm') for (const [lane] of planned.entries()) await x.call(list(x.byRoot, { connection: lane + 1 }))
  await x.burst(
    atOnce(
      planned.map(({ call }) => call),
      on,
    ),
  )
  const kept = new Map<string, string[]>()
  for (const { call, keep } of planned) {
    if (keep === undefined) continue
    const made = [nameOf(call) ?? ''].filter((name) => x.names.has(name))
    kept.set(keep, [...(kept.get(keep) ?? []), ...made])
    run.made.push(...made)
  }
  for (const [name, names] of kept) values.set(name, beside === undefined ? names : (names[0] ?? null))
  await ride(run, [...kept.values()].flat())
}

/** Lets time pass: then what expired must stay so. */
async function waitFor(run: Run, wait: unknown): Promise<void> {
  const ms = durationMs(wait)
  if (ms <= 0) return
  await (run.options.wait ?? run.caller.x.wait)(ms)
  run.caller.x.script = run.script
  await ride(run, run.made)
}
