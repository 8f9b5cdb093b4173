/** The names that worlds and laws may use (fixtures/worlds/README.md), because a name that stands for nothing would be sent as it is written. */
import { isObject } from '../engine/json.ts'
import { type Path, type Problem, suggestion } from '../engine/language/yaml-source.ts'

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
/** What worlds, laws about pairs, and those about keys may name. */
export interface KnownNames {
  readonly worlds: (typeof ofWorlds)[number]
  readonly pairs: (typeof ofPairs)[number]
  readonly keys: (typeof ofKeys)[number]
}

/** What the explorer puts in when it sends a call. */
const ofCalls = ['unique', 'digits', 'root', 'spare']
/** What each step and each combination has. */
const ofSteps = ['new', 'turn']
const ofCombinations = ['own', 'ownDigits', 'made']

/** @param left the names by which worlds know what others left */
export function unknownNameInWorld(
  world: { readonly each?: object; readonly takes?: readonly string[] },
  left: readonly string[],
): Problem | undefined {
  const { each = {}, takes = [] } = world
  const own = [...Object.keys(each), ...takes, ...boundIn(world)]
  return unknownName(world, [...own, ...ofWorlds, ...left, ...ofCombinations, ...ofSteps])
}

/** What a step of a law keeps has no name. */
export function unknownNameInLaw(law: {
  readonly each?: object
  readonly where: readonly string[]
}): Problem | undefined {
  const { each = {}, where } = law
  return unknownName(law, [...Object.keys(each), ...(where.includes('key') ? ofKeys : ofPairs), ...ofSteps])
}

function unknownName(value: unknown, known: readonly string[]): Problem | undefined {
  for (const { name, braced, ...place } of namesIn(value)) {
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

interface Found {
  readonly name: string
  /** Written as `${name}`, which only the explorer reads. */
  readonly braced: boolean
  readonly path: Path
  readonly onKey: boolean
}

function namesIn(value: unknown, path: Path = [], onKey = false): Found[] {
  if (typeof value === 'string')
    return Array.from(value.matchAll(/\$(\{?)([A-Za-z]\w*)/g), ([, brace, name = '']) => ({
      name,
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
