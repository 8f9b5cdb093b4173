/**
 * What rows of broken and conforming servers are: a replaced rule or two. One that looks at the call being answered, or remembers something,
 * is a function of `seen`, and its memory stands in its parameters: `(seen, used = new Set<string>()) => ({ … })`.
 */
import type { ServerContext, ServerOptions } from '../../mock-server/context.ts'
import type { Handle, MockRequest } from '../../mock-server/http-server.ts'
import type { Rules } from '../../mock-server/rules.ts'
import type { State } from '../../mock-server/state.ts'
import { Call, noRequest } from './call.ts'

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
  'reported',
] as const

/** A way to be wrong that one of the authors thought of. */
interface Authored {
  readonly origin: Origin
  readonly change: Changing
}

/** One way to be wrong; ours, unless it names an author. */
export type BrokenRow = Changing | Authored

/** Rows by the requirement that they break and by their id. */
export type BrokenRows = { readonly [breaks: string]: { readonly [id: string]: BrokenRow } }

/** Says who wrote a row: `by.third({ … })`. */
export const by = Object.fromEntries(
  origins.map((origin) => [origin, (change: Changing): Authored => ({ origin, change })]),
) as { readonly [origin in Origin]: (change: Changing) => Authored }

/** Who wrote a row, and what it changes. */
export const authored = (row: BrokenRow): Authored => ('origin' in row ? row : { origin: 'own', change: row })

/** One row for each of several words. */
export const each = <Word>(words: readonly Word[], row: (word: Word) => [id: string, change: Changing]) =>
  Object.fromEntries(words.map(row))

/** Wraps the whole handler of one server, as a proxy in front of it would. */
export type Around = NonNullable<ServerOptions['around']>

/** Rules replaced, the handler wrapped, open questions answered in another way. */
export type Change = Partial<Rules> & Pick<ServerOptions, 'around' | 'profile'>

/** Made again for each server and each reset of one, so that what it keeps is forgotten with the state of the server. */
export type Changing = Change | ((seen: Seen) => Change)

export const minute = 60_000

export const hour = 60 * minute

export const day = 24 * hour

export const seconds = (ms: number) => Math.floor(ms / 1000)

/** The call being answered, as long as nothing waits; a replaced rule sees it besides its arguments. */
export class Seen extends Call {
  constructor() {
    super(noRequest, undefined)
  }
  /** false while the server is being made. */
  get hasBegun(): boolean {
    return this.watched !== undefined
  }
  /** Another call begins. */
  begin(request: MockRequest, context: ServerContext): void {
    this.request = request
    this.watched = context
  }
}

/** The options that start one server with a change. Call it again for each further server. */
export function optionsOf(change: Changing): Pick<ServerOptions, 'rules' | 'around' | 'profile'> {
  if (typeof change !== 'function') {
    const { around, profile, ...rules } = change
    return { rules, ...(around && { around }), ...(profile && { profile }) }
  }
  const seen = new Seen()
  const begun = new WeakMap<State, Change>()
  const first = change(seen)
  /** The change that belongs to the state of the server as it is now. */
  const current = (): Change => {
    if (!seen.hasBegun) return first
    const now = begun.get(seen.state) ?? change(seen)
    begun.set(seen.state, now)
    return now
  }
  const { around: _around, profile, ...rules } = first
  const delegated = Object.keys(rules).map((name) => [
    name,
    (...given: unknown[]) => (current()[name as keyof Rules] as (...given: unknown[]) => unknown)(...given),
  ])
  return {
    rules: Object.fromEntries(delegated) as Partial<Rules>,
    around: (handle, context) => {
      seen.begin(seen.request, context)
      const noted: Handle = (request) => {
        seen.begin(request, context)
        return handle(request)
      }
      const wrapped = new WeakMap<Change, Handle>()
      return (request) => {
        seen.begin(request, context)
        const now = current()
        const outer = wrapped.get(now) ?? now.around?.(noted, context) ?? noted
        wrapped.set(now, outer)
        return outer(request)
      }
    },
    ...(profile && { profile }),
  }
}

// What rows remember, in their parameters.

/** Things that something is known of: pairs, keys, texts, connections. */
export const marks = () => new Set<unknown>()

/** What is known of each thing. */
export const table = <Known>() => new Map<unknown, Known>()

/** Counts how often each thing came, or all of them together. */
export function counts(): (thing?: unknown) => number {
  const known = new Map<unknown, number>()
  return (thing) => {
    const count = (known.get(thing) ?? 0) + 1
    known.set(thing, count)
    return count
  }
}

/** Gives the first thing that came to each place; where there is no place, the thing itself. */
export function firsts<Thing>(): (place: unknown, thing: Thing) => Thing {
  const known = new Map<unknown, Thing>()
  return (place, thing) => {
    if (place === undefined) return thing
    const first = known.get(place) ?? thing
    known.set(place, first)
    return first
  }
}
