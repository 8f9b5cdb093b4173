/** Reads fixtures/worlds/*.yaml, and demands that each name in it stands for something, because any other would be sent as it is written (fixtures/worlds/README.md). */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../engine/json.ts'
import type { RawStep } from '../engine/language/corpus.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { demand } from '../engine/language/schemas.ts'
import {
  type Path,
  type Problem,
  readPackageYaml,
  suggestion,
  type YamlSource,
} from '../engine/language/yaml-source.ts'

export interface World {
  /** What is special about it; also the name of its stage. */
  readonly world: string
  readonly each?: { readonly [name: string]: unknown }
  /** Names of values that only its stage gives. */
  readonly takes?: readonly string[]
  /** How many combinations at most. */
  readonly most?: number | readonly number[]
  readonly needs?: readonly ('grants' | 'keys' | 'limits' | 'clock-control')[]
  /** false: further calls would disturb it. */
  readonly laws?: boolean
  /**
   * The keys whose sessions it counts, each named once. While it waits, worlds of other keys may go on, where the target is known to count
   * the sessions of each key apart. Where it names a value of `each`, its other combinations may too.
   */
  readonly counts?: readonly string[]
  /** Made once, before the first combination. */
  readonly before?: readonly RawStep[]
  /** Where one of these is not accepted, the combination is left out. */
  readonly given?: readonly RawStep[]
  readonly steps: readonly (RawStep | string)[]
  /** Made when this much time has passed since its steps, or at the end. */
  readonly later?: readonly { readonly after: string; readonly steps: World['steps'] }[]
  /** The name by which later worlds know the pairs and keys that it made. */
  readonly leaves?: string
}

/** What follows from the document for any pair or key, whatever was done before. */
interface Law {
  readonly law: string
  /** What must be true of the pair or the key; first which of the two it is. */
  readonly where: readonly string[]
  /** Features of a pair: the law is tried again for every two of them that it has not met together. All by default. */
  readonly by?: readonly string[]
  /** Tried at the end of a world, because it may end newer pairs. */
  readonly late?: boolean
  readonly each?: { readonly [name: string]: unknown }
  readonly steps: readonly RawStep[]
}

/** Worlds that follow one another. */
interface Part {
  readonly part: string
  readonly worlds: readonly string[]
}

let packaged: ReturnType<typeof worldsIn> | undefined

/** The worlds by their names, the laws, and the order of an exploration; read once. @throws SuiteError (`fixture`) */
export function readWorlds(): ReturnType<typeof worldsIn> {
  packaged ??= worldsIn(
    readdirSync(join(packageRoot, 'fixtures', 'worlds'))
      .filter((file) => file.endsWith('.yaml'))
      .toSorted()
      .map((file) => readPackageYaml(`fixtures/worlds/${file}`)),
  )
  return packaged
}

/** The worlds, the laws and the order of some files. @throws SuiteError (`fixture`), also where one names what stands for nothing */
export function worldsIn(sources: readonly YamlSource[]) {
  for (const source of sources) demand(source, 'worlds')
  const entriesOf = ({ value }: YamlSource) => value as (World | Law | Part)[]
  const all = sources.flatMap(entriesOf)
  const left = all.flatMap((one) => ('world' in one && one.leaves !== undefined ? [one.leaves] : []))
  for (const source of sources)
    for (const [at, one] of entriesOf(source).entries()) {
      const problem = 'part' in one ? undefined : (unknownName(one, namesFor(one, left)) ?? deadLaw(one))
      if (problem !== undefined) throw source.error({ ...problem, path: [at, ...problem.path] })
    }
  return {
    worlds: new Map(all.flatMap((one) => ('world' in one ? [[one.world, one]] : []))),
    laws: all.filter((one) => 'law' in one),
    order: new Map(all.flatMap((one) => ('part' in one ? [[one.part, one.worlds]] : []))),
  }
}

/** Names of sessions that are the same in every exploration. */
export const fixedSessionNames = (): string[] =>
  Array.from(JSON.stringify([...readWorlds().worlds.values()]).matchAll(/"session:([\w-]+)"/g), ([, name = '']) =>
    name.toLowerCase(),
  )

// The names that worlds and laws may use.

/** The values of every world. */
const ofWorlds = [
  ...['secrets', 'signers', 'narrow', 'narrowSigners', 'keys', 'users', 'created', 'creators', 'ofOneScope'],
  ...['first', 'second', 'third', 'fourth', 'narrowSecond', 'narrowThird', 'user', 'other', 'last'],
  ...['signer', 'scheme'],
  ...['storms', 'usersOfStorms', 'usersOfBriefPairs', 'racer', 'keeper', 'latePairs', 'apart', 'sessionWords'],
  ...['signatures', 'wrongSecrets', 'bodyChanges', 'sizes', 'otherForms', 'addresses', 'neighbours'],
  ...['apikey', 'extra', 'probes', 'solutions', 'beginnings', 'lifetimes', 'beyond', 'refreshLife', 'lifeOfDays'],
  ...['hours', 'endings', 'ended', 'disabled'],
] as const

const ofPairs = ['it', 'addresses', 'otherAddresses', 'probes', 'contexts'] as const
const ofKeys = [...ofPairs, 'ways', 'signer', 'secretOthers', 'signingOthers'] as const
/** What laws are about: what may be true of it, and the members that their calls may name. */
const subjects = {
  pair: {
    conditions: ['pair', 'newest', 'old', 'bound', 'unbound', 'of one word', 'of one solution'],
    members: ['accessToken', 'refreshToken'],
  },
  key: {
    conditions: ['key', 'alive', 'ended', 'with public key', 'without public key'],
    members: ['id', 'name', 'secret'],
  },
} as const

/** What worlds, laws about pairs, and those about keys may name. */
export interface KnownNames {
  readonly worlds: (typeof ofWorlds)[number]
  readonly pairs: (typeof ofPairs)[number]
  readonly keys: (typeof ofKeys)[number]
  /** What may be true of a pair, and of a key. */
  readonly ofPair: (typeof subjects)['pair']['conditions'][number]
  readonly ofKey: (typeof subjects)['key']['conditions'][number]
}

/** What the explorer puts in when it sends a call. */
const ofCalls = ['unique', 'digits', 'root', 'spare']
/** What each step and each combination has. */
const ofSteps = ['new', 'turn']
const ofCombinations = ['own', 'ownDigits', 'made']

/** What a world or a law may name beside what the explorer puts in. @param left the names by which worlds know what others left */
function namesFor(one: World | Law, left: readonly string[]): string[] {
  const each = Object.keys(one.each ?? {})
  // What a step of a law keeps has no name.
  if ('law' in one) return [...each, ...(one.where.includes('key') ? ofKeys : ofPairs), ...ofSteps]
  return [...each, ...(one.takes ?? []), ...boundIn(one), ...ofWorlds, ...left, ...ofCombinations, ...ofSteps]
}

function unknownName(value: unknown, known: readonly string[]): Problem | undefined {
  for (const { name, member: _, braced, ...place } of namesIn(value)) {
    const allowed = braced ? ofCalls : [...known, ...ofCalls]
    if (allowed.includes(name)) continue
    const hint = suggestion(
      `$${name}`,
      allowed.map((one) => `$${one}`),
    )
    return { ...place, message: `"$${name}" stands for nothing here${hint}` }
  }
  return undefined
}

/** Why a law would never be tried: its condition cannot hold, or its call cannot be made. */
function deadLaw(one: World | Law): Problem | undefined {
  if (!('law' in one)) return undefined
  const kind = one.where.includes('key') ? 'key' : 'pair'
  const { conditions, members }: { readonly [list in 'conditions' | 'members']: readonly string[] } = subjects[kind]
  const at = one.where.findIndex((word) => !conditions.includes(word))
  if (at >= 0) return { path: ['where', at], message: `"${one.where[at]}" never holds for a ${kind}` }
  for (const { name, member, braced: _, ...place } of namesIn(one)) {
    if (name !== 'it' || member === undefined || members.includes(member)) continue
    const hint = suggestion(member, members)
    return { ...place, message: `a ${kind} has no "${member}"${hint}` }
  }
  return undefined
}

interface Found {
  readonly name: string
  /** As in `$it.id`. */
  readonly member: string | undefined
  /** Written as `${name}`, which only the explorer reads. */
  readonly braced: boolean
  readonly path: Path
  readonly onKey: boolean
}

function namesIn(value: unknown, path: Path = [], onKey = false): Found[] {
  if (typeof value === 'string')
    return Array.from(value.matchAll(/\$(\{?)([A-Za-z]\w*)(?:\.(\w+))?/g), ([, brace, name = '', member]) => ({
      name,
      member,
      braced: brace !== '',
      path,
      onKey,
    }))
  if (Array.isArray(value)) return value.flatMap((item, at) => namesIn(item, [...path, at]))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, item]) => [
    ...namesIn(key, [...path, key], true),
    ...namesIn(item, [...path, key]),
  ])
}

/** The names that steps keep, and those of repeated steps. */
function boundIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(boundIn)
  if (!isObject(value)) return []
  const { keep, for: items, as = 'it', repeat, parallel, beside } = value
  const isRepeated = [items, repeat, parallel, beside].some((one) => one !== undefined)
  return [
    ...Object.keys(isObject(keep) ? keep : {}),
    ...(items === undefined ? [] : [String(as)]),
    ...(isRepeated ? ['n'] : []),
    ...Object.values(value).flatMap(boundIn),
  ]
}
