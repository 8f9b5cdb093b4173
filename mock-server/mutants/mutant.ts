import type { Profile } from '../profile.ts'
import type { Rules } from '../rules.ts'

/** A server that is wrong in one way: the table of rules with an entry replaced. Named as the wrong behaviour. */
export interface Mutant {
  id: string
  /** The requirement that it breaks, `area/slug`. */
  breaks: string
  with: Partial<Rules>
  /** Where it shows only with another answer to an open question. */
  profile?: Partial<Profile>
}

/** Separates a decision from its effect, so that calls within a few milliseconds all succeed. */
export const race =
  (wanted: Parameters<Rules['beforeEffect']>[0]): Rules['beforeEffect'] =>
  (effect) =>
    effect === wanted ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined
