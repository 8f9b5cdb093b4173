/** One change of one part of a call, as the explorer makes it and a fixture writes it under `alter`. */

/** A JSON value in which `$name.path` stands for a value of an earlier step, and `$unique` for a text of this run, `$digits` for one of digits. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

export interface Change {
  /** A part: a `field` of fixtures/deviations.yaml. */
  readonly field: string
  /** An operation of fixtures/deviations.yaml, or a known mistake (`data/with-commas`). */
  readonly operation?: string
  /** Another value in this place. */
  readonly value?: Json
  readonly remove?: boolean
  /** The same value in another JSON form. */
  readonly wrap?: Wrap
}

export const wraps = [
  'in-list',
  'in-object',
  'joined',
  'joined-by-comma',
  'first-alone',
  'with-number',
  'with-null',
  'as-map',
  'in-list-twice',
  'as-json-text',
] as const

export type Wrap = (typeof wraps)[number]

/** The change makes no sense for this call: its part is missing, or nothing would differ. */
export class Unmakeable extends Error {}
