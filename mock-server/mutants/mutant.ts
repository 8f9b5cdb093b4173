import type { Rules } from '../rules.ts'

/** A server that is wrong in one way: the table of rules with an entry replaced. Named as the wrong behaviour. */
export interface Mutant {
  id: string
  /** The requirement that it breaks, `area/slug`. */
  breaks: string
  with: Partial<Rules>
}
