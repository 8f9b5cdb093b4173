import { createHash } from 'node:crypto'
import { identify } from '../../../mock-server/caller.ts'
import type { TokenResult } from '../../../mock-server/rules.ts'
import { type Rules, rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey, Means, TokenPair } from '../../../mock-server/state.ts'
import {
  type Around,
  answerThrough,
  type BrokenRows,
  type Change,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  isMethod,
  mergeInFlight,
  namedKeyId,
  ninth,
  own,
  paramsOf,
  readCall,
  second,
  tenth,
  third,
  twelfth,
  withMembers,
} from '../operators.ts'
import {
  alsoSecret,
  type Changed,
  day,
  firstKeyForUnknownIds,
  isOneSolution,
  newestFor,
  seconds,
  secretForPublicKeys,
  secretsOfPublicKeysTaken,
  shownPair,
  wrongSecretsTaken,
} from './changes.ts'

const keyByTheBeginningOfItsId =
  (wanted: Means): Rules['keyNamed'] =>
  (id, find, all, means) =>
    find(id) ?? (means === wanted && id !== '' ? all().find((key) => key.id.startsWith(id)) : undefined)

const same = right.secretMatches

/** A grant accepts a value that is not a string, such as `{}` or `0`, in place of the secret. */
const secretOfType = (fits: (value: unknown) => boolean): Change => ({
  paramTaken: (_method, name, value, valid) => valid || (name === 'apiKeySecret' && fits(value)),
  ...alsoSecret('grant', (received) => received === ''),
})

/** A grant accepts something other than a secret for a key with a public key. */
const secretKnownToAll = (known: (key: ApiKey) => string): Change => ({
  ...secretForPublicKeys('grant'),
  secretsOf: (key) => [key.publicKey === undefined ? key.secret : known(key)],
})

/** Members of some grants' results replaced. */
const grantedTo = (fits: (pair: TokenPair) => boolean, change: Changed): Change => ({
  grantResult: (result, pair) => (fits(pair) ? { ...result, ...change } : result),
})

const lasting = ({ expiresInMs }: TokenPair) => expiresInMs !== undefined

/** Members of every grant's result replaced. */
const granted = (change: (result: TokenResult) => Changed): Change => ({
  grantResult: (result) => ({ ...result, ...change(result) }),
})

const grantTypes = ['api_key_credentials', 'refresh_token']

const isRestriction = (word: string): boolean => /^(session|ipAddr|expiresIn):/.test(word)

/** Changes the params of calls of manager/auth, which nobody signs. */
const changeGrantParams =
  (change: (params: { [name: string]: unknown }) => { [name: string]: unknown }): Around =>
  (handle) =>
  (request) =>
    handle(
      isMethod(request, 'manager/auth')
        ? withMembers(request, { ...readCall(request), params: change(paramsOf(request)) })
        : request,
    )

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())

/** As much of a text as bcrypt looks at. */
const hashed = (text: string): string => Buffer.from(text).subarray(0, 72).toString('latin1')

export const grants: BrokenRows = {
  'grants/credentials': {
    ...wrongSecretsTaken('grant', 'grants'),
    'no-secret-granted-a-token': own({
      secretMatches: (received, expected, means) => means === 'basic' && same(received, expected, means),
    }),
    'grants-secret-trimmed': own(alsoSecret('grant', (received, expected) => received.trim() === expected)),
    'grants-secret-ends-at-nul': own(alsoSecret('grant', (received, expected) => received.split('\0')[0] === expected)),
    'grants-percent-is-any-secret': own(alsoSecret('grant', (received) => received === '%')),
    'white-space-around-secret-ignored-in-grant': first({
      secretMatches: (received, expected, means) =>
        right.secretMatches(means === 'grant' ? received.trim() : received, expected, means),
    }),
    'secret-ends-at-nul-in-grant': first({
      secretMatches: (received, expected, means) =>
        right.secretMatches(means === 'grant' ? (received.split('\0')[0] ?? '') : received, expected, means),
    }),
    // The database column of the secret has 32 characters, and longer values are cut.
    'secret-behind-32-characters-ignored-in-grant': first({
      secretMatches: (received, expected, means) =>
        right.secretMatches(means === 'grant' ? received.slice(0, expected.length) : received, expected, means),
    }),
    'access-token-accepted-as-secret-in-grant': first((seen) => ({
      secretsOf: (key, _all, means) => {
        if (means !== 'grant') return [key.secret]
        const tokens = [...seen.context.state.tokens.values()]
        const own = tokens.filter(({ kind, pair }) => kind === 'access' && pair.key === key)
        return [key.secret, ...own.map(({ text }) => text)]
      },
    })),
    'initial-secret-accepted-for-created-key-in-grant': first({
      secretsOf: (key, all, means) =>
        means === 'grant' ? [key.secret, ...all().flatMap((one) => (one.initial ? one.secret : []))] : [key.secret],
    }),
    // A wrong secret is accepted when any key had a grant in the same second of the clock.
    'secret-not-checked-within-second-of-other-grant': first((seen, grantSecond = -1) => {
      const second = () => Math.floor(seen.nowMs / 1000)
      return {
        secretMatches: (received, expected, means) => {
          const matches = right.secretMatches(received, expected, means)
          if (means !== 'grant') return matches
          if (matches) grantSecond = second()
          return matches || grantSecond === second()
        },
      }
    }),
    'sixth-wrong-secret-in-a-row-lets-in': first((_seen, wrongInARow = 0) => ({
      secretMatches: (received, expected, means) => {
        const matches = right.secretMatches(received, expected, means)
        if (means !== 'grant') return matches
        wrongInARow = matches ? 0 : wrongInARow + 1
        return matches || wrongInARow === 6
      },
    })),
    // Keys created in a signed call can be used with Basic credentials and signatures only.
    'key-created-by-signature-gets-no-grant': first((seen, children = new Set<string>()) => ({
      storedKey: (key) => {
        const header = seen.request.headers.authorization ?? ''
        if (header.startsWith(seen.context.profile.scheme)) children.add(key.id)
        return key
      },
      secretTakenFor: (key, means) => right.secretTakenFor(key, means) && !(means === 'grant' && children.has(key.id)),
    })),
    'refresh-token-accepted-as-secret-of-grant': second((seen) => ({
      secretsOf: (key, _all, means) => {
        const shown = String(seen.params.apiKeySecret)
        const token = means === 'grant' ? seen.context.state.tokens.get(shown) : undefined
        const isValid = token?.kind === 'refresh' && token.pair.key === key && !token.pair.refreshRevoked
        return isValid ? [key.secret, shown] : [key.secret]
      },
    })),
    // The counter of wrong secrets has room for five; beyond them the check of the secret is skipped.
    'sixth-wrong-secret-in-a-row-accepted': second((_seen, named = '', failures = new Map<string, number>()) => ({
      secretsOf: (key) => {
        named = key.id
        return [key.secret]
      },
      secretMatches: (received, expected, means) => {
        const isRight = right.secretMatches(received, expected, means)
        if (means !== 'grant') return isRight
        const count = isRight ? 0 : (failures.get(named) ?? 0) + 1
        failures.set(named, count)
        return isRight || count > 5
      },
    })),
    // Grants for one key id and scope that are in flight together get the tokens of the first, even if their secrets differ.
    'grants-in-flight-merged-by-key-id': second({
      around: mergeInFlight((request) => {
        const { grantType, apiKeyId, scope } = paramsOf(request)
        return grantType === 'api_key_credentials' ? JSON.stringify([apiKeyId, scope]) : undefined
      }),
    }),
    // "apiKeySecret | string | yes": the secret of the key that apiKeyId names
    'secret-of-newest-created-key-gets-grants-of-its-creator': fourth((seen, secrets = new Map<string, string>()) => ({
      storedKey: (key) => {
        const creator = seen.caller
        if (creator !== undefined) secrets.set(creator.id, key.secret)
        return key
      },
      secretsOf: (key, _all, means) => [key.secret, ...(means === 'grant' ? [secrets.get(key.id) ?? key.secret] : [])],
    })),
    // "apiKeySecret | string | yes": the secret of the key
    'base64-of-secret-accepted-in-grant': fifth({
      secretsOf: ({ secret }, _all, means) =>
        means === 'grant' ? [secret, Buffer.from(secret).toString('base64')] : [secret],
    }),
    'second-half-of-secret-not-compared-in-grant-of-session': fifth((seen) => ({
      secretMatches: (received, expected, means) => {
        const isSession = means === 'grant' && seen.scope.some((word) => word.startsWith('session:'))
        return isSession
          ? received.startsWith(expected.slice(0, expected.length / 2))
          : right.secretMatches(received, expected, means)
      },
    })),
    // A secret that is sent again and again is taken for a new one whose change has not arrived yet.
    'same-wrong-secret-accepted-third-time-in-grant': fifth((_seen, keptTries = new Map<string, number>()) => ({
      secretMatches: (received, expected, means) => {
        if (right.secretMatches(received, expected, means)) return true
        const tries = (keptTries.get(`${expected} ${received}`) ?? 0) + (means === 'grant' ? 1 : 0)
        keptTries.set(`${expected} ${received}`, tries)
        return means === 'grant' && tries >= 3
      },
    })),
    // The SHA-256 of the secret in hex, as a leaked database would show it.
    'hash-of-secret-accepted-in-grant': eighth({
      secretsOf: ({ secret }, _all, means) =>
        means === 'grant' ? [secret, createHash('sha256').update(secret).digest('hex')] : [secret],
    }),
    // "apiKeyId", "apiKeySecret": the secret belongs to the key that the id names
    'grant-with-address-takes-secret-of-any-key': eighth((seen) => ({
      secretsOf: (key, all, means) => {
        const isBound = seen.scope.some((word) => word.startsWith('ipAddr:'))
        return means === 'grant' && isBound ? all().map(({ secret }) => secret) : [key.secret]
      },
    })),
    'secret-not-checked-in-grant-of-one-solution': ninth((seen) => ({
      secretMatches: (received, expected, means) =>
        right.secretMatches(received, expected, means) || (means === 'grant' && seen.scope.some(isOneSolution)),
    })),
    // The key counts as proved until a grant succeeds.
    'key-refused-for-its-scope-needs-no-secret-in-next-grant': ninth((seen, proved = new Set<string>()) => {
      const note = answerThrough((answer, request, { state }) => {
        const { grantType, apiKeySecret } = paramsOf(request)
        const key = state.keys.get(namedKeyId(request) ?? '')
        if (grantType !== 'api_key_credentials' || key === undefined) return answer
        if (isAccepted(answer)) proved.delete(key.id)
        else if (apiKeySecret === key.secret) proved.add(key.id)
        return answer
      })
      return {
        around: note,
        secretMatches: (received, expected, means) =>
          right.secretMatches(received, expected, means) ||
          (means === 'grant' && proved.has(namedKeyId(seen.request) ?? '')),
      }
    }),
    // The secret is a condition of the query, and the collation of its column ignores the letter case.
    'letter-case-of-secret-ignored-in-grant': twelfth({
      secretMatches: (received, expected, means) =>
        means === 'grant'
          ? right.secretMatches(received.toLowerCase(), expected.toLowerCase(), means)
          : right.secretMatches(received, expected, means),
    }),
    // The secret is not checked where the header was right, whichever key it belongs to.
    'grant-takes-authorization-header-for-secret': twelfth((seen) => ({
      secretMatches: (received, expected, means) =>
        right.secretMatches(received, expected, means) ||
        (means === 'grant' &&
          seen.request.headers.authorization !== undefined &&
          identify(seen.context, seen.request).ok),
    })),
    // The id, the name and the secret are hashed together, and the hash leaves out what follows 72 bytes.
    'secret-hashed-behind-id-and-name-within-72-bytes': twelfth((_seen, named?: ApiKey) => ({
      secretsOf: (key, all, means) => {
        named = key
        return right.secretsOf(key, all, means)
      },
      secretMatches: (received, expected, means) => {
        if (means !== 'grant' || named === undefined) return right.secretMatches(received, expected, means)
        const salt = named.id + named.name
        return right.secretMatches(hashed(salt + received), hashed(salt + expected), means)
      },
    })),
  },
  'grants/key-id': {
    'grants-unknown-id-is-the-first-key': own(firstKeyForUnknownIds('grant')),
    'grants-beginning-of-the-key-id-taken': own({ keyNamed: keyByTheBeginningOfItsId('grant') }),
    'beginning-of-key-id-suffices-in-grant': first({
      keyNamed: (id, find, all, means) =>
        means === 'grant' && id.length >= 8 ? all().find((key) => key.id.startsWith(id)) : find(id),
    }),
    'name-accepted-as-key-id-in-grant': first({
      keyNamed: (id, find, all, means) =>
        find(id) ?? (means === 'grant' ? all().find((key) => !key.initial && key.name === id) : undefined),
    }),
    // The params of the grant: "apiKeyId | string | yes"
    'grant-finds-key-by-secret-alone': third((seen) => ({
      keyNamed: (id, find, all, means) => {
        const { apiKeySecret } = means === 'grant' ? seen.params : {}
        return all().find(({ secret, deleted }) => secret === apiKeySecret && !deleted) ?? find(id)
      },
    })),
    // The collation of the column ignores case.
    'key-id-in-capitals-taken-in-grant': fourth({
      keyNamed: (id, find, all, means) =>
        find(id) ?? (means === 'grant' ? all().find((key) => key.id.toLowerCase() === id.toLowerCase()) : undefined),
    }),
    // The collation of the column pads with blanks.
    'blanks-behind-key-id-ignored-in-grant': fourth({
      keyNamed: (id, find, _all, means) => find(means === 'grant' ? id.trimEnd() : id),
    }),
    'hyphens-in-key-id-ignored-in-grant': eighth({
      keyNamed: (id, find, _all, means) => find(id) ?? (means === 'grant' ? find(id.replaceAll('-', '')) : undefined),
    }),
  },
  'grants/no-authorization-header': {
    'grant-needs-an-authorization-header': own({ authorizationRequired: () => true }),
    'grant-for-any-secret-without-a-header': own(alsoSecret('grant', () => true)),
    'refresh-in-session-needs-authorization-header': first((seen) => ({
      authorizationRequired: (method) => right.authorizationRequired(method) || shownPair(seen)?.session !== undefined,
    })),
    // A connection on which Basic credentials came must go on sending them.
    'grant-refused-without-header-behind-basic-call-on-connection': third((seen, connections = new Set<number>()) => ({
      around: (handle) => (request) => {
        const { connection, headers } = request
        if (connection !== undefined && headers.authorization?.startsWith('Basic ')) connections.add(connection)
        return handle(request)
      },
      grantType: (params) => {
        const { connection, headers } = seen.request
        const isMissing = headers.authorization === undefined && connection !== undefined && connections.has(connection)
        return isMissing && params.grantType === 'api_key_credentials' ? undefined : right.grantType(params)
      },
    })),
    'grant-of-session-needs-authorization-header': fourth((seen) => ({
      paramTaken: (method, name, _value, valid) =>
        valid &&
        !(
          method === 'manager/auth' &&
          name === 'scope' &&
          seen.scope.some((word) => word.startsWith('session:')) &&
          seen.request.headers.authorization === undefined
        ),
    })),
  },
  'grants/public-key-refused': {
    ...secretsOfPublicKeysTaken('grant', 'grants'),
    'grants-public-key-is-its-secret': own(secretKnownToAll(({ publicKey }) => publicKey ?? '')),
    'grants-id-is-the-secret-of-a-public-key': own(secretKnownToAll(({ id }) => id)),
    // The kind of key is looked at only for keys that may create keys.
    'grant-taken-for-public-key-without-apikey-scope': first({
      secretTakenFor: (key, means) =>
        right.secretTakenFor(key, means) ||
        (means === 'grant' && !key.scope.some((scope) => scope.toLowerCase() === 'apikey')),
    }),
    // The secret of a key with a public key is accepted when the grant asks for a session.
    'session-granted-to-key-with-public-key': second((seen) => ({
      secretTakenFor: (key, means) =>
        right.secretTakenFor(key, means) || (means === 'grant' && seen.bodyHas('"session:')),
    })),
    'public-key-created-by-ecc-call-gets-grants': fourth((seen, keys = new Set<string>()) => ({
      storedKey: (key) => {
        if (seen.byPublicKey) keys.add(key.id)
        return key
      },
      secretTakenFor: (key, means) => right.secretTakenFor(key, means) || (means === 'grant' && keys.has(key.id)),
    })),
    'third-grant-to-public-key-accepted': eighth((_seen, keptTries = new Map<string, number>()) => ({
      secretTakenFor: (key, means) => {
        if (right.secretTakenFor(key, means) || means === 'basic') return right.secretTakenFor(key, means)
        const tries = (keptTries.get(key.id) ?? 0) + 1
        keptTries.set(key.id, tries)
        return tries >= 3
      },
    })),
    // Such a key has no stored secret, and an empty text is equal to that.
    'public-key-gets-grant-with-empty-secret': tenth({
      paramTaken: (method, name, value, valid) =>
        valid || (method === 'manager/auth' && name === 'apiKeySecret' && value === ''),
      secretTakenFor: (key, means) => right.secretTakenFor(key, means) || means === 'grant',
      secretsOf: (key) => [key.publicKey === undefined ? key.secret : ''],
    }),
  },
  'grants/params': {
    'grants-operator-is-any-secret': own(
      secretOfType((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
    ),
    'grants-empty-array-is-any-secret': own(secretOfType((value) => Array.isArray(value) && value.length === 0)),
    'grants-zero-is-any-secret': own(secretOfType((value) => value === 0)),
    'grants-true-is-any-secret': own(secretOfType((value) => value === true)),
    'grants-secret-taken-out-of-an-array': own(secretOfType((value) => Array.isArray(value) && value.length === 1)),
    'grant-without-scope': own({
      paramTaken: (_method, name, value, valid) => valid || (name === 'scope' && value === undefined),
    }),
    'grant-with-a-text-as-scope': own({
      paramTaken: (_method, name, value, valid) => valid || (name === 'scope' && typeof value === 'string'),
    }),
    'grant-with-numbers-as-scope': own({
      paramTaken: (_method, name, value, valid) => valid || (name === 'scope' && Array.isArray(value)),
    }),
    'grant-without-secret': own({
      paramTaken: (_method, name, value, valid) => valid || (name === 'apiKeySecret' && value === undefined),
      secretMatches: (received, expected, means) =>
        right.secretMatches(received, expected, means) || (means === 'grant' && received === ''),
    }),
    'missing-refresh-token-is-the-newest': own({
      paramTaken: (_method, name, value, valid) => valid || (name === 'refreshToken' && typeof value !== 'string'),
      tokenNamed: (text, find, all, use) =>
        find(text) ?? (text === '' && use === 'refresh' ? all().findLast(({ kind }) => kind === 'refresh') : undefined),
    }),
    'operator-is-any-refresh-token': own(newestFor('', (param) => typeof param === 'object' && param !== null)),
    'scope-as-text-accepted-in-grant': first({
      paramTaken: (method, name, value, valid) =>
        valid || (method === 'manager/auth' && name === 'scope' && typeof value === 'string' && value !== ''),
    }),
    'numbers-in-scope-skipped-in-grant': first({
      paramTaken: (method, name, value, valid) =>
        valid ||
        (method === 'manager/auth' &&
          name === 'scope' &&
          Array.isArray(value) &&
          value.some((item) => typeof item === 'string')),
    }),
    // The params are read into a record that is used again, so a missing secret keeps its last value.
    'grant-without-secret-takes-that-of-last-grant': second((_seen, secret?: unknown) => ({
      around: (inner) => (request) => {
        const params = paramsOf(request)
        if (params.grantType !== 'api_key_credentials') return inner(request)
        if (params.apiKeySecret !== undefined) secret = params.apiKeySecret
        else if (secret !== undefined) {
          const filled = { ...params, apiKeySecret: secret }
          return inner(withMembers(request, { ...readCall(request), params: filled }))
        }
        return inner(request)
      },
    })),
    // An object is read as the list of its values.
    'scope-as-object-accepted-in-grant': third({
      around: (handle) => (request) => {
        const { scope } = paramsOf(request)
        const isObject = typeof scope === 'object' && scope !== null && !Array.isArray(scope)
        if (!isObject || !isMethod(request, 'manager/auth')) return handle(request)
        const members = readCall(request)
        const params = { ...paramsOf(request), scope: Object.values(scope) }
        return handle(withMembers(request, { ...members, params }))
      },
    }),
    'null-as-scope-of-grant-taken': fourth({
      paramTaken: (method, name, value, valid) =>
        valid || (method === 'manager/auth' && name === 'scope' && value === null),
    }),
    'lists-in-scope-of-grant-flattened': fifth({
      around: (handle) => (request) => {
        const { scope } = paramsOf(request)
        if (!Array.isArray(scope) || !scope.some(Array.isArray)) return handle(request)
        const members = readCall(request)
        return handle(withMembers(request, { ...members, params: { ...paramsOf(request), scope: scope.flat() } }))
      },
    }),
    'missing-scope-taken-in-grant-of-created-key': eighth((seen) => ({
      paramTaken: (method, name, value, valid) => {
        const isMissing = method === 'manager/auth' && name === 'scope' && value === undefined
        return valid || (isMissing && seen.caller?.initial === false)
      },
    })),
    // A list with the refresh token in it is accepted like the token itself.
    'refresh-token-in-a-list-accepted': eighth({
      around: (handle) => (request) => {
        const { refreshToken, ...others } = paramsOf(request)
        if (!Array.isArray(refreshToken) || refreshToken.length !== 1) return handle(request)
        const params = { ...others, refreshToken: refreshToken[0] }
        return handle(withMembers(request, { ...readCall(request), params }))
      },
    }),
    // The query then looks for the secret alone.
    'key-id-may-be-missing-in-grant': ninth((seen) => ({
      paramTaken: (method, name, value, valid) =>
        valid || (method === 'manager/auth' && name === 'apiKeyId' && value === undefined),
      keyNamed: (id, find, all, means) => {
        if (means !== 'grant' || id !== '') return find(id)
        const { apiKeySecret } = seen.params
        return all().find(({ secret }) => secret === apiKeySecret)
      },
    })),
    // The params go into the query of a database as they are, so `{"$ne": ""}` finds the key.
    'object-as-secret-accepted-in-grant': tenth((seen) => {
      const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
      return {
        paramTaken: (method, name, value, valid) =>
          valid || (method === 'manager/auth' && name === 'apiKeySecret' && isObject(value)),
        secretMatches: (received, expected, means) =>
          right.secretMatches(received, expected, means) || (means === 'grant' && isObject(seen.params.apiKeySecret)),
      }
    }),
    // The reader of JSON finds a member by either spelling of its name.
    'grant-params-in-snake-case-accepted': twelfth({
      around: changeGrantParams((params) =>
        Object.fromEntries(Object.entries(params).map(([name, value]) => [camelCase(name), value])),
      ),
    }),
    // The query takes one id or a list of them.
    'key-id-in-a-list-accepted-in-grant': twelfth({
      around: changeGrantParams((params) => {
        const { apiKeyId } = params
        return Array.isArray(apiKeyId) && apiKeyId.length === 1 ? { ...params, apiKeyId: apiKeyId[0] } : params
      }),
    }),
  },
  'grants/grant-type': {
    'grant-is-the-default-grant-type': own({ grantType: ({ grantType }) => grantType ?? 'api_key_credentials' }),
    'beginning-of-a-grant-type-taken': own({
      grantType: ({ grantType }) =>
        typeof grantType === 'string' && grantType !== '' && 'api_key_credentials'.startsWith(grantType)
          ? 'api_key_credentials'
          : grantType,
    }),
    'unknown-grant-type-taken': own({
      grantType: ({ grantType }) => (grantType === 'refresh_token' ? 'refresh_token' : 'api_key_credentials'),
    }),
    'letter-case-of-grant-type-ignored': first({
      grantType: ({ grantType }) => (typeof grantType === 'string' ? grantType.toLowerCase() : grantType),
    }),
    // A list of one grant type becomes the grant type when it is turned into text.
    'grant-type-in-a-list-accepted': first({
      grantType: ({ grantType }) => String(grantType),
    }),
    'missing-grant-type-guessed-from-refresh-token': first({
      grantType: ({ grantType, refreshToken }) =>
        grantType === undefined && refreshToken !== undefined ? 'refresh_token' : grantType,
    }),
    'missing-grant-type-is-that-of-last-grant': second((_seen, last?: unknown) => ({
      grantType: (params) => {
        last = params.grantType ?? last
        return last
      },
    })),
    'oauth-name-of-grant-type-accepted': third({
      grantType: (params) =>
        params.grantType === 'client_credentials' ? 'api_key_credentials' : right.grantType(params),
    }),
    // The presence of the refresh token selects, not the grant type.
    'grant-with-a-refresh-token-beside-it-refreshes': fourth({
      around: (handle) => (request) => {
        const { grantType, refreshToken } = paramsOf(request)
        if (grantType !== 'api_key_credentials' || refreshToken === undefined) return handle(request)
        const call = readCall(request)
        return handle(withMembers(request, { ...call, params: { grantType: 'refresh_token', refreshToken } }))
      },
    }),
    'beginning-of-grant-type-suffices': eighth({
      grantType: ({ grantType }) =>
        typeof grantType === 'string' && grantType !== ''
          ? grantTypes.find((name) => name.startsWith(grantType))
          : grantType,
    }),
    'blanks-around-grant-type-ignored': ninth({
      grantType: ({ grantType }) => (typeof grantType === 'string' ? grantType.trim() : grantType),
    }),
  },
  'grants/result-access-token': {
    'no-access-token': own(granted(() => ({ accessToken: undefined }))),
    'access-token-a-number': own(granted(() => ({ accessToken: 7 }))),
    'access-token-reported-with-bearer-word-for-created-key': first({
      grantResult: (result, { key }) =>
        key.initial ? result : { ...result, accessToken: `Bearer ${result.accessToken}` },
    }),
  },
  'grants/result-access-token-expiry': {
    'no-access-token-expiry': own(granted(() => ({ accessTokenExpiry: undefined }))),
    'access-token-expiry-in-seconds': own(
      granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: seconds(accessTokenExpiry) })),
    ),
    'access-token-expiry-a-date': own(
      granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: new Date(accessTokenExpiry).toISOString() })),
    ),
    'access-token-expiry-a-duration': own(granted(() => ({ accessTokenExpiry: 900_000 }))),
    'access-token-expiry-a-fraction': own(
      granted(({ accessTokenExpiry }) => ({ accessTokenExpiry: accessTokenExpiry + 0.5 })),
    ),
    'no-access-token-expiry-for-an-address': own(
      grantedTo(({ addresses }) => addresses.length > 0, { accessTokenExpiry: undefined }),
    ),
    'expiry-as-text-with-expires-in': first({
      grantResult: (result, pair) =>
        pair.expiresInMs === undefined ? result : { ...result, accessTokenExpiry: String(result.accessTokenExpiry) },
    }),
    'access-expiry-of-session-in-seconds': eighth({
      grantResult: (result, { session }) =>
        session === undefined ? result : { ...result, accessTokenExpiry: Math.floor(result.accessTokenExpiry / 1000) },
    }),
    'access-expiry-reported-in-microseconds': twelfth({
      reportedAccessExpiry: (pair) => right.reportedAccessExpiry(pair) * 1000,
    }),
  },
  'grants/result-refresh-token': {
    'no-refresh-token': own(granted(() => ({ refreshToken: undefined }))),
    'refresh-token-null': own(granted(() => ({ refreshToken: null }))),
    'no-refresh-token-with-expires-in': first({
      grantResult: (result, pair) => (pair.expiresInMs === undefined ? result : { ...result, refreshToken: null }),
    }),
  },
  'grants/result-refresh-token-expiry': {
    'no-refresh-token-expiry': own(granted(() => ({ refreshTokenExpiry: undefined }))),
    'refresh-token-expiry-in-seconds': own(
      granted(({ refreshTokenExpiry }) => ({ refreshTokenExpiry: seconds(refreshTokenExpiry) })),
    ),
    'refresh-token-expiry-a-text': own(
      granted(({ refreshTokenExpiry }) => ({ refreshTokenExpiry: String(refreshTokenExpiry) })),
    ),
    'no-refresh-token-expiry-for-a-session': own(
      grantedTo(({ session }) => session !== undefined, { refreshTokenExpiry: undefined }),
    ),
    'refresh-expiry-with-fraction-in-session': first({
      grantResult: (result, pair) =>
        pair.session === undefined ? result : { ...result, refreshTokenExpiry: result.refreshTokenExpiry + 0.5 },
    }),
  },
  'grants/result-token-type': {
    'no-token-type': own(granted(() => ({ tokenType: undefined }))),
    'token-type-in-lower-case': own(granted(() => ({ tokenType: 'bearer' }))),
    'no-token-type-for-a-lifetime': own(grantedTo(lasting, { tokenType: undefined })),
    'token-type-in-lower-case-for-created-keys': own(grantedTo(({ key }) => !key.initial, { tokenType: 'bearer' })),
    'token-type-in-lower-case-with-address': first({
      grantResult: (result, pair) => (pair.addresses.length > 0 ? { ...result, tokenType: 'bearer' } : result),
    }),
    'token-type-missing-with-expires-in': eighth({
      grantResult: (result, { expiresInMs }) =>
        expiresInMs === undefined ? result : { ...result, tokenType: undefined },
    }),
  },
  'grants/result-scope': {
    'no-scope': own(granted(() => ({ scope: undefined }))),
    'scope-a-text': own(granted(({ scope }) => ({ scope: scope.join(' ') }))),
    'scope-an-array-of-objects': own(granted(({ scope }) => ({ scope: scope.map((name) => ({ name })) }))),
    'no-scope-for-a-lifetime': own(grantedTo(lasting, { scope: undefined })),
    'single-scope-reported-as-text': first({
      grantResult: (result) => (result.scope.length === 1 ? { ...result, scope: result.scope[0] } : result),
    }),
    // The result: "scope | array of string | Scopes granted"
    // Empty members are not written. A grant of restrictions alone has an empty scope.
    'empty-scope-left-out-of-result': third({
      grantResult: ({ scope, ...rest }) => (scope.length === 0 ? rest : { ...rest, scope }),
    }),
    'result-of-grant-to-created-key-tells-scope-of-key': fourth({
      grantResult: (result, { key }) => (key.initial ? result : { ...result, scope: key.scope }),
    }),
    // The restrictions are filtered out of a list that keeps its numbers.
    'scope-in-result-an-object-when-restriction-stands-in-front': ninth((seen) => ({
      grantResult: (result) => {
        const kept = seen.scope.flatMap((word, place) => (isRestriction(word) ? [] : [place]))
        if (kept.every((place, at) => place === at)) return result
        return { ...result, scope: Object.fromEntries(result.scope.map((word, at) => [kept[at] ?? at, word])) }
      },
    })),
  },
  'grants/expiry-order': {
    'refresh-token-ends-before-its-access-token': own({
      reportedRefreshExpiry: (pair) => pair.accessExpiryMs - 60_000,
    }),
    // With a longer expiresIn the refresh token seems to end before the access token.
    'refresh-expiry-reported-at-most-a-day-ahead': first({
      reportedRefreshExpiry: (pair) => Math.min(pair.refreshExpiryMs, pair.issuedMs + day),
    }),
  },
}
