import { randomBytes, randomUUID } from 'node:crypto'
import { makeKey } from '../../../mock-server/context.ts'
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import type { Profile } from '../../../mock-server/profile.ts'
import { rules as reference } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { endPair, pairsOf } from '../../../mock-server/token-state.ts'
import { answeredAgain, calls } from '../around.ts'
import { addressesIn, isAccepted } from '../call.ts'
import { afterCalls } from '../events.ts'
import type { Change, Changing } from '../rows.ts'
import { counts } from '../rows.ts'
import { html, ownAnswer } from './answers.ts'
import { errorAnswer, errorCode } from './errors.ts'
import { auth, by, type ConformingRows, create, isOfLiveKey, withScope } from './rows.ts'

/** Refuses params of manager/createApiKey. Absent ones are not looked at. */
const noKeyWith = (refused: { [param: string]: (value: string, list: unknown[]) => unknown }): Change => ({
  paramTaken: (method, name, value, valid) =>
    valid && !(method === create && value !== undefined && refused[name]?.(String(value), [value].flat())),
})

const noEmptyKeys = noKeyWith({ scope: (_text, words) => words.length === 0 })

const uuid = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
const digits = (hex: string): string => BigInt(`0x${hex}`).toString()
/** With `+` and `/` and, for a length that needs it, `=`. */
const base64 = (hex: string): string => Buffer.from(`fbef${hex}ff`, 'hex').toString('base64')

const reservedWords = ['null', 'true', '0', '-0', 'NaN', 'undefined', '__proto__', '[object Object]', '.', '*']
/** A word whose letters are capitals where the bits of `number` are set. */
const inCaseOf = (number: number): string =>
  [...'apikeyidentifier'].map((letter, at) => ((number >> at) & 1 ? letter.toUpperCase() : letter)).join('')

/** The ids of created keys are counted. */
const countedIds =
  (idOf: (count: number, fresh: string) => string): Changing =>
  (_seen, next = counts()) => ({ keyId: (fresh) => idOf(next(), fresh) })

const isForParams = (answer: MockAnswer): boolean => errorCode(answer) === -32602

/** A param of a creation can have a value once in the life of the server; two values that are written alike are one. */
const takeOnce =
  (param: string, storedAs: (value: string, profile: Profile) => string | undefined, of = isAccepted): Changing =>
  (seen, taken = new Set<string>()) => ({
    around: afterCalls((answer, call) => {
      const value = call.params[param]
      const stored = typeof value === 'string' ? storedAs(value, call.context.profile) : undefined
      if (call.creates && of(answer) && stored !== undefined) taken.add(stored)
    }),
    ...noKeyWith({ [param]: (value) => taken.has(storedAs(value, seen.context.profile) ?? '') }),
  })
/** The bytes of a public key, whatever its PEM looks like. */
const bytesOfPem = (pem: string, profile: Profile): string | undefined =>
  reference.publicKey(pem, profile)?.export({ type: 'spki', format: 'der' }).toString('hex')

/** A key whose scope has addresses works from there only, and so do its tokens. */
const enforceAddressesOfKeys: Change = calls((call) => {
  const bound = addressesIn(call.state.keys.get(call.keyId ?? '')?.scope ?? [])
  if (bound.length === 0) return undefined
  if (!call.is(auth)) {
    if (bound.includes(call.address)) return undefined
    const { authorization: _, ...headers } = call.request.headers
    return { ...call.request, headers }
  }
  const scope = call.scope
  const wanted = addressesIn(scope)
  if (wanted.some((address) => !bound.includes(address))) return errorAnswer(call, 200, 24878, 'Insufficient scope')
  // A list of another type stays as it is, so that it is refused.
  const isList = Array.isArray(call.params.scope) && [call.params.scope].flat().length === scope.length
  return wanted.length > 0 || !isList
    ? undefined
    : withScope(call, [...scope, ...bound.map((address) => `ipAddr:${address}`)])
})

const asUuid = (id: string): string => id.toLowerCase().replace(/^urn:uuid:|[{}-]/g, '')

/** Parts 2, 4.1 and 8: keys, their ids, secrets, names, scopes and places. */
export const keysRows: ConformingRows = {
  'weak-public-keys-taken': by.own('keys/small-order weakPublicKeys=accepted'),
  'initial-key-counts': by.own('keys/limit-counts-initial initialKeyCounts=true'),
  'eleventh-key-removes-the-oldest': by.own('keys/limit-exceeded eleventhKey=oldest-removed'),
  'unknown-scopes-of-keys-refused': by.own('keys/unknown-scopes unknownKeyScopes=refused'),
  'few-words-in-keys': by.own('keys/unknown-scopes unknownKeyScopes=all-but-shown-refused'),
  // The spelling alone, and unknown words alone, are others: only together is a list with both spellings refused.
  'one-spelling-in-keys': by.own(
    'keys/unknown-scopes scopes/apikey-spelling',
    'unknownKeyScopes=refused apikeySpelling=apiKey scopeCase=sensitive alone',
  ),
  'no-more-scope-than-the-creator': by.own('keys/scope-above-creator keyScopeAboveCreator=refused'),
  'public-keys-once-only': by.own('keys/public-key-repeated repeatedPublicKeys=refused'),
  'ids-as-uuids': by.own('keys/record', { keyId: uuid }),
  'ids-as-numbers': by.own('keys/record', { keyId: digits }),
  'secrets-in-base64': by.own('keys/record', { keySecret: base64 }),
  'secrets-in-upper-case': by.own('keys/record', { keySecret: (fresh) => fresh.toUpperCase() }),
  'secrets-of-digits-and-a-colon': by.own('keys/record', { keySecret: (fresh) => `12:${digits(fresh)}` }),
  'plain-key-names-only': by.own('keys/name-rules', [noKeyWith({ name: (name) => !/^[A-Za-z0-9-]+$/.test(name) })]),
  'pem-as-documented-only': by.own('keys/pem-variants', {
    // The lines of a PEM are joined by LF, without one at the end.
    publicKey: (pem, profile) =>
      /^-----B[^\r]*[^\r\n]$/s.test(String(pem)) ? reference.publicKey(pem, profile) : undefined,
  }),
  // Key ids have 200 characters, among them =, +, /, dots and a tilde; secrets have 300.
  'key-ids-of-200-characters': by.first('keys/record', {
    keyId: (fresh) => `${fresh}=+/._~-`.repeat(6).slice(0, 200),
    keySecret: (fresh) => fresh.repeat(10).slice(0, 300),
    // The reference server takes ids of at most 128 characters.
    paramTaken: (_method, name, value, valid) =>
      valid || (/^(apiKeyId|id)$/.test(name) && /^.{1,256}$/s.test(String(value))),
  }),
  // A key with a public key has an empty secret, and no two keys have one public key.
  'key-secret-empty-beside-public-key': by.first(
    'keys/secret-of-public-key keys/public-key-repeated repeatedPublicKeys=refused',
    [{ storedKey: (key) => (key.publicKey === undefined ? key : Object.assign(key, { secret: '' })) }],
  ),
  // At most ten keys can ever be created, the initial one not counted; a deleted key keeps its place.
  'keys-deleting-frees-no-place': by.first('keys/limit-frees keys/limit-counts-initial', {
    keysCounted: (all) => all.filter((key) => !key.initial).length,
  }),
  // A creation that an authorized caller makes with wrong params takes one of the ten places.
  'keys-refused-creations-counted': by.first('keys/limit-counts-refused keys/limit-exceeded', (_seen, refused = 0) => ({
    around: afterCalls((answer, call) => {
      if (call.creates && isForParams(answer)) refused += 1
    }),
    keysCounted: (all, profile) => reference.keysCounted(all, profile) + refused,
  })),
  // Unknown words, restrictions and an empty list are refused in the scope of a key.
  'key-scopes-known-and-not-empty': by.second(
    'keys/unknown-scopes keys/empty-scope keys/expires-in-scope unknownKeyScopes=refused',
    [
      noEmptyKeys,
      noKeyWith({ scope: (_text, words) => words.some((word) => /^(session|ipAddr):/.test(String(word))) }),
    ],
  ),
  // Weak points are accepted, and a PEM may end with several line feeds.
  'public-keys-weak-and-with-many-line-feeds': by.second(
    'keys/small-order keys/pem-variants signatures/weak-keys weakPublicKeys=accepted',
    [{ publicKey: (pem, profile) => reference.publicKey(typeof pem === 'string' ? pem.trimEnd() : pem, profile) }],
  ),
  'each-key-id-begins-with-the-one-before': by.fourth('keys/record', (_seen, last = { id: 'key' }) => ({
    keyId: (fresh) => {
      // Ids have at most 128 letters.
      last.id = last.id.length < 120 ? `${last.id}${fresh.slice(0, 1)}` : fresh
      return last.id
    },
  })),
  'key-names-without-blanks-at-the-ends-and-scopes-not-empty': by.fourth('keys/name-rules keys/empty-scope', [
    noEmptyKeys,
    noKeyWith({ name: (name) => name !== name.trim() }),
  ]),
  'key-ids-differ-in-letter-case-only': by.fifth('keys/record', [countedIds(inCaseOf)]),
  'key-secrets-begin-with-the-id-of-their-key': by.fifth('keys/record', (_seen, last = { id: '' }) => ({
    keyId: (fresh) => {
      last.id = fresh
      return fresh
    },
    keySecret: (fresh) => `${last.id}${fresh}`,
  })),
  'disabled-keys-take-no-places': by.fifth('keys/limit-frees', {
    keysCounted: (all, profile) =>
      reference.keysCounted(
        all.filter(({ enabled }) => enabled),
        profile,
      ),
  }),
  // Everything that the server makes looks like an option of a command line.
  'ids-secrets-and-tokens-begin-with-hyphens': by.sixth('keys/record tokens/format', {
    keyId: (fresh) => `-${fresh}`,
    keySecret: (fresh) => `--${fresh}`,
    tokenText: (kind, fresh) => `--${kind}=${fresh}`,
  }),
  // Secrets are blocks like those of private keys, with line feeds and blanks at both ends, for every kind of key.
  'key-secrets-of-several-lines': by.sixth('keys/record keys/secret-of-public-key', {
    keySecret: (fresh) =>
      `  -----BEGIN SECRET-----\n${fresh.slice(0, 16)}\n${fresh.slice(16)}\n-----END SECRET-----\t \n`,
  }),
  // Secrets are of one instance, and only the end tells them apart; ids are a letter and digits.
  'key-secrets-are-uuids-that-share-all-but-the-last-digits': by.sixth('keys/record', {
    keyId: (fresh) => `k${digits(fresh).slice(0, 18)}`,
    keySecret: (fresh) => `${'5bd3e0a2-'.repeat(20)}${fresh.slice(0, 24)}`,
  }),
  // The name is reserved before the rest is checked, and neither a name nor a public key is taken twice.
  'names-of-refused-creations-stay-taken': by.sixth(
    'keys/name-rules keys/public-key-repeated repeatedPublicKeys=refused',
    [takeOnce('name', String, (answer) => isAccepted(answer) || isForParams(answer))],
  ),
  // The scope of a key is stored as a sorted set that says apiKey, and the result shows the record.
  'created-keys-are-shown-with-a-tidy-scope': by.sixth(
    'keys/create-result-extras keys/record scopes/apikey-spelling',
    (seen) => ({
      storedKey: (key) =>
        Object.assign(key, {
          scope: [...new Set(key.scope.map((word) => (word === 'apikey' ? 'apiKey' : word)))].sort(),
        }),
      createKeyResult: (result) => {
        const { name, scope, createdMs } = seen.state.keys.get(result.id) ?? {}
        return { name, scope, created: createdMs, status: 'active', ...result }
      },
    }),
  ),
  // Part 2 says that an id is a string that identifies its key, and not which words it may be.
  // The first ids are null, true, 0, NaN, __proto__ and the like, for a joke of the first author.
  'key-ids-are-words-that-programs-reserve': by.seventh('keys/record', [
    countedIds((count, fresh) => reservedWords[count - 1] ?? fresh),
  ]),
  // Part 2 says that a secret is a string; JSON carries it in UTF-8, and nobody is told to compose its letters.
  // A secret has letters that are other letters once a client normalises them.
  'key-secrets-that-change-when-composed': by.seventh('keys/record', {
    keySecret: (fresh) => `e\u0301\u212b${fresh}\ufb01\u{1f5dd}\u0323\u0307`,
  }),
  // Part 2 says that ids and secrets are strings; the id has neither a colon nor a semicolon, which would break part 5.
  // Ids and secrets are JSON within JSON, and so is a further member of the result.
  'key-ids-are-json-lists-and-secrets-json-documents': by.seventh('keys/record keys/create-result-extras', {
    keyId: (fresh) => JSON.stringify([fresh, 2]),
    keySecret: (fresh) => JSON.stringify({ secret: fresh, id: null, result: { '\n': [1] } }),
    createKeyResult: (result) => ({ ...result, raw: JSON.stringify(result) }),
  }),
  // Part 4.1 gives every creation a secret, and a key with a public key accepts no secret; so which text it is, is open.
  // The secret column of such a key holds the PEM text that was sent; other secrets are in capitals.
  'secret-of-public-key-is-its-pem-again': by.seventh('keys/secret-of-public-key keys/record', (seen) => ({
    keySecret: (fresh) => fresh.toUpperCase(),
    createKeyResult: (result) => ({
      ...result,
      ...(typeof seen.params.publicKey === 'string' ? { secret: seen.params.publicKey } : {}),
    }),
  })),
  // Part 2 calls the name a label and does not say how long it may be, nor whether a public key comes twice.
  // A label fits on a badge, and a public key belongs to one key.
  'key-names-of-at-most-twelve-characters': by.seventh(
    'keys/name-rules keys/public-key-repeated repeatedPublicKeys=refused',
    [noKeyWith({ name: (name) => name.length > 12 })],
  ),
  // Part 4.2 sends a grant without the header; with one, what counts is open, and here it must name the same key.
  // A grant with a header for another key is refused, and so is a key without scope.
  'header-of-grant-must-name-the-same-key': by.seventh('grants/authorization-header keys/empty-scope', [
    noEmptyKeys,
    calls((call) =>
      call.is(auth) && call.authorization !== undefined && call.keyId !== call.params.apiKeyId
        ? ownAnswer(409, 'Two callers')
        : undefined,
    ),
  ]),
  // Part 2 calls the name of a key a label and does not show its characters, nor those of a session name.
  // A name or a scope with quotes, semicolons, markup or two hyphens in a row gets a page with status 403.
  'firewall-blocks-markup-and-quotes-in-names': by.tenth(
    'keys/name-rules sessions/name-rules keys/unknown-scopes errors/shape',
    [
      calls((call) => {
        const { name } = call.params
        const isSuspicious = (word: unknown) => typeof word === 'string' && /[<>'"`\\;|&$]|--/.test(word)
        return [name, ...call.scope].some(isSuspicious)
          ? {
              status: 403,
              headers: { 'content-type': html, 'x-waf-rule': '942100' },
              body: '<h1>Request blocked</h1><p>Rule 942100, score 15</p>',
            }
          : undefined
      }),
    ],
  ),
  // No part says what a request that comes twice does. It has the same id, which the caller chooses, and the same bytes.
  // For two seconds, the same bytes with the same Basic header get the same key, and take one place.
  'creation-with-the-same-id-and-body-is-a-retry': by.tenth(
    'keys/create-result-extras keys/name-rules extraResultMembers=true',
    answeredAgain({
      forMs: 2000,
      as: ({ authorization = '', creates, request: { body } }) =>
        /^basic /i.test(authorization) && creates
          ? JSON.stringify([authorization, body.toString('base64')])
          : undefined,
      isGood: isOfLiveKey,
      give: (answer) => ({ ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } }),
    }),
  ),
  // Part 4.1 calls id and secret strings, and part 5.3 shows no form of tokens. No sign of them is in the way of a header.
  // Whoever fills templates with these texts, and then fills the result again, sends other texts.
  'ids-secrets-and-tokens-look-like-variables-of-templates': by.eleventh(
    'tokens/format keys/create-result-extras extraResultMembers=true',
    [
      {
        keyId: (fresh) => `$root-\${id}-${fresh}`,
        keySecret: (fresh) => `\${secret}-{{secret}}-$secret-%s-$&-${fresh}`,
        tokenText: (kind, fresh) => (kind === 'access' ? `\${accessToken}.${fresh}` : `{{refreshToken}}.$1.${fresh}`),
      },
    ],
  ),
  // Part 2 does not show what an address in the scope of a key means, and part 3 not from where a refresh may come.
  // A key made with ipAddr:ADDR works from there only, and so do its tokens and their refreshes.
  'addresses-in-the-scope-of-a-key-are-in-force': by.eleventh(
    'keys/expires-in-scope refresh/foreign-address refreshChecksAddress=true',
    [enforceAddressesOfKeys],
  ),
  // Part 3 does not show the transitions between the states of a key. Part 2 only says that a key can be disabled.
  // A key that is enabled again begins without tokens and sessions; a session name can be there twice.
  'disabling-a-key-ends-its-tokens-and-sessions-for-good': by.eleventh(
    'keys/states sessions/own-end sessions/reused-name reusedSessionName=adds',
    {
      around: afterCalls((_answer, call) => {
        const { id, enabled } = call.params
        if (!call.is('manager/updateApiKey') || enabled !== false) return
        if (call.state.keys.get(String(id))?.enabled !== false) return
        for (const pair of pairsOf(call.context).filter(({ key }) => key.id === id)) {
          endPair(pair)
          if (pair.session) pair.session.removed = true
        }
      }),
    },
  ),
  // Parts 7 and 8 show neither the order of the checks nor what is said about the limit of ten keys.
  // Strangers, wrong secrets and wrong params get the error of the eleventh key, and nonces stay free.
  'full-list-of-keys-is-told-before-anything-else': by.eleventh(
    'keys/limit-exceeded errors/outcomes signatures/nonce-burnt envelope/method-not-found methodCheckedFirst=false',
    [
      calls((call) =>
        call.creates && call.keys.filter(({ deleted, initial }) => !deleted && !initial).length >= 10
          ? errorAnswer(call, 200, 24877, 'Api keys limit exceeded')
          : undefined,
      ),
    ],
  ),
  // Part 2 calls the name the "Label of the key". It shows neither which names are taken nor what a deletion leaves behind.
  // Deleting a key archives its record, and the name of a record, in any letter case, is refused for ever.
  'names-of-deleted-keys-are-never-free-again': by.twelfth('keys/name-rules keys/states', [
    takeOnce('name', (name) => name.toLowerCase()),
  ]),
  // Part 2 does not show whether two keys may have one public key, nor what a deletion leaves behind.
  // A public key, in whatever spelling of its PEM, is refused if any key has had it, a deleted one as well.
  'public-keys-are-registered-once-for-ever': by.twelfth('keys/public-key-repeated keys/states', [
    takeOnce('publicKey', bytesOfPem),
  ]),
  // Part 8: "at most 10". Part 1 tells of one initial key of "a freshly installed instance", and this instance is in use.
  // There are nine places at first, as if the initial key took one, and a tenth one comes free by itself.
  'another-client-gives-its-place-back-after-twenty-seconds': by.twelfth(
    'keys/limit-counts-initial keys/limit-frees keys/limit-exceeded',
    (seen, others: { key?: ApiKey } = {}) =>
      calls(() => {
        const { nowMs, context } = seen
        const more = { name: 'nightly report', scope: ['solution'], createdMs: nowMs }
        others.key ??= makeKey({ id: 'f'.repeat(32), secret: randomBytes(16).toString('hex'), ...more })
        if (!context.state.keys.has(others.key.id)) context.state.keys.set(others.key.id, others.key)
        if (nowMs >= others.key.createdMs + 20_000) others.key.deleted = true
        return undefined
      }),
  ),
  // Part 2 calls the id the "Identifier of the key"; how two of them are compared it does not show.
  'key-ids-compared-as-uuids': by.own('keys/id-spelling alone', {
    keyId: () => randomUUID(),
    keyNamed: (id, find, all) => find(id) ?? all().find((key) => asUuid(key.id) === asUuid(id)),
  }),
  // The collation of the column pads with blanks.
  'blanks-behind-key-id-ignored-in-grant': by.fourth('keys/id-spelling', {
    keyNamed: (id, find, all, means) =>
      find(id) ?? (means === 'grant' ? all().find((key) => key.id.trimEnd() === id.trimEnd()) : undefined),
  }),
  'blanks-behind-key-id-ignored-in-signatures': by.fourth('keys/id-spelling', {
    keyNamed: (id, find, _all, means) => find(means === 'hmac' || means === 'ecc' ? id.trimEnd() : id),
  }),
  'letter-case-of-key-id-ignored-in-basic': by.first('keys/id-spelling', {
    keyNamed: (id, find, all, means) =>
      means === 'basic' ? all().find((key) => key.id.toLowerCase() === id.toLowerCase()) : find(id),
  }),
}
