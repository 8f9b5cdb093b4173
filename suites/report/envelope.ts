/** Departures from the success envelope are collected over the whole run and fail once each, not in every case. */
import { envelopeRequirements } from '../engine/judge/envelope.ts'
import type { CaseOutcome, EnvelopeNote, Problem } from '../engine/judge/outcome.ts'
import type { EnvelopeProblem } from '../engine/judge/problem.ts'
import type { Verdict } from '../engine/judge/verdict.ts'

const shownExchanges = 3

const cases: { testCase: string; requirement: string; title: string }[] = [
  { testCase: 'jsonrpc', requirement: 'envelope/response-jsonrpc', title: 'Every answer carries jsonrpc "2.0"' },
  { testCase: 'id', requirement: 'envelope/id-echo', title: 'Every answer carries the id of its request' },
  {
    testCase: 'result',
    requirement: 'envelope/result-object',
    title: 'Every result of a documented method is an object',
  },
]

/** The id of the scenario that stands for all answers of a run. */
export const everyAnswer = 'envelope/every-answer'

/** Three cases made from the notes of all cases: failed, passed, or nothing to look at. */
export function envelopeCases(outcomes: readonly CaseOutcome[]): CaseOutcome[] {
  const notes = outcomes.flatMap((outcome) => outcome.envelope)
  const answers = outcomes.reduce((sum, outcome) => sum + outcome.envelopeAnswers, 0)
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0)
  return cases.map(({ testCase, requirement, title }) => {
    const mine = notes.filter(({ problem }) => envelopeRequirements[problem.kind] === requirement)
    const verdict: Verdict =
      mine.length > 0 ? 'failed' : answers > 0 ? 'passed' : calls > 0 ? 'blocked' : 'not-testable'
    return {
      id: everyAnswer,
      case: testCase,
      key: `${everyAnswer}/${testCase}`,
      title,
      verdict,
      proves: [requirement],
      requirements: { [requirement]: verdict },
      sides: {},
      problem: verdict === 'passed' ? null : problemOf(verdict, requirement, mine, answers),
      observations: [],
      envelope: [],
      envelopeAnswers: answers,
      calls: 0,
      durationMs: 0,
    }
  })
}

function problemOf(verdict: Verdict, requirement: string, notes: EnvelopeNote[], answers: number): Problem {
  const common = {
    requirements: verdict === 'failed' ? [requirement] : [],
    step: 'every successful answer of the run',
    exchanges: notes.slice(0, shownExchanges).map((note) => note.exchange),
  }
  if (verdict === 'blocked') return { kind: 'no-successful-answer', ...common }
  if (verdict === 'not-testable') return { kind: 'no-call', ...common }
  const distinct = [...new Map(notes.map(({ problem }) => [JSON.stringify(problem), problem])).values()]
  const departures: EnvelopeProblem[] = distinct.slice(0, shownExchanges)
  const more = distinct.length - departures.length
  return { kind: 'envelope-of-answers', departures, more, count: notes.length, answers, ...common }
}
