/** Turns what an attempt showed into the outcome of a case: verdicts and evidence, without secrets. */
import { defined, isStrings, membersIn, membersOf } from '../json.ts'
import { type Attempt, type CaseStop, type Exchanged, type JunkControl, judgeCase } from '../judge/judge-case.ts'
import type { CaseOutcome, Hint, Problem } from '../judge/problem.ts'
import type { Case, Scenario } from '../language/fixture-types.ts'
import { redactExchange, redactValue } from '../redact.ts'
import type { Exchange, WireAnswer } from '../target.ts'
import { provesOf, unjudged } from './cases.ts'
import { type Conversation, isMustIn } from './conversation.ts'
import { showExchange } from './exchange.ts'

/** A case shows at most this many of its calls. */
const shownExchanges = 3

/** A case after its last step. */
interface Tried {
  talk: Conversation
  scenario: Scenario
  testCase: Case
  attempt: Attempt
}

/** @param junk what the acceptances of the case are compared with */
export function recordCase(tried: Tried, hint: Hint | undefined, junk: JunkControl = tried.talk.facts): CaseOutcome {
  const { talk, scenario, testCase, attempt } = tried
  const { run, facts, redactor } = talk
  const { because, ...judged } = judgeCase(attempt, provesOf(tried), junk, isMustIn(run.corpus))
  const problem = problemOf(tried, because, hint)
  const departures = attempt.taken.flatMap((one) => one.departures).slice(0, shownExchanges)
  const outcome = {
    ...unjudged(scenario, testCase, 'blocked', null),
    ...judged,
    observations: attempt.taken.flatMap(({ observation }) => observation ?? []),
    envelopeAnswers: attempt.taken.reduce((sum, { accepted }) => sum + accepted, 0),
    throttled: callsOf(attempt).filter(({ throttled }) => throttled > 0).length,
  }
  const show = (called: Exchanged): Exchange => {
    const exchange = showExchange(
      called.request,
      called.wire,
      facts.secondAddress ?? talk.instance.settings.secondAddress,
    )
    return run.trace ? exchange : redactExchange(exchange, redactor)
  }
  const clean = <T>(value: T): T => (run.trace ? value : redactValue(value, redactor))
  return {
    ...outcome,
    observations: clean(outcome.observations),
    problem: problem === null ? null : { ...clean(problem.told), exchanges: problem.shown.map(show) },
    envelope: departures.map((one) => ({ problem: clean(one.problem), exchange: show(one.called) })),
  }
}

const callsOf = ({ taken }: Attempt): Exchanged[] => taken.flatMap(({ calls }) => calls)

/** The problem, and the calls that show it; with `--trace` all calls of the case up to where it ended. */
function problemOf(
  { talk: { run }, scenario, attempt }: Tried,
  because: ReturnType<typeof judgeCase>['because'],
  hint: Hint | undefined,
): { told: Problem; shown: readonly Exchanged[] } | null {
  if (because === null) return null
  const all = run.trace ? callsOf(attempt) : []
  if (because.kind !== 'step') {
    const facts = because.kind === 'control' ? because.problem : because
    return { told: { ...facts, requirements: [], step: '', exchanges: [] }, shown: all }
  }
  const { step, called, problem, proves, inPreparation } = because.stop
  const token = called[0] && tokenUsedBy(called[0], callsOf(attempt))
  const told = {
    ...problem,
    ...defined({ inPreparation, hint, token }),
    requirements: proves,
    step: nameOfStep(step),
    where: `${scenario.file}:${step.at.line}:${step.at.column}`,
    exchanges: [],
  }
  return { told, shown: all.length > 0 ? all : called.slice(0, shownExchanges) }
}

/** The grant and the refreshes among these calls that led to the token of a call; undefined for other calls and tokens. */
function tokenUsedBy({ request }: Exchanged, calls: readonly Exchanged[]): Problem['token'] {
  const [, header = ''] = request.headers.find(([name]) => name.toLowerCase() === 'authorization') ?? []
  const resultOf = (wire: WireAnswer) => membersOf(wire.kind === 'answer' ? membersIn(wire.body).result : undefined)
  const giving = (member: string, token: unknown) =>
    typeof token === 'string' ? calls.find(({ wire }) => resultOf(wire)[member] === token) : undefined
  const [token] = header.split(' ').slice(-1)
  let call = token === '' ? undefined : giving('accessToken', token)
  // A server may give one token for another in a circle.
  for (let refreshes = 0; call !== undefined && refreshes < calls.length; refreshes += 1) {
    const { grantType, scope, refreshToken } = membersOf(membersIn(call.request.body).params)
    if (grantType !== 'refresh_token') return isStrings(scope) ? { scope: scope.join(' '), refreshes } : undefined
    call = giving('refreshToken', refreshToken)
  }
  return undefined
}

function nameOfStep(step: CaseStop['step']): string {
  if (step.step !== undefined) return step.step
  if ('call' in step) return step.call
  return 'send' in step ? `${step.send.method} ${step.send.path}` : 'wait'
}
