import type { Rules } from '../rules.ts'

/** A server that is wrong in one way: the table of rules with an entry replaced. Named as the wrong behaviour. */
export interface Mutant {
  id: string
  /** The requirement that it breaks, `area/slug`. */
  breaks: string
  with: Partial<Rules>
}

/** Tears a decision and its effect apart: calls that come within a few milliseconds are all let through. */
export const race =
  (wanted: Parameters<Rules['beforeEffect']>[0]): Rules['beforeEffect'] =>
  (effect) =>
    effect === wanted ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined
