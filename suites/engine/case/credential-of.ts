/** Which key a step calls as, and what of a key can be sent. */
import type { Credential } from './authorize.ts'
import { type Client, credentialOfKey } from './client.ts'
import type { CreatedKey } from './created-keys.ts'
import { standInOf } from './stand-in.ts'
import { UnusableValue } from './unusable-value.ts'

/** Beyond tabs, visible ASCII and ISO 8859-1, no header carries a character. */
export const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** Whether a token or an id that a server gave out can stand in an Authorization header. */
export function isSendable(text: string): boolean {
  return !unsendable.test(text)
}

/**
 * A test key by name, or a kept { id, secret } itself.
 *
 * @throws UnusableValue for what a server gave out as a key and is none
 */
export function credentialFor(client: Client, member: unknown): Credential {
  const found = client.testKeys.get(String(member))
  if (typeof member === 'string' && found !== undefined) return found
  const key = (typeof member === 'object' && member !== null ? member : {}) as CreatedKey
  if (typeof key.id !== 'string' || !['string', 'undefined'].includes(typeof key.secret)) {
    throw new UnusableValue('key', member)
  }
  return credentialOfKey(key)
}

/** The test key to use where a step needs the secret of a test key: root may have a stand-in. */
export function actor(client: Client, member: string): string {
  return member === 'root' ? standInOf(client.run.corpus.testKeys, client.instance.root) : member
}
