import type { CaseOutcome } from '../judge/outcome.ts'
import type { ProblemFacts } from '../judge/problem.ts'
import { caseKey } from '../language/cases.ts'
import type { Case, Scenario } from '../language/fixture-types.ts'
import { referencesIn } from '../language/references.ts'

/** Every requirement that a case or one of its steps proves. */
export function allProves(scenario: Scenario, testCase: Case): string[] {
  const ofSteps = [...scenario.given, ...scenario.steps].flatMap(({ proves }) => proves ?? [])
  return [...new Set([...(testCase.proves ?? scenario.proves), ...ofSteps])]
}

/** The outcome of a case that was not judged at all. */
export function unjudged(
  scenario: Scenario,
  testCase: Case,
  verdict: 'blocked' | 'not-testable' | 'not-applicable' | 'not-run',
  problem: ProblemFacts | null,
): CaseOutcome {
  const proves = allProves(scenario, testCase)
  return {
    id: scenario.id,
    case: testCase.name,
    key: caseKey(scenario, testCase),
    title: scenario.title,
    verdict,
    proves,
    requirements: Object.fromEntries(proves.map((id) => [id, verdict])),
    sides: {},
    problem: problem === null ? null : { ...problem, requirements: [], step: '', exchanges: [] },
    observations: [],
    envelope: [],
    envelopeAnswers: 0,
    calls: 0,
    durationMs: 0,
  }
}

/** The test keys that a case calls as, or whose id or secret it names. */
export function testKeysUsed(scenario: Scenario, testCase: Case, members: readonly string[]): Set<string> {
  const used = namesIn(scenario, testCase)
  return new Set(members.filter((member) => used.has(member)))
}

/** Names by where they stand: in the steps, which all cases of a scenario share, or in the values of a case. */
const named = new WeakMap<object, ReadonlySet<string>>()

/** Every name in a case: of references, callers and keys. */
export function namesIn(scenario: Scenario, testCase: Case): ReadonlySet<string> {
  const inSteps = remembered(scenario, () => [scenario.given, scenario.steps])
  const own = remembered(testCase, () => testCase.values)
  return own.size === 0 ? inSteps : new Set([...inSteps, ...own])
}

/** Cached, because a run needs them several times. */
function remembered(owner: object, value: () => unknown): ReadonlySet<string> {
  const names = named.get(owner) ?? namesWithin(value())
  named.set(owner, names)
  return names
}

function namesWithin(value: unknown): ReadonlySet<string> {
  const used = new Set(referencesIn(value).map(({ reference }) => reference.split('.')[0] ?? ''))
  const visit = (inner: unknown): void => {
    if (typeof inner !== 'object' || inner === null) return
    for (const [key, member] of Object.entries(inner)) {
      const names = ['hmac', 'ecc', 'basic', 'key', 'secret-of'].includes(key) && typeof member === 'string'
      if (names) used.add(member)
      visit(member)
    }
  }
  visit(value)
  return used
}
