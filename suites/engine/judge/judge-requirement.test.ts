import { expect, test } from 'vitest'
import type { Requirement } from '../language/fixture-types.ts'
import { judgeRequirement } from './judge-case.ts'
import type { Verdict } from './problem.ts'

const requirement: Requirement = {
  id: 'expires-in/enforced',
  level: 'must',
  kind: 'guard',
  part: '5.4',
  text: '',
  untestable: { without: 'clock-control', reason: 'Long lifetimes take long' },
}

function judged(short: Verdict | null, long: Verdict) {
  const made = (id: string, verdict: Verdict) => ({
    id,
    key: id,
    verdict,
    requirements: {},
    sides: { [requirement.id]: ['accepted' as const, 'refused' as const] },
    problem: null,
  })
  return judgeRequirement(requirement, {
    cases: [...(short === null ? [] : [made('short', short)]), made('long', long)],
    missing: [],
    needsOf: (id) => (id === 'long' ? ['clock-control'] : []),
    selection: { partial: null, skipReason: () => undefined },
  })
}

test('what a target cannot offer leaves nothing open where other cases show the requirement', () => {
  expect(judged('passed', 'not-testable').verdict).toBe('passed')
  expect(judged('failed', 'not-testable').verdict).toBe('failed')
  expect(judged('passed', 'failed').verdict).toBe('failed')
})

test('where no other case shows it, and where another one is open, it stays open', () => {
  expect(judged(null, 'not-testable')).toMatchObject({ verdict: 'not-testable', excused: true })
  expect(judged('not-testable', 'not-testable')).toMatchObject({ verdict: 'not-testable', excused: false })
})

test('a side that only absent API areas could show is not testable, and blocks nothing', () => {
  const made = (id: string, verdict: Verdict) => ({ id, key: id, verdict, requirements: {}, problem: null })
  const guard = (other: Verdict) =>
    judgeRequirement(requirement, {
      cases: [
        { ...made('one', 'passed'), sides: { [requirement.id]: ['accepted'] } },
        { ...made('other', other), sides: {} },
      ],
      missing: [],
      needsOf: () => [],
      selection: { partial: null, skipReason: () => undefined },
    })
  expect(guard('passed').verdict).toBe('blocked')
  expect(guard('not-applicable')).toMatchObject({ verdict: 'not-testable', reasons: [{ kind: 'one-sided' }] })
})
