import type { ServerOptions } from '../context.ts'

export type Around = NonNullable<ServerOptions['around']>

/** The options that break a server: rules replaced, or the whole handler wrapped. */
type Breakage = Pick<ServerOptions, 'rules' | 'around'>

/**
 * A server that is wrong in one way, written without knowledge of the suite's cases: its author has read the document, the table of
 * rules and the server.
 */
export interface IndependentMutant {
  /** Named as the wrong behaviour. */
  id: string
  /** The requirement that it breaks, `area/slug`. */
  breaks: string
  /** When it is wrong, if the id alone does not say so. */
  about?: string
  /** It is wrong only after other calls, after some time, or by a coincidence. */
  needsState?: true
  /** Called for each server. A reset of the server forgets what the mutant has stored. */
  create(): Breakage
}
