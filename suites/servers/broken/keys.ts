import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { makeKey } from '../../../mock-server/context.ts'
import { readPublicKey } from '../../../mock-server/encoding.ts'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey, Means, Session, TokenPair } from '../../../mock-server/state.ts'
import { meets } from '../around.ts'
import { type Members, readMembers } from '../call.ts'
import { afterCalls, onAccepted, onNewKey } from '../events.ts'
import { batches, meet, meeting } from '../in-flight.ts'
import { also, forKeysMade, unless } from '../replaced-rules.ts'
import {
  type BrokenRows,
  by,
  type Change,
  counts,
  day,
  each,
  firsts,
  marks,
  type Seen,
  seconds,
  table,
} from '../rows.ts'
import { creating, forgivesOnCreation, without } from './credentials.ts'
import { managesKeys, ofRefresh, shows, withAddress, withLifetime } from './pairs.ts'

/** Accepts public keys other than ED25519 ones in PEM form. */
const alsoKeys = (limits: Parameters<typeof readPublicKey>[1]): Change => ({
  publicKey: (pem, profile) => right.publicKey(pem, profile) ?? readPublicKey(pem, limits),
})

/** Accepts a missing or wrong param. */
const taking = (name: string, fits: (value: unknown) => boolean): Change => ({
  paramTaken: (method, param, value, valid) => valid || (creating(method) && param === name && fits(value)),
})

/** Some callers create no keys. */
const refusesCreation =
  (isRefused: (seen: Seen, means: Means) => unknown) =>
  (seen: Seen): Change => ({ meansTaken: (means, method) => !(creating(method) && isRefused(seen, means)) })

const byCreatedKey = ({ caller }: Seen): boolean => caller?.initial === false

const withoutPublicKey = ({ publicKey: _pem, verifyKey: _key, ...rest }: ApiKey): ApiKey => rest

const withResult = (change: (result: { id: string; secret: string }) => object): Change => ({ createKeyResult: change })

const stored = (change: (key: ApiKey) => Partial<ApiKey>): Change => ({
  storedKey: (key) => ({ ...key, ...change(key) }),
})

/** A binary search, which finds entries only in a sorted list. */
function isFoundInHalves(list: string[], entry: string): boolean {
  let [from, to] = [0, list.length - 1]
  while (from <= to) {
    const middle = (from + to) >> 1
    const found = list[middle] ?? ''
    if (found === entry) return true
    if (found < entry) from = middle + 1
    else to = middle - 1
  }
  return false
}

/** What stands before the 32 bytes of an ED25519 public key (RFC 8410). */
const prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** The PEM text of a key whose bytes were copied into a buffer of 32. */
function resized(pem: unknown): string | undefined {
  const [, base64 = ''] = /^-----BEGIN PUBLIC KEY-----\n([\s\S]*)\n-----END PUBLIC KEY-----\n?$/.exec(String(pem)) ?? []
  const der = Buffer.from(base64, 'base64')
  if (!der.subarray(6, 9).equals(prefix.subarray(6, 9)) || der.length <= prefix.length) return undefined
  const key = Buffer.alloc(32)
  der.copy(key, 0, prefix.length)
  return `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([prefix, key]).toString('base64')}\n-----END PUBLIC KEY-----\n`
}

const everyMeans: Means[] = ['hmac', 'ecc', 'basic', 'grant']

export const keys: BrokenRows = {
  'keys/initial-full-access': {
    'initial-key-creates-no-keys': {
      initialKeyScope: () => right.initialKeyScope().filter((scope) => scope !== 'apiKey'),
    },
    'initial-key-without-some-areas': { initialKeyScope: () => ['apiKey', 'solution', 'context'] },
    'initial-key-granted-without-stream': by.first({
      initialKeyScope: () => right.initialKeyScope().filter((scope) => scope !== 'stream'),
    }),
    // The initial key is meant for the first steps of an installation only.
    'initial-key-creates-no-keys-once-another-key-may': by.twelfth((seen) => ({
      keyLimit: (means) => {
        const isLate = seen.keys.some((key) => !key.initial && !key.deleted && managesKeys(key))
        return isLate && seen.caller?.initial === true ? 0 : right.keyLimit(means)
      },
    })),
  },
  'keys/no-time-to-live': {
    // Created keys live in a cache that keeps them for ten seconds.
    'created-keys-end-after-ten-seconds': by.reported({
      keyExpired: (key, nowMs) => !key.initial && nowMs - key.createdMs > 10_000,
    }),
    'created-keys-end-after-300-days': {
      keyExpired: (key, nowMs) => !key.initial && nowMs - key.createdMs > 300 * day,
    },
    // A key created with an access token works until that token is revoked or expires.
    'key-ends-with-token-that-created-it': by.first((seen, parents = table<TokenPair>()) => ({
      ...onNewKey(({ id }) => seen.pair && parents.set(id, seen.pair)),
      keyExpired: (key, nowMs) => {
        const parent = parents.get(key.id)
        return parent !== undefined && (parent.accessRevoked || nowMs >= parent.accessExpiryMs)
      },
    })),
    'key-ends-when-the-pair-that-created-it-is-renewed': by.reported((seen, parents = table<TokenPair>()) => ({
      ...onNewKey(({ id }) => seen.pair && parents.set(id, seen.pair)),
      keyExpired: ({ id }) => parents.get(id)?.refreshRevoked === true,
    })),
    'public-key-expires-after-ninety-days': by.first({
      keyExpired: (key, nowMs) => key.publicKey !== undefined && nowMs - key.createdMs > 90 * day,
    }),
    'unused-key-expires-after-thirty-days': by.first((_seen, usedMs = table<number>()) => ({
      keyExpired: (key, nowMs) => {
        const isOver = !key.initial && nowMs - (usedMs.get(key.id) ?? key.createdMs) > 30 * day
        if (!isOver) usedMs.set(key.id, nowMs)
        return isOver
      },
    })),
    'key-created-in-session-ends-with-it': by.fourth((seen, sessions = table<Session | undefined>()) => ({
      ...onNewKey(({ id }) => sessions.set(id, seen.pair?.session)),
      keyExpired: (key) => sessions.get(key.id)?.removed === true,
    })),
    // The secret is kept in clear for a day; afterwards only its hash is left.
    'created-key-cannot-sign-after-a-day': by.fifth((seen) => ({
      hmacTakenFor: (key) => right.hmacTakenFor(key) && (key.initial || seen.nowMs < key.createdMs + day),
    })),
    'keys-end-after-30-days': { keyExpired: (key, nowMs) => nowMs - key.createdMs > 30 * day },
  },
  'keys/can-be-disabled': {
    ...each(everyMeans, (means) => [
      `${means}-of-a-disabled-key-taken`,
      { disabledKeyWorks: (_key, used) => used === means },
    ]),
    'disabled-key-works-again-once-deleted': {
      disabledKeyWorks: (key) => key.deleted,
      deletedKeyWorks: (key) => !key.enabled,
    },
    // manager/createApiKey does not look at the state of the key behind a call.
    'disabled-key-creates-keys': by.first((seen) => ({ disabledKeyWorks: () => seen.creates })),
    // The state of a key is looked at only where a call shows the key itself.
    'disabled-key-gets-tokens-that-work': by.fourth({
      disabledKeyWorks: (_key, means) => means === 'grant' || means === 'token',
    }),
  },
  'keys/can-be-deleted': {
    ...each(everyMeans, (means) => [
      `${means}-of-a-deleted-key-taken`,
      { deletedKeyWorks: (_key, used) => used === means },
    ]),
    // The key is taken out of a list by its place, which is counted from one.
    'deletion-ends-the-key-created-before-it-too': (_seen, gone = marks()) => ({
      around: afterCalls((_answer, call) => {
        const keys = [...call.state.keys.values()]
        const isNew = keys.map((key) => key.deleted && !gone.has(key))
        for (const [at, key] of keys.entries()) {
          if (isNew[at + 1] && !key.initial) key.deleted = true
          if (key.deleted) gone.add(key)
        }
      }),
    }),
    // The list of signers is rebuilt when a key is created.
    'deleted-key-signs-until-another-key-is-created': by.fifth((_seen, gone = marks()) => ({
      keysLostToNewKey: (all) => {
        for (const key of all) if (key.deleted) gone.add(key)
        return []
      },
      deletedKeyWorks: (key, means) => (means === 'hmac' || means === 'ecc') && !gone.has(key),
    })),
  },
  'keys/scope-fixed': {
    // The row is written before the limit is checked, and there is no eleventh row.
    'refused-eleventh-creation-sets-scope-of-last-key': by.fifth((seen) => ({
      keysLostToRefusal: (all) => {
        const last = all.at(-1)
        if (last) last.scope = seen.scope
        return []
      },
    })),
    // The list of the key is the one to which the requested scopes are added before the comparison.
    'scope-refused-in-grant-is-added-to-key': by.eighth((seen) => ({
      scopeWithinKey: (scope, keyScope, profile) => {
        const isWithin = right.scopeWithinKey(scope, keyScope, profile)
        const key = seen.caller
        if (!isWithin && key) key.scope = [...key.scope, scope]
        return isWithin
      },
    })),
  },
  'keys/scope-held': {
    ...each(['hmac', 'ecc', 'basic'], (means) => [
      `${means}-has-every-scope`,
      { keyScopeHolds: (used) => used !== means },
    ]),
    // Scopes are cached by the name of the key, so a second key gets the scope of the first.
    'scope-of-first-key-with-same-name-used': by.first((_seen, first = firsts<string[]>()) =>
      stored(({ name, scope }) => ({ scope: first(name, scope) })),
    ),
    // The decision on the scope is kept by method, without the key.
    'allowed-basic-call-opens-its-method-to-every-key': by.second((seen, allowed = marks()) => ({
      ...onAccepted((call) => call.isBasic && allowed.add(call.method)),
      scopeNeeded: (method) => !(seen.isBasic && allowed.has(method)),
    })),
    // The scopes are in a ring of eight places.
    'ninth-key-overwrites-scope-of-first': by.fourth((seen) =>
      onNewKey(({ scope }) => {
        const older = seen.keys.filter(({ initial }) => !initial).at(-8)
        if (older !== undefined) older.scope = scope
      }),
    ),
    'key-made-by-created-key-has-scope-of-initial-key': by.fourth((seen) =>
      stored(() => (seen.caller?.initial === false ? { scope: seen.context.root.scope } : {})),
    ),
    'scope-of-narrow-signer-not-checked-behind-wide-one-on-connection': by.fourth((seen, wide = marks()) => ({
      keyScopeHolds: (means) => {
        const { connection } = seen
        if (connection === undefined || means === 'basic') return true
        if (seen.caller?.initial === true) wide.add(connection)
        return !wide.has(connection)
      },
    })),
    'scope-of-key-made-by-token-not-checked-in-signatures': by.eighth(
      forKeysMade('by-token', (made, seen) => ({ keyScopeHolds: (means) => means === 'basic' || !made(seen.caller) })),
    ),
    // Who may manage keys may do everything, it says.
    'key-with-nothing-but-apikey-scope-lists-solutions': by.eighth((seen) => ({
      keyScopeHolds: () => {
        const scope = seen.caller?.scope ?? []
        return scope.length === 0 || !scope.every((word) => word.toLowerCase() === 'apikey')
      },
    })),
    // The wrong one of two variables is saved; the initial key is never saved.
    'creator-takes-scope-of-key-that-it-creates': by.ninth((seen) =>
      onNewKey(({ scope }) => {
        if (seen.caller?.initial === false) seen.caller.scope = scope
      }),
    ),
    // The handler belongs to a connection, and adds to a list that it never empties.
    'key-takes-scopes-of-key-created-before-on-connection': by.tenth((seen, first = firsts<Set<string>>()) =>
      onNewKey((key) => {
        if (seen.connection === undefined) return
        const words = first(seen.connection, new Set())
        for (const word of key.scope) words.add(word)
        key.scope = [...words]
      }),
    ),
    // A key with a public key is taken for a device of its creator.
    'public-key-created-by-token-has-scope-of-token': by.twelfth((seen) =>
      stored(({ publicKey }) => (seen.pair && publicKey !== undefined ? { scope: [...seen.pair.scope] } : {})),
    ),
  },
  'keys/create-authorized': {
    'keys-created-with-a-wrong-signature': forgivesOnCreation('signature/mac'),
    'keys-created-with-an-hmac-for-a-public-key': forgivesOnCreation('signature/ecc'),
    'keys-created-with-a-wrong-secret': forgivesOnCreation('basic/secret'),
    'keys-created-with-the-secret-of-a-public-key': forgivesOnCreation('basic/public-key'),
    'keys-created-with-an-unknown-token': forgivesOnCreation('token/unknown'),
    'keys-created-with-an-unknown-scheme': forgivesOnCreation('authorization/scheme'),
    'keys-created-without-authorization': {
      authorizationRequired: (method) => method !== 'manager/auth' && !creating(method),
    },
    'hmac-creates-no-keys': without('hmac', creating),
    'ecc-creates-no-keys': without('ecc', creating),
    'basic-creates-no-keys': without('basic', creating),
    'token-creates-no-keys': without('token', creating),
    // manager/createApiKey takes the access token of the first grant only.
    'token-refused-on-key-creation-after-refresh': by.first(refusesCreation((seen) => shows(seen, ofRefresh))),
    'token-with-expires-in-creates-no-keys': by.third(refusesCreation((seen) => shows(seen, withLifetime))),
    'hmac-of-created-key-refused-on-key-creation': by.ninth(
      refusesCreation((seen, means) => means === 'hmac' && byCreatedKey(seen)),
    ),
    ...each(['basic', 'token'] as const, (way) => [
      `${way}-of-created-key-refused-on-key-creation`,
      refusesCreation((seen, means) => means === way && byCreatedKey(seen)),
    ]),
    'token-with-address-creates-no-keys': by.ninth(refusesCreation((seen) => shows(seen, withAddress))),
  },
  'keys/create-result': {
    'created-key-with-a-number-as-id': withResult(({ secret }) => ({ id: 7, secret })),
    'created-key-with-null-as-secret': withResult(({ id }) => ({ id, secret: null })),
    'secret-missing-for-key-with-public-key': by.first((seen) =>
      withResult((result) => (seen.bodyHas('BEGIN PUBLIC KEY') ? { id: result.id } : result)),
    ),
    'creation-by-token-returns-no-secret': by.fourth((seen) =>
      withResult(({ id, secret }) => (seen.pair === undefined ? { id, secret } : { id })),
    ),
    'created-key-without-id': withResult(({ secret }) => ({ secret })),
    'created-key-without-secret': withResult(({ id }) => ({ id })),
  },
  'keys/create-params': {
    'key-without-name-created': taking('name', (value) => value === undefined),
    'key-with-a-number-as-name-created': taking('name', (value) => typeof value === 'number'),
    'key-with-a-text-as-scope-created': taking('scope', (value) => typeof value === 'string'),
    'numbers-in-scope-skipped-on-key-creation': by.first(
      taking('scope', (value) => Array.isArray(value) && value.length > 1),
    ),
    'missing-scope-of-creation-is-that-of-last-one': by.third((seen, last?: string[]) => ({
      ...taking('scope', (value) => value === undefined && last !== undefined),
      storedKey: (key) => {
        if (seen.params.scope !== undefined) last = key.scope
        return { ...key, scope: last ?? key.scope }
      },
    })),
    'null-as-scope-of-creation-taken': by.fourth(taking('scope', (value) => value === null)),
    'public-key-as-list-of-lines-accepted': by.fifth({
      around: meets((call, next) => {
        const { publicKey } = call.params
        if (!Array.isArray(publicKey)) return next()
        return next(call.withParams({ ...call.params, publicKey: publicKey.join('\n') }))
      }),
    }),
    'name-may-be-missing-beside-public-key': by.tenth((seen) =>
      taking('name', (value) => value === undefined && seen.params.publicKey !== undefined),
    ),
    'key-without-scope-created': taking('scope', (value) => value === undefined),
  },
  'keys/created-key-works': {
    'created-key-is-disabled': stored(() => ({ enabled: false })),
    'creations-in-flight-show-the-last-secret': (_seen, last?: unknown) => ({
      around: meets(async (call, next) => {
        const answer = await next()
        const { result, ...members } = (call.creates && readMembers(answer.body)) || {}
        if (typeof result !== 'object') return answer
        const { id, secret } = result as Members
        last = secret
        await meet()
        return { ...answer, body: JSON.stringify({ ...members, result: { id, secret: last } }) }
      }),
    }),
    'tenth-key-does-not-work': by.first((seen) =>
      stored(() =>
        seen.keys.filter(({ deleted, initial }) => !deleted && !initial).length === 9 ? { enabled: false } : {},
      ),
    ),
    // The documented example has three scopes, and the server stores no more.
    'fourth-scope-of-key-and-later-dropped': by.first(stored(({ scope }) => ({ scope: scope.slice(0, 3) }))),
    // The params are read into a record that is used again, so a missing publicKey keeps its last value once.
    'key-created-after-public-key-gets-it-too': by.second((_seen, last?: ApiKey) => ({
      storedKey: (key) => {
        const before = last
        last = key.publicKey === undefined ? undefined : key
        if (last || before?.publicKey === undefined || before.verifyKey === undefined) return key
        return { ...key, publicKey: before.publicKey, verifyKey: before.verifyKey }
      },
    })),
    // The scope of a created key is filtered in place when a token is granted.
    'narrow-grant-narrows-its-key': by.second((seen) => ({
      grantedScope: (asked) => {
        const words = asked.map((word) => word.toLowerCase())
        if (seen.named?.initial === false && asked.length > 0)
          seen.named.scope = seen.named.scope.filter((word) => words.includes(word.toLowerCase()))
        return asked
      },
    })),
    // Eight HMAC keys are kept; the signatures of one that was dropped are refused from then on.
    'ninth-signing-key-pushes-first-one-out': by.second((_seen, signers = marks()) => ({
      mac: (data, key) => {
        signers.add(key.id)
        const place = [...signers].indexOf(key.id)
        return place < signers.size - 8 ? createHmac('sha256', '').update(data).digest() : right.mac(data, key)
      },
    })),
    'key-created-by-refreshed-token-gets-no-grant': by.third(
      forKeysMade('by-refreshed-token', (made) =>
        unless('secretTakenFor', (key, means) => means === 'grant' && made(key)),
      ),
    ),
    // A grant looks for its scopes in that of the key with a binary search.
    'scope-of-key-searched-as-if-sorted': by.third({
      initialKeyScope: () => right.initialKeyScope().sort(),
      scopeWithinKey: (scope, keyScope) => isFoundInHalves(keyScope, scope),
    }),
    // The result of createApiKey: "id | Identifier of the key", with which every call may be signed
    'created-key-known-on-connection-of-its-creation-only': by.third((seen, connections = table<unknown>()) => ({
      ...onNewKey(({ id }) => connections.set(id, seen.connection)),
      keyNamed: (id, find) => {
        const own = connections.get(id) ?? seen.connection
        return own === seen.connection || seen.connection === undefined ? find(id) : undefined
      },
    })),
    // The key gets what stands at the same place in the scope of the token and in its own.
    'scope-of-key-made-by-token-compared-place-by-place': by.fourth((seen) =>
      stored(({ scope }) => ({
        scope: scope.filter((word, at) => !seen.pair || word.toLowerCase() === seen.pair.scope[at]?.toLowerCase()),
      })),
    ),
    'key-created-by-signature-loses-its-last-scope': by.fifth((seen) =>
      stored(({ scope }) => (seen.isSigned && scope.length > 1 ? { scope: scope.slice(0, -1) } : {})),
    ),
    // A timestamp must lie behind the second in which the key was created.
    'created-key-cannot-sign-in-its-first-second': by.eighth((seen) => ({
      timestampTaken: (timestamp, nowMs, profile) => {
        const key = seen.caller
        const isEarly = key?.initial === false && seconds(Number(timestamp)) <= seconds(key.createdMs)
        return !isEarly && right.timestampTaken(timestamp, nowMs, profile)
      },
    })),
    // The scope apikey is given on once only.
    'key-made-by-created-key-cannot-create-keys': by.ninth((seen) =>
      stored(({ scope }) => ({
        scope: scope.filter((word) => seen.caller?.initial !== false || !/^apikey$/i.test(word)),
      })),
    ),
    // Creations in flight together share a connection to the database, and so a transaction.
    'refused-creation-in-flight-rolls-back-accepted-ones': by.twelfth(
      (_seen, inFlight = 0, hasFailed = false, ids: unknown[] = []) => ({
        around: meets(async (call, next) => {
          if (!call.creates) return next()
          inFlight += 1
          await meet()
          const answer = await next()
          const result = readMembers(answer.body)?.result as { id?: unknown } | undefined
          if (result === undefined) hasFailed = true
          else ids.push(result.id)
          inFlight -= 1
          if (inFlight > 0) return answer
          for (const key of call.state.keys.values()) if (hasFailed && ids.includes(key.id)) key.deleted = true
          hasFailed = false
          ids = []
          return answer
        }),
      }),
    ),
    'created-key-has-another-secret': stored(({ publicKey }) => {
      const { secret, macKey } = makeKey({ id: '', secret: 'x', name: '', scope: [], createdMs: 0 })
      return publicKey === undefined ? { secret, macKey } : {}
    }),
    'created-key-loses-its-scope': stored(() => ({ scope: [] })),
  },
  'keys/public-key': {
    'public-key-forgotten': { storedKey: withoutPublicKey },
    // One handler for each kind of caller: that of signatures by a public key stores other members.
    'public-key-lost-where-an-ecc-call-creates-the-key': by.reported((seen) => ({
      storedKey: (key) => (seen.byPublicKey ? withoutPublicKey(key) : key),
    })),
    // The document joins the lines by LF, so the last line ends without one.
    'public-key-without-final-line-feed-refused': by.first({
      publicKey: (pem, profile) =>
        typeof pem === 'string' && pem.endsWith('\n') ? right.publicKey(pem, profile) : undefined,
    }),
    // The first line of every PEM is the same, so each later public key is taken for the first one.
    'parsed-public-keys-cached-by-first-line': by.second((_seen, first = firsts<KeyObject>()) =>
      stored(({ verifyKey }) => (verifyKey ? { verifyKey: first('PEM', verifyKey) } : {})),
    ),
    // The record of the key is made when its name is read, which overwrites what came before it.
    'public-key-as-first-param-forgotten': by.third((seen) => ({
      storedKey: (key) => (Object.keys(seen.params)[0] === 'publicKey' ? withoutPublicKey(key) : key),
    })),
    // "made with the private key that matches the public key": the one in the params
    'public-key-created-by-ecc-call-is-that-of-its-creator': by.fourth((seen) =>
      stored(({ publicKey }) => {
        const verifyKey = seen.byPublicKey ? seen.caller?.verifyKey : undefined
        return publicKey !== undefined && verifyKey ? { verifyKey } : {}
      }),
    ),
    // A key with one scope takes another path through the code, which forgets its public key.
    'public-key-dropped-from-key-with-single-scope': by.ninth({
      storedKey: (key) => (key.scope.length === 1 ? withoutPublicKey(key) : key),
    }),
    // "publicKey | createApiKey params | ED25519 public key in PEM form": that of this creation
    'creations-in-flight-share-a-public-key': by.tenth((seen, last?: unknown) => ({
      around: meeting((call) => {
        const { publicKey } = call.params
        last = publicKey ?? last
        return publicKey !== undefined
      }),
      publicKey: (pem, profile) => right.publicKey(seen.params.publicKey === undefined ? pem : last, profile),
    })),
    'public-key-never-read': { storedKey: ({ verifyKey: _key, ...rest }) => rest },
  },
  'keys/public-key-material': {
    'rsa-key-taken': alsoKeys({ types: ['rsa'] }),
    'other-curves-taken': alsoKeys({ types: ['ec', 'x25519', 'ed448'] }),
    'private-key-taken-as-public': alsoKeys({ labels: ['PRIVATE KEY'] }),
    'any-text-taken-as-public-key': { badPublicKeyTaken: (pem) => typeof pem === 'string' },
    'public-key-without-its-pem-lines-taken': by.eighth({
      publicKey: (pem, profile) =>
        right.publicKey(pem, profile) ??
        right.publicKey(`-----BEGIN PUBLIC KEY-----\n${pem}\n-----END PUBLIC KEY-----`, profile),
    }),
    // False, 0 and null pass as no public key at all.
    'false-as-public-key-means-none': by.ninth({
      badPublicKeyTaken: (pem) => pem === false || pem === 0 || pem === null,
      storedKey: (key) => (key.publicKey === '' ? withoutPublicKey(key) : key),
    }),
    // It reads whatever stands between two lines of dashes, such as `-----BEGIN CERTIFICATE-----`.
    'label-of-pem-text-ignored': by.tenth({
      publicKey: (pem, profile) =>
        right.publicKey(
          typeof pem === 'string' ? pem.replace(/-----(BEGIN|END) [^-]*-----/g, '-----$1 PUBLIC KEY-----') : pem,
          profile,
        ),
    }),
    // What is missing is zero, and what is too much is cut off.
    'public-key-of-any-length-copied-into-32-bytes': by.twelfth({
      publicKey: (pem, profile) =>
        right.publicKey(pem, profile) ?? readPublicKey(resized(pem), { weak: profile.weakPublicKeys === 'accepted' }),
    }),
  },
  'keys/unique-ids': {
    'ids-of-keys-repeated': { keyId: () => 'key' },
    // The result of a creation is stored with its caller and the id of the request, to answer a repetition.
    'creation-with-repeated-id-answered-as-before': by.third((seen, first = firsts<object>()) =>
      withResult((result) => first(`${seen.keyId ?? seen.token} ${seen.members.id}`, result)),
    ),
    'creations-in-flight-share-an-id': by.fourth(
      (
        _seen,
        batch = batches(
          ({ creates }) => creates,
          () => ({ id: '' }),
        ),
      ) => ({
        around: batch.around,
        keyId: (fresh) => {
          const shared = batch.current() ?? { id: '' }
          shared.id ||= fresh
          return shared.id
        },
      }),
    ),
    // The second one is taken for a repetition, but only when the result is made.
    'second-creation-with-same-params-gives-first-key': by.fifth((seen, first = firsts<object>()) =>
      withResult((result) => first(JSON.stringify(seen.params), result)),
    ),
  },
  'keys/unique-secrets': {
    'secrets-of-keys-repeated': { keySecret: () => 'a-secret-for-everyone' },
    // Secrets come from a pool of five that is used round and round.
    'sixth-key-has-secret-of-first': by.first((_seen, first = firsts<string>(), made = counts()) => ({
      keySecret: (fresh) => first(made() % 5, fresh),
    })),
    // Keys of the same name have the same secret.
    'secret-of-key-made-from-its-name': by.tenth((seen, salt = randomBytes(16)) => ({
      keySecret: (fresh) =>
        createHmac('sha256', salt).update(String(seen.params.name)).digest('hex').slice(0, fresh.length),
    })),
  },
  'keys/apikey-scope': {
    'keys-created-with-any-scope': { scopeNeeded: (method) => !creating(method) },
    'signed-key-creation-needs-no-scope': by.first((seen) => ({
      scopeNeeded: (method) => !creating(method) || !seen.authorization?.startsWith(seen.context.profile.scheme),
    })),
    'key-with-public-key-created-without-apikey-scope': by.third((seen) => ({
      scopeNeeded: (method) => !creating(method) || seen.params.publicKey === undefined,
    })),
    // "Token limited to the Solution API", and so on: no area holds the methods of the manager
    'token-of-all-six-areas-creates-keys': by.fifth((seen) => ({
      scopeNeeded: () =>
        !['solution', 'context', 'thread', 'store', 'inbox', 'stream'].every((area) => seen.pair?.scope.includes(area)),
    })),
    'context-scope-creates-keys': also('scopeOpens', (scope, area) => scope === 'context' && area === 'manager'),
  },
}
