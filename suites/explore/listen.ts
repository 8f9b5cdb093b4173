/**
 * Listens to the cases of a run: the model judges each exchange, so that an answer that no reading of the document allows is noticed even
 * if no case is about it. It makes no calls. Only what is certain is reported. Refusals never are, because a limit, a lock or a lost
 * connection may explain them, and the case that needs the acceptance fails anyway.
 */
import type { RunListener } from '../engine/case/events.ts'
import type { HeardFinding } from '../engine/judge/outcome.ts'
import { contradicts, explain, facts, judge, learn, shape } from '../engine/model/index.ts'
import { readBody } from '../engine/model/parse.ts'
import type { Fact, Problem, State, Verdict } from '../engine/model/types.ts'
import type { WireRequest } from '../engine/target.ts'
import { describeHeard } from './describe-heard.ts'
import { type ExchangeMade, type HeardCall, heardCall, type SeenFrom, unknownAddress } from './heard-call.ts'
import { conflict, doubtNamedKeys, doubtTouched, forgetClocks, made, strangersIn } from './heard-state.ts'

export interface ListenOptions {
  /** What is known of the target before the first exchange. */
  readonly state: State
  /** Every case has a target of its own, which begins with that state. */
  readonly isFreshEachCase: boolean
  readonly seenFrom: SeenFrom
  /** Ids of keys about which nothing else is known. */
  readonly strangers?: readonly string[]
  /** Names of headers, in lower case, that every call carries. */
  readonly ownHeaders: ReadonlySet<string>
}

export interface Listening {
  readonly listener: RunListener
  /** What was found since the last time. */
  take(): HeardFinding[]
  /** How many exchanges were judged, and how many were open. */
  readonly counts: { judged: number; open: number }
}

/** How many exchanges before a finding are looked through for the steps that it rests on. */
const remembered = 200

interface Ear {
  readonly options: ListenOptions
  readonly counts: Listening['counts']
  readonly found: HeardFinding[]
  readonly known: Set<string>
  /** Exchanges that are not judged yet, since others are under way: by their start. */
  readonly queue: HeardCall[]
  /** The starts of calls without an answer. */
  readonly underWay: Map<WireRequest, number>
  /** How many starts and ends there were. */
  order: number
  readonly log: HeardCall[]
  /** Credentials that were issued in a way that the model cannot follow. */
  readonly strangers: Set<string>
  state: State
  /** The target's clock minus ours, as the first answer had it. */
  offsetMs: number | null
}

export function listenToRun(options: ListenOptions): Listening {
  const ear: Ear = {
    options,
    counts: { judged: 0, open: 0 },
    found: [],
    known: new Set(),
    queue: [],
    underWay: new Map(),
    order: 0,
    log: [],
    strangers: new Set(options.strangers),
    state: options.state,
    offsetMs: null,
  }
  return {
    counts: ear.counts,
    listener: (event) => {
      if (event.kind === 'case-started' && options.isFreshEachCase) startAgain(ear)
      if (event.kind === 'exchange-begun') ear.underWay.set(event.request, ++ear.order)
      if (event.kind === 'exchange-made') hear(ear, event)
    },
    take: () => ear.found.splice(0),
  }
}

function startAgain(ear: Ear): void {
  ear.state = ear.options.state
  ear.queue.length = 0
  ear.underWay.clear()
  ear.log.length = 0
  ear.strangers.clear()
}

function hear(ear: Ear, event: ExchangeMade): void {
  const from = ear.underWay.get(event.request) ?? ear.order
  ear.underWay.delete(event.request)
  noticeClock(ear, event)
  const heard = heardCall(event, { from, to: ++ear.order }, ear.options)
  if (heard !== null && !isIdle(heard)) {
    const later = ear.queue.findLastIndex(({ order }) => order.from <= heard.order.from)
    ear.queue.splice(later + 1, 0, heard)
  }
  judgePeriod(ear)
}

/** The Date header has a resolution of a second; a larger difference is another clock. */
const notableJumpMs = 3000

/** After the clock was set during the run, no reported time is certain. */
function noticeClock(ear: Ear, { answer, answeredAtMs }: ExchangeMade): void {
  const date = answer.kind === 'answer' ? Date.parse(answer.headers.date ?? '') : Number.NaN
  if (Number.isNaN(date)) return
  ear.offsetMs ??= date - answeredAtMs
  if (Math.abs(date - answeredAtMs - ear.offsetMs) < notableJumpMs) return
  ear.offsetMs = date - answeredAtMs
  ear.state = forgetClocks(ear.state)
}

/** Judges what was heard once no call is under way: from then on, everything else comes later. */
function judgePeriod(ear: Ear): void {
  if (ear.underWay.size > 0) return
  const together = ear.queue.splice(0)
  if (isIndependent(ear.state, together)) for (const heard of together) judgeOne(ear, heard)
  else judgeHistory(ear, together)
}

/** Whether their order does not matter. */
function isIndependent(state: State, calls: readonly HeardCall[]): boolean {
  if (calls.length > longestHistory) return false
  return calls.every((one, at) => calls.slice(at + 1).every((other) => !conflict(state, one, other)))
}

function judgeOne(ear: Ear, heard: HeardCall): void {
  const { call, answer, moment, isPlain } = heard
  const known = facts(ear.state, call, moment)
  const verdict = judge(ear.state, known)
  if (isPlain && isJudged(ear.state, heard)) {
    ear.counts[verdict.is === 'open' ? 'open' : 'judged'] += 1
    if (isCertain(ear, heard, known) && verdict.is === 'refused' && contradicts(verdict, answer))
      report(ear, heard, { ...verdict, message: `${describeHeard(ear.state, heard)} was accepted` }, 'let-in')
    for (const problem of shape(ear.state, call, answer, moment)) report(ear, heard, problem, 'shape')
  }
  take(ear, heard, known)
}

/** A refusal is not reported, and it may have a reason that the model cannot see; only that of a refresh may have revoked its pair. */
const isIdle = ({ call, answer }: HeardCall): boolean =>
  answer.kind === 'refused' && readBody(call.body).method !== 'manager/auth'

/** Calls whose order is not known: is there one that the document allows? */
function judgeHistory(ear: Ear, together: readonly HeardCall[]): void {
  const isFollowed = together.every((one) => one.isPlain && isJudged(ear.state, one) && isKnown(ear, one))
  const found = isFollowed ? explainHeard(ear.state, together) : { is: 'undecided' as const }
  const isLost = together.some(({ answer }) => answer.kind === 'broken' || answer.kind === 'unread')
  if (found.is === 'explained' && !isLost) {
    for (const index of found.order) judgeOne(ear, together[index] as HeardCall)
    return
  }
  if (found.is === 'impossible') reportHistory(ear, together)
  for (const heard of [...together].sort((one, other) => one.order.to - other.order.to)) take(ear, heard)
  ear.state = doubtTouched(ear.state, together)
}

/** More calls that depend on each other are not judged as a history, nor if so many orders are not enough. */
const longestHistory = 40
const mostOrders = 300

function explainHeard(state: State, calls: readonly HeardCall[]): ReturnType<typeof explain> {
  if (calls.length > longestHistory) return { is: 'undecided' }
  const likeOf = ({ call, answer }: HeardCall): string =>
    `${readBody(call.body).form} ${call.authorization} ${answer.kind}`
  return explain(
    state,
    calls.map((one) => ({ ...one, like: likeOf(one) })),
    mostOrders,
  )
}

/** A lock or a limit may explain a refusal, so a history counts only if it has no order without its refusals either. */
function reportHistory(ear: Ear, calls: readonly HeardCall[]): void {
  const letIn = calls.filter(({ answer }) => answer.kind === 'accepted')
  const found = explainHeard(ear.state, letIn)
  if (found.is !== 'impossible') return
  let { state } = ear
  for (const heard of found.part.flatMap((index) => letIn[index] ?? [])) {
    const verdict = judge(state, facts(state, heard.call, heard.moment))
    if (verdict.is === 'refused') {
      const message = `${describeHeard(state, heard)} was accepted: no order of ${found.part.length} calls at once is one that the document allows`
      report(ear, heard, { ...verdict, message }, 'history')
      return
    }
    state = learn(state, heard.call, heard.answer, heard.moment)
  }
}

function take(ear: Ear, heard: HeardCall, known?: readonly Fact[]): void {
  const { call, answer, moment, isPlain } = heard
  const isFollowed = isPlain && isJudged(ear.state, heard)
  if (answer.kind === 'accepted' && !isFollowed) ear.state = doubtNamedKeys(ear.state, heard)
  ear.state = learn(ear.state, call, answer, moment, known)
  for (const text of strangersIn(ear.state, heard)) ear.strangers.add(text)
  ear.state = withClockOf(ear.state, heard)
  ear.log.push(heard)
  if (ear.log.length > remembered) ear.log.shift()
}

/** The first signature that is let in carries an honest timestamp. */
function withClockOf(state: State, { call, answer, moment }: HeardCall): State {
  if (state.signatureClock !== null || answer.kind !== 'accepted') return state
  const timestamp = Number((call.authorization ?? '').split(';')[2])
  return Number.isFinite(timestamp) && timestamp > 1e12 ? { ...state, signatureClock: timestamp - moment.from } : state
}

const documented = new Set(['manager/createApiKey', 'manager/auth', 'solution/listSolutions'])

/** The model knows the method. */
function isJudged({ terms }: State, { call }: HeardCall): boolean {
  const { method } = readBody(call.body)
  return typeof method === 'string' && (documented.has(method) || terms.probes.has(method))
}

/** The model followed how its credentials were issued. */
function isKnown({ strangers }: Ear, { call }: HeardCall): boolean {
  const text = `${call.authorization ?? ''} ${call.body}`
  return [...strangers].every((stranger) => !text.includes(stranger))
}

/** Facts that rest on our address count only where we know it. */
function isCertain(ear: Ear, heard: HeardCall, known: readonly Fact[]): boolean {
  const onlyAddress = known.every(
    ({ is, requirement }) => is !== 'no' || /^addresses\/|address-kept$/.test(requirement),
  )
  return isKnown(ear, heard) && !(heard.call.from === unknownAddress && onlyAddress)
}

type Reported = Pick<Problem, 'requirement' | 'level' | 'message'> & Partial<Verdict>

function report(ear: Ear, heard: HeardCall, { requirement, level, message, fact }: Reported, kind: string): void {
  const slug = (fact?.about ?? '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase()
  const id = `found/${requirement}/${kind}${slug === '' ? '' : `-${slug}`}`
  if (ear.known.has(id)) return
  ear.known.add(id)
  const steps = [...stepsBefore(ear, heard), `${describeHeard(ear.state, heard)}: ${heard.answer.kind}`]
  ear.found.push({ id, requirement, level, message, steps })
}

/** The grants and refreshes on which a call rests. */
function stepsBefore({ log, state }: Ear, heard: HeardCall): string[] {
  return log
    .filter((one) => made(state, one, heard))
    .slice(-5)
    .map((one) => `${describeHeard(state, one)}: accepted`)
}
