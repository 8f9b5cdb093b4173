/** Departures from the success envelope are collected over the whole run and fail once each, not in every case. */
import type { CaseOutcome, EnvelopeNote, Verdict } from '../engine/judge/outcome.ts'

const shownExchanges = 3

const cases: { testCase: string; requirement: EnvelopeNote['requirement']; title: string }[] = [
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
    const mine = notes.filter((note) => note.requirement === requirement)
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

const problemOf = (verdict: Verdict, requirement: string, notes: EnvelopeNote[], answers: number) => ({
  requirements: verdict === 'failed' ? [requirement] : [],
  step: 'every successful answer of the run',
  message: messageOf(verdict, notes, answers),
  exchanges: notes.slice(0, shownExchanges).map((note) => note.exchange),
})

function messageOf(verdict: Verdict, notes: EnvelopeNote[], answers: number): string {
  if (verdict === 'blocked') return 'No call was accepted, so there was no successful answer to look at'
  if (verdict === 'not-testable') return 'No call was made'
  const distinct = [...new Set(notes.map((note) => note.message))]
  const more = distinct.length > shownExchanges ? `; and ${distinct.length - shownExchanges} more like these` : ''
  return `${notes.length} of ${answers} successful answers: ${distinct.slice(0, shownExchanges).join('; ')}${more}`
}
