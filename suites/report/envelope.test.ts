import { describe, expect, test } from 'vitest'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { guard } from '../self/made-up-build.ts'
import { buildReport } from './build.ts'

describe('the envelope of every answer', () => {
  const exchange = { request: ['POST /api'], answer: ['HTTP 200'] }
  const note = (sent: number, got: number) => ({
    problem: { kind: 'wrong-id' as const, sent: `${sent}`, got: `${got}` },
    exchange,
  })
  const envelope = (cases: Parameters<typeof madeUpCase>[0][]) =>
    buildReport({
      meta: madeUpMeta,
      outcomes: cases.map(madeUpCase),
      corpus: madeUpCorpus({ requirements: [{ ...guard, id: 'envelope/id-echo', kind: 'shape' }], scenarios: [] }),
      known: [],
      options: { strict: false, partial: null },
    })

  test('departures fail once, with their number and the first few exchanges', () => {
    const seen = envelope([
      { key: 'one', envelope: [note(3, 7), note(4, 8)], envelopeAnswers: 6 },
      { key: 'two', envelope: [note(5, 9), note(6, 10)], envelopeAnswers: 4 },
    ])
    const testCase = seen.cases.find((one) => one.key === 'envelope/every-answer/id')
    expect(testCase).toMatchObject({ verdict: 'failed', case: 'id' })
    expect(testCase?.problem?.message).toBe(
      [
        '4 of 10 successful answers: expected the id 3 of the request, got 7',
        'expected the id 4 of the request, got 8',
        'expected the id 5 of the request, got 9',
        'and 1 more like these',
      ].join('; '),
    )
    expect(testCase?.problem?.exchanges).toHaveLength(3)
    expect(testCase?.again).toContain('--only envelope/id-echo --trace')
    expect(seen.requirements[0]?.verdict).toBe('failed')
    expect(seen.cases.find((one) => one.key === 'envelope/every-answer/jsonrpc')?.verdict).toBe('passed')
  })

  test('without a successful answer there is nothing to judge', () => {
    expect(envelope([{ key: 'one', envelopeAnswers: 0 }]).requirements[0]?.verdict).toBe('blocked')
    expect(envelope([]).requirements[0]?.verdict).toBe('not-testable')
  })
})
