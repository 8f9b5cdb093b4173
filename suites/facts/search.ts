/** Finds the largest value that a target takes. */

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
 * @param accepts whether the target takes a value
 * @returns the largest value that was taken (0: not one), and whether the limit of the search was taken
 */
export async function findLargest(
  accepts: (value: number) => Promise<boolean>,
  { from, limit, resolution }: SearchRange,
): Promise<{ largest: number; unbounded: boolean }> {
  let taken = 0
  let refused = from
  while (await accepts(refused)) {
    taken = refused
    if (refused >= limit) return { largest: taken, unbounded: true }
    refused = Math.min(limit, refused * 2)
  }
  while (refused - taken > resolution) {
    const middle = Math.floor((taken + refused) / 2)
    if (await accepts(middle)) taken = middle
    else refused = middle
  }
  return { largest: taken, unbounded: false }
}
