/**
 * Every API key that a run created on an instance, wanted or not: an interface that shows no way to delete a key makes each one
 * worth remembering. Intent is noted before the call, so that a key whose answer was lost is known as a possible one.
 */

export interface CreatedKey {
  id: string
  name: string
  /** For a key with a public key only where the server gave one all the same. */
  secret?: string
  /** PKCS#8 PEM, for a key with a public key. */
  privateKey?: string
  /** Which test key it is, if it is one. */
  member?: string
}

export interface CreatedKeys {
  intend(name: string): void
  created(key: CreatedKey): void
  /** The call was answered, and no key was created. */
  notCreated(name: string): void
  /** The key was deleted through the method that the target declares. */
  removed(id: string): void
  /** Those that are there, as far as we know. */
  readonly keys: readonly CreatedKey[]
  /** Names of creations that never got an answer. */
  readonly unanswered: readonly string[]
  /** Keys that were removed, and creations that were refused: a target may count them all the same. */
  readonly perhapsCounted: number
}

export type CreatedKeysEntry =
  | { intend: string }
  | { created: CreatedKey }
  | { notCreated: string }
  | { removed: string }

/**
 * @param write called with each entry before it counts; an edge may append it to a file
 * @param earlier entries read back from such a file
 */
export function openCreatedKeys(
  write: (entry: CreatedKeysEntry) => void = () => {},
  earlier: readonly CreatedKeysEntry[] = [],
): CreatedKeys {
  const keys: CreatedKey[] = []
  const unanswered: string[] = []
  let perhapsCounted = 0
  const settle = (name: string): void => {
    const index = unanswered.indexOf(name)
    if (index >= 0) unanswered.splice(index, 1)
  }
  const apply = (entry: CreatedKeysEntry): void => {
    if ('intend' in entry) unanswered.push(entry.intend)
    else if ('created' in entry) {
      settle(entry.created.name)
      keys.push(entry.created)
    } else if ('removed' in entry) {
      const index = keys.findIndex(({ id }) => id === entry.removed)
      if (index >= 0) keys.splice(index, 1)
      perhapsCounted += 1
    } else {
      settle(entry.notCreated)
      perhapsCounted += 1
    }
  }
  for (const entry of earlier) apply(entry)
  const note = (entry: CreatedKeysEntry): void => {
    write(entry)
    apply(entry)
  }
  return {
    intend: (name) => note({ intend: name }),
    created: (key) => note({ created: key }),
    notCreated: (name) => note({ notCreated: name }),
    removed: (id) => note({ removed: id }),
    keys,
    unanswered,
    get perhapsCounted() {
      return perhapsCounted
    },
  }
}
