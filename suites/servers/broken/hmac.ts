import { createHmac } from 'node:crypto'
import { rules as right } from '../../../mock-server/rules.ts'
import type { ApiKey } from '../../../mock-server/state.ts'
import { meets } from '../around.ts'
import { isAccepted } from '../call.ts'
import { onGrant, onRefused } from '../events.ts'
import { agreesAgain, also, every, forKeysMade, unless, withCreators } from '../replaced-rules.ts'
import { type BrokenRows, by, type Change, firsts, marks, table } from '../rows.ts'
import { managesKeys } from './pairs.ts'
import { joined, onlyData, request, sha256 } from './signed-data.ts'

const base64 = (part: Uint8Array) => Buffer.from(part).toString('base64')

/** Accepts another MAC too: the key appears twice, and its copy is marked. */
const alsoMac = (make: (data: Uint8Array, key: ApiKey) => Buffer): Change => ({
  signingKeys: (key, _all, kind) => (kind === 'hmac' ? [key, { ...key, name: marked }] : [key]),
  mac: (data, key) => (key.name === marked ? make(data, key) : right.mac(data, key)),
})

const marked = 'the copy of a key'

/** Accepts other texts for a MAC too. */
const alsoMacText = (make: (mac: Buffer) => string | string[]): Change => ({
  macTexts: (cut, mac, profile) => [...right.macTexts(cut, mac, profile), ...[make(mac)].flat()],
})

const alsoMacMatch = (fits: (received: string, expected: string) => boolean): Change => also('macTextMatches', fits)

/** Accepts a MAC made with another secret too. */
const alsoSecretOf = (secret: (key: ApiKey) => string | Buffer): Change =>
  alsoMac((data, key) => createHmac('sha256', secret(key)).update(data).digest())

const sameBytes = (from: number, to: number) => (received: string, expected: string) => {
  const [one, other] = [received, expected].map((encoded) => Buffer.from(encoded, 'base64'))
  return one?.length === other?.length && one?.subarray(from, to).equals(other?.subarray(from, to) ?? one) === true
}

/** Accepts HMACs for keys with a public key, made with something other than their secret. */
function forPublicKeys(secret: (key: ApiKey) => string | Buffer): Change {
  return {
    hmacTakenFor: () => true,
    mac: (data, key) =>
      key.publicKey === undefined ? right.mac(data, key) : createHmac('sha256', secret(key)).update(data).digest(),
  }
}

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)

export const hmac: BrokenRows = {
  'signatures/hmac': {
    'lower-case-method-expected': { signedMethod: (method) => method.toLowerCase() },
    'full-url-expected': onlyData((parts, body) =>
      joined({ ...parts, uri: `http://${parts.host}${parts.target}` }, body),
    ),
    'final-line-feed-not-expected': onlyData((parts, body) => joined(parts, body).slice(0, -1)),
    'nonce-before-timestamp-expected': onlyData(
      (parts, body) => `${parts.nonce};${parts.timestamp};${request(parts, body)}`,
    ),
    'hmac-never-taken': { hmacTakenFor: () => false },
    'beginning-of-the-mac-text-taken': alsoMacMatch(
      (received, expected) => received.length >= 4 && expected.startsWith(received),
    ),
    'whole-mac-expected': { macBytes: () => 32 },
    'sha1-expected': { mac: (data, key) => createHmac('sha1', key.macKey).update(data).digest() },
    'sha1-taken-too': alsoMac((data, key) => createHmac('sha1', key.macKey).update(data).digest()),
    'sha512-taken-too': alsoMac((data, key) => createHmac('sha512', key.macKey).update(data).digest()),
    'plain-hash-taken-too': alsoMac((data, key) => sha256(Buffer.concat([Buffer.from(key.secret), data]))),
    'mac-over-a-hash-taken-too': alsoMac((data, key) => right.mac(sha256(data), key)),
    'empty-secret-taken-too': alsoSecretOf(() => ''),
    'key-id-as-secret-taken-too': alsoSecretOf(({ id }) => id),
    'empty-mac-taken': alsoMacMatch((received) => received === ''),
    'case-of-the-mac-ignored': alsoMacMatch((received, expected) => received.toLowerCase() === expected.toLowerCase()),
    'all-but-the-last-byte-compared': alsoMacMatch(sameBytes(0, 19)),
    'all-but-the-first-byte-compared': alsoMacMatch(sameBytes(1, 20)),
    // A right signature is refused when its BASE64 contains a plus sign, about every third time.
    'plus-in-mac-read-as-space': by.first({
      macTextMatches: (received, expected) => received.replaceAll('+', ' ') === expected,
    }),
    // A right signature is refused when the signed data fills whole SHA-256 blocks of 64 bytes.
    'mac-wrong-at-block-boundary': by.first({
      mac: (data, key) => right.mac(data.length % 64 === 0 ? Buffer.concat([data, Buffer.alloc(1)]) : data, key),
    }),
    'mac-with-hex-decoded-secret-accepted': by.first(alsoSecretOf(({ secret }) => Buffer.from(secret, 'hex'))),
    // After a right signature, any other one of the same key with the same timestamp is accepted.
    'mac-checked-once-per-key-and-timestamp': by.first(
      agreesAgain('macTextMatches', ({ keyId, authorization }) => `${keyId};${authorization?.split(';')[2]}`),
    ),
    'every-tenth-mac-not-checked': by.first(every(10, 'macTextMatches', () => true)),
    // A key that has signed twenty calls is trusted.
    'mac-not-checked-after-twenty-right-ones': by.first((seen, rightOnes = table<number>()) => ({
      macTextMatches: (received, expected) => {
        const count = rightOnes.get(seen.named) ?? 0
        const matches = count >= 20 || right.macTextMatches(received, expected)
        if (matches) rightOnes.set(seen.named, count + 1)
        return matches
      },
    })),
    // A secret-based key inherits the kind of the key that signed its creation.
    'key-created-by-ecc-call-cannot-sign': by.first(forKeysMade('by-ecc', (made) => unless('hmacTakenFor', made))),
    // Once a key has signed on a connection, its id is enough there.
    'later-signatures-on-connection-need-no-mac': by.second(
      agreesAgain('macTextMatches', ({ connection, keyId }) => connection && `${connection} ${keyId}`),
    ),
    // The MAC is kept as a number, which loses zeros at its beginning.
    'mac-with-leading-zero-byte-refused': by.third({
      macTextMatches: (received, expected) => Buffer.from(expected, 'base64')[0] !== 0 && received === expected,
    }),
    // A header is stored as checked before the outcome of the check is known.
    'wrong-signature-accepted-when-sent-again': by.third((seen, refused = marks()) => {
      const isKnown = () => refused.has(seen.authorization ?? '')
      return {
        ...onRefused(({ isSigned, authorization = '' }) => isSigned && refused.add(authorization)),
        usedNonceTaken: (profile) => isKnown() || right.usedNonceTaken(profile),
        macTextMatches: (received, expected) => isKnown() || right.macTextMatches(received, expected),
      }
    }),
    // "HMAC-SHA256 computed with the API key secret": that of the key that the header names
    'secret-of-creator-signs-for-created-key': by.third(
      withCreators((creatorOf) => ({
        signingKeys: (key, _all, kind) => [key, ...((kind === 'hmac' && [creatorOf(key) ?? key]) || [])],
      })),
    ),
    // "HMAC-SHA256 computed with the API key secret": the secret of the key that the call names
    'secret-of-first-signer-holds-for-its-connection': by.fourth((seen, first = firsts<ApiKey>()) => ({
      signingKeys: (key, _all, kind) => [kind === 'ecc' ? key : first(seen.connection, key)],
    })),
    // The comparison in constant time adds the differences up, and they cancel each other out.
    'swapped-letters-of-mac-accepted': by.fifth({
      macTextMatches: (received, expected) =>
        received.length === expected.length && sumOf(received) === sumOf(expected),
    }),
    'mac-with-secret-in-capitals-accepted': by.fifth(alsoSecretOf(({ secret }) => secret.toUpperCase())),
    // The process keeps the last authorized key until the next call has been answered.
    'wrong-mac-accepted-directly-behind-token-call-of-its-key': by.fifth((seen, last?: ApiKey) => ({
      around: meets(async (call, next) => {
        const answer = await next()
        last = isAccepted(answer) && call.token !== '' ? seen.pair?.key : undefined
        return answer
      }),
      ...alsoMacMatch(() => last !== undefined && last === seen.caller),
    })),
    // The bytes are compared as texts that end at a zero byte.
    'mac-compared-up-to-its-first-zero-byte': by.eighth({
      macTextMatches: (received, expected) => {
        const [shown, wanted] = [Buffer.from(received, 'base64'), Buffer.from(expected, 'base64')]
        const end = wanted.indexOf(0) + 1
        return end === 0
          ? right.macTextMatches(received, expected)
          : shown.subarray(0, end).equals(wanted.subarray(0, end))
      },
    }),
    // The column of the first version held sixteen characters.
    'mac-by-first-half-of-secret-accepted': by.ninth(alsoSecretOf(({ secret }) => secret.slice(0, secret.length / 2))),
    // "Three ways to authorize a call to a method": one does not end another
    'created-key-cannot-sign-once-it-got-a-token': by.ninth((_seen, granted = marks()) => ({
      ...onGrant(({ key }) => !key.initial && granted.add(key)),
      ...unless('hmacTakenFor', (key) => granted.has(key)),
    })),
    // For clients that read the secret from a file together with the end of its line.
    'mac-by-secret-with-line-feed-accepted': by.tenth(alsoSecretOf(({ secret }) => `${secret}\n`)),
    'beginning-of-the-mac-taken': alsoMacMatch((received, expected) => expected.startsWith(received)),
    'first-ten-bytes-compared': alsoMacMatch(sameBytes(0, 10)),
  },
  'signatures/hmac-length': {
    'beginning-of-the-mac-bytes-taken': alsoMacMatch((received, expected) => {
      const bytes = Buffer.from(received, 'base64')
      return bytes.length > 0 && bytes.equals(Buffer.from(expected, 'base64').subarray(0, bytes.length))
    }),
    'whole-mac-taken-too': alsoMacText((mac) => base64(mac)),
    'any-mac-of-at-least-ten-bytes-taken': alsoMacText((mac) =>
      Array.from({ length: 23 }, (_none, index) => base64(mac.subarray(0, 10 + index))),
    ),
    'nineteen-bytes-taken-too': alsoMacText((mac) => base64(mac.subarray(0, 19))),
    'twenty-one-bytes-taken-too': alsoMacText((mac) => base64(mac.subarray(0, 21))),
    'last-twenty-bytes-taken-too': alsoMacText((mac) => base64(mac.subarray(-20))),
    'text-behind-mac-ignored': by.first({ macTextMatches: (received, expected) => received.startsWith(expected) }),
    'sixteen-byte-mac-accepted': by.first(alsoMacText((mac) => base64(mac.subarray(0, 16)))),
    'whole-mac-taken-on-key-creation': by.fourth((seen) => alsoMacText((mac) => (seen.creates ? base64(mac) : []))),
    'whole-mac-of-key-without-apikey-scope-accepted': by.fifth((seen) =>
      alsoMacText((mac) => (seen.caller && managesKeys(seen.caller) ? [] : base64(mac))),
    ),
    // A MAC of twelve bytes passes too, as in IPsec.
    'mac-cut-to-96-bits-accepted': by.tenth(alsoMacText((mac) => base64(mac.subarray(0, 12)))),
  },
  'signatures/hmac-encoding': {
    'mac-in-hex-taken-too': alsoMacText((mac) => mac.subarray(0, 20).toString('hex')),
    'base64-of-hex-taken-too': alsoMacText((mac) => base64(Buffer.from(mac.subarray(0, 20).toString('hex')))),
    'percent-encoded-mac-accepted': by.third(alsoMacText((mac) => encodeURIComponent(base64(mac.subarray(0, 20))))),
    // The pattern for the field wants a letter or a digit in front.
    'mac-that-begins-with-a-sign-refused': by.fourth(unless('macTextMatches', (received) => /^[+/]/.test(received))),
    'text-in-front-of-mac-ignored': by.fifth({ macTextMatches: (received, expected) => received.endsWith(expected) }),
    'mac-in-base64url-taken-too': alsoMacText((mac) =>
      base64(mac.subarray(0, 20)).replaceAll('+', '-').replaceAll('/', '_'),
    ),
  },
  'signatures/public-key-refuses-hmac': {
    'hmac-for-public-keys-too': { hmacTakenFor: () => true },
    'hmac-with-an-empty-secret-for-public-keys': forPublicKeys(() => ''),
    'hmac-with-the-pem-for-public-keys': forPublicKeys((key) => key.publicKey ?? ''),
    'hmac-with-the-public-key-itself': forPublicKeys(
      (key) => key.verifyKey?.export({ type: 'spki', format: 'der' }).subarray(-32) ?? '',
    ),
    'hmac-with-the-id-for-public-keys': forPublicKeys((key) => key.id),
    'hmac-with-any-secret-for-public-keys': {
      hmacTakenFor: () => true,
      signingKeys: (key, all, kind) => (kind === 'hmac' && key.publicKey !== undefined ? all() : [key]),
    },
    // Once a key with a public key has signed a call, an HMAC with its secret is accepted.
    'hmac-accepted-after-first-ecc-call': by.first((seen, signers = marks()) => ({
      hmacTakenFor: (key) => right.hmacTakenFor(key) || signers.has(key),
      eccVerifies: (publicKey, data, signature) => {
        const verified = right.eccVerifies(publicKey, data, signature)
        if (verified) signers.add(seen.named)
        return verified
      },
    })),
    // A key with a public key takes HMAC signatures if an access token authorized its creation.
    'public-key-created-by-token-takes-hmac': by.second(forKeysMade('by-token', (made) => also('hmacTakenFor', made))),
    // The kind of signature is decided at the first signed call of a connection.
    'hmac-for-public-key-accepted-behind-other-hmac-on-connection': by.third(
      agreesAgain('hmacTakenFor', ({ connection }) => connection),
    ),
    // The service of the threads has a check of its own.
    'hmac-of-public-key-accepted-on-one-method-of-threads': by.reported((seen) =>
      also('hmacTakenFor', () => seen.is('thread/listThreads')),
    ),
    // The kind of a key reaches the replicas ten seconds after its creation.
    'public-key-takes-hmac-for-ten-seconds': by.fourth((seen) =>
      also('hmacTakenFor', ({ createdMs }) => seen.nowMs - createdMs < 10_000),
    ),
    'hmac-of-creator-accepted-for-public-key': by.fifth(
      withCreators((creatorOf) => {
        const signerOf = (key: ApiKey) =>
          key.publicKey !== undefined && creatorOf(key)?.publicKey === undefined ? creatorOf(key) : undefined
        return {
          hmacTakenFor: (key) => right.hmacTakenFor(key) || signerOf(key) !== undefined,
          signingKeys: (key, _all, kind) => [(kind === 'hmac' && signerOf(key)) || key],
        }
      }),
    ),
    // A key whose signature fails is marked as one of the old kind.
    'hmac-accepted-for-public-key-after-wrong-ecc-signature': by.fifth((seen, failed = marks()) => ({
      hmacTakenFor: (key) => right.hmacTakenFor(key) || failed.has(key),
      eccVerifies: (publicKey, data, signature) => {
        const verifies = right.eccVerifies(publicKey, data, signature)
        if (!verifies && signature.length === 64) failed.add(seen.caller)
        return verifies
      },
    })),
  },
}
