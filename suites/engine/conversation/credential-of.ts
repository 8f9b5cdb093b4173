/** Finds the key that a step calls with, and checks that it can be sent. */
import type { Credential } from './authorize.ts'
import { type Caller, credentialOfKey } from './caller.ts'
import type { CreatedKey } from './created-keys.ts'
import { standInOf } from './stand-in.ts'
import { UnusableValue } from './unusable-value.ts'

/** Matches characters that no header can carry: all but tabs, visible ASCII and ISO 8859-1. */
export const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** Whether a token or an id from a server can be sent in an Authorization header. */
export function isSendable(text: string): boolean {
  return !unsendable.test(text)
}

/** Returns a test key by name, or a kept { id, secret }. @throws UnusableValue for a value from a server that is not a key */
export function credentialFor(caller: Caller, member: unknown): Credential {
  const found = caller.testKeys.get(String(member))
  if (typeof member === 'string' && found !== undefined) return found
  const key = (typeof member === 'object' && member !== null ? member : {}) as CreatedKey
  if (typeof key.id !== 'string' || !['string', 'undefined'].includes(typeof key.secret)) {
    throw new UnusableValue('key', member)
  }
  return credentialOfKey(key)
}

/** The test key to use where a step needs the secret of a test key: root may have a stand-in. */
export function actor(caller: Caller, member: string): string {
  return member === 'root' ? standInOf(caller.run.corpus.testKeys, caller.instance.root) : member
}
