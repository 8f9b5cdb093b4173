/** What rows of conforming servers are, and what they read in requests. */
import type { MockAnswer, MockRequest } from '../../../mock-server/http-server.ts'
import { type Profile, profileFromWords } from '../../../mock-server/profile.ts'
import { chain } from '../around.ts'
import type { Call } from '../call.ts'
import { type Change, type Changing, type Origin, origins } from '../rows.ts'

/** A conforming server as it stands in its file. */
interface ConformingRow {
  origin: Origin
  questions: readonly string[]
  profile: Partial<Profile>
  settings: { scheme?: string; tokenPrefix?: string; clientAddress?: string }
  alone: boolean
  changes: readonly Changing[]
}

/** Rows by their id. */
export type ConformingRows = { readonly [id: string]: ConformingRow }

/**
 * A row by one author: words, which are the open questions that it answers, switches as `serve --profile` takes them, `alone`, and
 * `clientAddress=ADDR` as in a target file; and what is replaced, the outermost wrapper last.
 */
type MakeRow = (...parts: (string | Changing | readonly Changing[])[]) => ConformingRow
export const by = Object.fromEntries(
  origins.map((origin): [Origin, MakeRow] => [origin, (...parts) => row(origin, parts.flat())]),
) as { readonly [origin in Origin]: MakeRow }

function row(origin: Origin, parts: readonly (string | Changing)[]): ConformingRow {
  const words = parts.flatMap((part) => (typeof part === 'string' ? part.split(' ') : []))
  const isAddress = (word: string) => word.startsWith('clientAddress=')
  const profile = profileFromWords(
    words.filter((word) => word.includes('=') && !isAddress(word)),
    () => 0,
  )
  const { scheme, tokenPrefix } = profile
  const clientAddress = words.find(isAddress)?.split('=')[1]
  return {
    origin,
    questions: words.filter((word) => word.includes('/') && !word.includes('=')),
    profile,
    settings: {
      ...(scheme === undefined ? {} : { scheme }),
      ...(tokenPrefix === undefined ? {} : { tokenPrefix }),
      ...(clientAddress === undefined ? {} : { clientAddress }),
    },
    alone: words.includes('alone'),
    changes: parts.filter((part) => typeof part !== 'string'),
  }
}

/** All changes of a row as one; the wrapper of the last one is the outermost. */
export function joinChanges(changes: readonly Changing[]): Changing {
  const fixed = changes.filter((change) => typeof change === 'object')
  if (fixed.length === changes.length) return joined(fixed)
  return (seen) => joined(changes.map((change) => (typeof change === 'function' ? change(seen) : change)))
}

function joined(changes: readonly Change[]): Change {
  const all: Change = Object.assign({}, ...changes)
  const profile = Object.assign({}, ...changes.map((change) => change.profile)) as Partial<Profile>
  const arounds = changes.flatMap(({ around }) => around ?? [])
  const takers = changes.flatMap(({ paramTaken }) => paramTaken ?? [])
  if (Object.keys(profile).length > 0) all.profile = profile
  if (arounds.length > 0) all.around = chain(...arounds)
  // A param must be good for every change that looks at it.
  if (takers.length > 1)
    all.paramTaken = (method, name, value, valid) => takers.every((taken) => taken(method, name, value, valid))
  return all
}

export const create = 'manager/createApiKey'

export const auth = 'manager/auth'

export const list = 'solution/listSolutions'

/** The same call with another scope; a signature of the old body does not fit any more. */
export const withScope = (call: Call, scope: string[]): MockRequest => call.withParams({ ...call.params, scope })

/** The `session:NAME` of a grant. */
export const sessionWord = (call: Call): string | undefined => call.scope.find((word) => word.startsWith('session:'))

/** The fields of a signature: key id, version, timestamp, nonce and MAC; empty for other calls. */
export function signatureFields({ authorization }: Call): string[] {
  const fields = authorization?.split(';') ?? []
  return fields.length > 1 ? fields : []
}

/** Refuses a list of scopes of manager/auth. */
export const noGrantWith = (refused: (scope: string[]) => boolean): Change => ({
  paramTaken: (method, name, value, valid) =>
    valid && !(method === auth && name === 'scope' && Array.isArray(value) && refused(value.map(String))),
})

/** Whether the key that a call names is active. */
export const isOfLiveKey = (_answer: MockAnswer, call: Call): boolean => {
  const key = call.state.keys.get(call.keyId ?? '')
  return key?.enabled === true && !key.deleted
}
