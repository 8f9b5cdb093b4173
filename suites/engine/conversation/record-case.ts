/** Turns an attempt into the outcome of a case: verdicts and evidence, without secrets. */

import type { Exchange } from '../exchange.ts'
import type { Attempt, CaseStop, Exchanged } from '../judge/attempt.ts'
import { type CaseVerdict, judgeCase } from '../judge/judge-case.ts'
import type { CaseOutcome, Problem } from '../judge/outcome.ts'
import type { Hint } from '../judge/problem.ts'
import type { Case, Scenario, Step } from '../language/fixture-types.ts'
import { redactExchange, redactValue } from '../redact.ts'
import { type Caller, isMustIn } from './caller.ts'
import { showExchange } from './show-exchange.ts'
import { allProves, unjudged } from './test-case.ts'

/** A case shows at most this many of its calls. */
const shownExchanges = 3

export interface Tried {
  caller: Caller
  scenario: Scenario
  testCase: Case
  attempt: Attempt
}

export function recordCase({ caller, scenario, testCase, attempt }: Tried, hint: Hint | undefined): CaseOutcome {
  const isMust = isMustIn(caller.run.corpus)
  const judged = judgeCase(attempt, allProves(scenario, testCase), caller.facts, isMust)
  const show = ({ request, wire }: Exchanged): Exchange =>
    showExchange(request, wire, caller.facts.secondAddress ?? caller.instance.settings.secondAddress)
  return redactOutcome(caller, {
    ...unjudged(scenario, testCase, 'blocked', null),
    verdict: judged.verdict,
    requirements: judged.requirements,
    sides: Object.fromEntries([...attempt.sides].map(([id, sides]) => [id, [...sides]])),
    problem: problemOf({ caller, scenario, testCase, attempt }, judged, hint, show),
    observations: attempt.observations,
    envelope: attempt.envelope
      .slice(0, shownExchanges)
      .map(({ problem, called }) => ({ problem, exchange: show(called) })),
    envelopeAnswers: attempt.envelopeAnswers,
    throttled: attempt.calls.filter((called) => called.throttled > 0).length,
  })
}

function problemOf(
  { caller, scenario, attempt }: Tried,
  { because }: CaseVerdict,
  hint: Hint | undefined,
  show: (called: Exchanged) => Exchange,
): Problem | null {
  if (because === null) return null
  if (because.kind !== 'step') {
    const facts = because.kind === 'control' ? because.problem : because
    return { ...facts, requirements: [], step: '', exchanges: caller.run.trace ? attempt.calls.map(show) : [] }
  }
  const { stop } = because
  return {
    ...stop.problem,
    ...(stop.inPreparation === undefined ? {} : { inPreparation: true }),
    requirements: stop.proves,
    step: nameOfStep(stop.step),
    where: `${scenario.file}:${stop.step.at.line}:${stop.step.at.column}`,
    exchanges: exchangesOf(caller, attempt, stop).map(show),
    ...(hint === undefined ? {} : { hint }),
  }
}

function nameOfStep(step: Step): string {
  if (step.step !== undefined) return step.step
  if ('call' in step) return step.call
  return 'send' in step ? `${step.send.method} ${step.send.path}` : 'wait'
}

/** The calls that show the problem; with `--trace` all calls of the case up to where it ended. */
function exchangesOf(caller: Caller, attempt: Attempt, { called }: CaseStop): Exchanged[] {
  return caller.run.trace && attempt.calls.length > 0 ? attempt.calls : called.slice(0, shownExchanges)
}

function redactOutcome(caller: Caller, outcome: CaseOutcome): CaseOutcome {
  const hasText = outcome.problem !== null || outcome.envelope.length > 0 || outcome.observations.length > 0
  if (!hasText || caller.run.trace) return outcome
  const { redactor } = caller
  return {
    ...outcome,
    problem:
      outcome.problem === null
        ? null
        : {
            ...redactValue({ ...outcome.problem, exchanges: [] }, redactor),
            exchanges: outcome.problem.exchanges.map((exchange) => redactExchange(exchange, redactor)),
          },
    observations: outcome.observations.map((seen) => ({ ...seen, answer: redactor.text(seen.answer) })),
    envelope: outcome.envelope.map((note) => ({
      problem: redactValue(note.problem, redactor),
      exchange: redactExchange(note.exchange, redactor),
    })),
  }
}
