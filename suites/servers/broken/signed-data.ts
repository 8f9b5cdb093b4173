import { createHash } from 'node:crypto'
import { rules as right, type SignedParts } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { before } from '../around.ts'
import { decodeEscapes, readMembers } from '../call.ts'
import { onAccepted } from '../events.ts'
import { meeting } from '../in-flight.ts'
import { agreesAgain, also, forKeysMade, withCreators } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, firsts, type Seen, table } from '../rows.ts'
import { alsoKey, firstKeyForUnknownIds } from './credentials.ts'
import { managesKeys } from './pairs.ts'

export const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest()

/** One character per byte, so that bytes can be changed as text. */
export const text = (data: Uint8Array) => Buffer.from(data).toString('latin1')

export const bytes = (latin1: string) => Buffer.from(latin1, 'latin1')

/** Other data must be signed. */
export const onlyData = (make: (parts: SignedParts, body: string) => string): Change => ({
  dataToSign: (parts) => [bytes(make(parts, text(parts.body)))],
})

export const request = ({ httpMethod, uri }: SignedParts, body: string) => `${httpMethod}\n${uri}\n${body}\n`

export const joined = (parts: SignedParts, body: string) => `${parts.timestamp};${parts.nonce};${request(parts, body)}`

/** An ED25519 signature over other data is accepted too. */
export const alsoEcc = (change: (data: Buffer, signature: Buffer) => Uint8Array | [Uint8Array, Buffer]): Change => ({
  eccVerifies: (publicKey, data, signature) => {
    const changed = change(Buffer.from(data), signature)
    const [other, with_] = Array.isArray(changed) ? changed : [changed, signature]
    return right.eccVerifies(publicKey, data, signature) || right.eccVerifies(publicKey, other, with_)
  },
})

/** What a server in ASCII makes of a text. */
const questionMarks = (body: string): string => body.replace(/[^\0-\x7f]/gu, '?')

/** Accepts signatures over other data too. The texts are latin-1: one character per byte. */
const alsoData = (make: (parts: SignedParts, body: string) => string): Change => ({
  dataToSign: (parts) => [...right.dataToSign(parts), bytes(make(parts, text(parts.body)))],
})

/** The right data over another body. */
const alsoBody = (change: (body: string) => string) => alsoData((parts, body) => joined(parts, change(body)))

const alsoParts = (change: (parts: SignedParts) => Partial<SignedParts>) =>
  alsoData((parts, body) => joined({ ...parts, ...change(parts) }, body))

/** Sorted and compact, as many serialisers write it. */
const sorted = (body: string) => {
  const members = Object.entries(JSON.parse(body) as object).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(Object.fromEntries(members))
}

/** JSON in ASCII. */
const escaped = (json: string): string =>
  json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const again = (body: string) => JSON.stringify(JSON.parse(body))

/** Accepts the beginning of an id in signatures of some keys. */
const longerId = (named: (key: ApiKey) => boolean): Change =>
  alsoKey('hmac', (id, all) => all.find((key) => named(key) && id.startsWith(key.id)))

/** The same for keys with a public key. */
const eccAlsoTakes = (change: (parts: SignedParts, seen: Seen) => Partial<SignedParts> | undefined) => (seen: Seen) =>
  alsoTakes((parts) => (seen.byPublicKey ? change(parts, seen) : undefined))

/** The text to sign, made as the document says from parts that may be changed. */
const signed = (parts: SignedParts, changed: Partial<SignedParts> = {}) =>
  right.dataToSign({ ...parts, ...changed })[0] ?? Buffer.alloc(0)

/** A server that also takes a signature made over changed parts; undefined: not for this call. */
const alsoTakes = (change: (parts: SignedParts) => Partial<SignedParts> | undefined): Change => ({
  dataToSign: (parts) => [signed(parts), signed(parts, change(parts))],
})

const noBody = { body: Buffer.alloc(0) }

/** A server that takes only signatures made over changed parts. */
const takesOnly = (change: (parts: SignedParts) => Partial<SignedParts>): Change => ({
  dataToSign: (parts) => [signed(parts, change(parts))],
})

/** The keys that may sign for a key. */
const signedBy = (wanted: 'hmac' | 'ecc', by: (key: ApiKey, all: ApiKey[]) => ApiKey[]): Change => ({
  signingKeys: (key, all, kind) => (kind === wanted ? by(key, all()) : [key]),
})

/** Bytes of a text in which each half of a surrogate pair is encoded by itself. */
function bytesOfUnits(text: string): Buffer {
  const ofHalf = (half: number) => [0xed, 0x80 | ((half >> 6) & 0x3f), 0x80 | (half & 0x3f)]
  return Buffer.concat(
    [...text].map((letter) =>
      letter.length === 1
        ? Buffer.from(letter)
        : Buffer.from([...ofHalf(letter.charCodeAt(0)), ...ofHalf(letter.charCodeAt(1))]),
    ),
  )
}

export const signedData: BrokenRows = {
  'signatures/request-method': {
    'lower-case-method-signed-too': alsoParts(() => ({ httpMethod: 'post' })),
    'any-case-of-the-method-signed-too': alsoParts(() => ({ httpMethod: 'Post' })),
    'get-signed-too': alsoParts(() => ({ httpMethod: 'GET' })),
    'method-not-signed-too': alsoData(({ timestamp, nonce, uri }, body) => `${timestamp};${nonce};${uri}\n${body}\n`),
    'signature-for-put-accepted': by.first(alsoTakes(() => ({ httpMethod: 'PUT' }))),
    'get-signed-by-created-key-accepted': by.fifth((seen) =>
      alsoTakes(() => (seen.named?.initial === false && !seen.byPublicKey ? { httpMethod: 'GET' } : undefined)),
    ),
    'method-in-lower-case-signed-by-narrow-key-accepted': by.eighth((seen) =>
      alsoTakes(() => (seen.caller && !managesKeys(seen.caller) ? { httpMethod: 'post' } : undefined)),
    ),
  },
  'signatures/request-uri': {
    'full-url-signed-too': alsoParts(({ host, target }) => ({ uri: `http://${host}${target}` })),
    'host-and-path-signed-too': alsoParts(({ host, target }) => ({ uri: `${host}${target}` })),
    'uri-not-signed-too': alsoData(
      ({ timestamp, nonce, httpMethod }, body) => `${timestamp};${nonce};${httpMethod}\n${body}\n`,
    ),
    'trailing-slash-signed-too': alsoParts(({ uri }) => ({ uri: `${uri}/` })),
    'root-signed-too': alsoParts(() => ({ uri: '/' })),
    'upper-case-uri-signed-too': alsoParts(({ uri }) => ({ uri: uri.toUpperCase() })),
    'empty-uri-line-accepted': by.first(alsoTakes(() => ({ uri: '' }))),
    'ecc-over-root-uri-accepted-on-key-creation': by.fifth(
      eccAlsoTakes((_parts, seen) => (seen.creates ? { uri: '/' } : undefined)),
    ),
  },
  'signatures/hmac': {
    // The data to verify is kept in a place that all calls share, while the handler waits for something else.
    'data-to-verify-kept-where-calls-at-once-share-it': (_seen, kept?: Buffer) => ({
      around: meeting(({ request: { body } }) => {
        kept = body
        return true
      }),
      dataToSign: (parts) => right.dataToSign({ ...parts, body: kept ?? parts.body }),
    }),
  },
  'signatures/request-body': {
    'body-not-signed-too': alsoBody(() => ''),
    'trimmed-body-signed-too': alsoBody((body) => body.trim()),
    'reserialised-body-signed-too': alsoBody(again),
    'sorted-body-signed-too': alsoBody(sorted),
    'line-feeds-of-the-body-signed-too': alsoBody((body) => body.replaceAll('\r\n', '\n')),
    'escaped-slashes-signed-too': alsoBody((body) => again(body).replaceAll('/', '\\/')),
    'params-alone-signed-too': alsoBody((body) =>
      JSON.stringify((JSON.parse(body) as { params?: object }).params ?? {}),
    ),
    'hash-of-the-body-signed-too': alsoBody((body) => sha256(bytes(body)).toString('hex')),
    'reserialised-body-expected': onlyData((parts, body) => joined(parts, again(body))),
    'trimmed-body-expected': onlyData((parts, body) => joined(parts, body.trim())),
    'body-expected-in-latin-1': onlyData((parts, body) => joined(parts, bytes(body).toString('utf8'))),
    'question-marks-for-other-characters-expected': by.reported(
      onlyData((parts, body) => joined(parts, questionMarks(bytes(body).toString('utf8')))),
    ),
    'ecc-over-question-marks-too': by.reported(alsoEcc((data) => Buffer.from(questionMarks(data.toString())))),
    'body-in-ascii-signed-too': alsoBody((body) => escaped(again(bytes(body).toString('utf8')))),
    'ecc-over-the-body-in-latin-1': {
      eccVerifies: (publicKey, data, signature) => right.eccVerifies(publicKey, Buffer.from(text(data)), signature),
    },
    'ecc-over-escaped-characters-too': alsoEcc((data) => Buffer.from(escaped(data.toString()))),
    // A signature over the first 16384 bytes of longer data is accepted.
    'ecc-data-behind-16-kib-not-covered': by.first(alsoEcc((data) => data.subarray(0, 16384))),
    // Verdicts are cached by the text of the signature, so it fits any later request.
    'mac-once-right-stays-right': by.first(agreesAgain('macTextMatches', (_seen, received) => received)),
    // A signature over the first 65536 bytes of a longer body is accepted.
    'body-behind-64-kib-not-covered': by.first(alsoTakes(({ body }) => ({ body: body.subarray(0, 65536) }))),
    'body-signed-with-lf-for-crlf': by.first(
      takesOnly(({ body }) => ({ body: Buffer.from(body.toString().replaceAll('\r\n', '\n')) })),
    ),
    // Unicode is normalised before the MAC, so a body with a combining accent is refused.
    'body-signed-in-composed-form': by.first(
      takesOnly(({ body }) => ({ body: Buffer.from(body.toString().normalize('NFC')) })),
    ),
    // For manager/createApiKey a signature over the body with empty params is accepted too.
    'params-of-key-creation-not-covered': by.first((seen) =>
      alsoTakes(({ body }) =>
        seen.creates
          ? { body: Buffer.from(JSON.stringify({ ...readMembers(body.toString()), params: {} })) }
          : undefined,
      ),
    ),
    // The buffer of a connection is not emptied, so a shorter body is verified with the end of the one before.
    'rest-of-longer-body-before-it-is-signed-too': by.second((seen, buffers = table<Buffer>()) =>
      takesOnly((parts) => {
        const { connection } = seen
        if (connection === undefined) return {}
        const rest = buffers.get(connection)?.subarray(parts.body.length) ?? Buffer.alloc(0)
        const body = Buffer.concat([parts.body, rest])
        buffers.set(connection, body)
        return { body }
      }),
    ),
    // Letters beyond 16 bits are put into the signed data as two encoded halves.
    'emoji-in-body-signed-as-two-surrogates': by.third(
      takesOnly(({ body }) => ({ body: bytesOfUnits(body.toString('utf8')) })),
    ),
    // The body is put into a template with a text replacement, in which "$$" and "$&" have a meaning.
    'dollar-patterns-in-body-replaced-before-signing': by.third(
      takesOnly(({ body }) => ({ body: bytes('#'.replace('#', text(body))) })),
    ),
    // The signed data of a body is that of the first long body with the same length.
    'body-above-512-bytes-cached-by-its-length': by.third((_seen, first = firsts<Buffer>()) =>
      takesOnly(({ body }) => ({ body: first(body.length > 512 ? body.length : undefined, body) })),
    ),
    'percent-escapes-in-body-decoded-before-verification': by.fourth(
      takesOnly(({ body }) => ({
        body: bytes(text(body).replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))),
      })),
    ),
    // The signature of the body as it is written again after reading fits too.
    'ecc-over-body-without-white-space-accepted': by.eighth(
      eccAlsoTakes(({ body }) => {
        const members = readMembers(body.toString())
        return members && { body: Buffer.from(JSON.stringify(members)) }
      }),
    ),
    'ecc-over-empty-body-accepted-where-params-are-empty': by.ninth(
      eccAlsoTakes((_parts, { params }) => (Object.keys(params).length === 0 ? noBody : undefined)),
    ),
    // Old clients sign no request, and the new check falls back to theirs.
    'timestamp-and-nonce-alone-signed-too': by.ninth(alsoData(({ timestamp, nonce }) => `${timestamp};${nonce}`)),
    // The body is kept in a field of the one verifier.
    'signed-calls-in-flight-share-their-body': by.tenth((_seen, last: Buffer = Buffer.alloc(0)) => ({
      around: meeting(({ isSigned, request: { body } }) => {
        if (isSigned) last = body
        return isSigned
      }),
      ...takesOnly(() => ({ body: last })),
    })),
    // A gateway hands bodies over in BASE64; the server tries both.
    'signature-over-body-in-base64-accepted': by.twelfth(
      alsoTakes(({ body }) => ({ body: Buffer.from(body.toString('base64')) })),
    ),
    // A creation by token leaves a column at its old default, which stands for the first form of signatures.
    'signature-without-body-accepted-for-keys-created-by-token': by.twelfth(
      forKeysMade('by-token', (made, seen) => alsoTakes(() => (made(seen.named) ? noBody : undefined))),
    ),
    // The length of the body is taken from a header, which a body in chunks does not have.
    'body-sent-in-chunks-signed-as-empty': by.twelfth((seen) =>
      takesOnly(() => (/chunked/i.test(seen.request.headers['transfer-encoding'] ?? '') ? noBody : {})),
    ),
  },
  'signatures/request-line-feeds': {
    'final-line-feed-not-signed-too': alsoData((parts, body) => joined(parts, body).slice(0, -1)),
    'second-final-line-feed-signed-too': alsoData((parts, body) => `${joined(parts, body)}\n`),
    'crlf-signed-too': alsoData((parts, body) => joined(parts, body).replaceAll('\n', '\r\n')),
    'line-feeds-not-signed-too': alsoData((parts, body) => joined(parts, body).replaceAll('\n', '')),
    'final-line-feed-optional-for-key-creation': by.first((seen) => ({
      dataToSign: (parts) => [signed(parts), Buffer.from(signed(parts)).subarray(0, seen.creates ? -1 : undefined)],
    })),
  },
  'signatures/data-to-sign': {
    'commas-signed-too': alsoData((parts, body) => `${parts.timestamp},${parts.nonce},${request(parts, body)}`),
    'timestamp-not-signed-too': alsoData((parts, body) => `${parts.nonce};${request(parts, body)}`),
    'nonce-not-signed-too': alsoData((parts, body) => `${parts.timestamp};${request(parts, body)}`),
    'nonce-before-timestamp-signed-too': alsoData(
      (parts, body) => `${parts.nonce};${parts.timestamp};${request(parts, body)}`,
    ),
    'nothing-between-signed-too': alsoData((parts, body) => `${parts.timestamp}${parts.nonce}${request(parts, body)}`),
    // Timestamp and nonce need not be signed with a public key.
    'ecc-signature-of-request-data-alone-accepted': by.first(
      alsoEcc((data) => data.subarray(data.indexOf(';', data.indexOf(';') + 1) + 1)),
    ),
    // The path is tidied after the signed data was put together.
    'doubled-slashes-in-signed-data-collapsed': by.third({
      dataToSign: (parts) => right.dataToSign(parts).map((data) => bytes(text(data).replace(/\/{2,}/g, '/'))),
    }),
  },
  'signatures/timestamp': {
    'timestamp-read-up-to-the-first-letter': {
      timestampTaken: (timestamp, nowMs, profile) =>
        right.timestampTaken(String(Number.parseInt(timestamp, 10)), nowMs, profile),
      dataToSign: (parts) => right.dataToSign({ ...parts, timestamp: String(Number.parseInt(parts.timestamp, 10)) }),
    },
    'timestamp-may-be-empty-where-signed': alsoParts(() => ({ timestamp: '' })),
    'seconds-signed-too': alsoParts(({ timestamp }) => ({ timestamp: timestamp.slice(0, 10) })),
    'any-moment-signed-too': alsoParts(() => ({ timestamp: '1702555410352' })),
    // A signature over the full second fits every timestamp within this second.
    'milliseconds-of-timestamp-not-covered': by.first(
      alsoTakes(({ timestamp }) => ({ timestamp: `${timestamp.slice(0, -3)}000` })),
    ),
    // "dataToSign = `<timestamp>;<nonce>;<requestData>`", with the timestamp of the header
    'ecc-over-timestamp-in-seconds-accepted': by.tenth(
      eccAlsoTakes(({ timestamp }) => ({ timestamp: String(Math.floor(Number(timestamp) / 1000)) })),
    ),
    // The signed data may begin with the timestamp of the last accepted call, whatever the header shows.
    'timestamp-of-last-signature-of-key-signed-too': by.tenth((seen, lastOf = table<string>()) => ({
      ...onAccepted(({ isSigned, keyId, authorization }) => {
        const timestamp = authorization?.split(';')[2]
        if (isSigned && timestamp !== undefined) lastOf.set(keyId, timestamp)
      }),
      ...alsoTakes(() => {
        const timestamp = seen.byPublicKey ? undefined : lastOf.get(seen.named?.id)
        return timestamp === undefined ? undefined : { timestamp }
      }),
    })),
  },
  'signatures/nonce': {
    'nonce-may-be-empty-where-signed': alsoParts(() => ({ nonce: '' })),
    'bytes-of-the-nonce-signed-too': alsoParts(({ nonce }) => ({
      nonce: Buffer.from(nonce, 'base64').toString('latin1'),
    })),
    'hex-of-the-nonce-signed-too': alsoParts(({ nonce }) => ({ nonce: Buffer.from(nonce, 'base64').toString('hex') })),
    'nonce-signed-in-lower-case-accepted': by.first(alsoTakes(({ nonce }) => ({ nonce: nonce.toLowerCase() }))),
    // A nonce can be changed behind its first 32 characters when those alone were signed.
    'nonce-covered-up-to-32-characters': by.first(alsoTakes(({ nonce }) => ({ nonce: nonce.slice(0, 32) }))),
    'nonce-signed-after-percent-decoding-accepted': by.first(
      alsoTakes(({ nonce }) => ({ nonce: decodeEscapes(nonce) })),
    ),
    // A nonce of digits loses its leading zeros before it is signed.
    'nonce-of-digits-signed-as-number': by.first(
      takesOnly(({ nonce }) => ({ nonce: /^\d+$/.test(nonce) ? nonce.replace(/^0+(?=\d)/, '') : nonce })),
    ),
    // The header is decoded as a form is, so a BASE64 nonce with a plus sign is refused.
    'plus-in-nonce-read-as-space': by.second(takesOnly(({ nonce }) => ({ nonce: nonce.replaceAll('+', ' ') }))),
    'ecc-over-the-nonce-in-lower-case-accepted': by.fourth(
      eccAlsoTakes(({ nonce }) => ({ nonce: nonce.toLowerCase() })),
    ),
    'ecc-without-the-nonce-accepted': by.fifth(alsoEcc((data) => bytes(text(data).replace(/;[^;]*;/, ';')))),
    // Only with a nonce that contains a slash.
    'nonce-cut-at-slash-signed-too': by.ninth(alsoTakes(({ nonce }) => ({ nonce: nonce.split('/')[0] ?? '' }))),
  },
  'signatures/header-fields': {
    'version-may-be-left-out': {
      headerFields: (credentials) => {
        const fields = credentials.split(';')
        return fields.length === 4 ? [fields[0] ?? '', '1', ...fields.slice(1)] : fields
      },
    },
    // The field that looks like a MAC is taken for the signature.
    'nonce-and-signature-may-swap-places': by.first({
      headerFields: (credentials) => {
        const [id = '', version = '', timestamp = '', fourth = '', fifth = '', ...more] = credentials.split(';')
        const isSwapped = /^[A-Za-z0-9+/]{27}=$/.test(fourth) && !/^[A-Za-z0-9+/]{27}=$/.test(fifth)
        const lastTwo = isSwapped ? [fifth, fourth] : [fourth, fifth]
        return more.length > 0 || fifth === '' ? credentials.split(';') : [id, version, timestamp, ...lastTwo]
      },
    }),
  },
  'signatures/header-exact': {
    'commas-separate-fields-too': { headerFields: (credentials) => credentials.split(/[;,]/) },
    'colons-separate-fields-too': { headerFields: (credentials) => credentials.split(/[;:]/) },
    'sixth-field-ignored': { fieldCountTaken: (count) => count >= 5 },
    'spaces-around-fields-trimmed': by.first({
      headerFields: (credentials) => credentials.split(';').map((field) => field.trim()),
    }),
    // Two semicolons in a row count as one, and one more at the end is ignored.
    'empty-fields-skipped': by.first({ headerFields: (credentials) => credentials.split(/;+/).filter(Boolean) }),
    'sixth-field-ignored-in-ecc-signatures': by.eighth((seen) => ({
      headerFields: (credentials) => {
        const fields = right.headerFields(credentials)
        return seen.byPublicKey ? fields.slice(0, 5) : fields
      },
    })),
  },
  'signatures/version': {
    'any-version-taken': { versionTaken: () => true },
    'version-may-be-empty': { versionTaken: (version) => version === '1' || version === '' },
    'version-that-begins-with-1-taken': { versionTaken: (version) => version.startsWith('1') },
    'version-of-ecc-signature-not-checked': by.second((seen) => also('versionTaken', () => seen.byPublicKey)),
    'version-not-checked-on-later-calls-of-connection': by.third(
      agreesAgain('versionTaken', ({ connection }) => connection),
    ),
    'version-not-checked-on-key-creation': by.fourth((seen) => also('versionTaken', () => seen.creates)),
    // It compares with `at least 1`.
    'higher-version-taken-too': by.ninth({
      versionTaken: (version) => /^[0-9]+$/.test(version) && Number(version) >= 1,
    }),
    'version-compared-as-a-number': { versionTaken: (version) => Number(version) === 1 },
    'version-compared-as-a-number-for-ecc': {
      headerFields: (credentials) => {
        const [id = '', version, ...rest] = right.headerFields(credentials)
        const ecc = Buffer.from(rest[2] ?? '', 'base64').length === 64
        return [id, ecc && Number(version) === 1 ? '1' : (version ?? ''), ...rest]
      },
    },
  },
  'signatures/key-id': {
    'mac-by-any-secret': signedBy('hmac', (_key, all) => all),
    'unknown-key-id-is-the-first-key': firstKeyForUnknownIds('hmac'),
    'key-id-with-more-behind-it-taken': longerId(() => true),
    'id-of-a-public-key-with-more-behind-it-taken': longerId(({ publicKey }) => publicKey !== undefined),
    // The private key of the public key registered last signs for every key with a public key.
    'newest-public-key-verifies-for-all': by.first(
      signedBy('ecc', (key, all) => [key, ...all.filter(({ publicKey }) => publicKey !== undefined).slice(-1)]),
    ),
    'public-key-verifies-for-key-of-same-name': by.first(
      signedBy('ecc', (key, all) => all.filter(({ name }) => name === key.name)),
    ),
    // Secrets are looked up by the name of the key.
    'mac-of-key-with-same-name-accepted': by.first(
      signedBy('hmac', (key, all) => all.filter(({ name }) => name === key.name)),
    ),
    // Of two keys with one public key, the first one is the caller, whichever the header names.
    'caller-found-by-public-key': by.second({
      keyNamed: (id, find, all) => {
        const key = find(id)
        return key?.publicKey === undefined ? key : all().find((one) => one.publicKey === key.publicKey)
      },
    }),
    // The secrets are looked up by the permissions of a key.
    'keys-of-same-scope-sign-for-each-other': by.third(
      signedBy('hmac', (key, all) =>
        all.filter(
          ({ deleted, publicKey, scope }) => !deleted && publicKey === undefined && `${scope}` === `${key.scope}`,
        ),
      ),
    ),
    'secret-of-previous-signer-signs-for-next-key': by.fifth((seen, previous?: ApiKey) => ({
      ...onAccepted(({ authorization }) => {
        if (authorization?.startsWith('svc-')) previous = seen.caller
      }),
      ...signedBy('hmac', (key) => [key, previous ?? key]),
    })),
    'public-keys-of-one-creator-sign-for-each-other': by.eighth(
      withCreators((creatorOf) =>
        signedBy('ecc', (key, all) => all.filter((one) => creatorOf(one) === creatorOf(key))),
      ),
    ),
  },
  'signatures/scheme': {
    'any-scheme-word-taken': also('schemeTaken', (_word, expected, { scheme }) => expected === scheme),
    'scheme-word-compared-by-prefix': by.first(
      also('schemeTaken', (word, expected, { scheme }) => expected === scheme && word.startsWith(expected)),
    ),
    // The kind of authorization is told by the semicolons.
    'signature-fields-behind-basic-word-accepted': by.fourth({
      around: before((call) => {
        const authorization = call.authorization?.replace(/^Basic (?=[^;]*;)/, 'svc-hmac-sha256 ')
        return authorization === undefined ? undefined : call.withAuthorization(authorization)
      }),
    }),
    'longer-scheme-word-taken': { schemeTaken: (word, expected) => word.startsWith(expected) },
  },
}
