import { caseKey } from '../fixture/cases.ts'
import type { Case, Scenario } from '../fixture/fixture-types.ts'
import { referencesIn } from '../fixture/references.ts'
import type { CaseOutcome } from '../judge/outcome.ts'
import type { ProblemFacts } from '../judge/problem.ts'

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

const named = new WeakMap<Scenario, Map<Case, ReadonlySet<string>>>()

/** Every name in a case: of references, callers and keys. Cached, because a run needs it several times. */
export function namesIn(scenario: Scenario, testCase: Case): ReadonlySet<string> {
  const cases = named.get(scenario) ?? new Map<Case, ReadonlySet<string>>()
  named.set(scenario, cases)
  const known = cases.get(testCase)
  if (known !== undefined) return known
  const all = [scenario.given, scenario.steps, testCase.values] as unknown
  const used = new Set(referencesIn(all).map(({ reference }) => reference.split('.')[0] ?? ''))
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      const names = ['hmac', 'ecc', 'basic', 'key', 'secret-of'].includes(key) && typeof inner === 'string'
      if (names) used.add(inner)
      visit(inner)
    }
  }
  visit(all)
  cases.set(testCase, used)
  return used
}
