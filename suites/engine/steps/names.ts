import type { Row, Scenario } from '../fixture/model.ts'
import type { Seat } from '../seat.ts'
import { actor, credentialFor } from './call.ts'
import { type Names, namesUsed } from './references.ts'
import { suitableLifeMs } from './wait.ts'

/** The members of the cast that a row calls as, or whose id or secret it names. */
export function castUsed(scenario: Scenario, row: Row, members: readonly string[]): Set<string> {
  const used = namesUsed([scenario.given, scenario.steps, row.values] as unknown)
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      const names = ['hmac', 'ecc', 'basic', 'key', 'secret-of'].includes(key) && typeof inner === 'string'
      if (names) used.add(inner)
      visit(inner)
    }
  }
  visit([scenario.given, scenario.steps, row.values])
  return new Set(members.filter((member) => used.has(member)))
}

/** The built-in names of a row (fixtures/README.md); `created` is read when it is used. */
export function builtInNames(seat: Seat, row: Row, members: Iterable<string>, attempt: number): Names {
  const { settings } = seat.instance
  const names: Names = {
    row: row.values,
    life: suitableLifeMs(seat, attempt),
    apikey: settings.scopeNames.apikey ?? seat.knowledge.apikey,
    solutions: settings.solutions,
    client: { address: seat.knowledge.clientAddress },
    second: { address: seat.knowledge.secondAddress },
    unique: `${seat.run.unique}${attempt === 0 ? '' : `-${attempt}`}`,
    get created() {
      return [...seat.ledger.keys]
    },
  }
  for (const member of members) names[member] = credentialFor(seat, member === 'root' ? actor(seat, 'root') : member)
  return names
}
