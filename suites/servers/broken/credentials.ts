/** Callers, secrets, key ids and tokens that are taken, and should not be. */

import { createHash } from 'node:crypto'
import type { Rules } from '../../../mock-server/rules.ts'
import type { ApiKey, Means, Token, TokenKind } from '../../../mock-server/state.ts'
import { also } from '../replaced-rules.ts'
import type { BrokenRow, Change } from '../rows.ts'

/** What broken servers of several subjects change. */

/** A kind of authorization that does not work on some methods. */
export const without = (means: Means, on: (method: string) => boolean): Change => ({
  meansTaken: (used, method) => !(used === means && on(method)),
})

export const creating = (method: string): boolean => method === 'manager/createApiKey'

/** A server that checks the caller method by method, and forgets one check when it creates keys. */
export const forgivesOnCreation = (refusedAt: string): Change => ({
  forgives: (stage, method) => stage === refusedAt && creating(method),
})

type Secret = 'basic' | 'grant'

/** Takes other secrets besides the right one, in Basic credentials or in grants. */
export const alsoSecret = (wanted: Secret, fits: (received: string, expected: string) => boolean): Change =>
  also('secretMatches', (received, expected, means) => means === wanted && fits(received, expected))

/** A key with a public key takes secrets, in Basic credentials or in grants. */
export const secretForPublicKeys = (wanted: Secret): Change => ({
  secretTakenFor: (key, means) => key.publicKey === undefined || means === wanted,
})

const half = (text: string) => text.slice(0, text.length / 2)

/** What passes for a secret, by what the server does. */
const likeSecrets: { [does: string]: (received: string, expected: string) => boolean } = {
  'secret-in-any-case': (received, expected) => received.toLowerCase() === expected.toLowerCase(),
  'beginning-of-the-secret-taken': (received, expected) => received !== '' && expected.startsWith(received),
  'longer-secret-taken': (received, expected) => received.startsWith(expected),
  'first-half-of-the-secret-compared': (received, expected) => half(received) === half(expected),
  'end-of-the-secret-compared': (received, expected) => received.slice(-16) === expected.slice(-16),
  'any-secret-taken': () => true,
}

export const wrongSecretsTaken = (means: Secret, area: string): { [id: string]: BrokenRow } => ({
  ...Object.fromEntries(
    Object.entries(likeSecrets).map(([does, fits]) => [`${area}-${does}`, alsoSecret(means, fits)]),
  ),
  [`${area}-secret-of-another-key-taken`]: {
    secretsOf: (key, all, used) => (used === means ? all().map(({ secret }) => secret) : [key.secret]),
  },
})

export const secretsOfPublicKeysTaken = (means: Secret, area: string): { [id: string]: BrokenRow } => ({
  [`${area}-secret-of-a-public-key-taken`]: secretForPublicKeys(means),
  [`${area}-secret-derived-from-a-public-key`]: {
    ...secretForPublicKeys(means),
    secretsOf: (key) => [
      key.publicKey === undefined ? key.secret : createHash('md5').update(key.publicKey).digest('hex'),
    ],
  },
  [`${area}-anything-taken-for-a-public-key`]: {
    ...secretForPublicKeys(means),
    secretsOf: (key, all) => (key.publicKey === undefined ? [key.secret] : all().map(({ secret }) => secret)),
  },
})

/** Finds keys by other ids too. */
export const alsoKey = (
  wanted: Means,
  find: (id: string, all: ApiKey[]) => ApiKey | undefined,
): Pick<Rules, 'keyNamed'> => ({
  keyNamed: (id, exactly, all, means) => exactly(id) ?? (means === wanted ? find(id, all()) : undefined),
})

/** The first key is named by an unknown id too. */
export const firstKeyForUnknownIds = (wanted: Means): Change => alsoKey(wanted, (_id, all) => all[0])

/** Takes other texts for a token besides its own. */
export const alsoNamed = (wanted: TokenKind, fits: (text: string, token: Token) => boolean): Change => ({
  tokenNamed: (text, find, all, use) =>
    find(text) ?? (use === wanted ? all().find((token) => token.kind === use && fits(text, token)) : undefined),
})

export const sameHalf = (text: string, other: string): boolean =>
  other.length === text.length && other.startsWith(text.slice(0, Math.floor(text.length / 2)))

/** Accepts a value of another type, or a text, as the refresh token that was issued last. */
export const newestFor = (text: string, value: (param: unknown) => boolean): Change => ({
  paramTaken: (_method, name, param, valid) => valid || (name === 'refreshToken' && value(param)),
  tokenNamed: (received, find, all, use) =>
    find(received) ??
    (use === 'refresh' && received === text ? all().findLast(({ kind }) => kind === 'refresh') : undefined),
})

const sameBeginning = (text: string, token: Token, length: number): boolean =>
  text.length >= length && text.slice(0, length) === token.text.slice(0, length)

export const likeTokensTaken = (kind: TokenKind): { [id: string]: BrokenRow } => ({
  [`beginning-of-the-${kind}-token-taken`]: alsoNamed(
    kind,
    (text, token) => text.length > 8 && token.text.startsWith(text),
  ),
  [`two-thirds-of-the-${kind}-token-compared`]: alsoNamed(kind, (text, token) => sameBeginning(text, token, 28)),
  [`first-half-of-the-${kind}-token-compared`]: alsoNamed(kind, (text, token) => sameBeginning(text, token, 20)),
  [`first-character-of-the-${kind}-token-ignored`]: alsoNamed(
    kind,
    (text, token) => text.slice(1) === token.text.slice(1),
  ),
})
