/** A run has few keys, and a search through many mistakes returns to the same ones; a search through many keys must not keep them all. */
const mostKept = 32

/** Makes something of a key once, as long as there are few keys. @param nameOf the same text for the same key */
export function ofFewKeys<T>(
  nameOf: (key: Uint8Array) => string,
  make: (key: Uint8Array) => T,
): (key: Uint8Array) => T {
  const made = new Map<string, T>()
  return (key) => {
    const name = nameOf(key)
    const one = made.get(name) ?? make(key)
    if (!made.has(name) && made.size >= mostKept) made.clear()
    made.set(name, one)
    return one
  }
}
