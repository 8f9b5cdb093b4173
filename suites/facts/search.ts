/** Finds the largest value that a target accepts. */

interface SearchRange {
  /** The first value that is tried; doubled until one is refused. */
  from: number
  /** No larger value is tried. */
  limit: number
  /** How far apart the last two values may be. */
  resolution: number
}

/**
 * Doubles a value until it is refused, then halves the distance.
 *
 * @param accepts whether the target accepts a value
 * @returns the largest accepted value (0: no value was accepted), and whether the limit of the search was accepted
 */
export async function findLargest(
  accepts: (value: number) => Promise<boolean>,
  { from, limit, resolution }: SearchRange,
): Promise<{ largest: number; unbounded: boolean }> {
  let accepted = 0
  let refused = from
  while (await accepts(refused)) {
    accepted = refused
    if (refused >= limit) return { largest: accepted, unbounded: true }
    refused = Math.min(limit, refused * 2)
  }
  while (refused - accepted > resolution) {
    const middle = Math.floor((accepted + refused) / 2)
    if (await accepts(middle)) accepted = middle
    else refused = middle
  }
  return { largest: accepted, unbounded: false }
}
