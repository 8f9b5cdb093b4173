/**
 * All servers that are wrong in one way, and all that conform and answer open questions in another way than the reference server. Each
 * subject of the document has a file of its own, loaded only when a table is asked for.
 */
import type { ServerOptions } from '../../mock-server/context.ts'
import type { Profile } from '../../mock-server/profile.ts'
import { type ConformingRows, joinChanges } from './conforming/rows.ts'
import { authored, type BrokenRows, type Origin, optionsOf } from './rows.ts'

type Made = Pick<ServerOptions, 'rules' | 'around' | 'profile'>

/** A server that is wrong in one way, named as the wrong behaviour. */
export interface BrokenServer {
  id: string
  /** The requirement that it breaks, `area/slug`. */
  breaks: string
  origin: Origin
  /** Why a run or `explore` has not found it. */
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
  alone: boolean
  /** What a user would tell the suite about such a server. */
  settings: { scheme?: string; tokenPrefix?: string; clientAddress?: string }
  create(): Made
}

/** A line for each subject. */
const subjectsOfBroken = async (): Promise<BrokenRows[]> => [
  (await import('./broken/envelope.ts')).envelope,
  (await import('./broken/hmac.ts')).hmac,
  (await import('./broken/ecc.ts')).ecc,
  (await import('./broken/signed-data.ts')).signedData,
  (await import('./broken/basic.ts')).basic,
  (await import('./broken/keys.ts')).keys,
  (await import('./broken/limits.ts')).limits,
  (await import('./broken/grants.ts')).grants,
  (await import('./broken/tokens.ts')).tokens,
  (await import('./broken/lifetimes.ts')).lifetimes,
  (await import('./broken/refresh.ts')).refresh,
  (await import('./broken/scopes.ts')).scopes,
  (await import('./broken/addresses.ts')).addresses,
  (await import('./broken/sessions.ts')).sessions,
]

/** Who wrote the servers: we, or authors who did not know the suite. */
type Author = 'own' | 'others'

const isBy = (author: Author | undefined, { origin }: { origin: Origin }): boolean =>
  author === undefined || (author === 'own') === (origin === 'own')

/** Those of every author unless one is named. */
export async function brokenServers(author?: Author): Promise<readonly BrokenServer[]> {
  const subjects = await subjectsOfBroken()
  const { missed } = await import('./broken/missed.ts')
  const all = subjects.flatMap((subject) =>
    Object.entries(subject).flatMap(([breaks, servers]) =>
      Object.entries(servers).map(([id, row]) => {
        const { change, origin } = authored(row)
        const why = missed.get(id)
        return { id, breaks, origin, ...(why && { missed: why }), create: () => optionsOf(change) }
      }),
    ),
  )
  return all.filter((one) => isBy(author, one))
}

const subjectsOfConforming = async (): Promise<ConformingRows[]> => [
  (await import('./conforming/envelope.ts')).envelopeRows,
  (await import('./conforming/refusals.ts')).refusalsRows,
  (await import('./conforming/limits.ts')).limitsRows,
  (await import('./conforming/keys.ts')).keysRows,
  (await import('./conforming/signatures.ts')).signaturesRows,
  (await import('./conforming/tokens.ts')).tokensRows,
  (await import('./conforming/lifetimes.ts')).lifetimesRows,
  (await import('./conforming/grants.ts')).grantsRows,
  (await import('./conforming/sessions.ts')).sessionsRows,
  (await import('./conforming/deployments.ts')).deploymentsRows,
]

/** Those of every author unless one is named. */
export async function conformingServers(author?: Author): Promise<readonly ConformingServer[]> {
  const subjects = await subjectsOfConforming()
  const all = subjects.flatMap((subject) =>
    Object.entries(subject).map(([id, { changes, ...row }]) => ({
      ...row,
      id,
      create: () => {
        const made = optionsOf(joinChanges(changes))
        return { ...made, profile: { ...row.profile, ...made.profile } }
      },
    })),
  )
  return all.filter((one) => isBy(author, one))
}
