import type { Attempt, CaseStop } from '../case/attempt.ts'
import type { Called } from '../case/call.ts'
import type { Client } from '../case/client.ts'
import { showExchange } from '../case/show-exchange.ts'
import { takesJunk } from '../case/target-facts.ts'
import { allProves, unjudged } from '../case/test-case.ts'
import type { Case, Scenario } from '../fixture/model.ts'
import { redactExchange } from '../redact.ts'
import { type CaseOutcome, type Exchange, type Problem, type Verdict, worstFirst } from './outcome.ts'

/** A case shows so many of its calls at most. */
const shownExchanges = 3

/** Turns what a try showed into verdicts, and into a problem that can be printed without giving a secret away. */
export function conclude(
  client: Client,
  scenario: Scenario,
  testCase: Case,
  attempt: Attempt,
  isMust: (requirement: string) => boolean,
  hint: string | undefined,
): CaseOutcome {
  const proves = allProves(scenario, testCase)
  const gate = attempt.stops.length === 0 ? junkBehind(client, attempt) : openToAll(client, attempt)
  const requirements = Object.fromEntries(
    proves.map((id) => [id, gate === undefined ? requirementVerdict(id, attempt, isMust) : ('blocked' as const)]),
  )
  const show = ({ request, wire }: Called): Exchange =>
    showExchange(request, wire, client.facts.secondAddress ?? client.instance.settings.secondAddress)
  const verdict =
    gate === undefined
      ? worst([...Object.values(requirements), ...attempt.stops.map((stop) => verdictOfStop(stop, isMust))])
      : 'blocked'
  const worstStop = attempt.stops.find((stop) => verdictOfStop(stop, isMust) === verdict)
  const problem: Problem | null =
    gate !== undefined
      ? { requirements: [], step: '', message: gate, exchanges: client.run.trace ? attempt.calls.map(show) : [] }
      : worstStop === undefined
        ? null
        : problemOf(scenario, worstStop, hint, exchangesOf(client, attempt, worstStop).map(show))
  return redacted(client, {
    ...unjudged(scenario, testCase, 'blocked', ''),
    verdict,
    requirements,
    sides: Object.fromEntries([...attempt.sides].map(([id, sides]) => [id, [...sides]])),
    problem,
    observations: attempt.observations,
    envelope: attempt.envelope
      .slice(0, shownExchanges)
      .map(({ requirement, message, called }) => ({ requirement, message, exchange: show(called) })),
    envelopeAnswers: attempt.envelopeAnswers,
    throttled: attempt.calls.filter((called) => called.throttled > 0).length,
  })
}

function requirementVerdict(id: string, attempt: Attempt, isMust: (requirement: string) => boolean): Verdict {
  if (attempt.stops.some(({ proves }) => proves.includes(id))) return isMust(id) ? 'failed' : 'warned'
  if (!attempt.unreached.has(id)) return 'passed'
  return attempt.stops.some(isNotTestable) ? 'not-testable' : 'blocked'
}

/** Tokens that end before a case is done with them are a choice of the target, and no defect. */
const isNotTestable = ({ kind }: CaseStop): boolean => kind === 'not-testable' || kind === 'token-ended'

function verdictOfStop(stop: CaseStop, isMust: (requirement: string) => boolean): Verdict {
  if (isNotTestable(stop)) return 'not-testable'
  if (stop.kind !== 'broke') return 'blocked'
  return stop.proves.some(isMust) ? 'failed' : 'warned'
}

function worst(verdicts: Verdict[]): Verdict {
  return worstFirst.find((verdict) => verdicts.includes(verdict)) ?? 'passed'
}

/** A case that only shows acceptance shows nothing where junk is accepted in the same place. */
function junkBehind(client: Client, attempt: Attempt): string | undefined {
  const open = attempt.acceptances.find(
    ({ method, kind }) => takesJunk(client.facts, method, kind) && !attempt.refusedMethods.has(method),
  )
  if (open === undefined) return undefined
  return `${open.method} also accepts junk credentials, or none at all, so that this acceptance shows nothing`
}

/**
 * Where a method takes calls without any authorization, the credentials of a call are not looked at: that they were wrong and taken
 * is the same defect once more, and says nothing about their own rule.
 */
function openToAll(client: Client, { stops }: Attempt): string | undefined {
  const methods = stops.map(({ kind, step }) =>
    kind === 'broke' &&
    'call' in step &&
    step.auth !== 'none' &&
    (step.expect === 'refused' || step.tally !== undefined)
      ? step.call
      : undefined,
  )
  const open = methods.every((method) => method !== undefined && takesJunk(client.facts, method, 'none'))
  if (!open) return undefined
  return `${methods[0]} also accepts calls without any authorization, so that what it accepts shows nothing here`
}

/** The calls that show the trouble; in a trace all of the case, up to where it ended. */
function exchangesOf(client: Client, attempt: Attempt, { called }: CaseStop): Called[] {
  return client.run.trace && attempt.calls.length > 0 ? attempt.calls : called.slice(0, shownExchanges)
}

function problemOf(scenario: Scenario, stop: CaseStop, hint: string | undefined, exchanges: Exchange[]): Problem {
  const { step, message, proves } = stop
  return {
    requirements: proves,
    step: step.step ?? ('call' in step ? step.call : 'send' in step ? `${step.send.method} ${step.send.path}` : 'wait'),
    message,
    where: `${scenario.file}:${step.at.line}:${step.at.column}`,
    exchanges,
    ...(hint === undefined ? {} : { hint }),
  }
}

function redacted(client: Client, outcome: CaseOutcome): CaseOutcome {
  const tells = outcome.problem !== null || outcome.envelope.length > 0 || outcome.observations.length > 0
  if (!tells || client.run.trace) return outcome
  const { redactor } = client
  return {
    ...outcome,
    problem:
      outcome.problem === null
        ? null
        : {
            ...outcome.problem,
            message: redactor.text(outcome.problem.message),
            exchanges: outcome.problem.exchanges.map((exchange) => redactExchange(exchange, redactor)),
          },
    observations: outcome.observations.map((seen) => ({ ...seen, answer: redactor.text(seen.answer) })),
    envelope: outcome.envelope.map((note) => ({
      ...note,
      message: redactor.text(note.message),
      exchange: redactExchange(note.exchange, redactor),
    })),
  }
}
