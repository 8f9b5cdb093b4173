/**
 * What stands in front of a service (a proxy, a load balancer) answers in its place while it restarts or is overloaded: 502, 503 or 504
 * without a JSON-RPC error. Such a call is repeated, unless this is how the target answers: after a few that no repetition changed, no call
 * is repeated.
 */

/** What a run learned about such answers. */
export interface Availability {
  /** How many calls in a row were answered in this way, and no repetition changed that. */
  unavailableInVain: number
}

/** Whether an answer with this status may come from something in front of the service. */
export const isUnavailable = (status: number | null): boolean => status === 502 || status === 503 || status === 504

/** How often such a call is repeated. */
export const unavailableTries = 6
/** After this number of calls in a row that no repetition changed, no call is repeated. */
const mostInARow = 3

/**
 * Whether a broken answer with this status is worth a repetition.
 *
 * @param changes whether the call may change the state of the target. Behind a 502 or a 504 it may have been made; a 503 says that it was not
 */
export function isWorthRepeating(
  { unavailableInVain }: Availability,
  status: number | null,
  changes: boolean,
): boolean {
  return unavailableInVain < mostInARow && isUnavailable(status) && (status === 503 || !changes)
}

/** Repeats no call from now on, unless a repetition helps. */
export function repeatNothing(seen: Availability): void {
  seen.unavailableInVain = mostInARow
}

/** Remembers whether repeating a call helped. */
export function noteRepeated(seen: Availability, helped: boolean): void {
  seen.unavailableInVain = helped ? 0 : seen.unavailableInVain + 1
}
