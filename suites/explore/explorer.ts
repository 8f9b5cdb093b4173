/** Sends steps to a target, lets the model judge every answer, and keeps what was found. */
import { isWorthRepeating, noteRepeated, unavailableTries } from '../engine/conversation/target-facts.ts'
import { facts } from '../engine/model/facts.ts'
import { contradicts, judge } from '../engine/model/judge.ts'
import { doubted, doubtLine, forgetSessions, mayStemFrom } from '../engine/model/learn.ts'
import type { Span } from '../engine/model/sessions.ts'
import {
  type Answer,
  type Call,
  initialState,
  type Key,
  layered,
  type State,
  type Verdict,
} from '../engine/model/state.ts'
import { countAnswer } from './answer.ts'
import { list } from './calls.ts'
import { type Core, callOf, countTry, forLog, now, reportProblems, takeAnswer, transmit, tryRender } from './core.ts'
import { contradiction } from './describe-step.ts'
import { type Explorer, type ExplorerOptions, type Seen, TargetGone } from './explorer-types.ts'
import { byRoot } from './keyring.ts'
import type { Rendered } from './render.ts'
import { runBurst } from './run-burst.ts'
import { confusable } from './session-names.ts'
import { type CallStep, namesIn } from './step.ts'
import { takesRoot } from './takes-root.ts'
import type { Response } from './wire.ts'

const mostThrottled = 6

/** After this many broken answers in a row, a right call shows whether the target is still there. */
const mostBroken = 8
/** The longest assumed lock after wrong attempts. */
const longestLockMs = 24 * 3_600_000

export function createExplorer(options: ExplorerOptions): Explorer {
  const core: Core = {
    options,
    log: [],
    names: new Map([['root', options.root]]),
    lines: new Map(),
    pairNames: [],
    tries: new Map(),
    problems: [],
    // Names that are the same in every exploration may have been used before, which is open (sessions/reused-name).
    state: {
      ...initialState(options.terms, options.rootKey),
      created: options.created,
      sessionNames: layered(confusable.map((name) => [name.toLowerCase(), true])),
    },
    calls: 0,
    limit: options.maxCalls,
    repeated: 0,
    lastId: 0,
    broken: 0,
    unavailableInVain: 0,
    dateOffset: null,
    sentOffset: 0,
    shown: undefined as unknown as Explorer,
  }
  for (const { name, value, key } of options.knownKeys) {
    core.names.set(name, value)
    if (value.publicKey !== undefined) core.names.set(`${name}-own`, { publicKey: value.publicKey })
    const { keys, keyNames } = core.state
    core.state = { ...core.state, keys: new Map(keys).set(key.id, key), keyNames: keyNames.with([[key.name, true]]) }
  }
  core.shown = explorerOf(core)
  return core.shown
}

function explorerOf(core: Core): Explorer {
  const { options, log, names, lines, pairNames } = core
  const beganMs = options.wire.now()
  return {
    options,
    log,
    names,
    lines,
    pairNames,
    state: () => core.state,
    calls: () => core.calls,
    repeated: () => core.repeated,
    beyondBudget: (calls, action) => beyondBudget(core, calls, action),
    reserve: (calls) => {
      core.limit = options.maxCalls - calls
    },
    setTerms: (terms) => {
      core.state = { ...core.state, terms: { ...core.state.terms, ...terms } }
    },
    setSignatureClock: (offsetMs, isSure) => {
      core.sentOffset = offsetMs
      core.state = { ...core.state, signatureClock: isSure ? offsetMs : null }
    },
    dateOffset: () => core.dateOffset,
    triesOf: (id, isCounted = () => true) => {
      const sinceMs = options.wire.now() - longestLockMs
      const before = beganMs > sinceMs && !isOwnKey(core, id) ? options.triesBefore : 0
      return before + (core.tries.get(id) ?? []).filter(({ ms, entry }) => ms > sinceMs && isCounted(entry)).length
    },
    foresee: (step) => foresee(core, step),
    call: (step, only) => call(core, step, only),
    burst: (step) => runBurst(core, step),
    wait: async (ms) => {
      log.push({ step: { do: 'wait', ms }, seen: [], script: core.shown.script, at: options.wire.now() })
      await options.wire.sleep(ms)
    },
    isOver: (reserve = { calls: 0, ms: 0 }) =>
      core.calls + reserve.calls >= core.limit || options.timeLeftMs() <= reserve.ms,
    giveWay: () => {
      const now = options.wire.now()
      // What becomes of earlier keys when others fill the places is open.
      const keys = new Map([...core.state.keys].map(([id, key]) => [id, doubted(core.state, key)]))
      const crowded = { ...core.state, keys, created: Math.max(10, core.state.created) }
      core.state = forgetSessions(crowded, { from: now, to: now })
    },
    endKey: (name, ended) => endKey(core, name, ended),
    addresses: options.addresses,
    oneSolution: new Map(),
    script: '',
    report: () => {},
  }
}

function endKey(core: Core, name: string, ended: NonNullable<Key['ended']>): void {
  const { state } = core
  const key = state.keys.get(core.names.get(name)?.id ?? '')
  if (key === undefined) return
  const keys = new Map(
    [...state.keys].map(([id, other]) => [id, mayStemFrom(state, other, key.id) ? doubted(state, other) : other]),
  )
  keys.set(key.id, { ...key, ended })
  const isLast = [...keys].every(([id, other]) => other.ended !== undefined || !isOwnKey(core, id))
  // Whether its place is free now is open, too. With none left, a server that makes room for others has none to remove.
  core.state = { ...state, keys, created: isLast ? 0 : state.created, terms: { ...state.terms, fresh: false } }
}

/** A key that the model created: nobody tried it before. */
const isOwnKey = ({ options: { knownKeys, rootKey }, state }: Core, id: string | null): boolean =>
  id !== null && id !== rootKey.id && state.keys.has(id) && !knownKeys.some(({ key }) => key.id === id)

function foresee(core: Core, step: CallStep): Verdict | null {
  const rendered = tryRender(core, step)
  if (rendered === null) return null
  return judge(core.state, facts(core.state, callOf(core, step, rendered), now(core)))
}

interface Exchanged {
  readonly call: Call
  readonly answer: Answer
  readonly span: Span
}

/** Sends a step; signs it again if the target throttles, had closed the connection or was not reached. */
async function exchange(core: Core, step: CallStep, first: Rendered, planned: Call): Promise<Exchanged> {
  let rendered = first
  let wasUnavailable = false
  for (let tried = 0; ; tried++) {
    const { response, span } = await transmit(core, step, rendered)
    const counted = countAnswer(response)
    const changes = step.method === 'manager/auth' || step.method === 'manager/createApiKey'
    const again = response.kind === 'none' && response.stale && tried === 0 && !changes
    const isAway = tried < unavailableTries && isUnanswered(core, response, counted, changes)
    if (counted.kind !== 'throttled' && !again && !isAway) {
      if (wasUnavailable) noteRepeated(core, counted.kind !== 'broken')
      return { call: rendered === first ? planned : callOf(core, step, rendered), answer: counted, span }
    }
    wasUnavailable ||= isAway
    if (counted.kind === 'throttled') {
      if (tried >= mostThrottled) return { call: callOf(core, step, rendered), answer: { kind: 'unread' }, span }
      await core.options.wire.sleep(counted.waitMs)
    }
    if (isAway) await core.options.wire.sleep(firstPauseMs * 2 ** tried)
    rendered = tryRender(core, step) ?? rendered
  }
}

/** The first pause before a call is repeated that did not reach the target. In ms. */
const firstPauseMs = 100

/** Whether something in front of the target seems to have answered for it. */
const isUnanswered = (core: Core, response: Response, { kind }: ReturnType<typeof countAnswer>, changes: boolean) =>
  kind === 'broken' && response.kind === 'answer' && isWorthRepeating(core, response.status, changes)

async function beyondBudget<T>(core: Core, calls: number, action: () => Promise<T>): Promise<T> {
  const { limit, calls: before } = core
  core.limit = before + calls
  try {
    return await action()
  } finally {
    core.repeated += core.calls - before
    core.calls = before
    core.limit = limit
  }
}

/** A call that took longer is judged again for the time that it took. */
const notableMs = 50

async function call(core: Core, step: CallStep, only?: Verdict['is']): Promise<Seen | null> {
  if (core.calls >= core.limit) return null
  const rendered = tryRender(core, step)
  if (rendered === null) return null
  const planned = callOf(core, step, rendered)
  const known = facts(core.state, planned, now(core))
  if (only !== undefined && judge(core.state, known).is !== only) return null
  const { call: made, answer, span } = await exchange(core, step, rendered, planned)
  const late = made !== planned || span.to - span.from > notableMs
  const certain = late ? facts(core.state, made, span) : known
  const seen: Seen = { step, call: made, verdict: judge(core.state, certain), answer, span }
  const { sessions } = core.state
  takeAnswer(core, seen, certain)
  if (seemsRemoved(core, seen, sessions) && !(await takesRoot(core, step.from)))
    core.state = { ...core.state, sessions }
  doubtAltered(core, seen)
  countTry(core, seen)
  core.log.push({ step, seen: [forLog(seen)], script: core.shown.script, at: span.from })
  findIn(core, seen)
  await noticeBroken(core, answer)
  return seen
}

/** Whether a refusal taught which session was removed. */
const seemsRemoved = ({ state }: Core, { answer, verdict }: Seen, before: State['sessions']): boolean =>
  answer.kind === 'refused' && verdict.is === 'open' && state.sessions !== before

/** An altered token may have ended the right one, where the target has shown that it does. */
function doubtAltered(core: Core, { step, answer }: Seen): void {
  if (step.change === undefined || answer.kind === 'accepted' || !core.state.terms.withdraws?.has('altered')) return
  for (const name of namesIn(step)) core.state = doubtLine(core.state, core.lines.get(name) ?? -1)
}

function findIn(core: Core, { verdict, answer, step }: Seen): void {
  const { log, shown } = core
  reportProblems(core)
  if (!contradicts(verdict, answer)) return
  const kind = answer.kind === 'accepted' ? 'accepted' : answer.kind === 'refused' ? 'refused' : 'broken'
  const message = contradiction(step, verdict, answer)
  const { level, fact } = verdict
  const requirement = isOfBody(core, kind, step) ? bodySigned : verdict.requirement
  const about = fact.about ?? requirement
  shown.report({ requirement, level, message, kind, fact: about, entry: log.length - 1, script: shown.script })
}

export const bodySigned = 'signatures/request-body'

/** A signed call whose body is in another form, or in chunks. */
export const isSignedOtherBody = ({ form, inChunks, auth, change }: CallStep): boolean =>
  (form !== undefined || inChunks === true) && change === undefined && (auth.kind === 'hmac' || auth.kind === 'ecc')

/** Whether only the signature of such a body is refused: another way to authorize was accepted with it, and the signature of a plain body. */
function isOfBody({ log }: Core, kind: string, call: CallStep): boolean {
  if (kind === 'accepted' || !isSignedOtherBody(call)) return false
  const { form, inChunks, auth } = call
  const isUnsigned = ({ auth: other }: CallStep): boolean => other.kind === 'basic' || other.kind === 'token'
  const isPlain = (step: CallStep): boolean =>
    !isSignedOtherBody(step) && step.change === undefined && JSON.stringify(step.auth) === JSON.stringify(auth)
  const wasAccepted = (isMeant: (step: CallStep) => boolean): boolean =>
    log.some(({ seen }) => seen.some(({ step, answer }) => answer.kind === 'accepted' && isMeant(step)))
  return (
    wasAccepted((step) => step.form === form && step.inChunks === inChunks && isUnsigned(step)) && wasAccepted(isPlain)
  )
}

/** Ends the exploration when the target has stopped answering. One that hangs up instead of refusing answers right calls. */
async function noticeBroken(core: Core, answer: Answer): Promise<void> {
  core.broken = answer.kind === 'broken' ? core.broken + 1 : 0
  if (answer.kind !== 'broken' || core.broken < mostBroken) return
  const right = list(byRoot(core.shown), { connection: 'new' })
  const rendered = tryRender(core, right)
  const isThere = rendered !== null && countAnswer((await transmit(core, right, rendered)).response).kind !== 'broken'
  if (!isThere) throw new TargetGone(answer.reason)
  core.broken = 0
}
