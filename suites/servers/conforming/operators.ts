/** What recurs in conforming servers: changed answers, calls that are met before the server sees them, limits, locks and stores of nonces. */

import type { ServerContext } from '../../../mock-server/context.ts'
import { letPass } from '../../../mock-server/handler.ts'
import type { MockAnswer, MockRequest } from '../../../mock-server/http-server.ts'
import { type Profile, profileFromWords } from '../../../mock-server/profile.ts'
import { type Rules, rules as reference } from '../../../mock-server/rules.ts'
import type { TokenPair } from '../../../mock-server/state.ts'
import {
  type Around,
  answerThrough,
  type Call,
  type Change,
  type Changing,
  chain,
  counts,
  isAccepted,
  type Members,
  meet,
  meets,
  type Origin,
  origins,
  readMembers,
  type Seen,
} from '../operators.ts'

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

/** The same call with another scope; a signature of the old body does not fit any more. */
export const withScope = (call: Call, scope: string[]): MockRequest => call.withParams({ ...call.params, scope })

export const create = 'manager/createApiKey'
export const auth = 'manager/auth'
export const list = 'solution/listSolutions'
/** The `session:NAME` of a grant. */
export const sessionWord = (call: Call): string | undefined => call.scope.find((word) => word.startsWith('session:'))

/** The fields of a signature: key id, version, timestamp, nonce and MAC; empty for other calls. */
export function signatureFields({ authorization }: Call): string[] {
  const fields = authorization?.split(';') ?? []
  return fields.length > 1 ? fields : []
}

/** The pair that a call wants to refresh. */
export const pairToRefresh = (call: Call): TokenPair | undefined =>
  call.isRefresh ? call.state.tokens.get(String(call.params.refreshToken))?.pair : undefined

export const errorCode = ({ body }: MockAnswer): unknown =>
  (readMembers(body)?.error as { code?: unknown } | undefined)?.code

/** The Date header of a server whose clock shows `ms`. */
export const httpDate = (ms: number): string => new Date(ms).toUTCString()

export const html = 'text/html'
export const json = 'application/json'

/** An answer instead of another one, whose Date it keeps. */
export function textAnswer(
  from: MockAnswer,
  status: number,
  body: string,
  headers: { [name: string]: string } = { 'content-type': 'text/plain; charset=utf-8' },
): MockAnswer {
  const { date } = from.headers
  return { status, headers: date === undefined ? headers : { date, ...headers }, body }
}

/** A JSON-RPC error that is sent without a further look at the request. */
export function errorAnswer({ members }: Call, status: number, code: number, message: string): MockAnswer {
  const body = JSON.stringify({ jsonrpc: '2.0', id: members.id ?? null, error: { code, message } })
  return { status, headers: { 'content-type': json }, body }
}

/** The same refusal with another error. */
export const errorInstead = (answer: MockAnswer, code: number, message: string): MockAnswer => ({
  ...answer,
  body: JSON.stringify({ ...readMembers(answer.body), error: { code, message } }),
})

/** An answer that tells the caller to come again after `waitMs`, in whole seconds. */
export const waitAnswer = (status: number, waitMs: number, body = 'Later'): MockAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', 'retry-after': String(Math.max(Math.ceil(waitMs / 1000), 1)) },
  body,
})

type Answered<Result> = (answer: MockAnswer, call: Call) => Result

/** Changes every answer before it is sent. */
export const answers = (change: Answered<MockAnswer>): Change => ({ around: answerThrough(change) })

type Met = (call: Call) => MockRequest | MockAnswer | Promise<void> | undefined

/** Meets every call first: an answer is sent at once, a changed request goes on instead, and a promise is waited for. */
export function before(look: Met): Around {
  return meets((call, next) => {
    const met = look(call)
    if (met === undefined) return next()
    if (met instanceof Promise) return met.then(() => next())
    return 'status' in met ? met : next(met)
  })
}

export const calls = (look: Met): Change => ({ around: before(look) })

/** Changes the JSON of every JSON answer; batches are left alone. */
export const changeJson = (change: (envelope: Members) => unknown): Change =>
  answers((answer) => {
    const envelope = readMembers(answer.body)
    return envelope === undefined ? answer : { ...answer, body: JSON.stringify(change(envelope)) }
  })

/** Changes the JSON of every refusal. */
export const refusedJson = (change: (envelope: Members) => unknown): Change =>
  changeJson((envelope) => (envelope.error === undefined ? envelope : change(envelope)))

interface ErrorObject {
  code: number
  message: string
  data?: unknown
}

/** Replaces the error object of every refusal. */
export const errors = (change: (error: ErrorObject) => unknown): Change =>
  refusedJson((envelope) => ({ ...envelope, error: change(envelope.error as ErrorObject) }))

const refusalStatuses = [400, 401, 403, 404]

/** Changes the refusals, which get an HTTP status for it. */
export const refusals = (change: Answered<MockAnswer>): Change => ({
  profile: { refusalStatus: 'http' },
  ...answers((answer, call) => (refusalStatuses.includes(answer.status) ? change(answer, call) : answer)),
})

interface Refused {
  /** Which statuses are concerned; all of refusals by default. */
  on?: number[]
  /** Four of them stand for 400, 401, 403 and 404. */
  status?: number | readonly [number, number, number, number]
  body?: string | ((status: number) => unknown)
  type?: string
  headers?: { [name: string]: string }
}

/** Refusals get this status, these headers and this body. */
export const refuse = ({ on = refusalStatuses, status, body, type, headers }: Refused): Change =>
  refusals((answer) => {
    if (!on.includes(answer.status)) return answer
    const more = { ...(type === undefined ? {} : { 'content-type': type }), ...headers }
    const mapped = typeof status === 'object' ? status[refusalStatuses.indexOf(answer.status)] : status
    const text = typeof body === 'function' ? JSON.stringify(body(answer.status)) : body
    const kept = text === undefined ? answer : textAnswer(answer, answer.status, text, {})
    return { ...kept, status: mapped ?? answer.status, headers: { ...kept.headers, ...more } }
  })

/** Adds headers to every answer. */
export const withHeaders = (more: object | Answered<object>): Change =>
  answers((answer, call) => ({
    ...answer,
    headers: Object.assign({}, answer.headers, typeof more === 'function' ? more(answer, call) : more),
  }))

/** Another Date header on every answer, or none; `count` is the number of answers so far. */
export const dated =
  (dateOf: (nowMs: number, count: number) => string | number | undefined): Changing =>
  (seen, next = counts()) =>
    answers((answer) => {
      const date = dateOf(seen.nowMs, next())
      const { date: _date, ...headers } = answer.headers
      if (date === undefined) return { ...answer, headers }
      return { ...answer, headers: { ...headers, date: typeof date === 'number' ? httpDate(date) : date } }
    })

export const withoutDate = dated(() => undefined)

/** Calls take `ms`; those that `isSlow` names, where it is given. */
export const takes = (ms: number, isSlow: (call: Call) => boolean = () => true): Change =>
  calls((call) => (isSlow(call) ? letPass(call.context, ms) : undefined))

interface Listing {
  list: { id: string; name: string }[]
}
/** Another result of solution/listSolutions. */
export const listing = (shape: (result: Listing) => object): Change => ({
  resultMember: (method, result) => (method === list ? shape(result as Listing) : result),
})

/** Refuses params of manager/createApiKey. Absent ones are not looked at. */
export const noKeyWith = (refused: { [param: string]: (value: string, list: unknown[]) => unknown }): Change => ({
  paramTaken: (method, name, value, valid) =>
    valid && !(method === create && value !== undefined && refused[name]?.(String(value), [value].flat())),
})

/** Refuses a list of scopes of manager/auth. */
export const noGrantWith = (refused: (scope: string[]) => boolean): Change => ({
  paramTaken: (method, name, value, valid) =>
    valid && !(method === auth && name === 'scope' && Array.isArray(value) && refused(value.map(String))),
})

type Granted = Parameters<Rules['grantResult']>[0]

/** Adds members to what grants and refreshes report, or replaces some. */
export function results(more: (result: Granted) => object): Change {
  const changed = (result: Granted) => ({ ...result, ...more(result) })
  return { grantResult: changed, refreshResult: changed }
}

/** Changes what grants and refreshes report as the scope. */
export const echo = (change: (scope: string[]) => string[]): Change =>
  results(({ scope }) => ({ scope: change(scope) }))

type Group = (call: Call) => string | undefined

interface Throttle {
  /** So many calls of a group are let through in any `withinMs`, 1000 by default. */
  calls: number
  withinMs?: number
  /** Calls with the same name share the calls; undefined: the call is not counted. */
  of?: Group
  status?: number
  locked?: (call: Call, waitMs: number) => MockAnswer
}

/** Limits the rate of calls. */
export const throttle =
  ({ calls: most, withinMs = 1000, of = () => 'all', status = 429, locked }: Throttle): Changing =>
  (_seen, groups = new Map<string, number[]>()) =>
    calls((call) => {
      const name = of(call)
      if (name === undefined) return undefined
      const nowMs = call.nowMs
      const recentMs = (groups.get(name) ?? []).filter((ms) => ms > nowMs - withinMs)
      if (recentMs.length < most) {
        groups.set(name, [...recentMs, nowMs])
        return undefined
      }
      const waitMs = (recentMs[0] ?? nowMs) + withinMs - nowMs
      return locked?.(call, waitMs) ?? waitAnswer(status, waitMs)
    })

/** A group of calls that only those of these methods belong to. */
export const ofMethod =
  (...methods: string[]): Group =>
  (call) =>
    methods.find((method) => call.is(method))

interface Lock {
  /** Whose wrong tries are counted, and who is locked; undefined: nobody. By default the named key. */
  of?: Group
  /** By default a refused authorization, which gets an HTTP status for it. */
  isWrong?: Answered<boolean>
  tries: number
  /** Wrong tries are forgotten after this time; without it, they are forgotten after a right one. */
  withinMs?: number
  /** How long a lock lasts, by how many came before it without a right try in between. */
  lockMs: number | ((earlier: number) => number)
  locked?: (call: Call, leftMs: number) => MockAnswer
}

/** Locks a group of callers out for a time, after wrong tries. */
export const lock =
  ({ of = ({ keyId }) => keyId, isWrong, tries, withinMs, lockMs, locked }: Lock): Changing =>
  (_seen, records = new Map<string, { wrongMs: number[]; locks: number; untilMs: number }>()) => ({
    ...(isWrong === undefined ? { profile: { refusalStatus: 'http' } } : {}),
    around: meets(async (call, next) => {
      const name = of(call)
      if (name === undefined) return next()
      const record = records.get(name) ?? { wrongMs: [], locks: 0, untilMs: 0 }
      records.set(name, record)
      const leftMs = record.untilMs - call.nowMs
      if (leftMs > 0) return locked?.(call, leftMs) ?? waitAnswer(429, leftMs)
      const answer = await next()
      if (withinMs === undefined && isAccepted(answer)) Object.assign(record, { wrongMs: [], locks: 0 })
      if (!(isWrong?.(answer, call) ?? answer.status === 401)) return answer
      const nowMs = call.nowMs
      record.wrongMs = [...record.wrongMs.filter((ms) => ms > nowMs - (withinMs ?? Number.POSITIVE_INFINITY)), nowMs]
      if (record.wrongMs.length < tries) return answer
      const forMs = typeof lockMs === 'number' ? lockMs : lockMs(record.locks)
      Object.assign(record, { wrongMs: [], locks: record.locks + 1, untilMs: nowMs + forMs })
      return answer
    }),
  })

/** Of calls of a group in flight together, `most` are carried out, and the others get an answer at once. */
export const atOnce =
  (most: number, of: Group, busy: (call: Call) => MockAnswer): Changing =>
  (_seen, inWork = new Map<string, number>()) => ({
    around: meets(async (call, next) => {
      const name = of(call)
      if (name === undefined) return next()
      if ((inWork.get(name) ?? 0) >= most) return busy(call)
      inWork.set(name, (inWork.get(name) ?? 0) + 1)
      try {
        await meet()
        return await next()
      } finally {
        inWork.set(name, (inWork.get(name) ?? 1) - 1)
      }
    }),
  })

interface NonceStore {
  /** How a nonce is written; two that are written alike count as one. */
  as?: (nonce: string, call: Call) => string
  /** Nonces of different groups do not meet. */
  of?: (call: Call) => string | number
  /** Whether the nonce of a call with this answer is used up; by default always. */
  stored?: (answer: MockAnswer) => boolean
  keptMs?: number
  /** How many of the last nonces of a group are known. */
  last?: number
}

/** A store of nonces that replaces that of the reference server. */
export const nonces =
  ({ as = (nonce) => nonce, of = () => '', stored = () => true, keptMs, last = 100_000 }: NonceStore) =>
  (seen: Seen, groups = new Map<string | number, { text: string; ms: number }[]>()): Change => {
    let group: string | number = ''
    const known = () => (groups.get(group) ?? []).filter(({ ms }) => keptMs === undefined || ms > seen.nowMs - keptMs)
    return {
      around: meets(async (call, next) => {
        const mine = of(call)
        group = mine
        const nonce = signatureFields(call)[3]
        const used = nonce === undefined ? undefined : { text: as(nonce, call), ms: call.nowMs }
        const answer = await next()
        group = mine
        if (used !== undefined && stored(answer)) groups.set(group, [...known(), used].slice(-last))
        return answer
      }),
      nonceTaken: (nonce, profile) =>
        reference.nonceTaken(nonce, profile) && !known().some(({ text }) => text === as(nonce, seen)),
      usedNonceTaken: () => true,
    }
  }

/** A nonce is used up unless the authorization was refused. */
export const whenRight = (answer: MockAnswer): boolean => errorCode(answer) !== 24879

/** The timestamps that are taken: 13 digits, not older and not further ahead than this. */
export const timestamps = (oldMs: number, aheadMs: number): Change => ({
  timestampTaken: (timestamp, nowMs) =>
    /^[0-9]{13}$/.test(timestamp) && Number(timestamp) >= nowMs - oldMs && Number(timestamp) <= nowMs + aheadMs,
})

/** The clock of the server, changed by a function of the right time. */
export function clock(change: (nowMs: number) => number): Change {
  const changed = new WeakSet<ServerContext>()
  return {
    around: (handle, context) => {
      const { now } = context
      // A reset of a server wraps its handler again, and keeps its clock.
      if (!changed.has(context)) context.now = () => change(now())
      changed.add(context)
      return handle
    },
  }
}

/** No access token lives longer than this, whatever is asked for. */
export const accessAtMost = (ms: number): Change => ({
  accessLifeMs: (asked, profile) => Math.min(asked ?? profile.accessLifeMs, ms),
})

/** A longer expiresIn is refused. */
export const expiresInAtMost = (ms: number): Change => ({
  expiresInMs: (text) => {
    const asked = reference.expiresInMs(text)
    return asked === undefined || asked > ms ? undefined : asked
  },
})

export const noEmptyKeys = noKeyWith({ scope: (_text, words) => words.length === 0 })

/** Five wrong tries in a row lock a key for a second, the next five for two seconds, and so on up to eight. */
export const lockLongerEachTime = lock({ tries: 5, lockMs: (earlier) => Math.min(1000 * 2 ** earlier, 8000) })
/** Whether the key that a call names is active. */
export const isOfLiveKey = (_answer: MockAnswer, call: Call): boolean => {
  const key = call.state.keys.get(call.keyId ?? '')
  return key?.enabled === true && !key.deleted
}
