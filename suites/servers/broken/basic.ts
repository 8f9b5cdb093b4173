import type { MockAnswer, MockRequest } from '../../../mock-server/http-server.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { pairsOf } from '../../../mock-server/token-state.ts'
import {
  type Around,
  answerFor,
  answerThrough,
  type BrokenRows,
  type Change,
  chain,
  eighth,
  fifth,
  first,
  fourth,
  isAccepted,
  isMethod,
  meet,
  mergeInFlight,
  namedKeyId,
  ninth,
  own,
  readCall,
  readMembers,
  second,
  tenth,
  third,
  twelfth,
} from '../operators.ts'
import {
  firstKeyForUnknownIds,
  headerOrElse,
  ownParamsOf,
  secretsOfPublicKeysTaken,
  textIn,
  without,
  wrongSecretsTaken,
} from './changes.ts'

/** A caller that is refused at one of these stages is treated as the initial key. */
const forgiving = (...stages: string[]): Change => ({ forgives: (stage) => stages.includes(stage) })

function pairIn(text: string): { id: string; secret: string } | undefined {
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) }
}

const asBasic = (id: string | undefined, secret: string | undefined): string | undefined =>
  id !== undefined && secret !== undefined ? `Basic ${btoa(`${id}:${secret}`)}` : undefined

function withoutLineFeed(pair: ReturnType<typeof right.basicPair>): ReturnType<typeof right.basicPair> {
  return pair === undefined ? undefined : { ...pair, secret: pair.secret.replace(/\r?\n$/, '') }
}

/** Reads `%41` as `A`; a text with a broken escape stays as it is. */
function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const basicCredentials = (authorization = '') => authorization.replace(/^Basic /, '')

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

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
    'no-authorization-taken': own(forgiving('authorization/none')),
    'unknown-scheme-taken': own(forgiving('authorization/scheme')),
    'listing-open-to-all': own({
      authorizationRequired: (method) => method !== 'manager/auth' && method !== 'solution/listSolutions',
    }),
    'unreadable-signature-header-taken': own(forgiving('signature/fields', 'signature/timestamp')),
    'unreadable-credentials-taken': own(forgiving('basic/form', 'token/unknown')),
    'key-in-another-header-taken': own({
      headerOf: headerOrElse(({ headers }) => asBasic(headers['x-api-key-id'], headers['x-api-key'])),
    }),
    'key-in-params-taken': own({
      profile: { extraParams: 'ignored' },
      headerOf: headerOrElse((request) => {
        const params = ownParamsOf(request)
        return textIn(params, 'grantType') === undefined
          ? asBasic(textIn(params, 'apiKeyId'), textIn(params, 'apiKeySecret'))
          : undefined
      }),
    }),
    'empty-authorization-header-lets-in': first((seen) => ({
      forgives: (stage) => stage === 'authorization/none' && seen.request.headers.authorization === '',
    })),
    // A header with a scheme word that the server does not know is passed on as authorized.
    'unknown-scheme-lets-in': first({
      forgives: (stage) => stage === 'authorization/scheme',
    }),
    // After an authorized call, the next calls on the same connection need no Authorization header.
    'connection-stays-authorized': first((seen, connections = new Set<number>()) => ({
      meansTaken: () => {
        const { connection } = seen
        if (connection !== undefined) connections.add(connection)
        return true
      },
      forgives: (stage) => stage === 'authorization/none' && connections.has(seen.connection ?? 0),
    })),
    // For a second, a listing with the same body gets the same answer, whoever calls.
    'accepted-listing-cached-by-body': second(
      (_seen, answers = new Map<string, { untilMs: number; answer: MockAnswer }>()) => ({
        around: (handle, context) => {
          const inner = answerThrough((answer, request) => {
            const text = request.body.toString('utf8')
            if (isAccepted(answer)) answers.set(text, { untilMs: context.now() + 1000, answer })
            return answer
          })(handle, context)
          return (request) => {
            if (!isMethod(request, 'solution/listSolutions')) return handle(request)
            const kept = answers.get(request.body.toString('utf8'))
            return kept && context.now() < kept.untilMs ? answerFor(kept.answer, request) : inner(request)
          }
        },
      }),
    ),
    // "Three ways to authorize a call to a method": a header of that call, and a grant before it is not one of them
    'grant-authorizes-its-connection': fourth((seen, connections = new Set<number | undefined>()) => ({
      grantResult: (result) => {
        connections.add(seen.connection)
        return result
      },
      forgives: (stage) =>
        stage === 'authorization/none' && seen.connection !== undefined && connections.has(seen.connection),
    })),
    'scheme-word-without-credentials-lets-in': eighth((seen) => ({
      forgives: () => /^[A-Za-z]+ *$/.test(seen.request.headers.authorization ?? ''),
    })),
    // As other JSON-RPC services do it: `"auth": "<token>"` beside `method`.
    'token-in-auth-member-of-body-taken': ninth({
      headerOf: ({ headers, body }) => {
        const auth = headers.authorization ?? readMembers(body.toString('utf8'))?.auth
        return headers.authorization === undefined && typeof auth === 'string'
          ? `Bearer ${auth}`
          : headers.authorization
      },
    }),
    // The caller is kept in a variable of the server, and taken out when the call ends.
    'bare-call-beside-authorized-call-in-flight-let-in': tenth(
      (
        seen,
        memory = {
          flight: undefined as Promise<MockAnswer> | undefined,
          letIn: new WeakSet<MockRequest>(),
        },
      ) => {
        const wait: Around = (handle) => (request) => {
          if (request.headers.authorization !== undefined) {
            const flight = meet().then(() => handle(request))
            memory.flight = flight
            return flight.finally(() => {
              if (memory.flight === flight) memory.flight = undefined
            })
          }
          if (memory.flight === undefined) return handle(request)
          return memory.flight.then((answer) => {
            if (isAccepted(answer)) memory.letIn.add(request)
            return handle(request)
          })
        }
        return {
          around: wait,
          authorizationRequired: (method) => right.authorizationRequired(method) && !memory.letIn.has(seen.request),
        }
      },
    ),
    // The limit of failed calls answers by itself, with an empty result.
    'refusals-beyond-twelve-a-second-answered-with-result': twelfth((_seen, memory = { times: [] as number[] }) => {
      const limit = answerThrough((answer, request, context) => {
        const id = readCall(request).id
        if (isAccepted(answer) || id === undefined) return answer
        const nowMs = context.now()
        memory.times = [...memory.times.filter((ms) => nowMs - ms < 1_000), nowMs]
        if (memory.times.length <= 12) return answer
        const headers = { 'content-type': 'application/json' }
        return { status: 200, headers, body: JSON.stringify({ jsonrpc: right.answerVersion(), id, result: {} }) }
      })
      return {
        around: limit,
      }
    }),
  },
  'basic/credentials': {
    ...wrongSecretsTaken('basic', 'basic'),
    'basic-never-taken': own(without('basic', () => true)),
    // The text is split at every colon, so `id:secret:more` is accepted.
    'third-part-of-basic-credentials-ignored': first({
      basicPair: (encoded) => {
        const pair = right.basicPair(encoded)
        return pair && { id: pair.id, secret: pair.secret.split(':')[0] ?? '' }
      },
    }),
    // Full-width digits count as digits, because the secret is compared in its NFKC form.
    'secret-normalised-in-basic': first({
      secretMatches: (received, expected, means) =>
        right.secretMatches(means === 'basic' ? received.normalize('NFKC') : received, expected, means),
    }),
    'letter-case-of-secret-ignored-in-basic': first({
      secretMatches: (received, expected, means) =>
        means === 'basic'
          ? received.toLowerCase() === expected.toLowerCase()
          : right.secretMatches(received, expected, means),
    }),
    'empty-secret-accepted-in-basic': first({
      secretMatches: (received, expected, means) =>
        (means === 'basic' && !received) || right.secretMatches(received, expected, means),
    }),
    'key-id-accepted-as-secret-in-basic': first({
      secretsOf: (key, _all, means) => (means === 'basic' ? [key.secret, key.id] : [key.secret]),
    }),
    'secret-of-key-with-same-name-accepted-in-basic': first({
      secretsOf: (key, all, means) =>
        means === 'basic'
          ? all()
              .filter(({ name }) => name === key.name)
              .map(({ secret }) => secret)
          : [key.secret],
    }),
    'refresh-token-accepted-as-secret-in-basic': first((seen) => ({
      secretsOf: (key, _all, means) => {
        if (means !== 'basic') return [key.secret]
        const tokens = [...seen.context.state.tokens.values()]
        const own = tokens.filter(({ kind, pair }) => kind === 'refresh' && pair.key === key)
        return [key.secret, ...own.map(({ text }) => text)]
      },
    })),
    // manager/createApiKey compares only the first 24 characters of the secret in Basic credentials.
    'secret-behind-24-characters-ignored-on-key-creation': first((seen) => ({
      secretMatches: (received, expected, means) =>
        means === 'basic' && seen.bodyHas('manager/createApiKey')
          ? received.slice(0, 24) === expected.slice(0, 24)
          : right.secretMatches(received, expected, means),
    })),
    // The counter of wrong secrets of a key wraps after eight.
    'ninth-wrong-secret-lets-in': first((_seen, wrong = new Map<string, number>()) => ({
      secretMatches: (received, expected, means) => {
        if (right.secretMatches(received, expected, means)) return true
        if (means !== 'basic') return false
        const count = ((wrong.get(expected) ?? 0) + 1) % 9
        wrong.set(expected, count)
        return count === 0
      },
    })),
    // Within a second of a right secret of a key, any secret is accepted for it.
    'basic-secret-checked-once-a-second': first((seen, rightMs = new Map<string, number>()) => ({
      secretMatches: (received, expected, means) => {
        const matches = right.secretMatches(received, expected, means)
        if (means !== 'basic') return matches
        if (matches) rightMs.set(expected, seen.nowMs)
        return matches || seen.nowMs - (rightMs.get(expected) ?? Number.NEGATIVE_INFINITY) < 1000
      },
    })),
    'wrong-secret-on-authorized-connection-lets-in': first((seen, connections = new Set<number>()) => ({
      meansTaken: () => {
        const { connection } = seen
        if (connection !== undefined) connections.add(connection)
        return true
      },
      forgives: (stage) => stage === 'basic/secret' && connections.has(seen.connection ?? 0),
    })),
    // After an accepted call, the first 64 characters of its credentials are enough.
    'basic-cache-looks-at-64-characters': second((seen, accepted = new Set<string>()) => ({
      secretMatches: (received, expected, means) => {
        const isRight = right.secretMatches(received, expected, means)
        if (means !== 'basic') return isRight
        const start = basicCredentials(seen.request.headers.authorization).slice(0, 64)
        if (isRight) accepted.add(start)
        return accepted.has(start)
      },
    })),
    // The password may be a valid access token of the key, and then has all the scope of the key.
    'access-token-accepted-as-basic-secret': second((seen) => ({
      secretsOf: (key, _all, means) => {
        const shown = right.basicPair(basicCredentials(seen.request.headers.authorization))?.secret ?? ''
        const token = means === 'basic' ? seen.context.state.tokens.get(shown) : undefined
        const isValid = token?.kind === 'access' && token.pair.key === key && !token.pair.accessRevoked
        return isValid ? [key.secret, shown] : [key.secret]
      },
    })),
    // "Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>" authorizes calls, whatever else the key was used for
    'basic-refused-after-tokens-of-key-were-refreshed': third((_seen, keys = new Set<string>()) => ({
      refreshResult: (result, old) => {
        keys.add(old.key.id)
        return result
      },
      secretTakenFor: (key, means) => right.secretTakenFor(key, means) && !(means === 'basic' && keys.has(key.id)),
    })),
    // Equal calls of one key that arrive together are answered once, even if their secrets differ.
    'basic-calls-in-flight-merged-by-key-id': third({
      around: mergeInFlight((request) => {
        if (!request.headers.authorization?.startsWith('Basic ')) return undefined
        const { method, params } = readCall(request) ?? {}
        return JSON.stringify([namedKeyId(request), method, params])
      }),
    }),
    'colons-in-front-of-secret-skipped-in-basic': third({
      basicPair: (encoded) => {
        const pair = right.basicPair(encoded)
        return pair && { id: pair.id, secret: pair.secret.replace(/^:+/, '') }
      },
    }),
    // The comparison in constant time adds the differences up with an exclusive or, so that they may cancel.
    'swapped-letters-of-secret-accepted-in-basic': third({
      secretMatches: (received, expected, means) =>
        means === 'basic' ? sameByExclusiveOr(received, expected) : right.secretMatches(received, expected, means),
    }),
    // The credentials are parsed like those in a URL.
    'percent-escapes-in-basic-credentials-decoded': fourth({
      secretMatches: (received, expected, means) =>
        right.secretMatches(received, expected, means) ||
        (means === 'basic' && right.secretMatches(decodeEscapes(received), expected, means)),
    }),
    // A caller who comes often is found in a cache by the id and the first half of the secret.
    'basic-secret-compared-by-its-half-after-five-right-ones': fourth(
      (_seen, keptTimes = new Map<string, number>()) => ({
        secretMatches: (received, expected, means) => {
          const isRight = right.secretMatches(received, expected, means)
          if (means !== 'basic') return isRight
          const times = keptTimes.get(expected) ?? 0
          if (isRight) keptTimes.set(expected, times + 1)
          return isRight || (times >= 5 && received.startsWith(expected.slice(0, expected.length / 2)))
        },
      }),
    ),
    'text-in-front-of-secret-ignored-in-basic': fifth({
      secretMatches: (received, expected, means) =>
        means === 'basic' ? received.endsWith(expected) : right.secretMatches(received, expected, means),
    }),
    // "BASE64(<api_key_id>:<api_key_secret>)", in this order
    'secret-before-key-id-accepted-in-basic': fifth((seen) => ({
      basicPair: (encoded) => {
        const pair = right.basicPair(encoded)
        return pair && seen.context.state.keys.has(pair.secret) ? { id: pair.secret, secret: pair.id } : pair
      },
    })),
    // "BASE64(<api_key_id>:<api_key_secret>)": the secret of this key
    'secret-of-creator-accepted-in-basic-for-key-made-by-created-key': fifth(
      (seen, creators = new Map<string, ApiKey>()) => ({
        storedKey: (key) => {
          const creator = seen.caller
          if (creator?.initial === false) creators.set(key.id, creator)
          return key
        },
        secretsOf: ({ id, secret }, _all, means) => [
          secret,
          ...(means === 'basic' ? [creators.get(id)?.secret ?? secret] : []),
        ],
      }),
    ),
    'line-feed-behind-secret-ignored-in-basic': eighth({
      basicPair: (encoded) => withoutLineFeed(right.basicPair(encoded)),
    }),
    // A key that has just proved its secret in a grant is known for five seconds.
    'wrong-secret-accepted-in-basic-just-after-grant-of-its-key': eighth(
      (seen, keptGrantedMs = new Map<string, number>()) => ({
        grantResult: (result, { key }) => {
          keptGrantedMs.set(key.id, seen.nowMs)
          return result
        },
        secretMatches: (received, expected, means) => {
          const grantedMs = keptGrantedMs.get(namedKeyId(seen.request) ?? '')
          const isKnown = means === 'basic' && grantedMs !== undefined && seen.nowMs < grantedMs + 5000
          return isKnown || right.secretMatches(received, expected, means)
        },
      }),
    ),
    // It compares with the end of the secret that it keeps for display.
    'first-half-of-secret-not-compared-in-basic': ninth({
      secretMatches: (received, expected, means) => {
        if (means === 'grant') return right.secretMatches(received, expected, means)
        const half = expected.length / 2
        return received.length === expected.length && received.slice(half) === expected.slice(half)
      },
    }),
    // "Callers prove their identity with an API key (by signature or by credentials)": sessions do not change that
    'created-key-takes-no-basic-while-it-has-a-session': ninth((seen) => ({
      secretTakenFor: (key, means) => {
        if (key.initial || means === 'grant') return right.secretTakenFor(key, means)
        const hasSession = pairsOf(seen.context).some(
          ({ key: owner, session }) => owner === key && session?.removed === false,
        )
        return right.secretTakenFor(key, means) && !hasSession
      },
    })),
    // The condition lacks brackets: initial, or of this id and with this secret.
    'secret-of-any-created-key-opens-basic-of-initial-key': tenth({
      secretsOf: (key, all, means) =>
        key.initial && means === 'basic'
          ? all().flatMap(({ publicKey, deleted, secret }) => (publicKey === undefined && !deleted ? [secret] : []))
          : [key.secret],
    }),
    // Answers to a call that is sent again come from a memory, which holds refusals only.
    'refusal-kept-for-its-id-on-connection': tenth((_seen, refusals = new Map<string, MockAnswer>()) => {
      const placeOf = (body: Buffer, connection: number | undefined) => {
        const id = readMembers(body.toString('utf8'))?.id
        return connection === undefined || typeof id !== 'number' ? undefined : `${connection} ${id}`
      }
      const repeat: Around = (handle) => (request) => {
        const known = refusals.get(placeOf(request.body, request.connection) ?? '')
        return known === undefined ? handle(request) : { ...known, headers: { ...known.headers } }
      }
      const note = answerThrough((answer, { body, connection }) => {
        const place = placeOf(body, connection)
        if (place !== undefined && !isAccepted(answer)) refusals.set(place, answer)
        return answer
      })
      return {
        around: chain(note, repeat),
      }
    }),
    // The comparison of the database pads the shorter text with blanks.
    'blanks-behind-secret-ignored-in-basic': twelfth({
      secretMatches: (received, expected, means) =>
        right.secretMatches(means === 'basic' ? received.replace(/ +$/, '') : received, expected, means),
    }),
    // Calls with a public key are left to the check of signatures, which sees no signature.
    'creation-with-public-key-needs-no-secret-in-basic': twelfth((seen) => ({
      secretMatches: (received, expected, means) =>
        right.secretMatches(received, expected, means) ||
        (means === 'basic' && seen.method === 'manager/createApiKey' && seen.params.publicKey !== undefined),
    })),
  },
  'basic/key-id': {
    'basic-unknown-id-is-the-first-key': own(firstKeyForUnknownIds('basic')),
    'key-id-ends-at-nul-in-basic': first({
      keyNamed: (id, find, all, means) =>
        right.keyNamed(means === 'basic' ? (id.split('\0')[0] ?? '') : id, find, all, means),
    }),
    'letter-case-of-key-id-ignored-in-basic': first({
      keyNamed: (id, find, all, means) =>
        means === 'basic' ? all().find((key) => key.id.toLowerCase() === id.toLowerCase()) : find(id),
    }),
    // "<api_key_id>": that of an existing key
    'unknown-key-id-in-basic-means-key-of-last-call': eighth((_seen, last?: string) => ({
      keyNamed: (id, find, _all, means) => {
        const key = find(id)
        if (means !== 'basic') return key
        if (key !== undefined) last = key.id
        return key ?? find(last ?? '')
      },
    })),
    // "`Authorization: Basic <BASE64(<api_key_id>:<api_key_secret>)>`": the id, and no label
    'key-name-accepted-as-id-in-basic': ninth({
      keyNamed: (id, find, all, means) =>
        find(id) ?? (means === 'basic' ? all().find(({ name }) => name === id) : undefined),
    }),
    // For clients that can send nothing but a user name and a password.
    'access-token-as-user-of-basic-accepted': twelfth({
      around: (handle, context) => (request) => {
        const [, encoded = ''] = /^Basic (.*)$/.exec(request.headers.authorization ?? '') ?? []
        const user = Buffer.from(encoded, 'base64').toString('utf8').split(':')[0] ?? ''
        if (context.state.tokens.get(user)?.kind !== 'access') return handle(request)
        return handle({ ...request, headers: { ...request.headers, authorization: `Bearer ${user}` } })
      },
    }),
  },
  'basic/malformed': {
    'basic-junk-in-base64-skipped': own({ basicPair: (encoded) => pairIn(Buffer.from(encoded, 'base64').toString()) }),
    'basic-plain-text-taken': own({ basicPair: (encoded) => right.basicPair(encoded) ?? pairIn(encoded) }),
    'basic-without-colon-taken': own({
      basicPair: (encoded) => {
        const text = Buffer.from(encoded, 'base64').toString()
        return right.basicPair(encoded) ?? { id: text.slice(0, 32), secret: text.slice(32) }
      },
    }),
    'basic-malformed-is-the-initial-key': own(forgiving('basic/form')),
    'text-behind-basic-credentials-ignored': first({
      basicPair: (encoded) => right.basicPair(encoded.split(/[ ,]/)[0] ?? ''),
    }),
    'basic-credentials-in-plain-text-accepted': first({
      basicPair: (encoded) => {
        const [id, secret] = encoded.split(':')
        return id !== undefined && secret !== undefined ? { id, secret } : right.basicPair(encoded)
      },
    }),
    // BASE64 of BASE64 is decoded until there is a colon.
    'basic-credentials-decoded-twice': first({
      basicPair: (encoded) =>
        right.basicPair(encoded) ?? right.basicPair(Buffer.from(encoded, 'base64').toString('latin1')),
    }),
    // A header with commas is read as several headers that a proxy has joined.
    'last-of-several-basic-credentials-taken': fourth({
      basicPair: (encoded) => right.basicPair(encoded.split(', Basic ').at(-1) ?? ''),
    }),
    // The fields are split like those of a signature.
    'semicolon-for-colon-accepted-in-basic': tenth({
      basicPair: (encoded) => {
        const text = Buffer.from(encoded, 'base64').toString('utf8')
        return right.basicPair(encoded) ?? right.basicPair(toBase64(text.replace(';', ':')))
      },
    }),
  },
  'basic/public-key-refused': {
    ...secretsOfPublicKeysTaken('basic', 'basic'),
    // Basic credentials of a key with a public key let in to manager/createApiKey.
    'public-key-secret-accepted-on-key-creation': first((seen) => ({
      secretTakenFor: (key, means) =>
        right.secretTakenFor(key, means) || (means === 'basic' && seen.bodyHas('manager/createApiKey')),
    })),
    // Basic looks for the key in a cache that accepted ECC signatures fill, and does not look at its kind there.
    'ecc-signature-opens-basic-for-its-key': second((_seen, signers = new Set<string>()) => {
      const note = answerThrough((answer, request) => {
        const id = namedKeyId(request)
        if (id !== undefined && request.headers.authorization?.includes(';') && isAccepted(answer)) signers.add(id)
        return answer
      })
      return {
        around: (handle, context) => note(handle, context),
        secretTakenFor: (key, means) => right.secretTakenFor(key, means) || (means === 'basic' && signers.has(key.id)),
      }
    }),
    // The first signature activates the public key.
    'public-key-takes-basic-until-its-first-signature': fourth((seen, active = new Set<string>()) => ({
      meansTaken: (means) => {
        const key = seen.caller
        if (means === 'ecc' && key !== undefined) active.add(key.id)
        return true
      },
      secretTakenFor: (key, means) => right.secretTakenFor(key, means) || (means === 'basic' && !active.has(key.id)),
    })),
    'basic-accepted-for-public-key-without-apikey-scope': fifth({
      secretTakenFor: (key, means) =>
        right.secretTakenFor(key, means) || (means === 'basic' && !key.scope.some((word) => /^apikey$/i.test(word))),
    }),
    'public-key-created-in-session-takes-basic': eighth((seen, made = new Set<string>()) => ({
      storedKey: (key) => {
        if (seen.pair?.session !== undefined) made.add(key.id)
        return key
      },
      secretTakenFor: (key, means) => right.secretTakenFor(key, means) || (means === 'basic' && made.has(key.id)),
    })),
    'basic-accepted-for-public-key-on-connection-of-its-signature': eighth((seen, keptSigned = new Set<string>()) => ({
      around: (inner) => async (request) => {
        const signer = inner(request)
        const signed = seen.byPublicKey ? seen.caller?.id : undefined
        const answer = await signer
        if (signed !== undefined && isAccepted(answer)) keptSigned.add(`${request.connection}/${signed}`)
        return answer
      },
      secretTakenFor: (key, means) => {
        const { connection } = seen
        const isKnown = connection !== undefined && keptSigned.has(`${connection}/${key.id}`)
        return right.secretTakenFor(key, means) || (means === 'basic' && isKnown)
      },
    })),
  },
}
