import { createHash } from 'node:crypto'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { ApiKey, Means } from '../state.ts'
import type { Mutant } from './mutant.ts'
import { placeMutants } from './places.ts'

/** A caller that is refused at one of these stages is treated as the initial key. */
const forgiving = (...stages: string[]): Partial<Rules> => ({ forgives: (stage) => stages.includes(stage) })

/** A kind of authorization that does not work on some methods. */
const without = (means: Means, on: (method: string) => boolean): Partial<Rules> => ({
  meansTaken: (used, method) => !(used === means && on(method)),
})
const creating = (method: string) => method === 'manager/createApiKey'

/** A key that an unknown id names too. */
const firstKeyForUnknownIds =
  (wanted: Means): Rules['keyNamed'] =>
  (id, find, all, means) =>
    find(id) ?? (means === wanted ? all()[0] : undefined)
const keyByTheBeginningOfItsId =
  (wanted: Means): Rules['keyNamed'] =>
  (id, find, all, means) =>
    find(id) ?? (means === wanted && id !== '' ? all().find((key) => key.id.startsWith(id)) : undefined)

type Secret = 'basic' | 'grant'
const same = rules.secretMatches
/** Accepts other secrets besides the right one, in Basic credentials or in grants. */
const alsoSecret = (wanted: Secret, fits: (received: string, expected: string) => boolean): Partial<Rules> => ({
  secretMatches: (received, expected, means) =>
    same(received, expected, means) || (means === wanted && fits(received, expected)),
})
/** The secret of another key is accepted too. */
const secretOfAnyKey = (wanted: Secret): Partial<Rules> => ({
  secretsOf: (key, all, means) => (means === wanted ? all().map(({ secret }) => secret) : [key.secret]),
})
/** A key with a public key accepts secrets, in Basic credentials or in grants. */
const secretForPublicKeys = (wanted: Secret): Partial<Rules> => ({
  secretTakenFor: (key, means) => key.publicKey === undefined || means === wanted,
})

/** A grant accepts a value that is not a string, such as `{}` or `0`, in place of the secret. */
const secretOfType = (fits: (value: unknown) => boolean): Partial<Rules> => ({
  paramTaken: (_method, name, value, valid) => valid || (name === 'apiKeySecret' && fits(value)),
  ...alsoSecret('grant', (received) => received === ''),
})
/** A grant accepts something other than a secret for a key with a public key. */
const secretKnownToAll = (known: (key: ApiKey) => string): Partial<Rules> => ({
  ...secretForPublicKeys('grant'),
  secretsOf: (key) => [key.publicKey === undefined ? key.secret : known(key)],
})

const md5 = (text: string) => createHash('md5').update(text).digest('hex')
const half = (text: string) => text.slice(0, text.length / 2)

const secretMutants = (means: Secret, area: 'basic' | 'grants'): Mutant[] => [
  {
    id: `${area}-secret-in-any-case`,
    breaks: `${area}/credentials`,
    with: alsoSecret(means, (received, expected) => received.toLowerCase() === expected.toLowerCase()),
  },
  {
    id: `${area}-beginning-of-the-secret-taken`,
    breaks: `${area}/credentials`,
    with: alsoSecret(means, (received, expected) => received !== '' && expected.startsWith(received)),
  },
  {
    id: `${area}-longer-secret-taken`,
    breaks: `${area}/credentials`,
    with: alsoSecret(means, (received, expected) => received.startsWith(expected)),
  },
  {
    id: `${area}-first-half-of-the-secret-compared`,
    breaks: `${area}/credentials`,
    with: alsoSecret(means, (received, expected) => half(received) === half(expected)),
  },
  {
    id: `${area}-end-of-the-secret-compared`,
    breaks: `${area}/credentials`,
    with: alsoSecret(means, (received, expected) => received.slice(-16) === expected.slice(-16)),
  },
  {
    id: `${area}-any-secret-taken`,
    breaks: `${area}/credentials`,
    with: alsoSecret(means, () => true),
  },
  {
    id: `${area}-secret-of-another-key-taken`,
    breaks: `${area}/credentials`,
    with: secretOfAnyKey(means),
  },
  {
    id: `${area}-unknown-id-is-the-first-key`,
    breaks: `${area}/key-id`,
    with: { keyNamed: firstKeyForUnknownIds(means) },
  },
  {
    id: `${area}-secret-of-a-public-key-taken`,
    breaks: `${area}/public-key-refused`,
    with: secretForPublicKeys(means),
  },
  {
    id: `${area}-secret-derived-from-a-public-key`,
    breaks: `${area}/public-key-refused`,
    with: {
      ...secretForPublicKeys(means),
      secretsOf: (key) => [key.publicKey === undefined ? key.secret : md5(key.publicKey)],
    },
  },
  {
    id: `${area}-anything-taken-for-a-public-key`,
    breaks: `${area}/public-key-refused`,
    with: {
      ...secretForPublicKeys(means),
      secretsOf: (key: ApiKey, all) => (key.publicKey === undefined ? [key.secret] : all().map(({ secret }) => secret)),
    },
  },
]

/** Part 5, and the parts of 4.1 and 4.2 about the caller. */
export const authorizationMutants: Mutant[] = [
  ...placeMutants,
  {
    id: 'no-authorization-taken',
    breaks: 'authorization/required',
    with: forgiving('authorization/none'),
  },
  {
    id: 'unknown-scheme-taken',
    breaks: 'authorization/required',
    with: forgiving('authorization/scheme'),
  },
  {
    id: 'listing-open-to-all',
    breaks: 'authorization/required',
    with: { authorizationRequired: (method) => method !== 'manager/auth' && method !== 'solution/listSolutions' },
  },
  {
    id: 'unreadable-signature-header-taken',
    breaks: 'authorization/required',
    with: forgiving('signature/fields', 'signature/timestamp'),
  },
  {
    id: 'unreadable-credentials-taken',
    breaks: 'authorization/required',
    with: forgiving('basic/form', 'token/unknown'),
  },
  {
    id: 'keys-created-without-authorization',
    breaks: 'keys/create-authorized',
    with: { authorizationRequired: (method) => method !== 'manager/auth' && !creating(method) },
  },
  // A server that checks the caller method by method, and forgets a check when it creates keys.
  ...(
    [
      ['a-wrong-signature', 'signature/mac', 'keys/create-authorized'],
      ['an-hmac-for-a-public-key', 'signature/ecc', 'keys/create-authorized'],
      ['a-wrong-secret', 'basic/secret', 'keys/create-authorized'],
      ['the-secret-of-a-public-key', 'basic/public-key', 'keys/create-authorized'],
      ['an-unknown-token', 'token/unknown', 'keys/create-authorized'],
      ['an-unknown-scheme', 'authorization/scheme', 'keys/create-authorized'],
      ['a-revoked-token', 'token/revoked', 'refresh/revokes-access'],
      ['an-expired-token', 'token/expired', 'tokens/expire-by-default'],
      ['a-token-of-another-address', 'token/address', 'addresses/bound'],
    ] as const
  ).map(
    ([what, refusedAt, breaks]): Mutant => ({
      id: `keys-created-with-${what}`,
      breaks,
      with: { forgives: (stage, method) => stage === refusedAt && creating(method) },
    }),
  ),
  { id: 'hmac-creates-no-keys', breaks: 'keys/create-authorized', with: without('hmac', creating) },
  { id: 'ecc-creates-no-keys', breaks: 'keys/create-authorized', with: without('ecc', creating) },
  { id: 'basic-creates-no-keys', breaks: 'keys/create-authorized', with: without('basic', creating) },
  { id: 'token-creates-no-keys', breaks: 'keys/create-authorized', with: without('token', creating) },
  {
    id: 'no-secret-granted-a-token',
    breaks: 'grants/credentials',
    with: { secretMatches: (received, expected, means) => means === 'basic' && same(received, expected, means) },
  },
  { id: 'basic-never-taken', breaks: 'basic/credentials', with: without('basic', () => true) },
  {
    id: 'grant-needs-an-authorization-header',
    breaks: 'grants/no-authorization-header',
    with: { authorizationRequired: () => true },
  },
  {
    id: 'grant-for-any-secret-without-a-header',
    breaks: 'grants/no-authorization-header',
    with: alsoSecret('grant', () => true),
  },
  ...secretMutants('basic', 'basic'),
  ...secretMutants('grant', 'grants'),
  {
    id: 'grants-secret-trimmed',
    breaks: 'grants/credentials',
    with: alsoSecret('grant', (received, expected) => received.trim() === expected),
  },
  {
    id: 'grants-secret-ends-at-nul',
    breaks: 'grants/credentials',
    with: alsoSecret('grant', (received, expected) => received.split('\0')[0] === expected),
  },
  {
    id: 'grants-percent-is-any-secret',
    breaks: 'grants/credentials',
    with: alsoSecret('grant', (received) => received === '%'),
  },
  {
    id: 'grants-operator-is-any-secret',
    breaks: 'grants/params',
    with: secretOfType((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  },
  {
    id: 'grants-empty-array-is-any-secret',
    breaks: 'grants/params',
    with: secretOfType((value) => Array.isArray(value) && value.length === 0),
  },
  {
    id: 'grants-zero-is-any-secret',
    breaks: 'grants/params',
    with: secretOfType((value) => value === 0),
  },
  {
    id: 'grants-true-is-any-secret',
    breaks: 'grants/params',
    with: secretOfType((value) => value === true),
  },
  {
    id: 'grants-secret-taken-out-of-an-array',
    breaks: 'grants/params',
    with: secretOfType((value) => Array.isArray(value) && value.length === 1),
  },
  {
    id: 'grants-public-key-is-its-secret',
    breaks: 'grants/public-key-refused',
    with: secretKnownToAll(({ publicKey }) => publicKey ?? ''),
  },
  {
    id: 'grants-id-is-the-secret-of-a-public-key',
    breaks: 'grants/public-key-refused',
    with: secretKnownToAll(({ id }) => id),
  },
  {
    id: 'grants-beginning-of-the-key-id-taken',
    breaks: 'grants/key-id',
    with: { keyNamed: keyByTheBeginningOfItsId('grant') },
  },
  {
    id: 'basic-junk-in-base64-skipped',
    breaks: 'basic/malformed',
    with: { basicPair: (encoded) => pairIn(Buffer.from(encoded, 'base64').toString()) },
  },
  {
    id: 'basic-plain-text-taken',
    breaks: 'basic/malformed',
    with: { basicPair: (encoded) => rules.basicPair(encoded) ?? pairIn(encoded) },
  },
  {
    id: 'basic-without-colon-taken',
    breaks: 'basic/malformed',
    with: {
      basicPair: (encoded) => {
        const text = Buffer.from(encoded, 'base64').toString()
        return rules.basicPair(encoded) ?? { id: text.slice(0, 32), secret: text.slice(32) }
      },
    },
  },
  {
    id: 'basic-malformed-is-the-initial-key',
    breaks: 'basic/malformed',
    with: forgiving('basic/form'),
  },
]

function pairIn(text: string): { id: string; secret: string } | undefined {
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}
