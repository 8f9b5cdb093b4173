/** Rows that do not pass against a conforming variant, each with its reason. None of them is a failure. */

export interface Departure {
  /** `verdict key` */
  row: string
  reason: string
}

const noSolutionId =
  'The root key has solution:* and grants no solution:ID from it, so no token of that scope is there to be tried'
const oldestGone =
  'The document implies that a creation beyond the tenth is refused; what happens to it is not shown, so this is a warning'

export const expectedDepartures: { readonly [variant: string]: readonly Departure[] } = {
  'no-solution-id-from-any': [
    { row: 'not-testable scopes/solution-id', reason: noSolutionId },
    { row: 'not-testable scopes/solution-id-after-refresh', reason: noSolutionId },
  ],
  'plain-key-names-only': [
    {
      row: 'not-testable signatures/body-in-utf-8',
      reason:
        'The name of a key is the one text that a documented and signed call may carry freely, and here it may not',
    },
  ],
  'eleventh-key-removes-the-oldest': [{ row: 'warned limits/api-keys', reason: oldestGone }],
}

/** What a server of these variants departs in. */
export function departuresOf(ids: readonly string[]): string[] {
  return ids
    .flatMap((id) => expectedDepartures[id] ?? [])
    .map(({ row }) => row)
    .sort()
}
