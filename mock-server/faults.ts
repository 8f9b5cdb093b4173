import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerContext } from './context.ts'
import { decodeUtf8 } from './encoding.ts'
import type { MockAnswer, MockRequest } from './http-server.ts'
import { demandKnownNames, demandWord } from './profile.ts'
import { type RefusalKind, refusalKinds, refuse } from './refusal.ts'
import { emptyAnswer, plainAnswer, renderOutcome, withHeaders } from './rpc.ts'

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
  | { fault: 'refuse'; as?: RefusalKind }
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
  waitAt(barrier: ArmedFault): Promise<void>
}

/** The fields that each kind of fault has in addition. */
const fieldsOf: { readonly [K in FaultKind['fault']]: readonly string[] } = {
  delay: ['ms'],
  drop: ['when'],
  throttle: ['retryAfterSeconds'],
  unavailable: ['retryAfterSeconds'],
  redirect: ['status', 'location'],
  refuse: ['as'],
  error: [],
  malformed: [],
  'wrong-id': [],
  'narrow-grant': ['scope'],
  'shorten-lifetime': ['ms'],
  'expire-token': [],
  barrier: ['calls'],
}
export const faultKinds = Object.keys(fieldsOf) as FaultKind['fault'][]
/** The fields that are numbers of 0 or more. */
const counts = ['ms', 'retryAfterSeconds', 'calls']
const choiceNames = ['fault', 'method', 'grantType', 'skip', 'times', 'probability', 'inARow']
const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308]

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
      const problem = faultProblem(fault)
      if (problem !== undefined) throw new TypeError(problem)
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
      if (barrier.fault !== 'barrier' || !entry) return Promise.resolve()
      return new Promise((resolve) => {
        entry.waiting.push(resolve)
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

/** Returns what is wrong with a fault from outside; undefined for a valid one. */
function faultProblem(fault: Fault): string | undefined {
  demandWord('"fault"', fault.fault, faultKinds)
  demandKnownNames(`member of the fault "${fault.fault}"`, fault, [...choiceNames, ...fieldsOf[fault.fault]])
  const own = fieldsOf[fault.fault].find((name) => counts.includes(name))
  const all: { readonly [name: string]: unknown } = { ...fault }
  if (own !== undefined && !isCount(all[own])) return `Give the fault "${fault.fault}" a number "${own}" of 0 or more`
  const ofKind = kindProblem(fault)
  if (ofKind !== undefined) return ofKind
  for (const name of ['method', 'grantType']) {
    if (all[name] !== undefined && typeof all[name] !== 'string') return `Give "${name}" a text`
  }
  if (fault.skip !== undefined && !isCount(fault.skip)) return 'Give "skip" a number of 0 or more'
  if (fault.inARow !== undefined && !(isCount(fault.inARow) && fault.inARow > 0))
    return 'Give "inARow" a number of 1 or more'
  if (fault.times !== undefined && fault.times !== null && !isCount(fault.times))
    return 'Give "times" a number, or null for all calls'
  const { probability } = fault
  const isPart = probability === undefined || (typeof probability === 'number' && probability >= 0 && probability <= 1)
  return isPart ? undefined : 'Give "probability" a number from 0 to 1'
}

/** Returns what is wrong with the fields of one kind of fault; undefined if they are valid. */
function kindProblem(fault: Fault): string | undefined {
  switch (fault.fault) {
    case 'drop':
      if (fault.when === 'before' || fault.when === 'after') return undefined
      return 'Give the fault "drop" a "when" of "before" or "after"'
    case 'redirect':
      if (!redirectStatuses.includes(fault.status))
        return `Give the fault "redirect" a "status" of ${redirectStatuses.join(', ')}`
      return URL.canParse(fault.location) ? undefined : 'Give the fault "redirect" a URL as "location"'
    case 'refuse':
      if (fault.as === undefined || refusalKinds.includes(fault.as)) return undefined
      return `Give the fault "refuse" an "as" of ${refusalKinds.join(', ')}`
    case 'narrow-grant':
      if (Array.isArray(fault.scope) && fault.scope.every((word) => typeof word === 'string')) return undefined
      return 'Give the fault "narrow-grant" a list of texts as "scope"'
    default:
      return undefined
  }
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0

/** Lets `ms` pass: moves a frozen clock, and otherwise really waits. */
export async function letPass({ clock }: ServerContext, ms: number): Promise<void> {
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
    const instead = await applyBefore(context, source, fault, request)
    if (instead) return noteFaults(noteUnanswered(instead, names), names)
  }
  const right = await answer(names.some(spoils) ? names : undefined)
  return noteFaults(
    met.reduce((whole, fault) => spoil(context, whole, fault), right),
    names,
  )
}

function noteFaults(answer: MockAnswer, faults: string[]): MockAnswer {
  if (faults.length > 0) answer.notes = { ...answer.notes, faults }
  return answer
}

/** Applies a fault before the call has its effect: it does nothing, waits, or gives an answer instead. */
async function applyBefore(
  context: ServerContext,
  source: FaultSource,
  fault: ArmedFault,
  request: MockRequest,
): Promise<MockAnswer | undefined> {
  switch (fault.fault) {
    case 'delay':
      await letPass(context, fault.ms)
      return undefined
    case 'barrier':
      await source.waitAt(fault)
      return undefined
    case 'expire-token':
      expirePresented(context, request)
      return undefined
    case 'drop':
      return fault.when === 'before' ? { ...emptyAnswer(context, 0), hangUp: true } : undefined
    case 'throttle':
      return withHeaders(plainAnswer(context, 429, 'Too many requests'), retryAfter(fault))
    case 'unavailable':
      return withHeaders(plainAnswer(context, 503, 'Service unavailable'), retryAfter(fault))
    case 'redirect':
      return withHeaders(emptyAnswer(context, fault.status), { location: fault.location })
    case 'refuse':
      return refused(context, fault, request)
    case 'error':
      return plainAnswer(context, 500, 'Internal server error')
    default:
      return undefined
  }
}

const retryAfter = ({ retryAfterSeconds }: { retryAfterSeconds: number }) => ({
  'retry-after': String(retryAfterSeconds),
})

function refused(context: ServerContext, { as }: Extract<ArmedFault, { fault: 'refuse' }>, { body }: MockRequest) {
  const { method, grantType } = peek(body)
  return renderOutcome(context, {
    id: readObject(decodeUtf8(body) ?? '')?.id,
    method,
    params: undefined,
    caller: undefined,
    outcome: refuse(as ?? (grantType === 'refresh_token' ? 'token' : 'unauthorized'), 'fault/refuse'),
    silent: false,
  })
}

const spoils = (fault: string) => fault === 'drop' || fault === 'malformed' || fault === 'wrong-id'

function spoil(context: ServerContext, answer: MockAnswer, fault: ArmedFault): MockAnswer {
  const notes = { unspoilt: answer.body, ...answer.notes }
  switch (fault.fault) {
    case 'drop':
      return { ...answer, notes, hangUp: true }
    case 'malformed':
      return { ...answer, notes, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) }
    case 'wrong-id':
      return { ...answer, notes, body: withWrongId(answer.body) }
    case 'narrow-grant':
    case 'shorten-lifetime':
      return { ...answer, body: withLesserGrant(context, answer.body, fault) }
    default:
      return answer
  }
}

/** Grants less than requested, both in the server's state and in the answer. */
function withLesserGrant({ state, now }: ServerContext, body: string, fault: ArmedFault): string {
  const parsed = readObject(body)
  const result = typeof parsed?.result === 'object' && parsed.result !== null ? { ...parsed.result } : {}
  const pair = 'accessToken' in result ? state.tokens.get(String(result.accessToken))?.pair : undefined
  if (!pair) return body
  if (fault.fault === 'narrow-grant') {
    pair.scope = pair.scope.filter((word) => fault.scope.includes(word))
    pair.scopeEcho = pair.scopeEcho.filter((word) => fault.scope.includes(word))
    Object.assign(result, { scope: pair.scopeEcho })
  }
  if (fault.fault === 'shorten-lifetime') {
    pair.accessExpiryMs = Math.min(pair.accessExpiryMs, now() + fault.ms)
    Object.assign(result, { accessTokenExpiry: pair.accessExpiryMs })
  }
  return JSON.stringify({ ...parsed, result })
}

function withWrongId(body: string): string {
  const parsed = readObject(body)
  return parsed ? JSON.stringify({ ...parsed, id: typeof parsed.id === 'number' ? parsed.id + 1 : 0 }) : body
}

function expirePresented({ state, now }: ServerContext, { headers }: MockRequest): void {
  const text = headers.authorization?.split(' ').pop() ?? ''
  const token = state.tokens.get(text)
  if (token?.kind === 'access') token.pair.accessExpiryMs = Math.min(token.pair.accessExpiryMs, now())
}

/** The method and the grant type of a body, if they can be read; they select the faults. */
function peek(bytes: Buffer): { method: string | undefined; grantType: string | undefined } {
  const body = readObject(decodeUtf8(bytes) ?? '')
  const params = body?.params
  const grantType =
    typeof params === 'object' && params !== null && 'grantType' in params ? params.grantType : undefined
  return {
    method: typeof body?.method === 'string' ? body.method : undefined,
    grantType: typeof grantType === 'string' ? grantType : undefined,
  }
}

function readObject(text: string): { [member: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
