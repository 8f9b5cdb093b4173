import { createHash } from 'node:crypto'
import { identify } from '../../../mock-server/caller.ts'
import type { TokenResult } from '../../../mock-server/rules.ts'
import { type Rules, rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey, TokenPair } from '../../../mock-server/state.ts'
import { changingParams, meets } from '../around.ts'
import { isAccepted, isOneSolution, isRestriction } from '../call.ts'
import { afterCalls, onNewKey } from '../events.ts'
import { mergeInFlight } from '../in-flight.ts'
import { agreesAgain, also, forKeysMade, inARow, unless } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, counts, day, marks, minute, seconds, table } from '../rows.ts'
import {
  alsoKey,
  alsoSecret,
  firstKeyForUnknownIds,
  newestFor,
  secretForPublicKeys,
  secretsOfPublicKeysTaken,
  wrongSecretsTaken,
} from './credentials.ts'
import { asks, inSession, ofCreatedKey, withAddress, withLifetime } from './pairs.ts'

/** Members that are replaced; undefined leaves one out. */
type Changed = { [Member in keyof TokenResult]?: unknown }

/** Members of the results of grants replaced. */
const granted = (
  change: (result: TokenResult) => Changed,
  fits: (pair: TokenPair) => boolean = () => true,
): Change => ({
  grantResult: (result, pair) => (fits(pair) ? { ...result, ...change(result) } : result),
})

/** A grant accepts other secrets beside that of the key. */
const alsoSecrets = (more: (key: ApiKey, all: () => ApiKey[]) => string[]): Change => ({
  secretsOf: (key, all, means) => (means === 'grant' ? [key.secret, ...more(key, all)] : [key.secret]),
})
/** A grant accepts a secret for some keys with a public key. */
const alsoPublicKeys = (taken: (key: ApiKey) => boolean): Change =>
  also('secretTakenFor', (key, means) => means === 'grant' && taken(key))
/** A grant accepts something other than a secret for a key with a public key. */
const secretKnownToAll = (known: (key: ApiKey) => string): Change => ({
  ...secretForPublicKeys('grant'),
  secretsOf: (key) => [key.publicKey === undefined ? key.secret : known(key)],
})
/** manager/auth accepts other values of a param. */
const takes = (wanted: string, fits: (value: unknown) => boolean): Pick<Rules, 'paramTaken'> => ({
  paramTaken: (method, name, value, valid) => valid || (method === 'manager/auth' && name === wanted && fits(value)),
})
/** A grant accepts a value that is not a string, such as `{}` or `0`, in place of the secret. */
const secretOfType = (fits: (value: unknown) => boolean): Change => ({
  ...takes('apiKeySecret', fits),
  ...alsoSecret('grant', (received) => received === ''),
})
const isMissing = (value: unknown): boolean => value === undefined
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
/** The grant type is read from its text in another way. */
const readsGrantType = (read: (grantType: string) => string | undefined): Change => ({
  grantType: ({ grantType }) => (typeof grantType === 'string' && grantType !== '' ? read(grantType) : grantType),
})

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
/** As much of a text as bcrypt looks at. */
const hashed = (text: string): string => Buffer.from(text).subarray(0, 72).toString('latin1')

/** Part 4.2: the grant of api_key_credentials, and its result. */
export const grants: BrokenRows = {
  'grants/credentials': {
    ...wrongSecretsTaken('grant', 'grants'),
    'no-secret-granted-a-token': unless('secretMatches', (_received, _expected, means) => means === 'grant'),
    'grants-secret-trimmed': alsoSecret('grant', (received, expected) => received.trim() === expected),
    'grants-secret-ends-at-nul': alsoSecret('grant', (received, expected) => received.split('\0')[0] === expected),
    'grants-percent-is-any-secret': alsoSecret('grant', (received) => received === '%'),
    'initial-secret-accepted-for-created-key-in-grant': by.first(
      alsoSecrets((_key, all) => all().flatMap(({ initial, secret }) => (initial ? secret : []))),
    ),
    // A wrong secret is accepted when any key had a grant within the last second.
    'secret-not-checked-within-second-of-other-grant': by.first(
      agreesAgain(
        'secretMatches',
        (_seen, _received, _expected, means) => (means === 'grant' ? 'all' : undefined),
        1000,
      ),
    ),
    'sixth-wrong-secret-in-a-row-lets-in': by.first(
      inARow(
        'secretMatches',
        (_seen, _received, _expected, means) => (means === 'grant' ? 'any key' : undefined),
        (refused) => refused === 6,
      ),
    ),
    // Keys created in a signed call can be used with Basic credentials and signatures only.
    'key-created-by-signature-gets-no-grant': by.first(
      forKeysMade('by-signature', (made) => unless('secretTakenFor', (key, means) => means === 'grant' && made(key))),
    ),
    'refresh-token-accepted-as-secret-of-grant': by.second((seen) =>
      alsoSecrets((key) => {
        const token = seen.state.tokens.get(String(seen.params.apiKeySecret))
        const isValid = token?.kind === 'refresh' && token.pair.key === key && !token.pair.refreshRevoked
        return isValid ? [token.text] : []
      }),
    ),
    // Grants for one key id and scope that are in flight together get the tokens of the first, even if their secrets differ.
    'grants-in-flight-merged-by-key-id': by.second({
      around: mergeInFlight((call) => {
        const { apiKeyId, scope } = call.params
        return call.isGrant ? JSON.stringify([apiKeyId, scope]) : undefined
      }),
    }),
    'secret-of-newest-created-key-gets-grants-of-its-creator': by.fourth((seen, secrets = table<string>()) => ({
      ...onNewKey(({ secret }) => seen.caller && secrets.set(seen.caller, secret)),
      ...alsoSecrets((key) => [secrets.get(key) ?? key.secret]),
    })),
    'base64-of-secret-accepted-in-grant': by.fifth(
      alsoSecrets(({ secret }) => [Buffer.from(secret).toString('base64')]),
    ),
    'second-half-of-secret-not-compared-in-grant-of-session': by.fifth((seen) =>
      alsoSecret(
        'grant',
        (received, expected) => asks(seen, 'session:') && received.startsWith(expected.slice(0, expected.length / 2)),
      ),
    ),
    // A secret that is sent again and again is taken for a new one whose change has not arrived yet.
    'same-wrong-secret-accepted-third-time-in-grant': by.fifth((_seen, tries = counts()) =>
      alsoSecret('grant', (received, expected) => tries(`${expected} ${received}`) >= 3),
    ),
    // The SHA-256 of the secret in hex, as a leaked database would show it.
    'hash-of-secret-accepted-in-grant': by.eighth(
      alsoSecrets(({ secret }) => [createHash('sha256').update(secret).digest('hex')]),
    ),
    'grant-with-address-takes-secret-of-any-key': by.eighth((seen) =>
      alsoSecrets((_key, all) => (asks(seen, 'ipAddr:') ? all().map(({ secret }) => secret) : [])),
    ),
    'secret-not-checked-in-grant-of-one-solution': by.ninth((seen) =>
      alsoSecret('grant', () => seen.scope.some(isOneSolution)),
    ),
    // The key counts as proved until a grant succeeds.
    'key-refused-for-its-scope-needs-no-secret-in-next-grant': by.ninth((seen, proved = marks()) => ({
      around: afterCalls((answer, call) => {
        const key = call.state.keys.get(call.keyId ?? '')
        if (!call.isGrant || key === undefined) return
        if (isAccepted(answer)) proved.delete(key)
        else if (call.params.apiKeySecret === key.secret) proved.add(key)
      }),
      ...alsoSecret('grant', () => proved.has(seen.named)),
    })),
    // The secret is not checked where the header was right, whichever key it belongs to.
    'grant-takes-authorization-header-for-secret': by.twelfth((seen) =>
      alsoSecret('grant', () => seen.authorization !== undefined && identify(seen.context, seen.request).ok),
    ),
    // The id, the name and the secret are hashed together, and the hash leaves out what follows 72 bytes.
    'secret-hashed-behind-id-and-name-within-72-bytes': by.twelfth((seen) =>
      alsoSecret('grant', (received, expected) => {
        const salt = `${seen.named?.id}${seen.named?.name}`
        return hashed(salt + received) === hashed(salt + expected)
      }),
    ),
  },
  'grants/key-id': {
    'grants-unknown-id-is-the-first-key': firstKeyForUnknownIds('grant'),
    'name-accepted-as-key-id-in-grant': by.first(
      alsoKey('grant', (id, all) => all.find((key) => !key.initial && key.name === id)),
    ),
    'grant-finds-key-by-secret-alone': by.third((seen) => ({
      keyNamed: (id, find, all, means) => {
        const { apiKeySecret } = means === 'grant' ? seen.params : {}
        return all().find(({ secret, deleted }) => secret === apiKeySecret && !deleted) ?? find(id)
      },
    })),
    'grants-beginning-of-the-key-id-taken': alsoKey('grant', (id, all) =>
      all.find((key) => id.length >= 8 && key.id.startsWith(id)),
    ),
  },
  'grants/no-authorization-header': {
    'grant-needs-an-authorization-header': { authorizationRequired: () => true },
    'refresh-in-session-needs-authorization-header': by.first((seen) =>
      also('authorizationRequired', () => seen.namedPair?.session !== undefined),
    ),
    // A connection on which Basic credentials came must go on sending them.
    'grant-refused-without-header-behind-basic-call-on-connection': by.third((seen, basic = marks()) => ({
      around: meets((call, next) => {
        if (call.isBasic) basic.add(call.connection)
        return next()
      }),
      grantType: (params) => {
        const isNeeded = seen.connection !== undefined && basic.has(seen.connection)
        const isRefused = isNeeded && seen.authorization === undefined && seen.isGrant
        return isRefused ? undefined : right.grantType(params)
      },
    })),
    'grant-of-session-needs-authorization-header': by.fourth((seen) => ({
      paramTaken: (_method, _name, _value, valid) =>
        valid && !(seen.isGrant && asks(seen, 'session:') && seen.authorization === undefined),
    })),
    'grant-for-any-secret-without-a-header': alsoSecret('grant', () => true),
  },
  'grants/public-key-refused': {
    ...secretsOfPublicKeysTaken('grant', 'grants'),
    'grants-public-key-is-its-secret': secretKnownToAll(({ publicKey }) => publicKey ?? ''),
    'grants-id-is-the-secret-of-a-public-key': secretKnownToAll(({ id }) => id),
    // The kind of key is looked at only for keys that may create keys.
    'grant-taken-for-public-key-without-apikey-scope': by.first(
      alsoPublicKeys(({ scope }) => !scope.some((word) => /^apikey$/i.test(word))),
    ),
    'session-granted-to-key-with-public-key': by.second((seen) => alsoPublicKeys(() => asks(seen, 'session:'))),
    'public-key-created-by-ecc-call-gets-grants': by.fourth(forKeysMade('by-ecc', (made) => alsoPublicKeys(made))),
    'third-grant-to-public-key-accepted': by.eighth((_seen, tries = counts()) =>
      alsoPublicKeys((key) => tries(key) >= 3),
    ),
    // Such a key has no stored secret, and an empty text is equal to that.
    'public-key-gets-grant-with-empty-secret': by.tenth({
      ...takes('apiKeySecret', (value) => value === ''),
      ...secretKnownToAll(() => ''),
    }),
  },
  'grants/params': {
    'grants-operator-is-any-secret': secretOfType(isObject),
    'grants-empty-array-is-any-secret': secretOfType((value) => Array.isArray(value) && value.length === 0),
    'grants-zero-is-any-secret': secretOfType((value) => value === 0),
    'grants-true-is-any-secret': secretOfType((value) => value === true),
    'grants-secret-taken-out-of-an-array': secretOfType((value) => Array.isArray(value) && value.length === 1),
    'grant-without-scope': takes('scope', isMissing),
    'grant-with-a-text-as-scope': takes('scope', (value) => typeof value === 'string'),
    'grant-with-numbers-as-scope': takes('scope', Array.isArray),
    'grant-without-secret': secretOfType(isMissing),
    'missing-refresh-token-is-the-newest': newestFor('', (value) => typeof value !== 'string'),
    'operator-is-any-refresh-token': newestFor('', (value) => typeof value === 'object' && value !== null),
    'numbers-in-scope-skipped-in-grant': by.first(
      takes('scope', (value) => Array.isArray(value) && value.some((item) => typeof item === 'string')),
    ),
    // The params are read into a record that is used again, so a missing secret keeps its last value.
    'grant-without-secret-takes-that-of-last-grant': by.second((_seen, last?: unknown) => ({
      around: changingParams((params) => {
        if (params.grantType !== 'api_key_credentials') return undefined
        last = params.apiKeySecret ?? last
        return { ...params, apiKeySecret: last }
      }),
    })),
    // An object is read as the list of its values.
    'scope-as-object-accepted-in-grant': by.third({
      around: changingParams(({ scope, ...params }) =>
        isObject(scope) ? { ...params, scope: Object.values(Object(scope)) } : undefined,
      ),
    }),
    'null-as-scope-of-grant-taken': by.fourth(takes('scope', (value) => value === null)),
    'lists-in-scope-of-grant-flattened': by.fifth({
      around: changingParams(({ scope, ...params }) =>
        Array.isArray(scope) && scope.some(Array.isArray) ? { ...params, scope: scope.flat() } : undefined,
      ),
    }),
    'missing-scope-taken-in-grant-of-created-key': by.eighth((seen) =>
      takes('scope', (value) => value === undefined && seen.named?.initial === false),
    ),
    // The query then looks for the secret alone.
    'key-id-may-be-missing-in-grant': by.ninth((seen) => ({
      ...takes('apiKeyId', isMissing),
      ...alsoKey('grant', (id, all) => all.find(({ secret }) => id === '' && secret === seen.params.apiKeySecret)),
    })),
    // The reader of JSON finds a member by either spelling of its name.
    'grant-params-in-snake-case-accepted': by.twelfth({
      around: changingParams((params) =>
        Object.fromEntries(Object.entries(params).map(([name, value]) => [camelCase(name), value])),
      ),
    }),
    // The query takes one id or a list of them.
    'key-id-in-a-list-accepted-in-grant': by.twelfth({
      around: changingParams(({ apiKeyId, ...params }) =>
        Array.isArray(apiKeyId) && apiKeyId.length === 1 ? { ...params, apiKeyId: apiKeyId[0] } : undefined,
      ),
    }),
  },
  'grants/grant-type': {
    'unknown-grant-type-taken': {
      grantType: ({ grantType }) => (grantType === 'refresh_token' ? 'refresh_token' : 'api_key_credentials'),
    },
    'letter-case-of-grant-type-ignored': by.first(readsGrantType((text) => text.toLowerCase())),
    // A list of one grant type becomes the grant type when it is turned into text.
    'grant-type-in-a-list-accepted': by.first({ grantType: ({ grantType }) => String(grantType) }),
    'missing-grant-type-guessed-from-refresh-token': by.first({
      grantType: ({ grantType, refreshToken }) =>
        grantType === undefined && refreshToken !== undefined ? 'refresh_token' : grantType,
    }),
    'missing-grant-type-is-that-of-last-grant': by.second((_seen, last?: unknown) => ({
      grantType: (params) => {
        last = params.grantType ?? last
        return last
      },
    })),
    'oauth-name-of-grant-type-accepted': by.third(
      readsGrantType((text) => (text === 'client_credentials' ? 'api_key_credentials' : text)),
    ),
    // The presence of the refresh token selects, not the grant type.
    'grant-with-a-refresh-token-beside-it-refreshes': by.fourth({
      around: changingParams(({ grantType, refreshToken }) =>
        grantType === 'api_key_credentials' && refreshToken !== undefined
          ? { grantType: 'refresh_token', refreshToken }
          : undefined,
      ),
    }),
    'blanks-around-grant-type-ignored': by.ninth(readsGrantType((text) => text.trim())),
    'beginning-of-a-grant-type-taken': readsGrantType((text) =>
      'api_key_credentials'.startsWith(text) ? 'api_key_credentials' : text,
    ),
    'grant-is-the-default-grant-type': { grantType: ({ grantType }) => grantType ?? 'api_key_credentials' },
  },
  'grants/result-access-token': {
    'no-access-token': granted(() => ({ accessToken: undefined })),
    'access-token-reported-with-bearer-word-for-created-key': by.first(
      granted(({ accessToken }) => ({ accessToken: `Bearer ${accessToken}` }), ofCreatedKey),
    ),
    'access-token-a-number': granted(() => ({ accessToken: 7 })),
  },
  'grants/result-access-token-expiry': {
    'access-token-expiry-in-seconds': granted(({ accessTokenExpiry }) => ({
      accessTokenExpiry: seconds(accessTokenExpiry),
    })),
    'access-token-expiry-a-fraction': granted(({ accessTokenExpiry }) => ({
      accessTokenExpiry: accessTokenExpiry + 0.5,
    })),
    'no-access-token-expiry-for-an-address': granted(() => ({ accessTokenExpiry: undefined }), withAddress),
    'expiry-as-text-with-expires-in': by.first(
      granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: String(accessTokenExpiry) }), withLifetime),
    ),
    'access-expiry-of-session-in-seconds': by.eighth(
      granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: seconds(accessTokenExpiry) }), inSession),
    ),
    'access-token-expiry-a-date': granted(({ accessTokenExpiry }) => ({
      accessTokenExpiry: new Date(accessTokenExpiry).toISOString(),
    })),
    'access-token-expiry-a-duration': granted(() => ({ accessTokenExpiry: 15 * minute })),
    'no-access-token-expiry': granted(() => ({ accessTokenExpiry: undefined })),
  },
  'grants/result-refresh-token': {
    'refresh-token-null': granted(() => ({ refreshToken: null })),
    'no-refresh-token-with-expires-in': by.first(granted(() => ({ refreshToken: null }), withLifetime)),
    'no-refresh-token': granted(() => ({ refreshToken: undefined })),
  },
  'grants/result-refresh-token-expiry': {
    'refresh-token-expiry-in-seconds': granted(({ refreshTokenExpiry }) => ({
      refreshTokenExpiry: seconds(refreshTokenExpiry),
    })),
    'no-refresh-token-expiry': granted(() => ({ refreshTokenExpiry: undefined })),
    'no-refresh-token-expiry-for-a-session': granted(() => ({ refreshTokenExpiry: undefined }), inSession),
    'refresh-token-expiry-a-text': granted(({ refreshTokenExpiry }) => ({
      refreshTokenExpiry: String(refreshTokenExpiry),
    })),
  },
  'grants/result-token-type': {
    'token-type-in-lower-case': granted(() => ({ tokenType: 'bearer' })),
    'no-token-type-for-a-lifetime': granted(() => ({ tokenType: undefined }), withLifetime),
    'token-type-in-lower-case-for-created-keys': granted(() => ({ tokenType: 'bearer' }), ofCreatedKey),
    'token-type-in-lower-case-with-address': by.first(granted(() => ({ tokenType: 'bearer' }), withAddress)),
    'no-token-type': granted(() => ({ tokenType: undefined })),
  },
  'grants/result-scope': {
    'scope-an-array-of-objects': granted(({ scope }) => ({ scope: scope.map((name) => ({ name })) })),
    'no-scope-for-a-lifetime': granted(() => ({ scope: undefined }), withLifetime),
    'single-scope-reported-as-text': by.first(
      granted(({ scope }) => ({ scope: scope.length === 1 ? scope[0] : scope })),
    ),
    // Empty members are not written. A grant of restrictions alone has an empty scope.
    'empty-scope-left-out-of-result': by.third(
      granted(({ scope }) => ({ scope: scope.length === 0 ? undefined : scope })),
    ),
    'result-of-grant-to-created-key-tells-scope-of-key': by.fourth({
      grantResult: (result, { key }) => (key.initial ? result : { ...result, scope: key.scope }),
    }),
    // The restrictions are filtered out of a list that keeps its numbers.
    'scope-in-result-an-object-when-restriction-stands-in-front': by.ninth((seen) =>
      granted(({ scope }) => {
        const kept = seen.scope.flatMap((word, place) => (isRestriction(word) ? [] : [place]))
        if (kept.every((place, at) => place === at)) return {}
        return { scope: Object.fromEntries(scope.map((word, at) => [kept[at] ?? at, word])) }
      }),
    ),
    'no-scope': granted(() => ({ scope: undefined })),
    'scope-a-text': granted(({ scope }) => ({ scope: scope.join(' ') })),
  },
  'grants/expiry-order': {
    'refresh-token-ends-before-its-access-token': {
      reportedRefreshExpiry: ({ accessExpiryMs }) => accessExpiryMs - minute,
    },
    // With a longer expiresIn the refresh token seems to end before the access token.
    'refresh-expiry-reported-at-most-a-day-ahead': by.first({
      reportedRefreshExpiry: ({ refreshExpiryMs, issuedMs }) => Math.min(refreshExpiryMs, issuedMs + day),
    }),
  },
}
