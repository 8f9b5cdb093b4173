/** Made-up input for the tests of the reports, and for the picture in the README. */

import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Corpus, Need, Requirement } from '../engine/language/fixture-types.ts'
import type { Meta } from '../report/report.ts'

export const madeUpMeta: Meta = {
  version: '0.1.0',
  target: 'http://127.0.0.1:9111',
  started: '2026-01-02T03:04:05.000Z',
  durationMs: 1234,
  seed: '42',
  node: 'v20.19.0',
  set: 'current',
  again: 'npx svc-conformance run --url http://127.0.0.1:9111',
  allow: ['sessions'],
  absent: [],
  clock: null,
  shard: null,
  stopped: null,
}

/** A case with defaults for everything that is not given; its requirements have its verdict. */
export const madeUpCase = (testCase: Partial<CaseOutcome> & { key: string }): CaseOutcome => {
  const verdict = testCase.verdict ?? 'passed'
  const proves = testCase.proves ?? []
  return {
    id: testCase.key,
    case: null,
    title: `The claim of ${testCase.key}`,
    verdict,
    proves,
    requirements: Object.fromEntries(proves.map((id) => [id, verdict])),
    sides: {},
    problem:
      verdict === 'passed'
        ? null
        : {
            requirements: proves,
            step: 'solution/listSolutions',
            kind: 'as-declared',
            reason: `${testCase.key} is ${verdict}`,
            exchanges: [],
          },
    observations: [],
    envelope: [],
    envelopeAnswers: 1,
    calls: 1,
    durationMs: 1,
    ...testCase,
  }
}

export const madeUpCorpus = (made: {
  requirements: Requirement[]
  scenarios: [id: string, proves: string[], needs?: Need[]][]
  questions?: string[]
}): Corpus => ({
  requirements: made.requirements,
  questions: (made.questions ?? []).map((id) => ({
    id,
    part: '1',
    question: `Question ${id}?`,
    readings: ['refused', 'accepted'],
    reference: 'refused',
  })),
  testKeys: [],
  schemas: {},
  scenarios: made.scenarios.map(([id, proves, needs]) => ({
    id,
    file: `fixtures/scenarios/${id}.yaml`,
    title: `The claim of ${id}`,
    proves,
    needs: needs ?? [],
    cases: [{ name: null, slug: null, values: {} }],
    given: [],
    steps: [],
  })),
})
