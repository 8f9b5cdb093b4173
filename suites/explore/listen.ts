/**
 * Listens to the cases of a run: the model judges each exchange, so that an answer that no reading of the document allows is noticed even
 * if no case is about it. It makes no calls. Only what is certain is reported. Refusals never are, because a limit, a lock or a lost
 * connection may explain them, and the case that needs the acceptance fails anyway; but that case may ask about its refused call.
 */
import type { RunListener } from '../engine/conversation/conversation.ts'
import type { ListeningFinding, RefusalJudgement } from '../engine/judge/problem.ts'
import { facts } from '../engine/model/facts.ts'
import { contradicts, judge } from '../engine/model/judge.ts'
import { learn } from '../engine/model/learn.ts'
import { readBody } from '../engine/model/parse.ts'
import { shape } from '../engine/model/shape.ts'
import type { Fact, Problem, State, Verdict } from '../engine/model/state.ts'
import type { WireRequest } from '../engine/target.ts'
import {
  type CaseCall,
  caseCallOf,
  describeCaseCall,
  doubtNamedKeys,
  doubtTouched,
  type ExchangeMade,
  explainCaseCalls,
  forgetClocks,
  isIndependent,
  made,
  type SeenFrom,
  unknownAddress,
  unknownTextsIn,
  withShortAnswer,
  wronglyAccepted,
} from './case-call.ts'
import { createRefusals, type Refusals } from './refusals.ts'

export interface ListenOptions {
  /** What is known of the target before the first exchange. */
  readonly state: State
  /** Every case has a target of its own, which begins with that state. */
  readonly isFreshEachCase: boolean
  readonly seenFrom: SeenFrom
  /** Others may use the target at the same time. */
  readonly isShared?: boolean
  /** Ids of keys about which nothing else is known. */
  readonly unknownTexts?: readonly string[]
  /** Names of headers, in lower case, that every call carries. */
  readonly ownHeaders: ReadonlySet<string>
}

export interface Listening {
  readonly listener: RunListener
  /** What was found since the last time. */
  take(): ListeningFinding[]
  /** Judges a refused call that a case needed accepted; undefined if nothing is known that would make its refusal right. */
  judgeRefusal(refused: WireRequest): RefusalJudgement | undefined
  /** How many exchanges were judged, and how many were open. */
  readonly counts: { judged: number; open: number }
}

/** How many exchanges before a finding are looked through for the steps that it rests on. */
const remembered = 200

interface Listener {
  readonly options: ListenOptions
  readonly counts: Listening['counts']
  readonly found: ListeningFinding[]
  readonly known: Set<string>
  /** Exchanges that are not judged yet, since others are under way: by their start. */
  readonly queue: CaseCall[]
  /** The starts of calls without an answer. */
  readonly underWay: Map<WireRequest, number>
  /** How many starts and ends there were. */
  order: number
  readonly log: CaseCall[]
  readonly refusals: Refusals
  /** Credentials that were issued in a way that the model cannot follow. */
  readonly unknownTexts: Set<string>
  state: State
  /** The target's clock minus ours, as the first answer had it. */
  offsetMs: number | null
}

export function listenToRun(options: ListenOptions): Listening {
  const listener: Listener = {
    options,
    counts: { judged: 0, open: 0 },
    found: [],
    known: new Set(),
    queue: [],
    underWay: new Map(),
    order: 0,
    log: [],
    refusals: createRefusals(options.isShared === true),
    unknownTexts: new Set(options.unknownTexts),
    state: options.state,
    offsetMs: null,
  }
  return {
    counts: listener.counts,
    listener: (event) => {
      if (event.kind === 'case-started' && options.isFreshEachCase) startAgain(listener)
      if (event.kind === 'exchange-begun') listener.underWay.set(event.request, ++listener.order)
      if (event.kind === 'exchange-made') receive(listener, event)
    },
    take: () => listener.found.splice(0),
    judgeRefusal: (refused) => listener.refusals.judge(refused, (begun) => stateBefore(listener, begun)),
  }
}

function startAgain(listener: Listener): void {
  listener.state = listener.options.state
  listener.queue.length = 0
  listener.underWay.clear()
  listener.log.length = 0
  listener.refusals.forget()
  listener.unknownTexts.clear()
}

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

/** The Date header has a resolution of a second; a larger difference is another clock. */
const notableJumpMs = 3000

/** After the clock was set during the run, no reported time is certain. */
function noticeClock(listener: Listener, { answer, answeredAtMs }: ExchangeMade): void {
  const date = answer.kind === 'answer' ? Date.parse(answer.headers.date ?? '') : Number.NaN
  if (Number.isNaN(date)) return
  listener.offsetMs ??= date - answeredAtMs
  if (Math.abs(date - answeredAtMs - listener.offsetMs) < notableJumpMs) return
  listener.offsetMs = date - answeredAtMs
  listener.state = forgetClocks(listener.state)
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
      report(
        listener,
        caseCall,
        { ...verdict, message: `${describeCaseCall(listener.state, caseCall)} was accepted` },
        'let-in',
      )
    for (const problem of shape(listener.state, call, answer, span)) report(listener, caseCall, problem, 'shape')
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
  if (wrong !== undefined) report(listener, wrong.caseCall, wrong.verdict, 'history')
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

/** The first signature that is let in carries an honest timestamp. */
function withClockOf(state: State, { call, answer, span }: CaseCall): State {
  if (state.signatureClock !== null || answer.kind !== 'accepted') return state
  const timestamp = Number((call.authorization ?? '').split(';')[2])
  return Number.isFinite(timestamp) && timestamp > 1e12 ? { ...state, signatureClock: timestamp - span.from } : state
}

const documented = new Set(['manager/createApiKey', 'manager/auth', 'solution/listSolutions'])

/** The model knows the method. */
function isJudged({ terms }: State, { call }: CaseCall): boolean {
  const { method } = readBody(call.body)
  return typeof method === 'string' && (documented.has(method) || terms.probes.has(method))
}

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

type Reported = Pick<Problem, 'requirement' | 'level' | 'message'> & Partial<Verdict>

function report(
  listener: Listener,
  caseCall: CaseCall,
  { requirement, level, message, fact }: Reported,
  kind: string,
): void {
  const slug = (fact?.about ?? '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase()
  const id = `found/${requirement}/${kind}${slug === '' ? '' : `-${slug}`}`
  if (listener.known.has(id)) return
  listener.known.add(id)
  const steps = [
    ...stepsBefore(listener, caseCall),
    `${describeCaseCall(listener.state, caseCall)}: ${caseCall.answer.kind}`,
  ]
  listener.found.push({ id, requirement, level, message, steps })
}

/** The grants and refreshes on which a call rests. */
function stepsBefore({ log, state }: Listener, caseCall: CaseCall): string[] {
  return log
    .filter((one) => made(state, one, caseCall))
    .slice(-5)
    .map((one) => `${describeCaseCall(state, one)}: accepted`)
}
