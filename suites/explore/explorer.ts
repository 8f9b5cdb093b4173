/** Sends steps to a target, lets the model judge every answer, and keeps what was found. */
import { setImmediate } from 'node:timers/promises'
import { write } from '../engine/conversation/call.ts'
import { openCreatedKeys, openLine } from '../engine/conversation/conversation.ts'
import { cutAnswer, showExchange } from '../engine/conversation/exchange.ts'
import { type Delivery, deliver, mayChange } from '../engine/conversation/send.ts'
import { isUnavailable, noFacts } from '../engine/conversation/target-facts.ts'
import { defined, isObject, isStrings } from '../engine/json.ts'
import type { Delivered } from '../engine/judge/judge-case.ts'
import { changesOf, readDeviations } from '../engine/language/deviations.ts'
import { resolve, UnresolvedReference } from '../engine/language/resolve.ts'
import { type Exchange, explain } from '../engine/model/explain.ts'
import { contradicts, facts, judge } from '../engine/model/judge.ts'
import { doubted, doubtLine, forgetSessions, learn, mayStemFrom, shape } from '../engine/model/learn.ts'
import { keyIdOf } from '../engine/model/read-call.ts'
import { type Span, slackMs } from '../engine/model/sessions.ts'
import type { Answer, Call, Fact, Key, Problem, State, Terms, Verdict } from '../engine/model/state.ts'
import { utf8 } from '../engine/signer/bytes.ts'
import { headerBytes, nonceOf, type Key as SigningKey, Unmakeable } from '../engine/signer/changed-call.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { type Random, shortName } from '../engine/signer/random.ts'
import type { Exchange as ShownExchange, WireRequest } from '../engine/target.ts'
import { doubtTouched, modelAnswer } from './case-call.ts'
import { knownBefore } from './open.ts'
import {
  type BurstStep,
  basic,
  type CallStep,
  type Candidate,
  callsOf,
  ecc,
  isChunked,
  isCreation,
  list,
  nameOf,
  namesIn,
  pause,
  type Step,
  type Value,
  wayOf,
} from './step.ts'
import { contradiction, notAllowed } from './words.ts'

/** After this many broken answers in a row, a right call shows whether the target is still there. */
const mostBroken = 8
/** The longest assumed lock after wrong attempts. */
const longestLockMs = 24 * 3_600_000

/** One exchange as it happened. */
export interface Seen {
  readonly step: CallStep
  readonly call: Call
  readonly verdict: Verdict
  readonly answer: Answer
  readonly span: Span
}

interface Entry {
  readonly step: Step
  readonly seen: readonly Seen[]
  readonly script: string
  readonly at: number
}

/** The target is gone: no more calls can be made. */
export class TargetGone extends Error {}

type NotYetExplored = Parameters<typeof knownBefore>[0]

interface ExplorerOptions extends NotYetExplored {
  /** Makes nonces and key pairs. */
  readonly values: Random
  readonly maxCalls: number
  /** How many wrong tries others made shortly before: the target may have locked a key, or an address. */
  readonly triesBefore?: number
  /** Where the keys are recorded that the explorer creates and deletes. */
  readonly createdKeys?: ReturnType<typeof openCreatedKeys>
  /** Called before each call, with its number; repetitions count. */
  onCall?(calls: number): void
  /** Milliseconds of real time that are left, whatever the target's clock says. */
  timeLeftMs(): number
  /** How long calls may still be made once `timeLeftMs()` is 0, to end the last stages and to repeat findings; no limit by default. In ms. */
  readonly overtimeMs?: number
}

/** An explorer, without what this file alone uses. */
export type Explorer = Omit<Core, keyof ReturnType<typeof ownState>>

type Core = ReturnType<typeof createCore>

export const openExplorer: (options: ExplorerOptions) => Explorer = createCore

function createCore(options: ExplorerOptions) {
  const { instance, values, triesBefore = 0, createdKeys = openCreatedKeys() } = options
  const { clock } = instance
  const isKept = { facts: noFacts(), random: values, redactor: null, isGentle: false }
  const unique = Array.from(values.bytes(4), (byte) => (byte % 36).toString(36)).join('')
  const texts: { readonly [name: string]: string } = { unique, digits: digitsOf(unique) }
  const beganMs = clock.now()
  const { state, ...before } = knownBefore(options)
  const core = {
    ...before,
    ...ownState(options, state),
    line: openLine(instance, { ...isKept, emit: () => {}, createdKeys }),
    options,
    clock,
    log: [] as Entry[],
    /** What a name in a step stands for. */
    lookUp: (name: string): unknown => core.names.get(name) ?? texts[name],
    /** The line of pairs that a name belongs to. */
    lines: new Map<string, number>(),
    /** The names of all pairs, the first one first. */
    pairNames: [] as string[],
    /** Valid pairs by their kind. */
    pairsByKind: new Map<string, string>(),
    /** Whether the exploration created a key: nobody tried it before. */
    isOwnKey: (id: string): boolean => !state.keys.has(id),
    makeKeyPair: (): { readonly seed: Uint8Array; readonly publicKey: string } => {
      const { seed, publicKeyPem: publicKey } = ed25519KeyPair(values.bytes(32))
      return { seed, publicKey }
    },
    /** Authorization by the root key, which has a secret or a public key. */
    byRoot: instance.root.kind === 'secret' ? basic('root') : ecc('root'),
    /** The target compares the IPv4-mapped form of our addresses, such as ::ffff:127.0.0.1. */
    mapsAddresses: false,
    /** For each key a scope word of one solution (`solution:ID`) that the target grants it, if there is one. */
    oneSolution: new Map<string, string>(),
    /** Names the part of the exploration that runs. */
    script: '',
    /** What was sent and received in the latest step, secrets included; undefined after calls at once. */
    showLatest: (): ShownExchange | undefined => undefined,
    /** Receives the findings. */
    report: (_: Candidate): void => {},
    state: (): State => core.known,
    calls: (): number => core.made,
    /** How long a call takes by the latest ones, and by the pace that the target allows. In ms. */
    callMs: (): number => callMs(core),
    /** How long the latest answers took. In ms. */
    answerMs: (): number => answerMs(core),
    /** Calls that were made beyond the budget, to repeat findings. */
    repeated: (): number => core.madeAgain,
    /** Lets an action make this many further calls, which the budget does not count. */
    beyondBudget: <T>(calls: number, action: () => Promise<T>): Promise<T> => beyondBudget(core, calls, action),
    /** Keeps this many calls of the budget for later. */
    reserve: (calls: number): void => {
      core.limit = options.maxCalls - calls
    },
    /** Replaces the known terms of the target. */
    setTerms: (terms: Partial<Terms>): void => {
      core.known = { ...core.known, terms: { ...core.known.terms, ...terms } }
    },
    /** The offset of our time in signatures; while it is uncertain, no signature is judged. */
    setSignatureClock: (offsetMs: number, isSure: boolean): void => {
      core.sentOffset = offsetMs
      core.known = { ...core.known, signatureClock: isSure ? offsetMs : null }
    },
    /** The target's clock according to its last Date header, minus ours. In ms. */
    dateOffset: (): number | null => core.lastOffset,
    /** Wrong attempts of the last day, on a key or on all keys. `isCounted`: whether one before this entry of the log counts. */
    triesOf: (id: string | null, isCounted: (entry: number) => boolean = () => true): number => {
      const sinceMs = clock.now() - longestLockMs
      const isOwn = id !== null && core.known.keys.has(id) && core.isOwnKey(id)
      const isUntried = isOwn || (id !== null && id === options.untried?.id)
      const before = beganMs > sinceMs && !isUntried ? triesBefore : 0
      return before + (core.tries.get(id) ?? []).filter(({ ms, entry }) => ms > sinceMs && isCounted(entry)).length
    },
    /** The model's verdict on a step now; null if the step cannot be made. */
    foresee: (step: CallStep): Verdict | null => foresee(core, step),
    /** @param only makes it only if the model says this of it @param lane beside calls of other lanes, from 0 */
    call: (step: CallStep, only?: Verdict['is'], lane?: number): Promise<Seen | null> => call(core, step, only, lane),
    burst: (step: BurstStep): Promise<(Seen | null)[]> => burst(core, step),
    wait: async (ms: number): Promise<void> => {
      core.log.push({ step: pause(ms), seen: [], script: core.script, at: clock.now() })
      const leftMs = endsInMs(core)
      if (leftMs > 0) await clock.sleep(Math.min(ms, leftMs))
    },
    /** How long a pause is that tells the ages of sessions apart. In ms. */
    apartMs: coarse.apartMs,
    /** Whether the target keeps the ages of sessions to the millisecond, as far as it is known. */
    keepsFineAges: (isSo: boolean): void => {
      const { apartMs, slackMs } = isSo ? fine : coarse
      core.apartMs = apartMs
      core.known = { ...core.known, sessions: core.known.sessions.map((table) => ({ ...table, slackMs })) }
    },
    isOver: (reserve = { calls: 0, ms: 0 }): boolean =>
      core.made + reserve.calls >= core.limit || options.timeLeftMs() <= reserve.ms,
    /** The overtime is over, too: calls are no longer made, and waits end at once. */
    hasEnded: (): boolean => endsInMs(core) <= 0,
    /** Others have used the target, so its sessions and its free places for keys are unknown. */
    giveWay: (): void => {
      const now = clock.now()
      // What becomes of earlier keys when others fill the places is open.
      const keys = new Map([...core.known.keys].map(([id, key]) => [id, doubted(core.known, key)]))
      const crowded = { ...core.known, keys, created: Math.max(10, core.known.created) }
      core.known = forgetSessions(crowded, { from: now, to: now })
    },
    /** A key was disabled or deleted. What becomes of those that it created is open. */
    endKey: (name: string, requirement: NonNullable<Key['ended']>): void => endKey(core, name, requirement),
  }
  return core
}

/** What this file alone reads and changes. */
const ownState = ({ maxCalls }: ExplorerOptions, known: State) => ({
  /** What the model knows. */
  known,
  /** Calls that count to the budget. */
  made: 0,
  /** How many calls may be made in all. */
  limit: maxCalls,
  /** All calls, and those beyond the budget. */
  sent: 0,
  madeAgain: 0,
  /** Bytes of answers with keys and tokens. */
  keptBytes: 0,
  lastId: 0,
  /** What was written to foresee a verdict. */
  foreseen: new WeakMap<CallStep, Foreseen>(),
  /** How often a name was given to a result. */
  named: 0,
  /** Broken answers in a row. */
  broken: 0,
  lastOffset: null as number | null,
  /** Added to our time in signatures. */
  sentOffset: 0,
  /** When wrong credentials were tried, for one key and for all. */
  tries: new Map<string | null, { readonly ms: number; readonly entry: number }[]>(),
  /** The problems of answers since the last check. */
  problems: [] as Problem[],
})

/** Where ages may be kept in whole seconds, and where they are kept in milliseconds, by clocks that may differ a little. In ms. */
const coarse = { apartMs: 1250, slackMs }
const fine = { apartMs: 75, slackMs: 50 }

function endKey(core: Core, name: string, ended: NonNullable<Key['ended']>): void {
  const { known: state } = core
  const key = state.keys.get(core.names.get(name)?.id ?? '')
  if (key === undefined) return
  const keys = new Map(
    [...state.keys].map(([id, other]) => [id, mayStemFrom(state, other, key.id) ? doubted(state, other) : other]),
  )
  keys.set(key.id, { ...key, ended })
  const isLast = [...keys].every(([id, other]) => other.ended !== undefined || !core.isOwnKey(id))
  // Whether its place is free now is open, too. With none left, a server that makes room for others has none to remove.
  core.known = { ...state, keys, created: isLast ? 0 : state.created, terms: { ...state.terms, fresh: false } }
}

function foresee(core: Core, step: CallStep): Verdict | null {
  const at = now(core)
  const rendered = tryRender(core, step)
  if (rendered === null) return null
  core.foreseen.set(step, { rendered, fromMs: at.from, restsOn: whatItRestsOn(core) })
  return judge(core.known, facts(core.known, rendered.call, at))
}

interface Foreseen {
  readonly rendered: Rendered
  readonly fromMs: number
  readonly restsOn: ReturnType<typeof whatItRestsOn>
}

/** A signature that waited longer for its call might look old. In ms. */
const freshMs = 50

/** What a step is written from, besides itself. */
const whatItRestsOn = ({ known: { terms }, sentOffset, named }: Core) => [terms, sentOffset, named] as const

/** What was written to foresee the verdict on a step is sent if it would be written so now, but only once, because it has a nonce. */
function renderedAhead(core: Core, step: CallStep): Rendered | null {
  const ahead = core.foreseen.get(step)
  core.foreseen.delete(step)
  if (ahead === undefined || core.clock.now() - ahead.fromMs > freshMs) return null
  return whatItRestsOn(core).every((one, at) => one === ahead.restsOn[at]) ? ahead.rendered : null
}

/** How many of the last calls show how long one takes. */
const recentCalls = 20

const callMs = (core: Core): number =>
  Math.max(answerMs(core), 1000 / (core.line.facts.callsPerSecond ?? Number.POSITIVE_INFINITY))

/** The mean of the middle half: one answer that took long says nothing about the others, and times may be whole milliseconds. */
function answerMs({ log }: Core): number {
  const tookMs = log.slice(-recentCalls).flatMap(({ seen }) => seen.map(({ span }) => span.to - span.from))
  const quarter = Math.floor(tookMs.length / 4)
  const middle = tookMs.sort((one, other) => one - other).slice(quarter, tookMs.length - quarter)
  return middle.reduce((sum, ms) => sum + ms, 0) / Math.max(1, middle.length)
}

/** How long calls may still be made, those that repeat findings among them. In ms. */
const endsInMs = ({ options: { timeLeftMs, overtimeMs = Number.POSITIVE_INFINITY } }: Core): number =>
  timeLeftMs() + overtimeMs

/** The calls or the time of the exploration are used up. */
const isSpent = (core: Core, calls = 1): boolean => core.made + calls > core.limit || core.hasEnded()

type Exchanged = ReturnType<ReturnType<typeof prepare>['conclude']>

/** Sends a step. */
async function exchange(core: Core, rendered: Rendered, atOnce = false): Promise<Exchanged> {
  const [exchanged] = await exchangeAll(core, [rendered], atOnce)
  if (exchanged === undefined) throw new Error('a step without its answer')
  return exchanged
}

/** Sends steps, several of them in the same moment. */
async function exchangeAll(core: Core, planned: readonly Rendered[], atOnce: boolean): Promise<Exchanged[]> {
  const prepared = planned.map((one) => prepare(core, one))
  const delivered = await deliver(
    core.line,
    prepared.map(({ delivery }) => ({ ...delivery, atOnce })),
  )
  return delivered.flatMap((one, index) => prepared[index]?.conclude(one) ?? [])
}

/** How a step is sent, and what its answer says; it is written and signed again if it has to be sent again. */
function prepare(core: Core, first: Rendered) {
  const { step } = first
  let rendered = first
  let isFirst = true
  let request: WireRequest | undefined
  const build = (): WireRequest => {
    if (!isFirst) rendered = renderedAgain(core, step) ?? rendered
    isFirst = false
    core.made += 1
    core.sent += 1
    core.options.onCall?.(core.sent)
    request = requestOf(core, rendered)
    return request
  }
  const delivery: Delivery = {
    build,
    changes: mayChange(core.options.instance.settings, step.call),
    ...(isCreation(step) ? { creates: labelOf(core, step), key: privateKeyOf(core, step) } : {}),
  }
  const conclude = ({ answer, wire, ours }: Delivered) => {
    if (wire.kind === 'none' && wire.isOfEnding === true) throw new TargetGone(wire.reason)
    if (wire.kind === 'answer') {
      if (mayBeKept(step)) core.keptBytes += wire.cut?.bytes ?? wire.body.length
      const date = Date.parse(wire.headers.date ?? '')
      if (!Number.isNaN(date)) core.lastOffset = date - ours.answeredAtMs
    }
    const span = { from: ours.sentAtMs, to: ours.answeredAtMs }
    /** What was sent and received, as lines. */
    const shown = () => (request === undefined ? undefined : showExchange(request, cutAnswer(wire), undefined))
    return { ...rendered, answer: modelAnswer(answer), span, status: answer.status, shown }
  }
  return { delivery, conclude }
}

function requestOf(core: Core, { step, call: { authorization, body } }: Rendered): WireRequest {
  const { connection = 0, headers = {} } = step
  const from = addressOf(core, step).local
  return {
    method: 'POST',
    path: '/api',
    headers: [
      ...Object.entries(core.options.instance.settings.headers),
      ['content-type', 'application/json'],
      ...Object.entries(headers),
      ...(authorization === undefined ? [] : [['authorization', headerBytes(authorization)] as [string, string]]),
    ],
    body: utf8(body),
    connection: connection === 'new' ? 'fresh' : `own ${connection}`,
    ...(from === undefined ? {} : { from }),
    ...(mayBeKept(step) ? { sharedBy: core.keptBytes > mostKeptBytes ? nothingMore : answersKept } : {}),
  }
}

/** The model remembers keys and tokens, so an answer with some of them may take only this part of the memory that others may. */
const answersKept = 64
/** All such answers together. */
const mostKeptBytes = 32 * 2 ** 20
const nothingMore = Number.MAX_SAFE_INTEGER
const mayBeKept = ({ call: method }: CallStep): boolean => method.startsWith('manager/')

const labelOf = (core: Core, { params }: CallStep): string => String(resolve(params.name ?? '', core.lookUp))

/** A key that is created with a public key of ours is used with its private key. */
function privateKeyOf({ names }: Core, step: CallStep): { privateKey?: string } {
  const seed = step.params.publicKey === undefined ? undefined : names.get(`${nameOf(step)}-own`)?.seed
  return seed === undefined ? {} : { privateKey: ed25519KeyPair(seed).privateKeyPem }
}

async function beyondBudget<T>(core: Core, calls: number, action: () => Promise<T>): Promise<T> {
  const { limit, made: before } = core
  core.limit = before + calls
  try {
    return await action()
  } finally {
    core.madeAgain += core.made - before
    core.made = before
    core.limit = limit
  }
}

/** A call that took longer is judged again for the time that it took. */
const notableMs = 50

async function call(core: Core, wanted: CallStep, only?: Verdict['is'], lane = 0): Promise<Seen | null> {
  if (isSpent(core)) return null
  const { script } = core
  const step = lane === 0 ? wanted : inLane(wanted, lane)
  const written = renderedAhead(core, wanted) ?? tryRender(core, step)
  if (written === null) return null
  const rendered = { ...written, step }
  const { call: planned } = rendered
  const [before, at] = [core.known, now(core)]
  const foreseen = only === undefined ? undefined : facts(before, planned, at)
  if (foreseen !== undefined && judge(core.known, foreseen).is !== only) return null
  const exchanged = exchange(core, rendered, lane > 0)
  // Any other call is judged while its answer is on the way.
  if (foreseen === undefined) await Promise.race([exchanged, setImmediate()])
  const known = foreseen ?? facts(before, planned, at)
  const { call: made, answer, span, shown } = await exchanged
  const late = made.authorization !== planned.authorization || span.to - span.from > notableMs
  const certain = late ? facts(core.known, made, span) : known
  const seen: Seen = { step, call: made, verdict: judge(core.known, certain), answer, span }
  const { sessions } = core.known
  takeAnswer(core, seen, certain)
  if (seemsRemoved(core, seen, sessions) && !(await takesRoot(core, step.from)))
    core.known = { ...core.known, sessions }
  doubtAltered(core, seen)
  countTry(core, seen)
  core.log.push({ step, seen: [forLog(seen)], script, at: span.from })
  core.showLatest = shown
  findIn(core, seen, script)
  await noticeBroken(core, answer)
  return seen
}

/** Whether a refusal taught which session was removed. */
const seemsRemoved = ({ known: state }: Core, { answer, verdict }: Seen, before: State['sessions']): boolean =>
  answer.kind === 'refused' && verdict.is === 'open' && state.sessions !== before

/** An altered token may have ended the right one, where the target has shown that it does. */
function doubtAltered(core: Core, { step, answer }: Seen): void {
  if (step.alter === undefined || answer.kind === 'accepted' || !core.known.terms.withdraws?.has('altered')) return
  for (const name of namesIn(step)) core.known = doubtLine(core.known, core.lines.get(name) ?? -1)
}

/** Calls of different lanes are on different connections. */
const inLane = ({ connection = 0, ...step }: CallStep, lane: number): CallStep => ({
  ...step,
  connection: connection === 'new' ? connection : `${connection} of ${lane}`,
})

function findIn(core: Core, { verdict, answer, step }: Seen, script: string): void {
  const { log } = core
  reportProblems(core, script)
  if (!contradicts(verdict, answer)) return
  const kind = answer.kind === 'accepted' ? 'accepted' : answer.kind === 'refused' ? 'refused' : 'broken'
  const message = contradiction(step, verdict, answer)
  const { level, fact } = verdict
  const requirement = isOfBody(core, kind, step) ? bodySigned : verdict.requirement
  const about = fact.about ?? requirement
  core.report({ requirement, level, message, kind, fact: about, entry: log.length - 1, script })
}

export const bodySigned = 'signatures/request-body'

/** A signed call whose body is in another form, or in chunks. */
export const isSignedOtherBody = ({ body, headers, auth, alter }: CallStep): boolean =>
  (body !== undefined || headers !== undefined) && alter === undefined && ['hmac', 'ecc'].includes(wayOf(auth))

/** The same for calls whose bodies are written and sent in the same way. */
const formOf = ({ body, headers }: CallStep): string => JSON.stringify([body, headers])

/** Whether only the signature of such a body is refused: another way to authorize was accepted with it, and the signature of a plain body. */
function isOfBody({ log }: Core, kind: string, call: CallStep): boolean {
  if (kind === 'accepted' || !isSignedOtherBody(call)) return false
  const [form, auth] = [formOf(call), JSON.stringify(call.auth)]
  const isUnsigned = (step: CallStep): boolean => ['basic', 'token'].includes(wayOf(step.auth))
  const isPlain = (step: CallStep): boolean =>
    !isSignedOtherBody(step) && step.alter === undefined && JSON.stringify(step.auth) === auth
  const wasAccepted = (isMeant: (step: CallStep) => boolean): boolean =>
    log.some(({ seen }) => seen.some(({ step, answer }) => answer.kind === 'accepted' && isMeant(step)))
  return wasAccepted((step) => isUnsigned(step) && formOf(step) === form) && wasAccepted(isPlain)
}

/** Ends the exploration when the target has stopped answering. One that hangs up instead of refusing answers right calls. */
async function noticeBroken(core: Core, answer: Answer): Promise<void> {
  core.broken = answer.kind === 'broken' ? core.broken + 1 : 0
  if (answer.kind !== 'broken' || core.broken < mostBroken) return
  const isThere = ((await askRoot(core))?.kind ?? 'broken') !== 'broken'
  if (!isThere) throw new TargetGone(answer.reason)
  core.broken = 0
}

// Calls at once, judged as a history.

async function burst(core: Core, step: BurstStep): Promise<(Seen | null)[]> {
  const made = callsOf(step).flatMap((one, lane): Rendered[] => {
    const connection = step.connections === 'new' ? ('new' as const) : lane + 1
    const rendered = tryRender(core, { ...one, connection })
    return rendered === null ? [] : [rendered]
  })
  if (isSpent(core, made.length)) return []
  core.showLatest = () => undefined
  const before = core.known
  const sent = (await exchangeAll(core, made, true)).map(({ step: one, call, answer, span, status }) => {
    const isAway = answer.kind === 'broken' && isUnavailable(status)
    return { step: one, call, answer: isAway ? ({ kind: 'unread' } as const) : answer, span }
  })
  const happened = await overlapping(core, sent)
  const seen = happened.map((one) => ({ ...one, verdict: judge(before, facts(before, one.call, one.span)) }))
  core.log.push({ step, seen: seen.map(forLog), script: core.script, at: core.clock.now() })
  explainBurst(core, seen)
  await mayHaveBeenClosed(core, before.sessions, seen)
  return seen
}

/** On a clock that stands still, calls at once would look like calls one after another, in an order that nobody knows. */
async function overlapping<Sent extends { readonly span: Span }>(
  { clock }: Core,
  sent: readonly Sent[],
): Promise<Sent[]> {
  if (!clock.controlled || sent.length < 2) return [...sent]
  await clock.sleep(1)
  return sent.map((one) => ({ ...one, span: { from: one.span.from, to: clock.now() } }))
}

/** Where refusals seem to show a reading of sessions, but the server refuses the root key as well, they show nothing. */
async function mayHaveBeenClosed(core: Core, sessions: State['sessions'], seen: readonly Seen[]): Promise<void> {
  const isTaught = core.known.sessions.length < sessions.length && seen.some(({ answer }) => answer.kind === 'refused')
  if (!isTaught || (await takesRoot(core))) return
  const now = core.clock.now()
  core.known = forgetSessions({ ...core.known, sessions }, { from: now, to: now })
}

/**
 * Takes the answers in an order that the model allows. Without such an order, takes them by their ends, reports the first contradiction, and
 * forgets what they touched.
 */
function explainBurst(core: Core, seen: readonly Seen[]): void {
  const history: Exchange[] = seen.map(({ step, call, answer, span }) => ({
    call,
    answer,
    span,
    like: JSON.stringify([step.call, step.params, step.auth, step.alter, answer.kind, nameOf(step) === undefined]),
  }))
  const found = explain(core.known, history)
  let isReported = found.is !== 'impossible'
  for (const index of found.is === 'explained' ? found.order : byEnd(seen)) {
    const one = seen[index]
    if (one === undefined) continue
    const verdict = judge(core.known, facts(core.known, one.call, one.span))
    if (!isReported && found.is === 'impossible' && contradicts(verdict, one.answer) && !mayBeLimit(one)) {
      isReported = true
      const isByItself = one.verdict.is === 'refused'
      reportHistory(core, { ...one, verdict }, { calls: found.part.length, wrong: { at: index, isByItself } })
    }
    takeAnswer(core, one)
    countTry(core, { ...one, verdict })
    reportProblems(core)
  }
  // Their real order is not known, so nothing may follow from the one in which they were taken.
  if (found.is !== 'explained') core.known = doubtTouched(core.known, seen)
}

/** A server may let calls that change something wait for one another, and refuse some: how many at once it takes is open (limits/rate). */
const mayBeLimit = ({ step, answer }: Seen): boolean =>
  answer.kind === 'refused' && step.call !== 'solution/listSolutions' && step.alter === undefined

function reportHistory(
  core: Core,
  { step, verdict, answer }: Seen,
  { calls, wrong }: Pick<Candidate, 'wrong'> & { readonly calls: number },
): void {
  const message = `${contradiction(step, verdict, answer)}: ${notAllowed(calls)}`
  const { requirement, level } = verdict
  const entry = core.log.length - 1
  const outcome = answer.kind === 'unread' ? 'broken' : answer.kind
  const { script } = core
  core.report({ requirement, level, message, kind: 'history', outcome, wrong, fact: 'history', entry, script })
}

function byEnd(seen: readonly Seen[]): number[] {
  return seen.map((_, index) => index).sort((a, b) => (seen[a]?.span.to ?? 0) - (seen[b]?.span.to ?? 0))
}

/**
 * A refusal may have another reason than the one that it seems to have: a server may be closed to our address for a while.
 *
 * @returns whether the root key lists solutions now, from an address of ours; true if no call is left to ask
 */
async function takesRoot(core: Core, from?: string): Promise<boolean> {
  return isSpent(core) || ((await askRoot(core, from))?.kind ?? 'accepted') === 'accepted'
}

/** The answer to a listing by the root key; undefined if it cannot be made. */
async function askRoot(core: Core, from?: string): Promise<Answer | undefined> {
  const rendered = tryRender(core, list(core.byRoot, { connection: 'new', ...defined({ from }) }))
  return rendered === null ? undefined : (await exchange(core, rendered)).answer
}

// The state of an exploration: a step becomes a call, and its answer updates the state.

const addressOf = ({ addresses }: Core, step: CallStep) =>
  addresses.find(({ name }) => name === step.from) ?? addresses[0] ?? { local: undefined, seen: '' }

/** A step, and the call that it makes. */
type Rendered = Pick<Seen, 'step' | 'call'>

/** A change may have something to change with one nonce, and nothing with the next. */
const mostNonces = 20

/** Written and signed with another nonce. */
function renderedAgain(core: Core, step: CallStep): Rendered | null {
  let rendered: Rendered | null = null
  for (let tried = 0; tried < mostNonces && rendered === null; tried += 1) rendered = tryRender(core, step)
  return rendered
}

/** @returns null if the step cannot be made: a name stands for nothing, or a change has nothing to change */
function tryRender(core: Core, step: CallStep): Rendered | null {
  const { clock } = core
  const { instance, values } = core.options
  const operations = readDeviations()
  const { scheme, tokenPrefix, uri } = core.known.terms
  const settings = {
    scheme,
    tokenWord: tokenPrefix ?? 'Bearer',
    uri,
    url: `${instance.baseUrl}/api`,
    operations,
    nextNonce: (kind: CallStep['nonce']) => nonceOf(kind, values),
    timestamp: () => Math.floor(clock.now() + core.sentOffset),
  }
  try {
    const params = withShortSessions(core, resolve(step.params, core.lookUp) as CallStep['params'])
    const id = step.id ?? ++core.lastId
    const auth = resolve(step.auth, core.lookUp) as CallStep['auth']
    const changes = changesOf(resolve(step.alter, core.lookUp))
    const spec = { method: step.call, params, auth, form: step.body, changes, nonce: step.nonce }
    // A call that its change leaves as it is shows nothing, and need not be signed.
    const { authorization, body } = write(spec, id, keyOf, { ...settings, mustChange: changes.length === 1 })
    const breaks = operations.breaks(changes[0], wayOf(auth))
    const [from, inChunks] = [addressOf(core, step).seen, isChunked(step) || undefined]
    return { step, call: { authorization, body, breaks, from, inChunks } }
  } catch (error) {
    if (error instanceof Unmakeable || error instanceof UnresolvedReference) return null
    throw error
  }
}

function keyOf(member: unknown): SigningKey {
  const { id, secret, seed } = member as Value
  if (id === undefined) throw new Unmakeable('This is no key')
  return { id, secret, seed }
}

/** Two digits of this run: with more a name would be no small number, which some readers treat in another way. */
const digitsOf = (unique: string): string =>
  Array.from(unique.slice(0, 2), (letter) => Number.parseInt(letter, 36) % 10).join('')

function withShortSessions({ known: state }: Core, params: CallStep['params']): CallStep['params'] {
  if (!Array.isArray(params.scope)) return params
  const short = (word: string) => word.replace(/(?<=^session:).+$/, (name) => sessionSent(state, name))
  return { ...params, scope: params.scope.map((word) => (typeof word === 'string' ? short(word) : word)) }
}

/** Where the target refuses long names of sessions, a long one becomes a short one; the same name always the same. */
export const sessionSent = ({ terms }: State, name: string): string =>
  terms.longSessionNames !== false || /^[a-z0-9]{1,8}$/.test(name) ? name : shortName(name)

const now = ({ clock }: Core): Span => ({ from: clock.now(), to: clock.now() })

/** Learns from an answer: returns the next state and the named values of its result. */
function takeAnswer(
  core: Core,
  { step, call: made, answer, span }: Omit<Seen, 'verdict'>,
  known?: readonly Fact[],
): void {
  core.problems.push(...shape(core.known, made, answer, span))
  core.known = learn(core.known, made, answer, span, known)
  nameResult(core, step, answer, made.authorization)
}

function nameResult(core: Core, step: CallStep, answer: Answer, header: string | undefined): void {
  const as = nameOf(step)
  const { names, known: state, lines, pairNames } = core
  if (as === undefined || answer.kind !== 'accepted') return
  const result = textsOf(answer.result)
  if (result === null) return
  const own = names.get(`${as}-own`)
  const seed = own?.seed === undefined ? {} : { seed: own.seed, publicKey: own.publicKey ?? '' }
  const label = isCreation(step) ? { name: labelOf(core, step) } : {}
  const sent = header === undefined ? {} : { header, signature: header.split(';').at(-1) ?? '' }
  names.set(as, { ...result, ...label, ...seed, ...sent })
  core.named += 1
  const index = typeof result.accessToken === 'string' ? state.access.get(result.accessToken) : undefined
  const line = index === undefined ? undefined : state.pairs.get(index)?.line
  if (line === undefined) return
  if (!lines.has(as)) pairNames.push(as)
  lines.set(as, line)
}

/** The members of a result that later steps use. A server may send anything in their place, and much beside them. */
function textsOf(result: unknown): Value | null {
  if (!isObject(result)) return null
  const texts = members.flatMap((name) => (typeof result[name] === 'string' ? [[name, result[name]]] : []))
  const { scope } = result
  return { ...Object.fromEntries(texts), ...(isStrings(scope) ? { scope } : {}) }
}

const members = ['id', 'secret', 'accessToken', 'refreshToken', 'tokenType']

/** Counts a call that was not right, for each key and for all: after some of them a server may lock a key or an address. */
function countTry({ known: state, tries, log }: Core, { verdict, answer, call: made, span }: Seen): void {
  if (verdict.is === 'accepted' || answer.kind === 'accepted') return
  // Right but for the doubt about its key: no attempt to guess a secret.
  if (verdict.is === 'open' && verdict.requirement === 'keys/created-key-works') return
  // A server may count the wrong calls of a key that only the body names.
  const id = keyIdOf(state, made) ?? [...state.keys.keys()].find((one) => made.body.includes(one)) ?? ''
  for (const who of [id, null]) {
    const times = tries.get(who) ?? []
    tries.set(who, times)
    times.push({ ms: span.to, entry: log.length })
  }
}

/** The part of an answer that the log keeps. A result may be long, and its values were learned when it came. */
function forLog(seen: Seen): Seen {
  const { answer } = seen
  if (answer.kind !== 'accepted') return seen
  return { ...seen, answer: { ...answer, result: undefined, jsonrpc: undefined, id: undefined } }
}

/** Reports the problems of the latest answers. */
function reportProblems(core: Core, script = core.script): void {
  const entry = core.log.length - 1
  for (const problem of core.problems.splice(0))
    core.report({ ...problem, kind: 'shape', fact: problem.requirement, entry, script })
}
