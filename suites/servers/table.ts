/**
 * All servers that are wrong in one way, and all that conform and answer open questions in another way than the reference server. Each
 * subject of the document has a file of its own, loaded only when a table is asked for.
 */
import type { ServerOptions } from '../../mock-server/context.ts'
import type { Profile } from '../../mock-server/profile.ts'
import { type Changing, optionsOf } from './operators.ts'

/** Who wrote a row: we, or one of the authors who did not know the cases (README.md). */
export type Origin = (typeof origins)[number]
export const origins = [
  'own',
  'first',
  'second',
  'third',
  'fourth',
  'fifth',
  'sixth',
  'seventh',
  'eighth',
  'ninth',
  'tenth',
  'eleventh',
  'twelfth',
] as const

type Made = Pick<ServerOptions, 'rules' | 'around' | 'profile'>

/** A server that is wrong in one way, named as the wrong behaviour. */
export interface BrokenServer {
  id: string
  /** The requirement that it breaks, `area/slug`. */
  breaks: string
  origin: Origin
  /** Why nothing finds it. */
  missed?: string
  /** The options that start one server. Call it again for each further server. */
  create(): Made
}

/** A conforming server that answers open questions in another way than the reference server. */
export interface ConformingServer {
  id: string
  /** The open questions of spec/open-questions.yaml that it answers in another way. */
  questions: readonly string[]
  origin: Origin
  profile: Partial<Profile>
  /** Not combined with others: one more reading of a switch that many have would take many more servers. */
  alone?: true
  /** What a user would tell the suite about such a server. */
  settings?: { scheme?: string; tokenPrefix?: string; clientAddress?: string }
  create(): Made
}

/** One way to be wrong: who wrote it, and what it changes. */
export interface BrokenRow {
  origin: Origin
  change: Changing
  missed?: string
}

/** Rows by the requirement that they break and by their id. */
export type BrokenRows = { readonly [breaks: string]: { readonly [id: string]: BrokenRow } }

const subjectsOfBroken = (): Promise<BrokenRows>[] => []

export async function brokenServers(): Promise<readonly BrokenServer[]> {
  const subjects = await Promise.all(subjectsOfBroken())
  const rows = subjects.flatMap((subject) =>
    Object.entries(subject).flatMap(([breaks, servers]) =>
      Object.entries(servers).map(([id, { change, ...row }]) => ({
        ...row,
        id,
        breaks,
        create: () => optionsOf(change),
      })),
    ),
  )
  const { mutants } = await import('../../mock-server/mutants.ts')
  const { mutantSets } = await import('../../mock-server/independent/mutants.ts')
  return [
    ...rows,
    ...mutants.map(({ id, breaks, with: rules, profile }) => ({
      id,
      breaks,
      origin: 'own' as const,
      create: () => ({ rules, ...(profile && { profile }) }),
    })),
    ...Object.entries(mutantSets).flatMap(([set, servers]) =>
      servers.map(({ id, breaks, create }) => ({ id, breaks, origin: set as Origin, create })),
    ),
  ]
}

export async function conformingServers(): Promise<readonly ConformingServer[]> {
  const { variants } = await import('../../mock-server/variants.ts')
  const { variantSets } = await import('../../mock-server/independent/variants.ts')
  return [
    ...variants.map(({ rules, ...row }) => ({
      ...row,
      origin: 'own' as const,
      create: () => ({ profile: row.profile, ...(rules && { rules }) }),
    })),
    ...Object.entries(variantSets).flatMap(([set, servers]) =>
      servers.map((row) => ({
        ...row,
        profile: row.profile ?? {},
        origin: set as Origin,
        create: () => ({ profile: row.profile ?? {}, ...row.create?.() }),
      })),
    ),
  ]
}
