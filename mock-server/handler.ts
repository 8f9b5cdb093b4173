/**
 * The way of a call: the gate, the deliberate faults, the envelope, the caller (caller.ts), the method (methods.ts), the answer, the journal.
 * What a requirement decides on this way is a rule (rules.ts), and what the document leaves open is a switch (profile.ts).
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { admit, type Caller, identify, initialCaller } from './caller.ts'
import { aText, check, demandFields, demandWord, type Fields, oneOf, optional, texts, wholeNumber } from './checks.ts'
import { createContext, type ServerContext, type ServerOptions } from './context.ts'
import { decodeUtf8, rawId } from './encoding.ts'
import type { Handle, MockAnswer, MockRequest } from './http-server.ts'
import { createJournal, type Journal, type RpcOutcome } from './journal.ts'
import { methods, type Params, runMethod } from './methods.ts'
import { type Outcome, refusalKinds, refuse, succeed } from './refusal.ts'
import type { TokenPair } from './state.ts'

/** One server without a network: requests in, answers out. */
export interface MockHandler {
  handle: Handle
  context: ServerContext
  journal: Journal
  faults: Faults
  /** Returns to the state at the start: same root key and seed, no faults, an empty journal. The clock stays. */
  reset(): void
}

type Noted = RpcOutcome | { stage: string }

/** Most calls wait for nothing, and a promise would take time. */
type Maybe<T> = T | Promise<T>

/** The reference server as a function. Its answer is a promise only if it must wait; it never throws. */
export function createHandler(options: ServerOptions = {}): MockHandler {
  const context = createContext(options)
  const { profile } = context
  const journal = createJournal(context, options.journal)
  const faults = createFaults(() => context.random(4).readUInt32LE() / 2 ** 32)
  const gate = createGate(context)

  function answer(request: MockRequest): Maybe<MockAnswer> {
    return profile.delayMs > 0 ? letPass(context, profile.delayMs).then(() => answerNow(request)) : answerNow(request)
  }

  function answerNow(request: MockRequest): Maybe<MockAnswer> {
    const closed = gate(request)
    if (closed) return noted(request, closed.answer, closed)
    return faults.armed ? answerUnderFaults(request) : answerRight(request)
  }

  /** Answers a call under the faults that apply to it. */
  async function answerUnderFaults(request: MockRequest): Promise<MockAnswer> {
    const met = faults.meet(peek(request.body))
    const names = met.map(({ fault }) => fault)
    for (const fault of met) {
      const instead = await kindOf(fault).before?.({ context, request, waitAt: faults.waitAt }, fault)
      if (instead) return withFaults(noted(request, instead, { stage: `fault/${fault.fault}` }, names), names)
    }
    const right = await answerRight(request, met.some((fault) => kindOf(fault).spoils) ? names : undefined)
    return withFaults(
      met.reduce((whole, fault) => changed(context, whole, fault), right),
      names,
    )
  }

  function answerRight(request: MockRequest, met?: string[]): Maybe<MockAnswer> {
    return whenReady(answerBody(context, request), (outcome) =>
      noted(request, renderOutcome(context, outcome), outcome, met),
    )
  }

  function noted(request: MockRequest, given: MockAnswer, outcome: Noted | Noted[], met?: string[]): MockAnswer {
    for (const one of Array.isArray(outcome) ? outcome : [outcome]) journal.record(request, given, one, met)
    return given
  }

  const inner = guarded(context, options.cors?.length ? forPages(context, options.cors, answer) : answer)
  const handle = options.around ? guarded(context, options.around(inner, context)) : inner
  const reset = () => {
    context.reset()
    faults.clear()
    journal.clear()
  }
  return { handle, context, journal, faults, reset }
}

/** Answers web pages of these origins too; `*` stands for any origin. */
function forPages(context: ServerContext, origins: readonly string[], answer: Handle): Handle {
  return (request) => {
    const { origin, 'access-control-request-method': wanted } = request.headers
    if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return answer(request)
    const allowed = {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'date, retry-after, x-refused-at',
      vary: 'origin',
    }
    if (request.method !== 'OPTIONS' || wanted === undefined)
      return whenReady(answer(request), (answered) => withHeaders(answered, allowed))
    return withHeaders(answerOf(context, 204), {
      ...allowed,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-max-age': '600',
    })
  }
}

/** Refuses requests before their body is read: not a call, too long, too many, another content type. */
function createGate(
  context: ServerContext,
): (request: MockRequest) => { answer: MockAnswer; stage: string } | undefined {
  const { rules, profile } = context
  const callPath = `${profile.basePath}/api`
  let second = 0
  let calls = 0
  /** Counts calls in each second of the server's clock; true while the limit is not reached. */
  const withinRate = () => {
    const current = Math.floor(context.now() / 1000)
    calls = current === second ? calls + 1 : 1
    second = current
    return calls <= profile.callsPerSecond
  }
  const closed = (stage: string, status: number, text: string, headers = {}) => ({
    stage,
    answer: withHeaders(answerOf(context, status, text), headers),
  })
  return (request) => {
    if (!rules.isCall(request.method, request.target, callPath, request.body))
      return closed('http/path', 404, 'Not found')
    if (request.body.length > profile.maxBodyBytes) return closed('http/size', 413, 'Content too large')
    if (profile.callsPerSecond > 0 && !withinRate())
      return closed('http/rate', 429, 'Too many requests', { 'retry-after': '1' })
    if (rules.contentTypeTaken(request.headers['content-type'], profile)) return undefined
    return closed('http/content-type', 415, 'Unsupported media type')
  }
}

/** Calls `next` at once, or when a promise is kept. */
const whenReady = <T, R>(value: Maybe<T>, next: (value: T) => R): Maybe<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Turns a defect into HTTP 500 for this call, so that the server goes on. */
function guarded(context: ServerContext, handle: Handle): Handle {
  const failed = () => answerOf(context, 500, 'Internal server error')
  return (request) => {
    try {
      const answer = handle(request)
      return answer instanceof Promise ? answer.catch(failed) : answer
    } catch {
      return failed()
    }
  }
}

/** Reads the body and answers each request in it: one, or a list if the profile accepts batches. */
function answerBody(context: ServerContext, request: MockRequest): Maybe<RpcOutcome | RpcOutcome[]> {
  const { rules, profile, state } = context
  if (state.sawMalformed && !rules.answersAfterMalformed()) return unread(refuse('parse', 'envelope/json'))
  const body = parse(context, request.body)
  if (!body.ok) {
    state.sawMalformed = true
    const result = rules.malformedResult()
    return result ? { ...unread(body), id: 0, outcome: succeed(result) } : unread(body)
  }
  // Once for the whole body: a second check of the same signature would find its nonce used.
  let found: Outcome<Caller> | undefined
  const callerFor = (method: string) => {
    found ??= identify(context, request)
    return admit(context, found, method)
  }
  if (Array.isArray(body.value) && profile.batch === 'answered' && body.value.length > 0 && body.value.length <= 100) {
    return answerList(context, request, body.value, callerFor)
  }
  return answerOne(context, request, body.value, callerFor)
}

/** The id as sent, where parsing may have rounded it. */
function exactId(id: unknown, request: MockRequest): string | undefined {
  if (typeof id !== 'number' || Number.isSafeInteger(id) || !Number.isInteger(id)) return undefined
  return rawId(request.body.toString('utf8'))
}

async function answerList(
  context: ServerContext,
  request: MockRequest,
  list: unknown[],
  callerFor: (method: string) => Outcome<Caller>,
): Promise<RpcOutcome[]> {
  const answers: RpcOutcome[] = []
  for (const item of list) answers.push(await answerOne(context, request, item, callerFor))
  return answers
}

function unread(outcome: ReturnType<typeof refuse>): RpcOutcome {
  return { id: undefined, method: undefined, params: undefined, caller: undefined, outcome, silent: false }
}

function parse({ rules }: ServerContext, bytes: Buffer): Outcome<unknown> {
  const text = decodeUtf8(bytes)
  if (text === undefined) return refuse('parse', 'envelope/utf-8')
  try {
    return succeed(rules.parseBody(text))
  } catch {
    return refuse('parse', 'envelope/json')
  }
}

function answerOne(
  context: ServerContext,
  request: MockRequest,
  value: unknown,
  callerFor: (method: string) => Outcome<Caller>,
): Maybe<RpcOutcome> {
  const { rules, profile } = context
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return unread(refuse('parse', 'envelope/object'))
  const envelope = value as Params
  const stage = envelopeProblem(context, envelope)
  if (stage !== undefined) return unread(refuse('parse', stage))
  const { id } = envelope
  const named = String(envelope.method)
  const name = rules.methodName(named)
  const method = methods.get(name)
  // Filled step by step; one object, because this is the hot path.
  const call: RpcOutcome = {
    id,
    method: named,
    params: undefined,
    caller: undefined,
    outcome: unknownMethod,
    silent: id === undefined && profile.notifications === 'no-body',
  }
  const idText = exactId(id, request)
  if (idText !== undefined) call.idText = idText

  if (!method && profile.methodCheckedFirst) return withUnknown(context, call, name)
  if (rules.authorizationRequired(name)) {
    const found = callerFor(name)
    if (!found.ok) {
      call.outcome = found
      return call
    }
    call.caller = found.value
  } else if (name !== 'manager/auth') {
    const found = request.headers.authorization === undefined ? undefined : callerFor(name)
    call.caller = found?.ok ? found.value : initialCaller(context)
  }
  if (!method) return withUnknown(context, call, name)
  const { caller } = call
  const params = typeof envelope.params === 'object' && envelope.params !== null ? (envelope.params as Params) : {}
  call.params = params
  const outcome = runMethod(method, { context, request, params, caller })
  if (outcome instanceof Promise) return outcome.then((late) => ({ ...call, outcome: late }))
  call.outcome = outcome
  return call
}

const unknownMethod = refuse('method', 'method/unknown')

function withUnknown({ rules }: ServerContext, call: RpcOutcome, name: string): RpcOutcome {
  const result = rules.unknownMethodResult(name)
  if (result) call.outcome = succeed(result)
  return call
}

/** The first thing that is wrong about the members of a request, as a stage. */
function envelopeProblem({ rules, profile }: ServerContext, envelope: Params): string | undefined {
  if (!rules.versionMemberTaken(envelope.jsonrpc, profile)) return 'envelope/jsonrpc'
  if (envelope.id === undefined ? !rules.missingIdTaken(profile) : !rules.idTaken(envelope.id, profile))
    return 'envelope/id'
  if (!rules.methodMemberTaken(envelope.method)) return 'envelope/method'
  if (!rules.paramsTaken(envelope.params, profile)) return 'envelope/params'
  if (profile.extraMembers === 'ignored') return undefined
  const extra = Object.keys(envelope).some((member) => !['jsonrpc', 'id', 'method', 'params'].includes(member))
  return extra ? 'envelope/extra' : undefined
}

let dateSecond = -1
let dateText = ''
/** The Date header, computed once a second. */
function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}

/** An answer; plain text unless another type is given, and without a body none. */
function answerOf(
  context: ServerContext,
  status: number,
  body = '',
  contentType = body === '' ? undefined : 'text/plain; charset=utf-8',
): MockAnswer {
  const headers: { [name: string]: string } = { date: httpDate(context.now()) }
  if (contentType !== undefined) headers['content-type'] = contentType
  if (context.profile.closeConnections) headers.connection = 'close'
  return { status, headers, body }
}

const json = 'application/json; charset=utf-8'

/** The one place that turns a result or a refusal into an answer. */
function renderOutcome(context: ServerContext, outcome: RpcOutcome | RpcOutcome[]): MockAnswer {
  if (Array.isArray(outcome))
    return answerOf(context, 200, `[${outcome.map((one) => memberText(context, one)).join(',')}]`, json)
  if (outcome.silent) return answerOf(context, 204)
  if (outcome.outcome.ok) return answerOf(context, 200, memberText(context, outcome), json)
  const { refusal } = outcome.outcome
  const { errorBody, refusalStatus } = context.profile
  const status = refusalStatus === 'http' || errorBody !== 'json-rpc' ? refusal.httpStatus : 200
  const answer =
    errorBody === 'json-rpc'
      ? answerOf(context, status, memberText(context, outcome), json)
      : answerOf(context, status, errorBody === 'none' ? '' : refusal.message)
  if (context.explain) answer.headers['x-refused-at'] = refusal.stage
  return answer
}

/** One JSON-RPC answer; members that a replaced rule leaves out are undefined and vanish in JSON. */
function memberText({ rules, profile }: ServerContext, { id, idText, method, outcome }: RpcOutcome): string {
  let text: string
  if (outcome.ok) {
    const result = profile.extraResultMembers ? withExtras(outcome.value) : outcome.value
    text = JSON.stringify({
      jsonrpc: rules.answerVersion(),
      id: rules.echoedId(id),
      result: rules.resultMember(method ?? '', result),
    })
  } else {
    const { code, message, data, idKnown } = outcome.refusal
    const ownId = profile.errorId === 'request' && idKnown ? id : undefined
    text = JSON.stringify({
      jsonrpc: '2.0',
      id: profile.errorId === 'null' ? null : ownId,
      error: { code, message, data },
    })
  }
  // The id stands before everything that callers choose.
  return idText === undefined ? text : text.replace(`"id":${JSON.stringify(id)}`, `"id":${idText}`)
}

const withExtras = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? { ...value, serverVersion: '2.2.0', warnings: [] } : value

/** Adds headers to an answer, and returns it. */
function withHeaders(answer: MockAnswer, more: { [name: string]: string }): MockAnswer {
  Object.assign(answer.headers, more)
  return answer
}

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

/** A call that a fault applies to, and the server. */
interface Met {
  context: ServerContext
  request: MockRequest
  waitAt: ReturnType<typeof createFaults>['waitAt']
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
    before: ({ context }, { when }) => (when === 'before' ? { ...answerOf(context, 0), hangUp: true } : undefined),
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
    before: ({ context }, { status, location }) => withHeaders(answerOf(context, status), { location }),
  },
  refuse: { fields: { as: optional(oneOf(refusalKinds)) }, before: refusedAnswer },
  error: { fields: {}, before: ({ context }) => answerOf(context, 500, 'Internal server error') },
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
  barrier: { fields: { calls: wholeNumber(0) }, before: ({ waitAt }, fault) => waitAt(fault) },
}

const kindOf = (fault: ArmedFault): Kind<ArmedFault> => kinds[fault.fault]
const faultKinds = Object.keys(kinds) as FaultKind['fault'][]

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
function createFaults(chance: () => number) {
  const armed = new Map<string, Entry>()
  function remove(id: string): boolean {
    for (const go of armed.get(id)?.waiting ?? []) go()
    return armed.delete(id)
  }
  return {
    add(fault: Fault): string {
      demandFault(fault)
      if (armed.size >= 1000) throw new TypeError('Remove faults before adding more: at most 1000 are held')
      const id = randomUUID()
      armed.set(id, { fault: { ...fault, id, met: 0 }, passed: 0, inARow: 0, waiting: [] })
      return id
    },
    list: (): ArmedFault[] => [...armed.values()].map(({ fault }) => ({ ...fault })),
    remove,
    clear() {
      for (const id of [...armed.keys()]) remove(id)
    },
    get armed() {
      return armed.size > 0
    },
    /** The faults that apply to a call; counts them as used. */
    meet(call: { method: string | undefined; grantType: string | undefined }): ArmedFault[] {
      const concerned = [...armed.values()].filter(
        ({ fault }) =>
          (fault.method ?? call.method) === call.method &&
          (fault.grantType ?? call.grantType) === call.grantType &&
          !exhausted(fault),
      )
      return concerned.filter((entry) => applies(entry, chance)).map(({ fault }) => fault)
    },
    /** Resolves when enough calls wait at the barrier. */
    async waitAt({ id, calls }: { id: string; calls: number }): Promise<undefined> {
      const waiting = armed.get(id)?.waiting
      if (waiting === undefined) return
      const released = new Promise<undefined>((resolve) => waiting.push(() => resolve(undefined)))
      if (waiting.length >= calls) for (const go of waiting.splice(0)) go()
      return released
    },
  }
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

function withFaults(answer: MockAnswer, faults: string[]): MockAnswer {
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
  return withHeaders(answerOf(context, status, text), { 'retry-after': String(fault.retryAfterSeconds) })
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

const membersOf = (value: unknown): Params => (typeof value === 'object' && value !== null ? { ...value } : {})

/** The members of a JSON text; none where it is no object. */
function readObject(text: string): Params {
  try {
    return membersOf(JSON.parse(text))
  } catch {
    return {}
  }
}
