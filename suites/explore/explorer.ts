/** Sends steps to a target, lets the model judge every answer, and keeps what was found. */
import { createPrivateKey, sign } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { write } from '../engine/conversation/call.ts'
import { type Line, openCreatedKeys, openLine } from '../engine/conversation/conversation.ts'
import { cutAnswer, showExchange } from '../engine/conversation/exchange.ts'
import { type Delivery, deliver, mayChange } from '../engine/conversation/send.ts'
import { isUnavailable, noFacts } from '../engine/conversation/target-facts.ts'
import { isObject, isStrings } from '../engine/json.ts'
import type { Delivered } from '../engine/judge/judge-case.ts'
import { changesOf } from '../engine/language/deviations.ts'
import { resolve, UnresolvedReference } from '../engine/language/resolve.ts'
import { type Exchange, explain } from '../engine/model/explain.ts'
import { contradicts, facts, judge } from '../engine/model/judge.ts'
import { doubted, doubtLine, forgetSessions, learn, mayStemFrom, shape } from '../engine/model/learn.ts'
import { keyIdOf } from '../engine/model/read-call.ts'
import { type Span, slackMs } from '../engine/model/sessions.ts'
import {
  type Answer,
  type Call,
  type Fact,
  initialState,
  type Key,
  layered,
  type Problem,
  type State,
  type Verdict,
} from '../engine/model/state.ts'
import { toHex, utf8 } from '../engine/signer/bytes.ts'
import { headerBytes, nonceOf, type Key as SigningKey, Unmakeable } from '../engine/signer/changed-call.ts'
import { ofFewKeys } from '../engine/signer/hmac.ts'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { shortName } from '../engine/signer/random.ts'
import type { Exchange as ShownExchange, WireRequest } from '../engine/target.ts'
import { doubtTouched, modelAnswer } from './case-call.ts'
import { type Candidate, type Explorer, type ExplorerOptions, type Seen, TargetGone } from './explorer-types.ts'
import { byRoot } from './keyring.ts'
import { fixedSessionNames } from './read-worlds.ts'
import {
  type BurstStep,
  type CallStep,
  callsOf,
  isChunked,
  isCreation,
  list,
  nameOf,
  namesIn,
  pause,
  type Value,
  wayOf,
} from './step.ts'
import { contradiction, notAllowed } from './words.ts'

/** After this many broken answers in a row, a right call shows whether the target is still there. */
const mostBroken = 8
/** The longest assumed lock after wrong attempts. */
const longestLockMs = 24 * 3_600_000

export function createExplorer(options: ExplorerOptions): Explorer {
  const { instance, values, clock, unique, emit = () => {}, createdKeys = openCreatedKeys() } = options
  const isKept = { facts: noFacts(), random: values, redactor: null, isGentle: false }
  const texts: { readonly [name: string]: string } = { unique, digits: digitsOf(unique) }
  const beganMs = clock.now()
  const core: Core = {
    options,
    line: openLine(instance, { ...isKept, emit, createdKeys }),
    log: [],
    names: new Map([['root', options.root]]),
    lookUp: (name) => core.names.get(name) ?? texts[name],
    lines: new Map(),
    pairNames: [],
    addresses: options.addresses,
    mapsAddresses: false,
    oneSolution: new Map(),
    script: '',
    showLatest: () => undefined,
    report: () => {},
    tries: new Map(),
    problems: [],
    // Names that are the same in every exploration may have been used before, which is open (sessions/reused-name).
    known: {
      ...initialState(options.terms, options.rootKey),
      created: options.created,
      sessionNames: layered(fixedSessionNames().map((name) => [name, true])),
    },
    state: () => core.known,
    made: 0,
    calls: () => core.made,
    callMs: () => callMs(core),
    sent: 0,
    keptBytes: 0,
    limit: options.maxCalls,
    madeAgain: 0,
    repeated: () => core.madeAgain,
    beyondBudget: (calls, action) => beyondBudget(core, calls, action),
    reserve: (calls) => {
      core.limit = options.maxCalls - calls
    },
    setTerms: (terms) => {
      core.known = { ...core.known, terms: { ...core.known.terms, ...terms } }
    },
    sentOffset: 0,
    setSignatureClock: (offsetMs, isSure) => {
      core.sentOffset = offsetMs
      core.known = { ...core.known, signatureClock: isSure ? offsetMs : null }
    },
    lastOffset: null,
    dateOffset: () => core.lastOffset,
    triesOf: (id, isCounted = () => true) => {
      const sinceMs = clock.now() - longestLockMs
      const before = beganMs > sinceMs && !isOwnKey(core, id) ? options.triesBefore : 0
      return before + (core.tries.get(id) ?? []).filter(({ ms, entry }) => ms > sinceMs && isCounted(entry)).length
    },
    lastId: 0,
    broken: 0,
    foresee: (step) => foresee(core, step),
    call: (step, only, lane) => call(core, step, only, lane),
    burst: (step) => burst(core, step),
    wait: async (ms) => {
      core.log.push({ step: pause(ms), seen: [], script: core.script, at: clock.now() })
      const leftMs = endsInMs(core)
      if (leftMs > 0) await clock.sleep(Math.min(ms, leftMs))
    },
    apartMs: coarse.apartMs,
    keepsFineAges: (isSo) => {
      const { apartMs, slackMs } = isSo ? fine : coarse
      core.apartMs = apartMs
      core.known = { ...core.known, sessions: core.known.sessions.map((table) => ({ ...table, slackMs })) }
    },
    isOver: (reserve = { calls: 0, ms: 0 }) =>
      core.made + reserve.calls >= core.limit || options.timeLeftMs() <= reserve.ms,
    hasEnded: () => endsInMs(core) <= 0,
    giveWay: () => {
      const now = clock.now()
      // What becomes of earlier keys when others fill the places is open.
      const keys = new Map([...core.known.keys].map(([id, key]) => [id, doubted(core.known, key)]))
      const crowded = { ...core.known, keys, created: Math.max(10, core.known.created) }
      core.known = forgetSessions(crowded, { from: now, to: now })
    },
    endKey: (name, ended) => endKey(core, name, ended),
  }
  for (const { name, value, key } of options.knownKeys) {
    core.names.set(name, value)
    if (value.publicKey !== undefined) core.names.set(`${name}-own`, { publicKey: value.publicKey })
    const { keys, keyNames } = core.known
    core.known = { ...core.known, keys: new Map(keys).set(key.id, key), keyNames: keyNames.with([[key.name, true]]) }
  }
  return core
}

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
  const isLast = [...keys].every(([id, other]) => other.ended !== undefined || !isOwnKey(core, id))
  // Whether its place is free now is open, too. With none left, a server that makes room for others has none to remove.
  core.known = { ...state, keys, created: isLast ? 0 : state.created, terms: { ...state.terms, fresh: false } }
}

/** A key that the model created: nobody tried it before. */
const isOwnKey = ({ options: { knownKeys, rootKey }, known: state }: Core, id: string | null): boolean =>
  id !== null && id !== rootKey.id && state.keys.has(id) && !knownKeys.some(({ key }) => key.id === id)

function foresee(core: Core, step: CallStep): Verdict | null {
  const rendered = tryRender(core, step)
  if (rendered === null) return null
  return judge(core.known, facts(core.known, callOf(core, step, rendered), now(core)))
}

/** How many of the last calls show how long one takes. */
const recentCalls = 20

function callMs({ log, line: { facts } }: Core): number {
  const recent = log.slice(-recentCalls).flatMap(({ seen }) => seen)
  const tookMs = recent.reduce((sum, { span }) => sum + span.to - span.from, 0) / Math.max(1, recent.length)
  return Math.max(tookMs, 1000 / (facts.callsPerSecond ?? Number.POSITIVE_INFINITY))
}

/** How long calls may still be made, those that repeat findings among them. In ms. */
const endsInMs = ({ options: { timeLeftMs, overtimeMs = Number.POSITIVE_INFINITY } }: Core): number =>
  timeLeftMs() + overtimeMs

/** No call may be made any more: there are none left, or there is no time. */
const isSpent = (core: Core, calls = 1): boolean => core.made + calls > core.limit || core.hasEnded()

interface Exchanged {
  readonly step: CallStep
  readonly call: Call
  readonly answer: Answer
  readonly span: Span
  /** Of the answer; null without one. */
  readonly status: number | null
  /** What was sent and received, as lines. */
  shown(): ShownExchange | undefined
}

interface Planned {
  readonly step: CallStep
  readonly rendered: Rendered
}

/** Sends a step. */
async function exchange(core: Core, step: CallStep, rendered: Rendered, atOnce = false): Promise<Exchanged> {
  const [exchanged] = await exchangeAll(core, [{ step, rendered }], atOnce)
  if (exchanged === undefined) throw new Error('a step without its answer')
  return exchanged
}

/** Sends steps, several of them in the same moment. */
async function exchangeAll(core: Core, planned: readonly Planned[], atOnce: boolean): Promise<Exchanged[]> {
  const prepared = planned.map((one) => prepare(core, one))
  const delivered = await deliver(
    core.line,
    prepared.map(({ delivery }) => ({ ...delivery, atOnce })),
  )
  return delivered.flatMap((one, index) => prepared[index]?.conclude(one) ?? [])
}

/** How a step is sent, and what its answer says; it is written and signed again if it has to be sent again. */
function prepare(core: Core, { step, rendered: first }: Planned) {
  let rendered = first
  let isFirst = true
  let request: WireRequest | undefined
  const build = (): WireRequest => {
    if (!isFirst) rendered = tryRender(core, step) ?? rendered
    isFirst = false
    core.made += 1
    core.sent += 1
    core.options.onCall?.(core.sent)
    request = requestOf(core, step, rendered)
    return request
  }
  const delivery: Delivery = {
    build,
    changes: mayChange(core.options.instance.settings, step.call),
    ...(isCreation(step) ? { creates: labelOf(core, step), key: privateKeyOf(core, step) } : {}),
  }
  const conclude = ({ answer, wire, ours }: Delivered): Exchanged => {
    if (wire.kind === 'none' && wire.isOfEnding === true) throw new TargetGone(wire.reason)
    if (wire.kind === 'answer') {
      if (mayBeKept(step)) core.keptBytes += wire.cut?.bytes ?? wire.body.length
      const date = Date.parse(wire.headers.date ?? '')
      if (!Number.isNaN(date)) core.lastOffset = date - ours.answeredAtMs
    }
    const span = { from: ours.sentAtMs, to: ours.answeredAtMs }
    const shown = () => (request === undefined ? undefined : showExchange(request, cutAnswer(wire), undefined))
    return { step, call: callOf(core, step, rendered), answer: modelAnswer(answer), span, status: answer.status, shown }
  }
  return { delivery, conclude }
}

function requestOf(core: Core, step: CallStep, { authorization, body }: Rendered): WireRequest {
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

/** The model remembers keys and tokens, so that an answer with some of them may be this much shorter than others, and all together so long. */
const answersKept = 64
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
  const rendered = tryRender(core, step)
  if (rendered === null) return null
  const planned = callOf(core, step, rendered)
  const [before, at] = [core.known, now(core)]
  const foreseen = only === undefined ? undefined : facts(before, planned, at)
  if (foreseen !== undefined && judge(core.known, foreseen).is !== only) return null
  const exchanged = exchange(core, step, rendered, lane > 0)
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
  const right = list(byRoot(core), { connection: 'new' })
  const rendered = tryRender(core, right)
  const isThere = rendered !== null && (await exchange(core, right, rendered)).answer.kind !== 'broken'
  if (!isThere) throw new TargetGone(answer.reason)
  core.broken = 0
}

// Calls at once, judged as a history.

async function burst(core: Core, step: BurstStep): Promise<(Seen | null)[]> {
  const made = callsOf(step).flatMap((one, lane): Planned[] => {
    const rendered = tryRender(core, one)
    const connection = step.connections === 'new' ? ('new' as const) : lane + 1
    return rendered === null ? [] : [{ step: { ...one, connection }, rendered }]
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
  core.log.push({ step, seen: seen.map(forLog), script: core.script, at: core.options.clock.now() })
  explainBurst(core, seen)
  await mayHaveBeenClosed(core, before.sessions, seen)
  return seen
}

/** On a clock that stands still, calls at once would look like calls one after another, in an order that nobody knows. */
async function overlapping<Sent extends { readonly span: Span }>(
  { options: { clock } }: Core,
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
  const now = core.options.clock.now()
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
  const control = list(byRoot(core), { connection: 'new', ...(from === undefined ? {} : { from }) })
  const rendered = tryRender(core, control)
  if (rendered === null || isSpent(core)) return true
  return (await exchange(core, control, rendered)).answer.kind === 'accepted'
}

// The state of an exploration: a step becomes a call, and its answer updates the state.

/** An explorer with its state and counters. */
interface Core extends Explorer {
  readonly line: Line
  readonly pairNames: string[]
  apartMs: number
  /** When wrong credentials were tried, for one key and for all. */
  readonly tries: Map<string | null, { readonly ms: number; readonly entry: number }[]>
  /** The problems of answers since the last check. */
  readonly problems: Problem[]
  known: State
  /** Calls that count to the budget. */
  made: number
  /** All calls. */
  sent: number
  /** Bytes of answers with keys and tokens. */
  keptBytes: number
  /** How many calls may be made in all. */
  limit: number
  /** Calls beyond the budget. */
  madeAgain: number
  lastId: number
  /** Broken answers in a row. */
  broken: number
  lastOffset: number | null
  /** Added to our time in signatures. */
  sentOffset: number
}

const addressOf = ({ addresses }: Core, step: CallStep) =>
  addresses.find(({ name }) => name === step.from) ?? addresses[0] ?? { local: undefined, seen: '' }

/** A step as bytes. */
interface Rendered {
  readonly authorization: string | undefined
  readonly body: string
  readonly breaks: string | undefined
}

const callOf = (core: Core, step: CallStep, { authorization, body, breaks }: Rendered): Call => ({
  authorization,
  body,
  breaks,
  from: addressOf(core, step).seen,
  inChunks: isChunked(step) || undefined,
})

/** @returns null if the step cannot be made: a name stands for nothing, or a change has nothing to change */
function tryRender(core: Core, step: CallStep): Rendered | null {
  const { instance, clock, operations, values } = core.options
  const { scheme, tokenPrefix, uri } = core.known.terms
  const settings = {
    scheme,
    tokenWord: tokenPrefix ?? 'Bearer',
    uri,
    url: `${instance.baseUrl}/api`,
    operations,
    ed25519: signQuickly,
    nextNonce: (kind: CallStep['nonce']) => nonceOf(kind, values),
    timestamp: () => Math.floor(clock.now() + core.sentOffset),
  }
  try {
    const params = withShortSessions(core, resolve(step.params, core.lookUp) as CallStep['params'])
    const id = step.id ?? ++core.lastId
    const auth = resolve(step.auth, core.lookUp) as CallStep['auth']
    const changes = changesOf(resolve(step.alter, core.lookUp))
    const spec = { method: step.call, params, auth, form: step.body, changes, nonce: step.nonce }
    const { authorization, body } = write(spec, id, keyOf, settings)
    return { authorization, body, breaks: operations.breaks(changes[0], wayOf(auth)) }
  } catch (error) {
    if (error instanceof Unmakeable || error instanceof UnresolvedReference) return null
    throw error
  }
}

const privateKeyOfSeed = ofFewKeys(toHex, (seed) => createPrivateKey(ed25519KeyPair(seed).privateKeyPem))

/** Node signs in a tenth of the time that noble takes. sign.test.ts shows that both make the same signatures. */
const signQuickly = (seed: Uint8Array, data: Uint8Array): Uint8Array => sign(null, data, privateKeyOfSeed(seed))

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

const now = ({ options: { clock } }: Core): Span => ({ from: clock.now(), to: clock.now() })

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
  const id = keyIdOf(state, made) ?? ''
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
