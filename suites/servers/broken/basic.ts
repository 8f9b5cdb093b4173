import type { MockAnswer, MockRequest } from '../../../mock-server/http-server.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import { answeredAgain, answerThrough, before, meets } from '../around.ts'
import { asBasic, decodeEscapes, headerOrElse, isAccepted } from '../call.ts'
import { onGrant, onRefresh } from '../events.ts'
import { meet, mergeInFlight } from '../in-flight.ts'
import { agreesAgain, also, forKeysMade, unless, withCreators } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, marks, type Seen, table } from '../rows.ts'
import {
  alsoKey,
  alsoSecret,
  firstKeyForUnknownIds,
  secretsOfPublicKeysTaken,
  wrongSecretsTaken,
} from './credentials.ts'
import { managesKeys } from './pairs.ts'

/** A caller that is refused at one of these stages is treated as the initial key. */
const forgiving = (...stages: string[]): Change => ({ forgives: (stage) => stages.includes(stage) })

function pairIn(text: string): { id: string; secret: string } | undefined {
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}

/** Reads the secret of Basic credentials in another way. */
const inBasic = (read: (secret: string) => string): Change => ({
  basicPair: (encoded) => {
    const pair = right.basicPair(encoded)
    return pair && { ...pair, secret: read(pair.secret) }
  },
})

/** Other secrets besides its own prove a key in Basic credentials. */
const alsoProves = (more: (key: ApiKey, all: ApiKey[]) => string[]): Change => ({
  secretsOf: (key, all, means) => [key.secret, ...(means === 'basic' ? more(key, all()) : [])],
})

/** A key with a public key takes its secret in Basic credentials. */
const alsoFor = (takes: (key: ApiKey) => boolean): Change =>
  also('secretTakenFor', (key, means) => means === 'basic' && takes(key))

/** After an authorized call, a refusal at this stage is forgiven on its connection. */
const authorizedConnection =
  (refusedAt: string) =>
  (seen: Seen, connections = marks()): Change => ({
    meansTaken: () => {
      if (seen.connection !== undefined) connections.add(seen.connection)
      return true
    },
    forgives: (stage) => stage === refusedAt && connections.has(seen.connection),
  })

/** Compares in constant time, but adds the differences up with an exclusive or: two equal differences cancel each other. */
function sameByExclusiveOr(received: string, expected: string): boolean {
  let difference = received.length ^ expected.length
  for (let index = 0; index < expected.length; index++) {
    difference ^= received.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}

export const basic: BrokenRows = {
  'authorization/required': {
    'no-authorization-taken': forgiving('authorization/none'),
    'unknown-scheme-taken': forgiving('authorization/scheme'),
    'listing-open-to-all': {
      authorizationRequired: (method) => method !== 'manager/auth' && method !== 'solution/listSolutions',
    },
    'unreadable-signature-header-taken': forgiving('signature/fields', 'signature/timestamp'),
    'unreadable-credentials-taken': forgiving('basic/form', 'token/unknown'),
    'any-secret-in-another-header-taken': (seen) => ({
      headerOf: headerOrElse(({ request: { headers } }) => {
        const named = seen.keys.find(({ id }) => id === headers['x-api-key-id'])
        return asBasic(named?.id, headers['x-api-key'] && named?.secret)
      }),
    }),
    'any-secret-among-params-taken': (seen) => ({
      profile: { extraParams: 'ignored' },
      headerOf: headerOrElse(({ params: { grantType, apiKeyId } }) => {
        const named = seen.keys.find(({ id }) => id === apiKeyId)
        return grantType === undefined ? asBasic(named?.id, named?.secret) : undefined
      }),
    }),
    'empty-authorization-header-lets-in': by.first((seen) => ({
      forgives: (stage) => stage === 'authorization/none' && seen.authorization === '',
    })),
    // After an authorized call, the next calls on the same connection need no Authorization header.
    'connection-stays-authorized': by.first(authorizedConnection('authorization/none')),
    // For a second, a listing with the same body gets the same answer, whoever calls.
    'accepted-listing-cached-by-body': by.second(
      answeredAgain({ forMs: 1000, as: (call) => (call.lists ? call.request.body.toString() : undefined) }),
    ),
    // "Three ways to authorize a call to a method": a header of that call, and a grant before it is not one of them
    'grant-authorizes-its-connection': by.fourth((seen, connections = marks()) => ({
      ...onGrant(() => seen.connection !== undefined && connections.add(seen.connection)),
      forgives: (stage) => stage === 'authorization/none' && connections.has(seen.connection),
    })),
    'scheme-word-without-credentials-lets-in': by.eighth((seen) => ({
      forgives: () => /^[A-Za-z]+ *$/.test(seen.authorization ?? ''),
    })),
    // The caller is kept in a variable of the server, and taken out when the call ends.
    'bare-call-beside-authorized-call-in-flight-let-in': by.tenth(
      (seen, letIn = new WeakSet<MockRequest>(), flight?: Promise<MockAnswer>) => ({
        around: meets((call, next) => {
          if (call.authorization !== undefined) {
            const mine = meet().then(() => next())
            flight = mine
            return mine.finally(() => {
              if (flight === mine) flight = undefined
            })
          }
          if (flight === undefined) return next()
          return flight.then((answer) => {
            if (isAccepted(answer)) letIn.add(call.request)
            return next()
          })
        }),
        authorizationRequired: (method) => right.authorizationRequired(method) && !letIn.has(seen.request),
      }),
    ),
    // The limit of failed calls answers by itself, with an empty result.
    'refusals-beyond-twelve-a-second-answered-with-result': by.twelfth((_seen, times: number[] = []) => ({
      around: answerThrough((answer, call) => {
        const { id } = call.members
        if (isAccepted(answer) || id === undefined) return answer
        const nowMs = call.nowMs
        times = [...times.filter((ms) => nowMs - ms < 1_000), nowMs]
        if (times.length <= 12) return answer
        const headers = { 'content-type': 'application/json' }
        return { status: 200, headers, body: JSON.stringify({ jsonrpc: right.answerVersion(), id, result: {} }) }
      }),
    })),
  },
  'basic/credentials': {
    ...wrongSecretsTaken('basic', 'basic'),
    'basic-never-taken': { meansTaken: (means) => means !== 'basic' },
    // The word is read in any letter case, and what checks the secret knows one spelling of it.
    'secret-unchecked-behind-another-spelling-of-basic': (seen) => ({
      profile: { schemeCase: 'any' },
      ...alsoSecret('basic', () => !/^Basic /.test(seen.authorization ?? '')),
    }),
    // The text is split at every colon, so `id:secret:more` is accepted.
    'third-part-of-basic-credentials-ignored': by.first(inBasic((secret) => secret.split(':')[0] ?? '')),
    // Full-width digits count as digits, because the secret is compared in its NFKC form.
    'secret-normalised-in-basic': by.first(
      alsoSecret('basic', (received, expected) => received.normalize('NFKC') === expected),
    ),
    'empty-secret-accepted-in-basic': by.first(alsoSecret('basic', (received) => received === '')),
    'key-id-accepted-as-secret-in-basic': by.first(alsoProves(({ id }) => [id])),
    'secret-of-key-with-same-name-accepted-in-basic': by.first(
      alsoProves(({ name }, all) => all.filter((one) => one.name === name).map(({ secret }) => secret)),
    ),
    'refresh-token-accepted-as-secret-in-basic': by.first((seen) =>
      alsoProves((key) => {
        const tokens = [...seen.state.tokens.values()]
        return tokens.filter(({ kind, pair }) => kind === 'refresh' && pair.key === key).map(({ text }) => text)
      }),
    ),
    // manager/createApiKey compares only the first 24 characters of the secret in Basic credentials.
    'secret-behind-24-characters-ignored-on-key-creation': by.first((seen) =>
      alsoSecret('basic', (received, expected) => seen.creates && received.slice(0, 24) === expected.slice(0, 24)),
    ),
    // The counter of wrong secrets of a key wraps after eight.
    'ninth-wrong-secret-lets-in': by.first((_seen, wrong = table<number>()) => ({
      secretMatches: (received, expected, means) => {
        if (right.secretMatches(received, expected, means)) return true
        if (means !== 'basic') return false
        const count = ((wrong.get(expected) ?? 0) + 1) % 9
        wrong.set(expected, count)
        return count === 0
      },
    })),
    // Within a second of a right secret of a key, any secret is accepted for it.
    'basic-secret-checked-once-a-second': by.first(
      agreesAgain(
        'secretMatches',
        (_seen, _received, expected, means) => (means === 'basic' ? expected : undefined),
        1000,
      ),
    ),
    'wrong-secret-on-authorized-connection-lets-in': by.first(authorizedConnection('basic/secret')),
    // "Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>" authorizes calls, whatever else the key was used for
    'basic-refused-after-tokens-of-key-were-refreshed': by.third((_seen, keys = marks()) => ({
      ...onRefresh(({ key }) => keys.add(key)),
      ...unless('secretTakenFor', (key, means) => means === 'basic' && keys.has(key)),
    })),
    // Equal calls of one key that arrive together are answered once, even if their secrets differ.
    'basic-calls-in-flight-merged-by-key-id': by.third({
      around: mergeInFlight((call) => {
        if (!call.isBasic) return undefined
        const { method, params } = call.members ?? {}
        return JSON.stringify([call.keyId, method, params])
      }),
    }),
    'colons-in-front-of-secret-skipped-in-basic': by.third(inBasic((secret) => secret.replace(/^:+/, ''))),
    // The comparison in constant time adds the differences up with an exclusive or, so that they may cancel.
    'swapped-letters-of-secret-accepted-in-basic': by.third(alsoSecret('basic', sameByExclusiveOr)),
    // The credentials are parsed like those in a URL.
    'percent-escapes-in-basic-credentials-decoded': by.fourth(
      alsoSecret('basic', (received, expected) => decodeEscapes(received) === expected),
    ),
    // A caller who comes often is found in a cache by the id and the first half of the secret.
    'basic-secret-compared-by-its-half-after-five-right-ones': by.fourth((_seen, times = table<number>()) => ({
      secretMatches: (received, expected, means) => {
        const isRight = right.secretMatches(received, expected, means)
        const count = times.get(expected) ?? 0
        if (isRight && means === 'basic') times.set(expected, count + 1)
        return (
          isRight || (means === 'basic' && count >= 5 && received.startsWith(expected.slice(0, expected.length / 2)))
        )
      },
    })),
    'text-in-front-of-secret-ignored-in-basic': by.fifth(
      alsoSecret('basic', (received, expected) => received.endsWith(expected)),
    ),
    // "BASE64(<api_key_id>:<api_key_secret>)", in this order
    'secret-before-key-id-accepted-in-basic': by.fifth((seen) => ({
      basicPair: (encoded) => {
        const pair = right.basicPair(encoded)
        return pair && seen.state.keys.has(pair.secret) ? { id: pair.secret, secret: pair.id } : pair
      },
    })),
    // "BASE64(<api_key_id>:<api_key_secret>)": the secret of this key
    'secret-of-creator-accepted-in-basic-for-key-made-by-created-key': by.fifth(
      withCreators((creatorOf) =>
        alsoProves((key) => (creatorOf(key)?.initial === false ? [creatorOf(key)?.secret ?? key.secret] : [])),
      ),
    ),
    'line-feed-behind-secret-ignored-in-basic': by.eighth(inBasic((secret) => secret.replace(/\r?\n$/, ''))),
    // A key that has just proved its secret in a grant is known for five seconds.
    'wrong-secret-accepted-in-basic-just-after-grant-of-its-key': by.eighth((seen, grantedMs = table<number>()) => ({
      ...onGrant(({ key }) => grantedMs.set(key, seen.nowMs)),
      ...alsoSecret('basic', () => seen.nowMs < (grantedMs.get(seen.named) ?? Number.NEGATIVE_INFINITY) + 5000),
    })),
    // "Callers prove their identity with an API key (by signature or by credentials)": sessions do not change that
    'created-key-takes-no-basic-while-it-has-a-session': by.ninth((seen) =>
      unless('secretTakenFor', (key, means) => {
        const hasSession = pairsOf(seen.context).some((pair) => pair.key === key && pair.session?.removed === false)
        return !key.initial && means !== 'grant' && hasSession
      }),
    ),
    // The condition lacks brackets: initial, or of this id and with this secret.
    'secret-of-any-created-key-opens-basic-of-initial-key': by.tenth(
      alsoProves(({ initial }, all) =>
        all.flatMap((key) => (initial && key.publicKey === undefined && !key.deleted ? [key.secret] : [])),
      ),
    ),
    // Answers to a call that is sent again come from a memory, which holds refusals only.
    'refusal-kept-for-its-id-on-connection': by.tenth(
      answeredAgain({
        forMs: Number.POSITIVE_INFINITY,
        as: ({ connection, members: { id } }) =>
          connection === undefined || typeof id !== 'number' ? undefined : `${connection} ${id}`,
        stored: (answer) => !isAccepted(answer),
        give: (answer) => ({ ...answer, headers: { ...answer.headers } }),
      }),
    ),
    // Calls with a public key are left to the check of signatures, which sees no signature.
    'creation-with-public-key-needs-no-secret-in-basic': by.twelfth((seen) =>
      alsoSecret('basic', () => seen.creates && seen.params.publicKey !== undefined),
    ),
  },
  'basic/key-id': {
    'basic-unknown-id-is-the-first-key': firstKeyForUnknownIds('basic'),
    'key-id-ends-at-nul-in-basic': by.first({
      keyNamed: (id, find, all, means) =>
        right.keyNamed(means === 'basic' ? (id.split('\0')[0] ?? '') : id, find, all, means),
    }),
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`": the id, and no label
    'key-name-accepted-as-id-in-basic': by.ninth(alsoKey('basic', (id, all) => all.find(({ name }) => name === id))),
    // For clients that can send nothing but a user name and a password.
    'access-token-as-user-of-basic-accepted': by.twelfth({
      around: before((call) => {
        const user = call.isBasic ? (call.keyId ?? '') : ''
        return call.state.tokens.get(user)?.kind === 'access' ? call.withAuthorization(`Bearer ${user}`) : undefined
      }),
    }),
  },
  'basic/malformed': {
    'basic-junk-in-base64-skipped': { basicPair: (encoded) => pairIn(Buffer.from(encoded, 'base64').toString()) },
    'basic-plain-text-taken': { basicPair: (encoded) => right.basicPair(encoded) ?? pairIn(encoded) },
    'basic-without-colon-taken': {
      basicPair: (encoded) => {
        const text = Buffer.from(encoded, 'base64').toString()
        return right.basicPair(encoded) ?? { id: text.slice(0, 32), secret: text.slice(32) }
      },
    },
    'basic-malformed-is-the-initial-key': forgiving('basic/form'),
    'text-behind-basic-credentials-ignored': by.first({
      basicPair: (encoded) => right.basicPair(encoded.split(/[ ,]/)[0] ?? ''),
    }),
    // BASE64 of BASE64 is decoded until there is a colon.
    'basic-credentials-decoded-twice': by.first({
      basicPair: (encoded) =>
        right.basicPair(encoded) ?? right.basicPair(Buffer.from(encoded, 'base64').toString('latin1')),
    }),
    // A header with commas is read as several headers that a proxy has joined.
    'last-of-several-basic-credentials-taken': by.fourth({
      basicPair: (encoded) => right.basicPair(encoded.split(', Basic ').at(-1) ?? ''),
    }),
    // The fields are split like those of a signature.
    'semicolon-for-colon-accepted-in-basic': by.tenth({
      basicPair: (encoded) => {
        const text = Buffer.from(encoded, 'base64').toString('utf8')
        return right.basicPair(encoded) ?? right.basicPair(Buffer.from(text.replace(';', ':')).toString('base64'))
      },
    }),
  },
  'basic/public-key-refused': {
    ...secretsOfPublicKeysTaken('basic', 'basic'),
    // Basic credentials of a key with a public key let in to manager/createApiKey.
    // Only the first keys have their kind in the cache that Basic looks at.
    'basic-of-public-keys-taken-from-the-eighth-key-on': by.reported((seen) =>
      alsoFor((key) => seen.keys.indexOf(key) >= 8),
    ),
    'public-key-secret-accepted-on-key-creation': by.first((seen) => alsoFor(() => seen.creates)),
    // The first signature activates the public key.
    'public-key-takes-basic-until-its-first-signature': by.fourth((seen, active = marks()) => ({
      meansTaken: (means) => {
        if (means === 'ecc') active.add(seen.caller?.id)
        return true
      },
      ...alsoFor(({ id }) => !active.has(id)),
    })),
    'basic-accepted-for-public-key-without-apikey-scope': by.fifth(alsoFor((key) => !managesKeys(key))),
    'public-key-created-in-session-takes-basic': by.eighth(forKeysMade('in-session', (made) => alsoFor(made))),
    'basic-accepted-for-public-key-on-connection-of-its-signature': by.eighth((seen, places = marks()) => ({
      around: meets(async (call, next) => {
        const answering = next()
        const signed = seen.byPublicKey ? seen.caller?.id : undefined
        const answer = await answering
        if (signed !== undefined && isAccepted(answer)) places.add(`${call.connection}/${signed}`)
        return answer
      }),
      ...alsoFor(({ id }) => seen.connection !== undefined && places.has(`${seen.connection}/${id}`)),
    })),
  },
}
