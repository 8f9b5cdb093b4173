/** Reads fixtures/worlds/*.yaml (fixtures/worlds/README.md). */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RawStep } from '../engine/language/corpus.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { demand } from '../engine/language/schemas.ts'
import { readPackageYaml, type YamlSource } from '../engine/language/yaml-source.ts'

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
type Part = { readonly part: string; readonly worlds: readonly string[] }

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

/** The worlds, the laws and the order of some files. @throws SuiteError (`fixture`) */
export function worldsIn(sources: readonly YamlSource[]) {
  for (const source of sources) demand(source, 'worlds')
  const all = sources.flatMap(({ value }) => value as (World | Law | Part)[])
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
