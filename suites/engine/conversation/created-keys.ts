/**
 * Every API key that a run created on an instance, intended or not. The interface shows no way to delete a key, so each one is recorded.
 * The intent is recorded before the call, so a key whose answer was lost is known as a possible one.
 */

export interface CreatedKey {
  id: string
  name: string
  /** A key with a public key has one only if the server returned it anyway. */
  secret?: string
  /** PKCS#8 PEM, for a key with a public key. */
  privateKey?: string
  /** The name of the test key, if it is one. */
  member?: string
  /** The scope that a case requested for it. */
  scope?: readonly string[]
}

export interface CreatedKeys {
  intend(name: string): void
  created(key: CreatedKey): void
  /** The call was answered, and no key was created. */
  notCreated(name: string): void
  /** The key was deleted through the method that the target declares. */
  removed(id: string): void
  /** The keys that exist, as far as is known. */
  readonly keys: readonly CreatedKey[]
  /** Names of creations that were never answered. */
  readonly unanswered: readonly string[]
  /** How many keys were removed or refused; a target may count them all the same. */
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
