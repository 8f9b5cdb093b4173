/** Sends calls at once, and judges them as a history. */
import { isUnavailable } from '../engine/conversation/target-facts.ts'
import { type Exchange, explain } from '../engine/model/explain.ts'
import { facts } from '../engine/model/facts.ts'
import { contradicts, judge } from '../engine/model/judge.ts'
import { forgetSessions } from '../engine/model/learn.ts'
import type { Span } from '../engine/model/sessions.ts'
import type { State } from '../engine/model/state.ts'
import { countAnswer } from './answer.ts'
import { doubtTouched } from './case-call-state.ts'
import { type Core, callOf, countTry, forLog, reportProblems, takeAnswer, transmit, tryRender } from './core.ts'
import { contradiction, notAllowed } from './describe-step.ts'
import type { Seen } from './explorer-types.ts'
import type { BurstStep } from './step.ts'
import { takesRoot } from './takes-root.ts'

export async function runBurst(core: Core, { calls, on }: BurstStep): Promise<(Seen | null)[]> {
  const made = calls.map((one, lane) => {
    const rendered = tryRender(core, one)
    const connection = on === 'new' ? ('new' as const) : lane + 1
    return rendered === null ? null : { step: { ...one, connection }, rendered }
  })
  if (core.calls + made.length > core.limit) return []
  const before = core.state
  const sent = await Promise.all(
    made.map(async (one) => {
      if (one === null) return null
      const { response, span } = await transmit(core, one.step, one.rendered)
      const counted = countAnswer(response)
      const isAway = counted.kind === 'broken' && response.kind === 'answer' && isUnavailable(response.status)
      const answer = counted.kind === 'throttled' || isAway ? ({ kind: 'unread' } as const) : counted
      return { step: one.step, call: callOf(core, one.step, one.rendered), answer, span }
    }),
  )
  const happened = await overlapping(
    core,
    sent.filter((one) => one !== null),
  )
  const seen = happened.map((one) => ({ ...one, verdict: judge(before, facts(before, one.call, one.span)) }))
  const step: BurstStep = { do: 'burst', calls, on }
  core.log.push({ step, seen: seen.map(forLog), script: core.shown.script, at: core.options.wire.now() })
  explainBurst(core, seen)
  await mayHaveBeenClosed(core, before.sessions, seen)
  return seen
}

/** On a clock that stands still, calls at once would look like calls one after another, in an order that nobody knows. */
async function overlapping<Sent extends { readonly span: Span }>(
  { options: { wire } }: Core,
  sent: readonly Sent[],
): Promise<Sent[]> {
  if (!wire.controlled || sent.length < 2) return [...sent]
  await wire.sleep(1)
  return sent.map((one) => ({ ...one, span: { from: one.span.from, to: wire.now() } }))
}

/** Where refusals seem to show a reading of sessions, but the server refuses the root key as well, they show nothing. */
async function mayHaveBeenClosed(core: Core, sessions: State['sessions'], seen: readonly Seen[]): Promise<void> {
  const isTaught = core.state.sessions.length < sessions.length && seen.some(({ answer }) => answer.kind === 'refused')
  if (!isTaught || (await takesRoot(core))) return
  const now = core.options.wire.now()
  core.state = forgetSessions({ ...core.state, sessions }, { from: now, to: now })
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
    like: JSON.stringify([step.method, step.params, step.auth, step.change, answer.kind, step.as === undefined]),
  }))
  const found = explain(core.state, history)
  let isReported = found.is !== 'impossible'
  for (const index of found.is === 'explained' ? found.order : byEnd(seen)) {
    const one = seen[index]
    if (one === undefined) continue
    const verdict = judge(core.state, facts(core.state, one.call, one.span))
    if (!isReported && found.is === 'impossible' && contradicts(verdict, one.answer) && !mayBeLimit(one)) {
      isReported = true
      reportHistory(core, { ...one, verdict }, found.part.length)
    }
    takeAnswer(core, one)
    countTry(core, { ...one, verdict })
    reportProblems(core)
  }
  // Their real order is not known, so nothing may follow from the one in which they were taken.
  if (found.is !== 'explained') core.state = doubtTouched(core.state, seen)
}

/** A server may let calls that change something wait for one another, and refuse some: how many at once it takes is open (limits/rate). */
const mayBeLimit = ({ step, answer }: Seen): boolean =>
  answer.kind === 'refused' && step.method !== 'solution/listSolutions' && step.change === undefined

function reportHistory({ log, shown }: Core, { step, verdict, answer }: Seen, calls: number): void {
  const message = `${contradiction(step, verdict, answer)}: ${notAllowed(calls)}`
  const { requirement, level } = verdict
  const entry = log.length - 1
  const outcome = answer.kind === 'unread' ? 'broken' : answer.kind
  shown.report({ requirement, level, message, kind: 'history', outcome, fact: 'history', entry, script: shown.script })
}

function byEnd(seen: readonly Seen[]): number[] {
  return seen.map((_, index) => index).sort((a, b) => (seen[a]?.span.to ?? 0) - (seen[b]?.span.to ?? 0))
}
