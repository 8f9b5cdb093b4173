import type { MockRequest } from '../http.ts'
import type { Profile } from '../profile.ts'
import type { ApiKey, Means } from '../state.ts'

/** Which calls need authorization, which kinds of it work, and for which keys. */
export const authorizationRules = {
  /** authorization/required, keys/create-authorized, grants/no-authorization-header: every method but manager/auth needs authorization. */
  authorizationRequired: (method: string): boolean => method !== 'manager/auth',

  /** authorization/required: credentials come in the Authorization header, and nowhere else. */
  headerOf: ({ headers }: MockRequest): string | undefined => headers.authorization,

  /** keys/create-authorized: every kind of authorization of part 5 works on every method. */
  meansTaken: (_means: Means, _method: string): boolean => true,

  /** authorization/required and every guard of part 5: a caller refused at `stage` (see caller.ts) is not treated as the initial key. */
  forgives: (_stage: string, _method: string): boolean => false,

  /** signatures/scheme, and the words Basic and the token prefix: compared as the profile says. */
  schemeTaken: (word: string, expected: string, profile: Profile): boolean =>
    word === expected || (profile.schemeCase === 'any' && word.toLowerCase() === expected.toLowerCase()),

  /** signatures/key-id, basic/key-id, grants/key-id: the key with exactly this id. */
  keyNamed: (
    id: string,
    find: (id: string) => ApiKey | undefined,
    _all: () => ApiKey[],
    _means: Means,
  ): ApiKey | undefined => find(id),

  /** keys/can-be-disabled: a disabled key and its tokens authorize nothing. */
  disabledKeyWorks: (_key: ApiKey, _means: Means): boolean => false,

  /** keys/can-be-deleted: a deleted key and its tokens authorize nothing. */
  deletedKeyWorks: (_key: ApiKey, _means: Means): boolean => false,

  /** keys/no-time-to-live: a key never expires. */
  keyExpired: (_key: ApiKey, _nowMs: number): boolean => false,

  /** keys/scope-held: the scope of the key applies to Basic and signatures; a token has its own scope. */
  keyScopeHolds: (_means: Means): boolean => true,
}
