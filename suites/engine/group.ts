/** Groups items by a key, keys in the order of their first item. (Map.groupBy needs Node 21.) */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** How many items have each key. */
export function countBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, number> {
  return new Map([...groupBy(items, keyOf)].map(([key, group]) => [key, group.length]))
}

/** The first items; after them how many more there are. */
export function firstFew(items: readonly string[], most: number): string[] {
  const more = items.length - most
  return more > 0 ? [...items.slice(0, most), `and ${more} more`] : [...items]
}

/** `a, b and 5 more`. */
export function fewOf(items: readonly string[], most: number): string {
  const more = items.length > most ? ` and ${items.length - most} more` : ''
  return `${items.slice(0, most).join(', ')}${more}`
}

/** `1 case`, `7 cases`. @param many for a plural that does not end in s */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
