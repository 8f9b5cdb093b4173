import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { aText, check, demandFields, demandWord, type Fields, oneOf, optional, texts, wholeNumber } from './checks.ts'
import type { ServerContext } from './context.ts'
import { decodeUtf8 } from './encoding.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import { refusalKinds, refuse } from './refusal.ts'
import { emptyAnswer, plainAnswer, renderOutcome, withHeaders } from './rpc.ts'
import type { TokenPair } from './state.ts'

/** A deliberate fault. */
export type FaultKind =
  /** Takes this long; a frozen clock is moved instead. */
  | { fault: 'delay'; ms: number }
  /** No answer; `after`: the call had its effect, and only the answer is lost. */
  | { fault: 'drop'; when: 'before' | 'after' }
  /** 429 with Retry-After. */
  | { fault: 'throttle'; retryAfterSeconds: number }
  /** 503 with Retry-After. */
  | { fault: 'unavailable'; retryAfterSeconds: number }
  /** A redirect to another place, before any effect. */
  | { fault: 'redirect'; status: RedirectStatus; location: string }
  /** A JSON-RPC error, before any effect; by default "Invalid token" for a refresh and "Unauthorized" for everything else. */
  | { fault: 'refuse'; as?: (typeof refusalKinds)[number] }
  /** HTTP 500, before any effect. */
  | { fault: 'error' }
  /** The JSON of the answer ends too early. */
  | { fault: 'malformed' }
  /** The answer carries another id. */
  | { fault: 'wrong-id' }
  /** The granted pair has at most these scopes, and the answer says so. */
  | { fault: 'narrow-grant'; scope: string[] }
  /** The granted access token lives at most this long, and the answer says so. */
  | { fault: 'shorten-lifetime'; ms: number }
  /** The access token of the call has just expired. */
  | { fault: 'expire-token' }
  /** Calls wait until this many have arrived, and then continue together. */
  | { fault: 'barrier'; calls: number }

/** The calls that a fault applies to. */
export interface FaultChoice {
  /** A method's name; any method by default. */
  method?: string
  grantType?: string
  /** How many matching calls to let pass first; 0 by default. */
  skip?: number
  /** How many calls it applies to, 1 by default (a barrier: as many as it waits for); null: all. */
  times?: number | null
  /** The share of the matching calls that it applies to, 0 to 1. */
  probability?: number
  /** After this many matching calls in a row it lets one pass, so that a patient client succeeds. */
  inARow?: number
}

type RedirectStatus = 301 | 302 | 303 | 307 | 308

export type Fault = FaultKind & FaultChoice
export type ArmedFault = Fault & { id: string; met: number }

export interface Faults {
  /** Arms a fault and gives its id. Throws a TypeError that says what is wrong with it. */
  add(fault: Fault): string
  list(): ArmedFault[]
  /** False when there is no such fault. */
  remove(id: string): boolean
  clear(): void
}

interface FaultSource extends Faults {
  readonly armed: boolean
  /** The faults that apply to a call; counts them as used. */
  meet(call: { method: string | undefined; grantType: string | undefined }): ArmedFault[]
  /** Resolves when enough calls wait at the barrier. */
  waitAt(barrier: ArmedFault): Promise<undefined>
}

/** A call that a fault applies to, and the server. */
interface Met {
  context: ServerContext
  source: FaultSource
  request: MockRequest
}

/** How a kind of fault works. */
interface Kind<F> {
  /** The fields that it has in addition. */
  fields: Fields
  /** Before the call has its effect: does nothing, waits, or gives an answer instead. */
  before?(met: Met, fault: F): MockAnswer | undefined | Promise<undefined>
  /** Changes the answer. */
  after?(context: ServerContext, answer: MockAnswer, fault: F): MockAnswer
  /** The call had its effect, and the client cannot see it in the answer. */
  spoils?: true
}

const seconds = { retryAfterSeconds: wholeNumber(0) }

const kinds: { readonly [K in FaultKind['fault']]: Kind<Extract<ArmedFault, { fault: K }>> } = {
  delay: { fields: { ms: wholeNumber(0) }, before: ({ context }, { ms }) => letPass(context, ms) },
  drop: {
    fields: { when: oneOf(['before', 'after']) },
    before: ({ context }, { when }) => (when === 'before' ? { ...emptyAnswer(context, 0), hangUp: true } : undefined),
    after: (_, answer) => ({ ...answer, hangUp: true }),
    spoils: true,
  },
  throttle: { fields: seconds, before: ({ context }, fault) => laterAnswer(context, 429, 'Too many requests', fault) },
  unavailable: {
    fields: seconds,
    before: ({ context }, fault) => laterAnswer(context, 503, 'Service unavailable', fault),
  },
  redirect: {
    fields: {
      status: oneOf([301, 302, 303, 307, 308]),
      location: check('a URL', (value) => URL.canParse(String(value))),
    },
    before: ({ context }, { status, location }) => withHeaders(emptyAnswer(context, status), { location }),
  },
  refuse: { fields: { as: optional(oneOf(refusalKinds)) }, before: refusedAnswer },
  error: { fields: {}, before: ({ context }) => plainAnswer(context, 500, 'Internal server error') },
  malformed: {
    fields: {},
    after: (_, answer) => ({ ...answer, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) }),
    spoils: true,
  },
  'wrong-id': {
    fields: {},
    after: (_, answer) => ({ ...answer, body: withWrongId(answer.body) }),
    spoils: true,
  },
  'narrow-grant': {
    fields: { scope: texts },
    after: (context, answer, { scope }) =>
      lesserGrant(context, answer, (pair) => {
        pair.scope = pair.scope.filter((word) => scope.includes(word))
        pair.scopeEcho = pair.scopeEcho.filter((word) => scope.includes(word))
        return { scope: pair.scopeEcho }
      }),
  },
  'shorten-lifetime': {
    fields: { ms: wholeNumber(0) },
    after: (context, answer, { ms }) =>
      lesserGrant(context, answer, (pair) => {
        pair.accessExpiryMs = Math.min(pair.accessExpiryMs, context.now() + ms)
        return { accessTokenExpiry: pair.accessExpiryMs }
      }),
  },
  'expire-token': { fields: {}, before: expirePresented },
  barrier: { fields: { calls: wholeNumber(0) }, before: ({ source }, fault) => source.waitAt(fault) },
}

const kindOf = (fault: ArmedFault): Kind<ArmedFault> => kinds[fault.fault]
export const faultKinds = Object.keys(kinds) as FaultKind['fault'][]

const choiceFields: Fields = {
  fault: oneOf(faultKinds),
  method: optional(aText),
  grantType: optional(aText),
  skip: optional(wholeNumber(0)),
  times: optional(
    check('a whole number of 0 or more, or null for all calls', (value) => value === null || !wholeNumber(0)(value)),
  ),
  probability: optional(
    check('a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1),
  ),
  inARow: optional(wholeNumber(1)),
}

/** Throws a TypeError that says what is wrong with a fault from outside. */
function demandFault(fault: Fault): void {
  demandWord('"fault"', fault.fault, faultKinds)
  const fields = { ...choiceFields, ...kinds[fault.fault].fields }
  demandFields('member', fault, fields, { of: ` of the fault "${fault.fault}"` })
}

/** An armed fault, and what became of the calls that it concerns. */
interface Entry {
  fault: ArmedFault
  /** How many calls it concerned, whether or not it applied to them. */
  passed: number
  /** To how many of the latest of them it applied, without a pause. */
  inARow: number
  /** Releases the calls that wait at a barrier. */
  waiting: (() => void)[]
}

/** Faults by method, by count and by probability. `chance` gives numbers from 0 to 1. */
export function createFaults(chance: () => number): FaultSource {
  const armed = new Map<string, Entry>()
  function remove(id: string): boolean {
    for (const go of armed.get(id)?.waiting ?? []) go()
    return armed.delete(id)
  }
  return {
    add(fault) {
      demandFault(fault)
      if (armed.size >= 1000) throw new TypeError('Remove faults before adding more: at most 1000 are held')
      const id = randomUUID()
      armed.set(id, { fault: { ...fault, id, met: 0 }, passed: 0, inARow: 0, waiting: [] })
      return id
    },
    list: () => [...armed.values()].map(({ fault }) => ({ ...fault })),
    remove,
    clear() {
      for (const id of [...armed.keys()]) remove(id)
    },
    get armed() {
      return armed.size > 0
    },
    meet(call) {
      const concerned = [...armed.values()].filter(({ fault }) => concerns(fault, call) && !exhausted(fault))
      return concerned.filter((entry) => applies(entry, chance)).map(({ fault }) => fault)
    },
    waitAt(barrier) {
      const entry = armed.get(barrier.id)
      if (barrier.fault !== 'barrier' || !entry) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        entry.waiting.push(() => resolve(undefined))
        if (entry.waiting.length < barrier.calls) return
        for (const go of entry.waiting.splice(0)) go()
      })
    },
  }
}

function concerns(fault: Fault, call: { method: string | undefined; grantType: string | undefined }): boolean {
  if (fault.method !== undefined && fault.method !== call.method) return false
  return fault.grantType === undefined || fault.grantType === call.grantType
}

/** Whether a fault applies to a call that it concerns; counts the call. */
function applies(entry: Entry, chance: () => number): boolean {
  const { fault } = entry
  entry.passed += 1
  if (entry.passed <= (fault.skip ?? 0)) return false
  const isSpared =
    entry.inARow >= (fault.inARow ?? Number.POSITIVE_INFINITY) ||
    (fault.probability !== undefined && chance() >= fault.probability)
  entry.inARow = isSpared ? 0 : entry.inARow + 1
  if (!isSpared) fault.met += 1
  return !isSpared
}

function exhausted(fault: ArmedFault): boolean {
  const times = fault.times === undefined ? (fault.fault === 'barrier' ? fault.calls : 1) : fault.times
  return times !== null && fault.met >= times
}

/** Lets `ms` pass: moves a frozen clock, and otherwise really waits. */
export async function letPass({ clock }: ServerContext, ms: number): Promise<undefined> {
  if (ms === 0) return
  if (clock.frozen) clock.advance(ms)
  else await sleep(ms)
}

interface FaultyAnswering {
  /** Makes the right answer, with its effects. */
  answer: (faults: string[] | undefined) => MockAnswer | Promise<MockAnswer>
  /** Records an answer that a fault gives instead. */
  noteUnanswered: (answer: MockAnswer, faults: string[]) => MockAnswer
}

/** Answers a call under the faults that apply to it. */
export async function answerUnderFaults(
  context: ServerContext,
  source: FaultSource,
  request: MockRequest,
  { answer, noteUnanswered }: FaultyAnswering,
): Promise<MockAnswer> {
  const met = source.meet(peek(request.body))
  const names = met.map(({ fault }) => fault)
  for (const fault of met) {
    const instead = await kindOf(fault).before?.({ context, source, request }, fault)
    if (instead) return noteFaults(noteUnanswered(instead, names), names)
  }
  const right = await answer(met.some((fault) => kindOf(fault).spoils) ? names : undefined)
  return noteFaults(
    met.reduce((whole, fault) => changed(context, whole, fault), right),
    names,
  )
}

function noteFaults(answer: MockAnswer, faults: string[]): MockAnswer {
  if (faults.length > 0) answer.notes = { ...answer.notes, faults }
  return answer
}

function changed(context: ServerContext, answer: MockAnswer, fault: ArmedFault): MockAnswer {
  const { after, spoils } = kindOf(fault)
  if (after === undefined) return answer
  const next = after(context, answer, fault)
  return spoils ? { ...next, notes: { unspoilt: answer.body, ...answer.notes } } : next
}

function laterAnswer(context: ServerContext, status: number, text: string, fault: { retryAfterSeconds: number }) {
  return withHeaders(plainAnswer(context, status, text), { 'retry-after': String(fault.retryAfterSeconds) })
}

function refusedAnswer({ context, request: { body } }: Met, { as }: Extract<FaultKind, { fault: 'refuse' }>) {
  const { id, method, grantType } = peek(body)
  return renderOutcome(context, {
    id,
    method,
    params: undefined,
    caller: undefined,
    outcome: refuse(as ?? (grantType === 'refresh_token' ? 'token' : 'unauthorized'), 'fault/refuse'),
    silent: false,
  })
}

/** Grants less than requested, both in the server's state and in the answer. @param lessen returns the members that change */
function lesserGrant({ state }: ServerContext, answer: MockAnswer, lessen: (pair: TokenPair) => object): MockAnswer {
  const parsed = readObject(answer.body)
  const result = membersOf(parsed.result)
  const pair = state.tokens.get(String(result.accessToken))?.pair
  return pair ? { ...answer, body: JSON.stringify({ ...parsed, result: { ...result, ...lessen(pair) } }) } : answer
}

function withWrongId(body: string): string {
  const parsed = readObject(body)
  if (!('jsonrpc' in parsed)) return body
  return JSON.stringify({ ...parsed, id: typeof parsed.id === 'number' ? parsed.id + 1 : 0 })
}

function expirePresented({ context: { state, now }, request: { headers } }: Met): undefined {
  const text = headers.authorization?.split(' ').pop() ?? ''
  const token = state.tokens.get(text)
  if (token?.kind === 'access') token.pair.accessExpiryMs = Math.min(token.pair.accessExpiryMs, now())
}

/** The method and the grant type of a body, if they can be read; they select the faults. */
function peek(bytes: Buffer): { id: unknown; method: string | undefined; grantType: string | undefined } {
  const { id, method, params } = readObject(decodeUtf8(bytes) ?? '')
  const { grantType } = membersOf(params)
  return {
    id,
    method: typeof method === 'string' ? method : undefined,
    grantType: typeof grantType === 'string' ? grantType : undefined,
  }
}

type Members = { readonly [name: string]: unknown }

const membersOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? { ...value } : {})

/** The members of a JSON text; none where it is no object. */
function readObject(text: string): Members {
  try {
    return membersOf(JSON.parse(text))
  } catch {
    return {}
  }
}
