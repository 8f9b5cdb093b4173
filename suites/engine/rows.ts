import type { Row, Scenario } from './fixture/model.ts'
import type { RowOutcome } from './outcome.ts'
import { namesUsed } from './steps/references.ts'

/** `area/slug`, or `area/slug/row`. */
export function rowKey(scenario: Scenario, row: Row): string {
  return row.slug === null ? scenario.id : `${scenario.id}/${row.slug}`
}

/** Every requirement that a row or one of its steps proves. */
export function allProves(scenario: Scenario, row: Row): string[] {
  const ofSteps = [...scenario.given, ...scenario.steps].flatMap(({ proves }) => proves ?? [])
  return [...new Set([...(row.proves ?? scenario.proves), ...ofSteps])]
}

/** The outcome of a row that was not judged at all. */
export function unjudged(
  scenario: Scenario,
  row: Row,
  verdict: 'blocked' | 'not-testable',
  message: string,
): RowOutcome {
  const proves = allProves(scenario, row)
  return {
    id: scenario.id,
    row: row.name,
    key: rowKey(scenario, row),
    title: scenario.title,
    verdict,
    proves,
    requirements: Object.fromEntries(proves.map((id) => [id, verdict])),
    sides: {},
    problem: { requirements: [], step: '', message, exchanges: [] },
    observations: [],
    envelope: [],
    envelopeAnswers: 0,
    calls: 0,
    durationMs: 0,
  }
}

/** The members of the cast that a row calls as, or whose id or secret it names. */
export function castUsed(scenario: Scenario, row: Row, members: readonly string[]): Set<string> {
  const used = namesIn(scenario, row)
  return new Set(members.filter((member) => used.has(member)))
}

const named = new WeakMap<Scenario, Map<Row, ReadonlySet<string>>>()

/** Every name in a row: of references, callers and keys. Looked for once, since it is asked for several times in every run. */
export function namesIn(scenario: Scenario, row: Row): ReadonlySet<string> {
  const rows = named.get(scenario) ?? new Map<Row, ReadonlySet<string>>()
  named.set(scenario, rows)
  const known = rows.get(row)
  if (known !== undefined) return known
  const all = [scenario.given, scenario.steps, row.values] as unknown
  const used = namesUsed(all)
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      const names = ['hmac', 'ecc', 'basic', 'key', 'secret-of'].includes(key) && typeof inner === 'string'
      if (names) used.add(inner)
      visit(inner)
    }
  }
  visit(all)
  rows.set(row, used)
  return used
}
