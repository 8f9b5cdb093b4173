import { describe, expect, test } from 'vitest'
import type { CaseOutcome, Hint, Problem, ProblemFacts, Verdict } from '../engine/judge/problem.ts'
import { madeUpCase, madeUpCorpus, madeUpProblems, madeUpRun, problemOf } from '../self/made-up-report.ts'
import { groupByCause, groupNotTestable } from './causes.ts'
import { hintText, joinReasons, problemText, reasonText } from './problem-text.ts'
import type { Report } from './report.ts'

const refused = { outcome: 'refused', status: 200, code: 7 } as const
const wrong = { kind: 'wrong-outcome', expected: 'accepted', got: refused } as const

const outcomes = [
  ...['a/refused', 'a/refused-too'].map((key) =>
    caseWith(key, 'failed', 'a/one', problemOf(wrong, { requirements: ['a/one'] })),
  ),
  caseWith('a/prepared', 'blocked', 'a/two', problemOf(wrong, { inPreparation: true })),
  caseWith('a/not-run', 'blocked', 'a/two', problemOf({ kind: 'not-run', because: { kind: 'time' } })),
  ...['inbox', 'store'].map((probe) =>
    caseWith(`b/${probe}`, 'not-testable', `b/${probe}`, problemOf({ kind: 'needs-probe', probe })),
  ),
  ...Object.values(madeUpProblems).flatMap((facts) => ['one', 'other'].map((name) => caseOf(name, facts))),
]

function caseWith(key: string, verdict: Verdict, proves: string, problem: Problem): CaseOutcome {
  return madeUpCase({ key, verdict, proves: [proves], problem })
}

/** A case that ended with a problem of this kind. Failures come first, then obstacles, then gaps. */
function caseOf(name: string, facts: ProblemFacts): CaseOutcome {
  const key = `kinds/${facts.kind}/${name}`
  const kinds = Object.keys(madeUpProblems)
  const isBefore = (kind: ProblemFacts['kind']): boolean => kinds.indexOf(facts.kind) < kinds.indexOf(kind)
  if (isBefore('not-run')) return caseWith(key, 'failed', 'a/one', problemOf(facts, { requirements: ['a/one'] }))
  return caseWith(key, isBefore('needs-permission') ? 'blocked' : 'not-testable', 'a/two', problemOf(facts))
}

const must = { level: 'must', kind: 'shape', part: '1', text: 'It is so' } as const

function build(render?: typeof problemText, all = outcomes): Report {
  const requirements = ['a/one', 'a/two', 'b/inbox', 'b/store'].map((id) => ({ ...must, id }))
  return madeUpRun(all, {
    corpus: madeUpCorpus({ requirements, scenarios: all.map(({ key, proves }) => [key, proves]) }),
    ...(render === undefined ? {} : { render }),
  })
}

/** The sentence that belongs to the next kind of problem. */
const anotherKind: typeof problemText = (told) => {
  const kinds = Object.values(madeUpProblems)
  return problemText(kinds[(kinds.findIndex((one) => one.kind === told?.kind) + 1) % kinds.length])
}

/** All that may follow from a problem, apart from its words. */
function conclusionsOf(report: Report): unknown {
  return {
    verdict: report.verdict,
    exitCode: report.exitCode,
    conclusion: report.conclusion,
    requirements: report.requirements,
    blockedBy: report.cases.map(({ key, blockedBy }) => [key, blockedBy]),
    causes: groupByCause(report.requirements, report.cases).map(({ first, others }) =>
      [first, ...others].map(({ key }) => key),
    ),
    open: groupNotTestable(report),
  }
}

describe('no verdict, cause or group depends on the words of a message', () => {
  const words: [string, typeof problemText][] = [
    ['every message is the same', () => 'not run: preparation: it calls a method'],
    ['every message is the one of another kind', anotherKind],
    ['every message is another one', (facts) => `${problemText(facts)} ${Math.random()}`],
    ['every message is reversed', (facts) => [...problemText(facts)].reverse().join('')],
  ]
  test.each(words)('%s', (_what, render) => {
    const reworded = build(render)
    const messages = ({ cases }: Report) => cases.map(({ problem: one }) => one?.message)
    expect(messages(reworded)).not.toEqual(messages(build()))
    expect(conclusionsOf(reworded)).toEqual(conclusionsOf(build()))
  })

  test.each(Object.values(madeUpProblems))('$kind has its own sentence', (facts) => {
    const others = Object.values(madeUpProblems).filter(({ kind }) => kind !== facts.kind)
    expect(problemText(facts)).toMatch(/^[^\n]{10,}[^.]$/)
    expect(problemText(facts)).not.toMatch(/undefined|null|\[object/)
    expect(others.map(problemText)).not.toContain(problemText(facts))
  })

  test('a doubt is left out where the cause is certain', () => {
    const doubt = { kind: 'key-perhaps-locked', refused: 173, question: 'limits/lock-out' } as const
    const messageWith = (hint?: Hint): string | undefined => {
      const told = problemOf({ ...wrong, doubt }, hint === undefined ? {} : { hint })
      return build(problemText, [caseWith('a/doubtful', 'failed', 'a/one', told)]).cases[0]?.problem?.message
    }
    expect(messageWith()).toContain('; what may explain it: 173 calls with its key were refused')
    expect(messageWith({ kind: 'perhaps-not-fresh' })).toBe(messageWith())
    expect(messageWith({ kind: 'server-mistake', mistake: 'signature/untruncated' })).toBe(problemText(wrong))
  })

  test('the cases do group, and one is blocked by another', () => {
    expect(conclusionsOf(build())).toMatchObject({
      blockedBy: expect.arrayContaining([['a/prepared', 'a/refused']]),
      causes: expect.arrayContaining([
        ['a/refused', 'a/refused-too'],
        ['kinds/value-missing/one', 'kinds/value-missing/other'],
      ]),
    })
  })
})

const probe = (name: string) => ({ kind: 'needs-probe', probe: name }) as const
const keys = { kind: 'needs-permission', permission: 'keys' } as const
const cleanup = { kind: 'needs-cleanup' } as const

test('reasons that need a probe each become one that needs all of them', () => {
  const groups = joinReasons([probe('store'), keys, probe('inbox'), probe('store')])
  expect(groups).toEqual([{ reasons: [keys] }, { reasons: [probe('store'), probe('inbox')] }])
  expect(groups.map(({ reasons }) => reasonText(reasons))).toEqual([
    'creating API keys needs --allow keys',
    'methods that the document does not show are needed; name them as probes.inbox, probes.store in the target file, or list under absent the areas that this server does not have',
  ])
})

test('one probe and other reasons stay as they are, each once', () => {
  const groups = joinReasons([probe('store'), cleanup, cleanup, probe('store')])
  expect(groups).toEqual([{ reasons: [cleanup] }, { reasons: [probe('store')] }])
})

test('sessions that ended in place of the oldest are told by what would explain them', () => {
  const all = Array.from({ length: 16 }, (_, at) => at + 1)
  const newest = 'it looks as if the newest session were removed instead of the oldest'
  const places = 'while older sessions hold the other places of this user, or as if a user had one session only'
  const said: [ended: number[], of: number, text: string][] = [
    [[14, 15], 16, `numbers 14 and 15 ended, and older ones live: ${newest}`],
    [[3], 17, 'another session than the oldest were'],
    [[3, 4], 17, 'another session than the oldest were'],
    [[3, 15], 17, 'another session than the oldest were'],
    [[16], 17, 'the newest session were'],
    [all, 17, `numbers 1 to 16 ended, each when the next was created: ${newest}, ${places}`],
  ]
  for (const [ended, of, text] of said) expect(hintText({ kind: 'sessions-ended', ended, of })).toContain(text)
})

test('a missing member is named, with those that are there', () => {
  const mismatch = { rule: 'schema', wanted: "must have required property 'secret'", place: '/key', got: '{id, name}' }
  expect(problemText({ kind: 'wrong-value', path: 'result', mismatch } as ProblemFacts)).toBe(
    'result: expected the member "secret" at /key, got only {id, name}',
  )
})

test('too few places for keys have a cause, and an empty list a name', () => {
  const few = { kind: 'few-places-for-keys', places: 3 } as const
  expect(problemText({ ...few, wrongly: true })).toContain(
    'fewer than 3 places for API keys remain on the target, because it created keys where it had to refuse; ',
  )
  // This run may have filled them.
  expect(problemText(few)).toMatch(/lists what runs left there$/)
  expect(problemText({ kind: 'empty-list', list: '$thirty' })).toBe(
    'no earlier call was answered with anything for the list $thirty, so a later step has no call to make',
  )
})

test('calls that were refused are named by their places, and keys by the steps that created them', () => {
  const counts = { side: 'accepted', wanted: 9, calls: 9 } as const
  const text = (refusedAt: number[]) =>
    problemText({ kind: 'wrong-count', ...counts, counted: 9 - refusedAt.length, refusedAt })
  expect(text([3])).toBe('expected 9 of 9 calls to be accepted, 8 were, not number 3')
  expect(text([1, 2])).toBe('expected 9 of 9 calls to be accepted, 7 were, not numbers 1 and 2')
  const makers = [{ keys: 3 }, { title: 'twelve by an HMAC', keys: 9 }]
  expect(problemText({ kind: 'wrong-count', ...counts, wanted: 'at-most 10', calls: 12, counted: 12, makers })).toBe(
    'expected at most 10 of 12 calls to be accepted, 12 were: the keys are 3 that were there before, 9 of "twelve by an HMAC"',
  )
  expect(text([1, 2, 8])).toBe('expected 9 of 9 calls to be accepted, 6 were, not numbers 1, 2 and 8')
})
