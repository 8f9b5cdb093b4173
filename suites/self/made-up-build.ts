import type { Verdict } from '../engine/judge/problem.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import type { KnownEntry } from '../report/report.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from './made-up.ts'

export const sides = { 'a/guard': ['accepted' as const, 'refused' as const] }
/** The report of cases that prove one guard. */
export const report = (
  cases: [key: string, verdict: Verdict][],
  more: {
    known?: KnownEntry[]
    strict?: boolean
    partial?: 'only' | 'shard' | null
    corpus?: Corpus
    noSides?: boolean
    stopped?: string
  } = {},
) =>
  buildReport({
    meta: { ...madeUpMeta, stopped: more.stopped ?? null },
    outcomes: cases.map(([key, verdict]) =>
      madeUpCase({ key, verdict, proves: ['a/guard'], sides: more.noSides ? {} : sides }),
    ),
    corpus: more.corpus ?? madeUpCorpus({ requirements: [guard], scenarios: [['one', ['a/guard']]] }),
    known: more.known ?? [],
    options: { strict: more.strict ?? false, partial: more.partial ?? null },
  })

export const guard: Requirement = { id: 'a/guard', level: 'must', kind: 'guard', part: '1', text: 'A guard' }
export const implied: Requirement = {
  id: 'a/implied',
  level: 'implied',
  kind: 'shape',
  part: '1',
  text: 'An implied one',
}
export const known = (more: Partial<KnownEntry> = {}): KnownEntry => ({
  scenario: 'one',
  reason: 'r',
  issue: null,
  ...more,
})
