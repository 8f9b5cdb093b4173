import type { Row, Scenario } from '../fixture/model.ts'
import { gateIsOpen } from '../knowledge.ts'
import { type Exchange, type Problem, type RowOutcome, type Verdict, worstFirst } from '../outcome.ts'
import { redactExchange } from '../report/redact.ts'
import { allProves, unjudged } from '../rows.ts'
import type { Seat } from '../seat.ts'
import type { Attempt, Trouble } from './attempt.ts'
import type { Called } from './call.ts'
import { showExchange } from './show.ts'

/** A row shows so many of its calls at most. */
const shownExchanges = 3

/** Turns what a try showed into verdicts, and into a problem that can be printed without giving a secret away. */
export function conclude(
  seat: Seat,
  scenario: Scenario,
  row: Row,
  attempt: Attempt,
  isMust: (requirement: string) => boolean,
  hint: string | undefined,
): RowOutcome {
  const proves = allProves(scenario, row)
  const gate = attempt.troubles.length === 0 ? openGate(seat, attempt) : openToAll(seat, attempt)
  const requirements = Object.fromEntries(
    proves.map((id) => [id, gate === undefined ? requirementVerdict(id, attempt, isMust) : ('blocked' as const)]),
  )
  const show = ({ request, wire }: Called): Exchange =>
    showExchange(request, wire, seat.knowledge.secondAddress ?? seat.instance.settings.secondAddress)
  const verdict =
    gate === undefined
      ? worst([...Object.values(requirements), ...attempt.troubles.map((trouble) => troubleVerdict(trouble, isMust))])
      : 'blocked'
  const worstTrouble = attempt.troubles.find((trouble) => troubleVerdict(trouble, isMust) === verdict)
  const problem: Problem | null =
    gate !== undefined
      ? { requirements: [], step: '', message: gate, exchanges: seat.run.trace ? attempt.calls.map(show) : [] }
      : worstTrouble === undefined
        ? null
        : problemOf(scenario, worstTrouble, hint, exchangesOf(seat, attempt, worstTrouble).map(show))
  return redacted(seat, {
    ...unjudged(scenario, row, 'blocked', ''),
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
  if (attempt.troubles.some(({ proves }) => proves.includes(id))) return isMust(id) ? 'failed' : 'warned'
  if (!attempt.unreached.has(id)) return 'passed'
  return attempt.troubles.some(isNotTestable) ? 'not-testable' : 'blocked'
}

/** Tokens that end before a row is done with them are a choice of the target, and no defect. */
const isNotTestable = ({ kind }: Trouble): boolean => kind === 'not-testable' || kind === 'token-ended'

function troubleVerdict(trouble: Trouble, isMust: (requirement: string) => boolean): Verdict {
  if (isNotTestable(trouble)) return 'not-testable'
  if (trouble.kind !== 'broke') return 'blocked'
  return trouble.proves.some(isMust) ? 'failed' : 'warned'
}

function worst(verdicts: Verdict[]): Verdict {
  return worstFirst.find((verdict) => verdicts.includes(verdict)) ?? 'passed'
}

/** A row that only shows acceptance shows nothing where junk is accepted in the same place. */
function openGate(seat: Seat, attempt: Attempt): string | undefined {
  const open = attempt.acceptances.find(
    ({ method, kind }) => gateIsOpen(seat.knowledge, method, kind) && !attempt.refusedMethods.has(method),
  )
  if (open === undefined) return undefined
  return `${open.method} also accepts junk credentials, or none at all, so that this acceptance shows nothing`
}

/**
 * Where a method takes calls without any authorization, the credentials of a call are not looked at: that they were wrong and taken
 * is the same defect once more, and says nothing about their own rule.
 */
function openToAll(seat: Seat, { troubles }: Attempt): string | undefined {
  const methods = troubles.map(({ kind, step }) =>
    kind === 'broke' &&
    'call' in step &&
    step.auth !== 'none' &&
    (step.expect === 'refused' || step.tally !== undefined)
      ? step.call
      : undefined,
  )
  const open = methods.every((method) => method !== undefined && gateIsOpen(seat.knowledge, method, 'none'))
  if (!open) return undefined
  return `${methods[0]} also accepts calls without any authorization, so that what it accepts shows nothing here`
}

/** The calls that show the trouble; in a trace all of the row, up to where it ended. */
function exchangesOf(seat: Seat, attempt: Attempt, { called }: Trouble): Called[] {
  return seat.run.trace && attempt.calls.length > 0 ? attempt.calls : called.slice(0, shownExchanges)
}

function problemOf(scenario: Scenario, trouble: Trouble, hint: string | undefined, exchanges: Exchange[]): Problem {
  const { step, message, proves } = trouble
  return {
    requirements: proves,
    step: step.step ?? ('call' in step ? step.call : 'send' in step ? `${step.send.method} ${step.send.path}` : 'wait'),
    message,
    where: `${scenario.file}:${step.at.line}:${step.at.column}`,
    exchanges,
    ...(hint === undefined ? {} : { hint }),
  }
}

function redacted(seat: Seat, outcome: RowOutcome): RowOutcome {
  const tells = outcome.problem !== null || outcome.envelope.length > 0 || outcome.observations.length > 0
  if (!tells || seat.run.trace) return outcome
  const { redactor } = seat
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
