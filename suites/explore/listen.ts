/**
 * Listens to the cases of a run: the model judges each exchange, so that an answer that no reading of the document allows is noticed even
 * if no case is about it. It makes no calls. Only what is certain is reported. Refusals never are, because a limit, a lock or a lost
 * connection may explain them, and the case that needs the acceptance fails anyway; but that case may ask about its refused call.
 */
import { type CreatedKey, openCreatedKeys, type Run, type RunEvent } from '../engine/conversation/conversation.ts'
import { type TargetFacts, wordOfTokens } from '../engine/conversation/target-facts.ts'
import { isObject } from '../engine/json.ts'
import { envelopeRequirements } from '../engine/judge/classify.ts'
import type {
  CaseOutcome,
  Doubt,
  ListeningFinding,
  LostPreparation,
  RefusalJudgement,
} from '../engine/judge/problem.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { contradicts, facts, isKnownMethod, judge } from '../engine/model/judge.ts'
import { learn, newerSessions, shape } from '../engine/model/learn.ts'
import { presentedIn, readBody, readCall } from '../engine/model/read-call.ts'
import type { Span } from '../engine/model/sessions.ts'
import { type Call, type Fact, memberOf, type Pair, pairsOfLine, type State } from '../engine/model/state.ts'
import { fromUtf8 } from '../engine/signer/bytes.ts'
import type { Instance, WireRequest } from '../engine/target.ts'
import type { Finding } from '../report/report.ts'
import {
  answerOf,
  type CaseCall,
  describeCaseCall,
  doubtNamedKeys,
  doubtTouched,
  explainCaseCalls,
  forgetClocks,
  isIndependent,
  offsetAfter,
  unknownAddress,
  withShortAnswer,
  wronglyAccepted,
} from './case-call.ts'
import { keyBefore, stateOfTarget } from './open.ts'
import { wrongAnswer } from './wrong-answer.ts'

interface ListenOptions {
  /** What is known of the target before the first exchange. */
  readonly state: State
  /** Our addresses as the target sees them; undefined where that is not known. */
  readonly seenFrom: { readonly first: string | undefined; readonly second: string | undefined }
  /** Others may use the target at the same time. */
  readonly isShared?: boolean
  /** Ids of keys about which nothing else is known. */
  readonly unknownTexts?: readonly string[]
  /** Names of headers, in lower case, that every call carries. */
  readonly ownHeaders: ReadonlySet<string>
  readonly requirements: readonly Requirement[]
}

/** How many exchanges before a finding are looked through for the steps that it rests on. */
const remembered = 200

type Listener = ReturnType<typeof createListener>

const createListener = (options: ListenOptions) => ({
  options,
  /** How many exchanges were judged, and how many were open. */
  counts: { judged: 0, open: 0 },
  found: [] as ListeningFinding[],
  known: new Set<string>(),
  /** Exchanges that are not judged yet, since others are under way: by their start. */
  queue: [] as CaseCall[],
  /** The starts of calls without an answer. */
  underWay: new Map<WireRequest, number>(),
  /** How many starts and ends there were. */
  order: 0,
  log: [] as CaseCall[],
  refusals: createRefusals(options.isShared === true),
  /** Credentials that were issued in a way that the model cannot follow. */
  unknownTexts: new Set(options.unknownTexts),
  state: options.state,
  /** The target's clock minus ours, as the first answer had it. */
  offsetMs: null as number | null,
})

export function listenToRun(options: ListenOptions) {
  const listener = createListener(options)
  return {
    counts: listener.counts,
    listener: (event: RunEvent): void => {
      if (event.kind === 'exchange-begun') listener.underWay.set(event.request, ++listener.order)
      if (event.kind === 'exchange-made') receive(listener, event)
    },
    /** What was found since the last time. */
    take: () => listener.found.splice(0),
    /** Judges a refused call that a case needed accepted; undefined if nothing is known that would make its refusal right. */
    judgeRefusal: (refused: WireRequest) => listener.refusals.judge(refused, (begun) => stateBefore(listener, begun)),
  }
}

type ExchangeMade = Extract<RunEvent, { kind: 'exchange-made' }>

function receive(listener: Listener, event: ExchangeMade): void {
  const from = listener.underWay.get(event.request) ?? listener.order
  listener.underWay.delete(event.request)
  noticeClock(listener, event)
  const caseCall = caseCallOf(event, { from, to: ++listener.order }, listener.options)
  if (caseCall !== null) noteForCases(listener, event.request, caseCall)
  if (caseCall !== null && !isIdle(caseCall)) {
    const later = listener.queue.findLastIndex(({ order }) => order.from <= caseCall.order.from)
    listener.queue.splice(later + 1, 0, caseCall)
  }
  judgePeriod(listener)
}

/** @returns null where the target did nothing: the request was not sent, or it was throttled */
function caseCallOf(event: ExchangeMade, order: Span, { seenFrom: seen, ownHeaders }: ListenOptions): CaseCall | null {
  const { request, answer: wire, sentAtMs, answeredAtMs } = event
  if (wire.kind === 'none' && (wire.wasNotSent === true || wire.refusedConnection)) return null
  const answer = answerOf(wire)
  if (answer === null) return null
  const body = fromUtf8(request.body)
  const headers = request.headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  const authorization = headers.find(([name]) => name === 'authorization')?.[1]
  const from = request.from === 'second-address' ? seen.second : seen.first
  return {
    call: { authorization, body: body ?? '', from: from ?? unknownAddress },
    answer,
    span: { from: sentAtMs, to: answeredAtMs },
    order,
    isPlain: body !== null && isPlainRequest(request, headers, ownHeaders),
  }
}

function isPlainRequest(
  { method, path }: WireRequest,
  headers: readonly (readonly [name: string, value: string])[],
  ownHeaders: ReadonlySet<string>,
): boolean {
  const others = headers.filter(([name]) => !ownHeaders.has(name))
  const times = (wanted: string): number => others.filter(([name]) => name === wanted).length
  return (
    method === 'POST' &&
    path === '/api' &&
    times('authorization') <= 1 &&
    times('content-type') === 1 &&
    others.every(([name, value]) => isPlainHeader(name, value))
  )
}

function isPlainHeader(name: string, value: string): boolean {
  if (name === 'content-type') return value === 'application/json'
  if (name === 'authorization') return /^[\x20-\x7e]*$/.test(value)
  return ['host', 'content-length', 'connection', 'accept', 'user-agent'].includes(name)
}

/** Only what the model follows can say why a call was refused. */
function noteForCases(listener: Listener, request: WireRequest, caseCall: CaseCall): void {
  const { refusals, state } = listener
  if (caseCall.answer.kind !== 'refused') refusals.noteUse(caseCall)
  else if (caseCall.isPlain && isJudged(state, caseCall) && isKnown(listener, caseCall))
    refusals.noteRefusal(request, caseCall)
}

/**
 * While calls are under way, those that were answered before another began are certainly earlier than it. Their own order is taken to be that of
 * their answers; where that is wrong, they contradict each other, and what they touched is unknown.
 */
function stateBefore({ state, queue }: Listener, begun: number): State {
  // Learning adds nonces in place, and these calls are learnt again when they are judged.
  const own: State = { ...state, nonces: new Set(state.nonces) }
  return queue
    .filter(({ order }) => order.to < begun)
    .sort((one, other) => one.order.to - other.order.to)
    .reduce((before, { call, answer, span }) => learn(before, call, answer, span), own)
}

/** After the clock was set during the run, no reported time is certain. */
function noticeClock(listener: Listener, { answer, answeredAtMs }: ExchangeMade): void {
  const known = listener.offsetMs
  listener.offsetMs = offsetAfter(known, answer.kind === 'answer' ? answer.headers.date : undefined, answeredAtMs)
  if (known !== null && listener.offsetMs !== known) listener.state = forgetClocks(listener.state)
}

/** Judges what was received once no call is under way: from then on, everything else comes later. */
function judgePeriod(listener: Listener): void {
  if (listener.underWay.size > 0) return
  listener.refusals.settle(listener.state)
  const together = listener.queue.splice(0)
  if (isIndependent(listener.state, together)) for (const caseCall of together) judgeOne(listener, caseCall)
  else judgeHistory(listener, together)
}

function judgeOne(listener: Listener, caseCall: CaseCall): void {
  const { call, answer, span, isPlain } = caseCall
  const known = facts(listener.state, call, span)
  const verdict = judge(listener.state, known)
  if (isPlain && isJudged(listener.state, caseCall)) {
    listener.counts[verdict.is === 'open' ? 'open' : 'judged'] += 1
    if (isCertain(listener, caseCall, known) && verdict.is === 'refused' && contradicts(verdict, answer))
      report(listener, caseCall, {
        ...verdict,
        kind: 'let-in',
        message: `${describeCaseCall(listener.state, caseCall)} was accepted`,
      })
    for (const problem of shape(listener.state, call, answer, span))
      report(listener, caseCall, { ...problem, kind: 'shape' })
  }
  take(listener, caseCall, known)
}

/** A refusal is not reported, and it may have a reason that the model cannot see; only that of a refresh may have revoked its pair. */
const isIdle = ({ call, answer }: CaseCall): boolean =>
  answer.kind === 'refused' && readBody(call.body).method !== 'manager/auth'

/** Calls whose order is not known: is there one that the document allows? */
function judgeHistory(listener: Listener, together: readonly CaseCall[]): void {
  const isFollowed = together.every((one) => one.isPlain && isJudged(listener.state, one) && isKnown(listener, one))
  const found = isFollowed ? explainCaseCalls(listener.state, together) : { is: 'undecided' as const }
  const isLost = together.some(({ answer }) => answer.kind === 'broken' || answer.kind === 'unread')
  if (found.is === 'explained' && !isLost) {
    for (const index of found.order) judgeOne(listener, together[index] as CaseCall)
    return
  }
  const wrong = found.is === 'impossible' ? wronglyAccepted(listener.state, together) : undefined
  if (wrong !== undefined) report(listener, wrong.caseCall, { ...wrong.verdict, kind: 'history', group: together })
  for (const caseCall of [...together].sort((one, other) => one.order.to - other.order.to)) take(listener, caseCall)
  listener.state = doubtTouched(listener.state, together)
}

function take(listener: Listener, caseCall: CaseCall, known?: readonly Fact[]): void {
  const { call, answer, span, isPlain } = caseCall
  const isFollowed = isPlain && isJudged(listener.state, caseCall)
  if (answer.kind === 'accepted' && !isFollowed) listener.state = doubtNamedKeys(listener.state, caseCall)
  listener.state = learn(listener.state, call, answer, span, known)
  for (const text of unknownTextsIn(listener.state, caseCall)) listener.unknownTexts.add(text)
  listener.state = withClockOf(listener.state, caseCall)
  listener.log.push(withShortAnswer(caseCall))
  if (listener.log.length > remembered) listener.log.shift()
}

/** Credentials in an answer that the model could not take from it. */
function unknownTextsIn(state: State, { answer }: CaseCall): string[] {
  if (answer.kind !== 'accepted' || !isObject(answer.result)) return []
  const { accessToken, refreshToken, id, secret } = answer.result
  const tokens = [accessToken, refreshToken].filter((text) => typeof text === 'string')
  const keys = typeof secret === 'string' ? [id, secret].filter((text) => typeof text === 'string') : []
  return [
    ...tokens.filter((text) => !state.access.has(text) && !state.refresh.has(text)),
    ...(keys[0] !== undefined && state.keys.get(keys[0])?.secret !== keys[1] ? keys : []),
  ].filter((text) => text !== '')
}

/** The first signature that is let in carries an honest timestamp. */
function withClockOf(state: State, { call, answer, span }: CaseCall): State {
  if (state.signatureClock !== null || answer.kind !== 'accepted') return state
  const timestamp = Number((call.authorization ?? '').split(';')[2])
  return Number.isFinite(timestamp) && timestamp > 1e12 ? { ...state, signatureClock: timestamp - span.from } : state
}

const isJudged = (state: State, { call }: CaseCall): boolean => isKnownMethod(state, readBody(call.body).method)

/** The model followed how its credentials were issued. */
function isKnown({ unknownTexts }: Listener, { call }: CaseCall): boolean {
  const text = `${call.authorization ?? ''} ${call.body}`
  return [...unknownTexts].every((unknown) => !text.includes(unknown))
}

/** Facts that rest on our address count only where we know it. */
function isCertain(listener: Listener, caseCall: CaseCall, known: readonly Fact[]): boolean {
  const onlyAddress = known.every(
    ({ is, requirement }) => is !== 'no' || /^addresses\/|address-kept$/.test(requirement),
  )
  return isKnown(listener, caseCall) && !(caseCall.call.from === unknownAddress && onlyAddress)
}

function report(
  { options: { requirements }, known, found, state, log }: Listener,
  caseCall: CaseCall,
  wrong: Parameters<typeof wrongAnswer>[2],
): void {
  const answer = wrongAnswer({ state, log, requirements, known }, caseCall, wrong)
  if (!known.has(answer.id)) found.push(answer)
  known.add(answer.id)
}

/** @param isShared others may use the target at the same time */
function createRefusals(isShared: boolean) {
  const pending = new Map<WireRequest, Pick<RefusedCall, 'call' | 'span' | 'refusedBefore'> & { begun: number }>()
  const settled = new WeakMap<WireRequest, Omit<RefusedCall, 'lastUsesMs'>>()
  /** By the id of a key: how many calls with it were refused since the last that was not. */
  const refusedInARow = new Map<string, number>()
  const lastUsesMs = new Map<string, number>()
  return {
    /** A call was answered otherwise than by a refusal. */
    noteUse({ call, span }: CaseCall): void {
      const { keyId, refreshToken, accessToken } = presentedIn(call)
      for (const token of [refreshToken, accessToken])
        if (token !== undefined && token.length <= longestToken)
          lastUsesMs.set(token, Math.max(lastUsesMs.get(token) ?? 0, span.to))
      refusedInARow.delete(keyId ?? '')
    },
    noteRefusal(request: WireRequest, { call, span, order }: CaseCall): void {
      const { keyId: key } = presentedIn(call)
      const refusedBefore = refusedInARow.get(key ?? '') ?? 0
      if (key !== undefined) refusedInARow.set(key, refusedBefore + 1)
      pending.set(request, { call, span, refusedBefore, begun: order.from })
    },
    /** No call is under way; the state is that before the calls that were under way until now. */
    settle(state: State): void {
      for (const [request, one] of pending) settled.set(request, { ...one, state })
      pending.clear()
    },
    /** @param stateBefore what is known of a call that began then, while others are still under way */
    judge(request: WireRequest, stateBefore: (begun: number) => State): RefusalJudgement | undefined {
      const unsettled = pending.get(request)
      const refused =
        unsettled === undefined ? settled.get(request) : { ...unsettled, state: stateBefore(unsettled.begun) }
      return refused === undefined ? undefined : judgeRefusal({ ...refused, lastUsesMs }, isShared)
    },
  }
}

function judgeRefusal(refused: RefusedCall, isShared: boolean): RefusalJudgement | undefined {
  const pair = pairSent(refused)
  const loss = pair === undefined ? undefined : lostPreparation(refused, pair)
  if (loss !== undefined) return { is: 'required', because: loss }
  const doubt = pair === undefined ? doubtAboutKey(refused) : doubtAboutPair(refused, pair, isShared)
  return doubt === undefined ? undefined : { is: 'open', because: doubt }
}

/** Uses of longer tokens are not remembered, because a hostile server may send megabytes. */
const longestToken = 4096

/** A refused call, what was known before it, and when each token was used last without a refusal, in ms on our clock. */
interface RefusedCall {
  readonly call: Call
  readonly span: Span
  readonly state: State
  /** How many calls with its key were refused before it, one after another; 0 for a call with a token. */
  readonly refusedBefore: number
  readonly lastUsesMs: ReadonlyMap<string, number>
}

/**
 * @param pair whose token was sent
 * @returns undefined unless it is certain from accepted calls alone; so a server that breaks a rule is not excused by what it broke: a
 * token that it issued twice, or an expiry that had passed when it was reported
 */
function lostPreparation(refused: RefusedCall, pair: Pair): LostPreparation | undefined {
  const { state, call, span } = refused
  if (isIssuedTwice(state, pair)) return undefined
  for (const fact of facts(state, call, span)) {
    const loss = fact.is === 'no' ? lossBy(fact, pair, span) : undefined
    if (loss !== undefined) return loss
  }
  const newer = newerSessions(state, pair, lastUseMs(refused, pair))
  if (newer === undefined) return undefined
  const requirement =
    readCall(state, call).token === pair.refresh ? 'sessions/removed-refresh' : 'sessions/oldest-removed'
  return { kind: 'session-removed', requirement, newer }
}

/** The pair whose token a call sent, exactly as it was issued. */
function pairSent({ state, call }: RefusedCall): Pair | undefined {
  const { token = '' } = readCall(state, call)
  return state.pairs.get(state.access.get(token) ?? state.refresh.get(token) ?? -1)
}

function lossBy({ requirement }: Fact, pair: Pair, span: Span): LostPreparation | undefined {
  switch (requirement) {
    case 'refresh/revokes-access':
    case 'refresh/revokes-refresh':
      return { kind: 'pair-refreshed', requirement }
    case 'sessions/oldest-removed':
    case 'sessions/removed-refresh':
    case 'refresh/session-kept':
      return { kind: 'session-removed', requirement }
    case 'expires-in/enforced':
    case 'tokens/expire':
      return expired(requirement, pair, pair.accessEnds, span)
    case 'refresh/own-expiry':
      return expired(requirement, pair, pair.refreshEnds, span)
    default:
      return undefined
  }
}

function expired(requirement: string, { made }: Pair, ends: Span | null, { from }: Span): LostPreparation | undefined {
  if (ends === null || ends.from <= made.to) return undefined
  return { kind: 'token-expired', requirement, agoMs: from - ends.to }
}

function isIssuedTwice({ pairs }: State, { access, refresh }: Pair): boolean {
  const texts = pairs.values().flatMap((pair) => [pair.access, pair.refresh])
  return [access, refresh].some((own) => texts.filter((text) => text === own).length > 1)
}

function lastUseMs({ state, lastUsesMs }: RefusedCall, { line }: Pair): number {
  const texts = pairsOfLine(state, line).flatMap(({ access, refresh }) => [access, refresh])
  // Perhaps just now.
  if (texts.some(({ length }) => length > longestToken)) return Number.POSITIVE_INFINITY
  return Math.max(...texts.map((text) => lastUsesMs.get(text) ?? 0))
}

/**
 * @param pair whose token was sent
 * @param isShared others may use the target
 * @returns undefined where nothing is known that would make the refusal right
 */
function doubtAboutPair(refused: RefusedCall, pair: Pair, isShared: boolean): Doubt | undefined {
  const { state } = refused
  const isUnknown = unknownsOf(refused)
  if (isUnknown('refresh/new-pair')) return { kind: 'pair-uncertain', question: 'refresh/family' }
  if (isUnknown('keys/created-key-works')) return { kind: 'key-perhaps-removed' }
  const newer = (state.grants.get(pair.key) ?? 0) - pair.countOfKey
  if (isUnknown('tokens/authorize')) return { kind: 'newer-tokens', newer, question: 'limits/live-tokens' }
  return isShared && memberOf(state, pair).name !== null ? { kind: 'sessions-of-others' } : undefined
}

/** The same for a call with a key: a signature, Basic credentials or a grant. */
function doubtAboutKey(refused: RefusedCall): Doubt | undefined {
  const { refusedBefore } = refused
  if (refusedBefore > safeTries)
    return { kind: 'key-perhaps-locked', refused: refusedBefore, question: 'limits/lock-out' }
  return unknownsOf(refused)('keys/created-key-works') ? { kind: 'key-perhaps-removed' } : undefined
}

/** Fewer refused calls in a row lock no key. */
const safeTries = 3

/** Whether a fact of this requirement is unknown; facts about one kind of key or spelling apart. */
function unknownsOf({ state, call, span }: RefusedCall): (requirement: string) => boolean {
  const unknown = facts(state, call, span).filter(({ is, about }) => is === 'unknown' && about === undefined)
  return (requirement) => unknown.some((fact) => fact.requirement === requirement)
}

type Listens = Pick<Run, 'target' | 'corpus'> & Partial<Pick<Run, 'keptTestKeys' | 'earlierKeys'>>

/** Lets the model listen to the cases of a run on a lasting target: what it knows of the target before the first of them. */
export function listenToCases(
  { target, corpus, keptTestKeys = [], earlierKeys = [] }: Listens,
  instance: Instance,
  facts: TargetFacts,
) {
  const earlier = [...openCreatedKeys(() => {}, earlierKeys).keys, ...keptTestKeys]
  const { settings } = instance
  const begun = stateOfTarget(instance, { tokenPrefix: wordOfTokens(settings, facts) })
  const keys = new Map(begun.keys)
  for (const key of earlier)
    keys.set(key.id, keyBefore(key, { name: key.name || (key.member ?? ''), origin: 'created before' }))
  return listenToRun({
    // Which sessions there were before is not known, so they are not followed.
    state: { ...begun, keys, sessions: [] },
    isShared: !target.fresh,
    seenFrom: { first: facts.clientAddress, second: facts.secondAddress },
    unknownTexts: earlier.flatMap((key) => (hasCredentials(key) ? [] : [key.id])),
    requirements: corpus.requirements,
    ownHeaders: new Set(Object.keys(settings.headers).map((name) => name.toLowerCase())),
  })
}

const hasCredentials = ({ secret, privateKey }: CreatedKey): boolean => secret !== undefined || privateKey !== undefined

// What the model found by listening to the cases, as findings of the report.

type Found = Omit<Finding, 'known'>

/**
 * Findings at requirements that neither a case nor a call of the model shows to be broken: those are already reported.
 *
 * @param explored what the model found by calls of its own
 */
export function listeningFindings(outcomes: readonly CaseOutcome[], explored: readonly Found[]): Found[] {
  const shown = new Set(explored.map(({ requirement }) => requirement))
  for (const { requirements, envelope } of outcomes) {
    for (const [id, verdict] of Object.entries(requirements))
      if (verdict === 'failed' || verdict === 'warned') shown.add(id)
    for (const { problem } of envelope) shown.add(envelopeRequirements[problem.kind])
  }
  const found = new Map<string, Found>()
  for (const { key, verdict, findings = [] } of outcomes)
    for (const one of findings) {
      // A case that failed shows the accepted call already, at the requirement that it is about.
      const isShownByCase = (verdict === 'failed' || verdict === 'warned') && !one.id.includes('/shape')
      if (isShownByCase || shown.has(one.requirement) || found.has(one.id)) continue
      found.set(one.id, { ...one, case: key, ...notRepeated })
    }
  return [...found.values()]
}

/** The model made no call for it, so it repeats none. */
const notRepeated: Pick<Finding, 'reproduced' | 'exchanges' | 'history'> = {
  reproduced: { failed: 0, tries: 0 },
  exchanges: [],
  history: [],
}
