/** What rows remember, in their parameters. */

/** Things that something is known of: pairs, keys, texts, connections. */
export const marks = () => new Set<unknown>()

/** What is known of each thing. */
export const table = <Known>() => new Map<unknown, Known>()

/** Counts how often each thing came, or all of them together. */
export function counts(): (thing?: unknown) => number {
  const known = new Map<unknown, number>()
  return (thing) => {
    const count = (known.get(thing) ?? 0) + 1
    known.set(thing, count)
    return count
  }
}

/** Gives the first thing that came to each place; where there is no place, the thing itself. */
export function firsts<Thing>(): (place: unknown, thing: Thing) => Thing {
  const known = new Map<unknown, Thing>()
  return (place, thing) => {
    if (place === undefined) return thing
    const first = known.get(place) ?? thing
    known.set(place, first)
    return first
  }
}
