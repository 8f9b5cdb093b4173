/** What rows of conforming servers are. */
import { type Profile, profileFromWords } from '../../../mock-server/profile.ts'
import { chain } from '../around.ts'
import { type Change, type Changing, type Origin, origins } from '../rows.ts'

/** What recurs in conforming servers: changed answers, calls that are met before the server sees them, limits, locks and stores of nonces. */

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

/** Switches as `serve --profile` takes them, `alone`, and `clientAddress=ADDR` as in a target file; or something replaced. */
type Part = string | Changing

function row(origin: Origin, questions: string, given: Part | readonly Part[]): ConformingRow {
  const parts = [given].flat() as readonly Part[]
  const words = parts.flatMap((part) => (typeof part === 'string' ? part.split(' ') : []))
  const isSwitch = (word: string) => word !== 'alone' && !word.startsWith('clientAddress=')
  const profile = profileFromWords(words.filter(isSwitch), () => 0)
  const { scheme, tokenPrefix } = profile
  const clientAddress = words.find((word) => word.startsWith('clientAddress='))?.split('=')[1]
  return {
    origin,
    questions: questions.split(' ').filter((id) => id !== ''),
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

/** A row by one author: the questions that it answers, and the parts that answer them; the last one is the outermost. */
export const by = Object.fromEntries(
  origins.map((origin) => [
    origin,
    (questions: string, parts: Part | readonly Part[]) => row(origin, questions, parts),
  ]),
) as { readonly [origin in Origin]: (questions: string, parts: Part | readonly Part[]) => ConformingRow }

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
