/**
 * What rows of broken and conforming servers are made of. A row is a replaced rule or two; one that looks at the call being answered, or
 * remembers something, is a function of `seen`, and its memory stands in its parameters: `(seen, used = new Set<string>()) => ({ … })`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerContext, ServerOptions } from '../../mock-server/context.ts'
import type { Handle, MockAnswer, MockRequest } from '../../mock-server/http-server.ts'
import { type Rules, rules as right } from '../../mock-server/rules.ts'
import type { ApiKey, State, TokenPair } from '../../mock-server/state.ts'

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

/** One way to be wrong: who wrote it, and what it changes. */
export interface BrokenRow {
  origin: Origin
  change: Changing
}

/** Rows by the requirement that they break and by their id. */
export type BrokenRows = { readonly [breaks: string]: { readonly [id: string]: BrokenRow } }

/** Says who wrote a row. */
const by =
  (origin: Origin) =>
  (change: Changing): BrokenRow => ({ origin, change })
export const own = by('own')
export const first = by('first')
export const second = by('second')
export const third = by('third')
export const fourth = by('fourth')
export const fifth = by('fifth')
export const eighth = by('eighth')
export const ninth = by('ninth')
export const tenth = by('tenth')
export const twelfth = by('twelfth')

/** One row of ours for each of several words. */
export const ownEach = <Word>(words: readonly Word[], row: (word: Word) => [id: string, change: Changing]) =>
  Object.fromEntries(words.map((word) => row(word)).map(([id, change]) => [id, own(change)]))

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

/** The members of a JSON object. */
export type Members = { [name: string]: unknown }

const noRequest: MockRequest = { method: '', target: '', headers: {}, body: Buffer.alloc(0), remoteAddress: '' }

/** What a replaced rule can see besides its arguments: the server, and the call being answered, as long as nothing waits. */
export class Seen {
  private watched: ServerContext | undefined
  request: MockRequest = noRequest

  get context(): ServerContext {
    if (this.watched === undefined) throw new TypeError('A row looks at a server that has not begun')
    return this.watched
  }
  set context(context: ServerContext) {
    this.watched = context
  }
  /** undefined while the server is being made. */
  get state(): State | undefined {
    return this.watched?.state
  }
  get nowMs(): number {
    return this.context.now()
  }
  get connection(): number | undefined {
    return this.request.connection
  }
  get method(): unknown {
    return readCall(this.request).method
  }
  /** Whether the call creates a key. */
  get creates(): boolean {
    return this.method === 'manager/createApiKey'
  }
  get params(): Members {
    return paramsOf(this.request)
  }
  /** The `scope` of a grant or of a creation. */
  get scope(): string[] {
    return scopeOf(this.request)
  }
  get keys(): ApiKey[] {
    return [...this.context.state.keys.values()]
  }
  /** The pair whose access token the request shows. */
  get pair(): TokenPair | undefined {
    const shown = this.request.headers.authorization?.split(' ').at(-1)
    const token = this.context.state.tokens.get(shown ?? '')
    return token?.kind === 'access' ? token.pair : undefined
  }
  /** The key that the request names in a signature, in Basic credentials or in a grant. */
  get named(): ApiKey | undefined {
    return this.context.state.keys.get(namedKeyId(this.request) ?? '')
  }
  /** The key that makes the call: the one that it names, or that of its token. */
  get caller(): ApiKey | undefined {
    return this.pair?.key ?? this.named
  }
  /** Whether the call names a key with a public key. */
  get byPublicKey(): boolean {
    return this.pair === undefined && this.named?.publicKey !== undefined
  }
  /** Whether the body contains this text, such as the name of a method. */
  bodyHas(text: string): boolean {
    return this.request.body.includes(text)
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
    if (seen.state === undefined) return first
    const known = begun.get(seen.state)
    if (known !== undefined) return known
    const fresh = change(seen)
    begun.set(seen.state, fresh)
    return fresh
  }
  const { around: _around, profile, ...rules } = first
  const delegated = Object.keys(rules).map((name) => [
    name,
    (...given: unknown[]) => (current()[name as keyof Rules] as (...given: unknown[]) => unknown)(...given),
  ])
  return {
    rules: Object.fromEntries(delegated) as Partial<Rules>,
    around: (handle, context) => {
      seen.context = context
      const noted: Handle = (request) => {
        seen.request = request
        return handle(request)
      }
      const wrapped = new WeakMap<Change, Handle>()
      return (request) => {
        seen.request = request
        const now = current()
        const outer = wrapped.get(now) ?? now.around?.(noted, context) ?? noted
        wrapped.set(now, outer)
        return outer(request)
      }
    },
    ...(profile && { profile }),
  }
}

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

/** The right rule, but every `count`-th time the wrong one. */
export const every =
  <Name extends RuleName>(count: number, name: Name, wrong: (...given: Given<Name>) => ReturnType<Rules[Name]>) =>
  (_seen: Seen, times = 0): Change =>
    ruled(name, (...given) => {
      times += 1
      return times % count === 0 ? wrong(...given) : rightly(name, given)
    })

/** What a rule has once agreed to, it agrees to again wherever the place is the same; undefined is no place. */
export const agreesAgain =
  <Name extends RuleName>(name: Name, placeOf: (seen: Seen, ...given: Given<Name>) => string | number | undefined) =>
  (seen: Seen, places = new Set<string | number>()): Change =>
    ruled(name, (...given) => {
      const place = placeOf(seen, ...given)
      const agrees = rightly(name, given) === true
      if (place === undefined) return agrees
      if (agrees) places.add(place)
      return places.has(place)
    })

/** Does something beside a grant, which is not changed. */
export const onGrant = (act: (pair: TokenPair) => unknown): Pick<Rules, 'grantResult'> => ({
  grantResult: (result, pair) => {
    act(pair)
    return result
  },
})

/** Something else holds for the keys whose creation was of some kind; `made` has their ids. */
export const forKeysMade =
  (when: (seen: Seen, key: ApiKey) => boolean, change: (made: ReadonlySet<string | undefined>, seen: Seen) => Change) =>
  (seen: Seen, made = new Set<string | undefined>()): Change => ({
    storedKey: (key) => {
      if (when(seen, key)) made.add(key.id)
      return key
    },
    ...change(made, seen),
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

/** The body of a request or of an answer, if it is a JSON object. */
export function readMembers(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** The JSON-RPC request; empty if the body is something else. */
export const readCall = ({ body }: MockRequest): Members => readMembers(body.toString('utf8')) ?? {}

export const isMethod = (request: MockRequest, method: string): boolean => readCall(request).method === method

/** The params of a call; empty if the body is something else. */
export function paramsOf(request: MockRequest): Members {
  const { params } = readCall(request)
  return typeof params === 'object' && params !== null ? (params as Members) : {}
}

/** The `scope` of a grant or of a creation. */
export function scopeOf(request: MockRequest): string[] {
  const { scope } = paramsOf(request)
  return Array.isArray(scope) ? scope.filter((word) => typeof word === 'string') : []
}

/** Whether a call is a grant of api_key_credentials, or a refresh. */
export const isGrant = (request: MockRequest): boolean =>
  isMethod(request, 'manager/auth') && paramsOf(request).grantType === 'api_key_credentials'
export const isRefresh = (request: MockRequest): boolean =>
  isMethod(request, 'manager/auth') && paramsOf(request).grantType === 'refresh_token'

export const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/i.test(word)
export const isOneSolution = (word: string): boolean => /^solution:[^*]/.test(word)
/** The name in the entry session:NAME of a scope. */
export const sessionIn = (scope: string[]): string | undefined =>
  scope.find((word) => word.startsWith('session:'))?.slice('session:'.length)

/** The id of the key that a request names in a signature, in Basic credentials or in a grant. */
export function namedKeyId(request: MockRequest): string | undefined {
  const header = request.headers.authorization ?? ''
  const credentials = header.slice(header.indexOf(' ') + 1)
  if (/^basic /i.test(header)) return Buffer.from(credentials, 'base64').toString('utf8').split(':')[0]
  if (credentials.includes(';')) return credentials.split(';')[0]
  if (credentials !== '') return undefined
  const id = paramsOf(request).apiKeyId
  return typeof id === 'string' ? id : undefined
}

/** The text of a Bearer token, or an empty text. */
export const tokenText = ({ headers }: MockRequest): string =>
  /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ?? ''

/** The pair whose access token a call shows; a header beside a grant does not count. */
export function shownPair(request: MockRequest, { state }: ServerContext): TokenPair | undefined {
  const token = isMethod(request, 'manager/auth') ? undefined : state.tokens.get(tokenText(request))
  return token?.kind === 'access' ? token.pair : undefined
}
/** The pair of the refresh token in the params of a call. */
export function namedPair(request: MockRequest, { state }: ServerContext): TokenPair | undefined {
  const token = state.tokens.get(String(paramsOf(request).refreshToken))
  return token?.kind === 'refresh' ? token.pair : undefined
}

/** The same call with another body; a signature of the old body does not fit any more. */
export const withMembers = (request: MockRequest, members: Members): MockRequest => ({
  ...request,
  body: Buffer.from(JSON.stringify(members)),
})

export const isAccepted = ({ body }: MockAnswer): boolean => readMembers(body)?.result !== undefined

/** The same answer for a call with another id. */
export const answerFor = (answer: MockAnswer, request: MockRequest): MockAnswer => ({
  ...answer,
  headers: { ...answer.headers },
  body: JSON.stringify({ ...readMembers(answer.body), id: readCall(request).id }),
})

/** Passes each answer to `look` and sends what that returns. */
export function answerThrough(
  look: (answer: MockAnswer, request: MockRequest, context: ServerContext) => MockAnswer,
): Around {
  return (handle, context) => (request) => {
    const answer = handle(request)
    return answer instanceof Promise
      ? answer.then((late) => look(late, request, context))
      : look(answer, request, context)
  }
}

/** Looks at each call once it is answered, and leaves the answer as it is. */
export const afterCalls = (look: (answer: MockAnswer, request: MockRequest, context: ServerContext) => void): Around =>
  answerThrough((answer, request, context) => {
    look(answer, request, context)
    return answer
  })

/** Wraps the handler in each of the given ways; the last one is the outermost. */
export const chain =
  (...arounds: Around[]): Around =>
  (handle, context) =>
    arounds.reduce((inner, around) => around(inner, context), handle)

/** Waits until calls that were sent together have all arrived. */
export const meet = (): Promise<void> => sleep(3)

/** Calls for which `joins` holds wait for each other, so that what it noted is that of the last one. */
export const meeting =
  (joins: (request: MockRequest) => boolean): Around =>
  (handle) =>
  (request) =>
    joins(request) ? meet().then(() => handle(request)) : handle(request)

/** Calls that are in flight together and have the same key get the answer of the first one, each with its own id. */
export function mergeInFlight(keyOf: (request: MockRequest, context: ServerContext) => string | undefined): Around {
  return (handle, context): Handle => {
    const flights = new Map<string, Promise<MockAnswer>>()
    return (request) => {
      const key = keyOf(request, context)
      if (key === undefined) return handle(request)
      const flight = flights.get(key)
      if (flight !== undefined) return flight.then((answer) => answerFor(answer, request))
      const started = meet()
        .then(() => handle(request))
        .finally(() => flights.delete(key))
      flights.set(key, started)
      return started
    }
  }
}
