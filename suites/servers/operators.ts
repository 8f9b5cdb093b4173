/**
 * What rows of broken and conforming servers are made of. A row is a replaced rule or two; one that looks at the call being answered, or
 * remembers something, is a function of `seen`, and its memory stands in its parameters: `(seen, used = new Set<string>()) => ({ … })`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerContext, ServerOptions } from '../../mock-server/context.ts'
import type { Handle, MockAnswer, MockRequest } from '../../mock-server/http-server.ts'
import { type Rules, rules as right } from '../../mock-server/rules.ts'
import type { ApiKey, State, TokenPair } from '../../mock-server/state.ts'
import { Call, isAccepted, noRequest } from './call.ts'

export { Call, isAccepted, type Members, readMembers, sessionIn } from './call.ts'

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
/** Made anew for each server and each reset of one, so that what it keeps is forgotten with the state of the server. */
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

/** Reads the Authorization header; without one, reads credentials from another place, as a careless framework would. */
export const headerOrElse =
  (other: (call: Call) => string | undefined): Rules['headerOf'] =>
  (request) =>
    request.headers.authorization ?? other(new Call(request, undefined))

/** A header with these credentials; undefined where one of them is missing. */
export const asBasic = (id: unknown, secret: unknown): string | undefined =>
  typeof id === 'string' && typeof secret === 'string' ? `Basic ${btoa(`${id}:${secret}`)}` : undefined

/** A header with this token; an empty text is no token. */
export const asToken = (token: unknown): string | undefined =>
  typeof token === 'string' && token !== '' ? `Bearer ${token}` : undefined

type RuleName = Exclude<keyof Rules, 'methodMemberTaken'>
type Given<Name extends RuleName> = Parameters<Rules[Name]>
/** Rules that answer yes or no. */
type YesNo = { [Name in RuleName]: ReturnType<Rules[Name]> extends boolean ? Name : never }[RuleName]

const ruled = <Name extends RuleName>(name: Name, rule: (...given: Given<Name>) => unknown) =>
  ({ [name]: rule }) as unknown as Pick<Rules, Name>
const rightly = <Name extends RuleName>(name: Name, given: Given<Name>): unknown =>
  (right[name] as (...given: Given<Name>) => unknown)(...given)

/** A rule that also says yes where `more` does. */
export const also = <Name extends YesNo>(name: Name, more: (...given: Given<Name>) => boolean): Pick<Rules, Name> =>
  ruled(name, (...given) => rightly(name, given) === true || more(...given))

/** A rule that says no where `but` does. */
export const unless = <Name extends YesNo>(name: Name, but: (...given: Given<Name>) => boolean): Pick<Rules, Name> =>
  ruled(name, (...given) => rightly(name, given) === true && !but(...given))

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

/** The right rule, but every `count`-th time the wrong one. */
export const every =
  <Name extends RuleName>(count: number, name: Name, wrong: (...given: Given<Name>) => ReturnType<Rules[Name]>) =>
  (_seen: Seen, times = 0): Change =>
    ruled(name, (...given) => {
      times += 1
      return times % count === 0 ? wrong(...given) : rightly(name, given)
    })

/** What a rule has once agreed to, it agrees to again for a time wherever the place is the same; undefined is no place. */
export const agreesAgain =
  <Name extends RuleName>(
    name: Name,
    placeOf: (seen: Seen, ...given: Given<Name>) => string | number | undefined,
    forMs = Number.POSITIVE_INFINITY,
  ) =>
  (seen: Seen, agreedMs = new Map<string | number, number>()): Change =>
    ruled(name, (...given) => {
      const place = placeOf(seen, ...given)
      const agrees = rightly(name, given) === true
      if (place === undefined) return agrees
      if (agrees) agreedMs.set(place, seen.nowMs)
      const lastMs = agreedMs.get(place)
      return lastMs !== undefined && seen.nowMs - lastMs < forMs
    })

/** Counts what a rule refuses in a row at each place, and agrees after all to some of it; undefined is no place. */
export const inARow =
  <Name extends YesNo>(
    name: Name,
    placeOf: (seen: Seen, ...given: Given<Name>) => string | undefined,
    agreesTo: (refused: number) => boolean,
  ) =>
  (seen: Seen, refused = new Map<string, number>()): Change =>
    ruled(name, (...given) => {
      const place = placeOf(seen, ...given)
      const agrees = rightly(name, given) === true
      if (place === undefined) return agrees
      const count = agrees ? 0 : (refused.get(place) ?? 0) + 1
      refused.set(place, count)
      return agrees || agreesTo(count)
    })

/** Does something beside a grant, which is not changed. */
export const onGrant = (act: (pair: TokenPair) => unknown): Pick<Rules, 'grantResult'> => ({
  grantResult: (result, pair) => {
    act(pair)
    return result
  },
})

/** The ways in which keys are made. */
const makings = {
  'by-token': ({ pair }) => pair !== undefined,
  'by-refreshed-token': ({ pair }) => (pair?.generation ?? 0) > 0,
  'in-session': ({ pair }) => pair?.session !== undefined,
  'by-signature': ({ isSigned }) => isSigned,
  'by-ecc': ({ byPublicKey }) => byPublicKey,
  'by-created-key': ({ caller }) => caller?.initial === false,
} satisfies { [way: string]: (seen: Seen) => boolean }

type WasMade = (key: ApiKey | undefined) => boolean

/** Something else holds for the keys that were made in some way. */
export const forKeysMade =
  (way: keyof typeof makings, change: (wasMade: WasMade, seen: Seen) => Change) =>
  (seen: Seen, made = new Set<string | undefined>()): Change => ({
    storedKey: (key) => {
      if (makings[way](seen)) made.add(key.id)
      return key
    },
    ...change((key) => made.has(key?.id), seen),
  })

/** A key is mixed up with the one that created it. */
export const withCreators =
  (change: (creatorOf: (key: ApiKey) => ApiKey | undefined, seen: Seen) => Change) =>
  (seen: Seen, creators = new Map<string, ApiKey>()): Change => ({
    storedKey: (key) => {
      if (seen.caller !== undefined) creators.set(key.id, seen.caller)
      return key
    },
    ...change(({ id }) => creators.get(id), seen),
  })

/** Reads `%41` as `A`; a text with a broken escape stays as it is. */
export function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/i.test(word)
export const isOneSolution = (word: string): boolean => /^solution:[^*]/.test(word)

/** Passes each answer to `look` and sends what that returns. */
export function answerThrough(look: (answer: MockAnswer, call: Call) => MockAnswer): Around {
  return (handle, context) => (request) => {
    const answer = handle(request)
    const call = new Call(request, context)
    return answer instanceof Promise ? answer.then((late) => look(late, call)) : look(answer, call)
  }
}

/** Looks at each call once it is answered, and leaves the answer as it is. */
export const afterCalls = (look: (answer: MockAnswer, call: Call) => unknown): Around =>
  answerThrough((answer, call) => {
    look(answer, call)
    return answer
  })

type After = (call: Call, answer: MockAnswer) => unknown

/** Does something after each call that was accepted. */
export const onAccepted = (act: After): { around: Around } => ({
  around: afterCalls((answer, call) => isAccepted(answer) && act(call, answer)),
})
/** Does something after each call that was refused. */
export const onRefused = (act: After): { around: Around } => ({
  around: afterCalls((answer, call) => !isAccepted(answer) && act(call, answer)),
})

type Next = (request?: MockRequest) => MockAnswer | Promise<MockAnswer>

/** Meets each call; `next` goes on with it, or with another request in its place. */
export const meets =
  (look: (call: Call, next: Next) => MockAnswer | Promise<MockAnswer>): Around =>
  (handle, context) =>
  (request) =>
    look(new Call(request, context), (changed = request) => handle(changed))

/** Wraps the handler in each of the given ways; the last one is the outermost. */
export const chain =
  (...arounds: Around[]): Around =>
  (handle, context) =>
    arounds.reduce((inner, around) => around(inner, context), handle)

/** Waits until calls that were sent together have all arrived. */
export const meet = (): Promise<void> => sleep(3)

/** Calls for which `joins` holds wait for each other, so that what it noted is that of the last one. */
export const meeting = (joins: (call: Call) => boolean): Around =>
  meets((call, next) => (joins(call) ? meet().then(() => next()) : next()))

interface Again {
  forMs: number
  /** Calls with the same text are the same; undefined: the call is answered for itself. */
  as: (call: Call) => string | undefined
  /** Whether an answer is given again, by default an accepted one. */
  stored?: (answer: MockAnswer) => boolean
  /** Whether the stored answer may still be given. */
  isGood?: (answer: MockAnswer, call: Call) => unknown
  give?: (answer: MockAnswer, call: Call) => MockAnswer
}

/** The same call gets the answer of the first one again for a while, and is not carried out. */
export const answeredAgain =
  ({ forMs, as, stored = isAccepted, isGood = () => true, give = (answer, call) => call.answered(answer) }: Again) =>
  (_seen: Seen, known = new Map<string, { answer: MockAnswer; untilMs: number }>()): Change => ({
    around: meets(async (call, next) => {
      const first = known.get(as(call) ?? '')
      if (first && call.nowMs < first.untilMs && isGood(first.answer, call)) return give(first.answer, call)
      const answer = await next()
      const name = as(call)
      if (name !== undefined && stored(answer)) known.set(name, { answer, untilMs: call.nowMs + forMs })
      return answer
    }),
  })

/** Calls that are in flight together and have the same key get the answer of the first one, each with its own id. */
export const mergeInFlight =
  (keyOf: (call: Call) => string | undefined): Around =>
  (handle, context) => {
    const flights = new Map<string, Promise<MockAnswer>>()
    return meets((call, next) => {
      const key = keyOf(call)
      if (key === undefined) return next()
      const flight = flights.get(key)
      if (flight !== undefined) return flight.then((answer) => call.answered(answer))
      const started = meet()
        .then(() => next())
        .finally(() => flights.delete(key))
      flights.set(key, started)
      return started
    })(handle, context)
  }
