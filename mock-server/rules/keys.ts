import type { KeyObject } from 'node:crypto'

import { decodeBase64, decodeUtf8, sameText } from '../encoding.ts'
import type { Profile } from '../profile.ts'
import { readPublicKey } from '../public-key.ts'
import type { ApiKey, Means } from '../state.ts'

/** Parts 2, 4.1, 5.2 and 8: Basic credentials, and creating and counting keys. */
export const keyRules = {
  /** basic/malformed: strict BASE64 of id, colon and secret; undefined: malformed. */
  basicPair: (encoded: string): { id: string; secret: string } | undefined => {
    const bytes = decodeBase64(encoded)
    const text = bytes && decodeUtf8(bytes)
    const colon = text?.indexOf(':') ?? -1
    return text === undefined || colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) }
  },

  /** basic/credentials, grants/credentials: the secrets that prove `key`; one of them must be presented. */
  secretsOf: (key: ApiKey, _all: () => ApiKey[], _means: 'basic' | 'grant'): string[] => [key.secret],

  /** basic/credentials, grants/credentials: the whole secret, in constant time. */
  secretMatches: (received: string, expected: string, _means: 'basic' | 'grant'): boolean =>
    sameText(received, expected),

  /** basic/public-key-refused, grants/public-key-refused: a secret does not prove a key with a public key. */
  secretTakenFor: (key: ApiKey, _means: 'basic' | 'grant'): boolean => key.publicKey === undefined,

  /** keys/initial-full-access: the initial key has every scope. */
  initialKeyScope: (): string[] => [
    'apiKey',
    'solution',
    'context',
    'thread',
    'store',
    'inbox',
    'stream',
    'solution:*',
  ],

  /** keys/create-params, grants/params: whether a param is taken; `valid` is what the table of the method says. */
  paramTaken: (_method: string, _name: string, _value: unknown, valid: boolean): boolean => valid,

  /** keys/unique-ids: a fresh id each time. */
  keyId: (fresh: string): string => fresh,

  /** keys/unique-secrets: a fresh secret each time. */
  keySecret: (fresh: string): string => fresh,

  /** keys/public-key-material: an ED25519 public key in PEM form; undefined: refused. */
  publicKey: (pem: unknown, profile: Profile): KeyObject | undefined =>
    readPublicKey(pem, { weak: profile.weakPublicKeys === 'accepted' }),

  /** keys/public-key-material: whether a text that is not such a key is stored anyway. */
  badPublicKeyTaken: (_pem: unknown): boolean => false,

  /** keys/created-key-works, keys/public-key: the key as it is stored. */
  storedKey: (key: ApiKey): ApiKey => key,

  /** keys/create-result: the result of manager/createApiKey. */
  createKeyResult: (result: { id: string; secret: string }): object => result,

  /** limits/ten-keys, limits/ten-can-be-made: at most ten, for every kind of authorization of the creator. */
  keyLimit: (_means: Means | undefined): number => 10,

  /** limits/ten-keys: how many places are taken; the initial key counts only where the profile says so. */
  keysCounted: (all: ApiKey[], profile: Profile): number =>
    all.filter((key) => !key.deleted && (!key.initial || profile.initialKeyCounts)).length,

  /** limits/eleventh-refused: what a creation beyond the limit does. */
  beyondKeyLimit: (profile: Profile): 'refused' | 'oldest-removed' | 'created' => profile.eleventhKey,

  /** limits/earlier-keys-kept: keys that stop working because another one was created within the limit. */
  keysLostToNewKey: (_all: ApiKey[], _created: ApiKey): ApiKey[] => [],

  /** limits/earlier-keys-kept: keys that stop working because a creation was refused. */
  keysLostToRefusal: (_all: ApiKey[]): ApiKey[] => [],
}
