import { createHash, createHmac, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { SignedParts } from '../rules/signatures.ts'
import type { Rules } from '../rules.ts'
import { rules } from '../rules.ts'
import type { ApiKey } from '../state.ts'
import type { Mutant } from './mutant.ts'

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest()
const sha512 = (data: Uint8Array) => createHash('sha512').update(data).digest()
const text = (data: Uint8Array) => Buffer.from(data).toString('latin1')
const bytes = (latin1: string) => Buffer.from(latin1, 'latin1')

/** Other data may be signed beside the right ones. The texts are latin-1: one character per byte. */
const alsoData = (make: (parts: SignedParts, body: string) => string): Partial<Rules> => ({
  dataToSign: (parts) => [...rules.dataToSign(parts), bytes(make(parts, text(parts.body)))],
})
/** Other data must be signed. */
const onlyData = (make: (parts: SignedParts, body: string) => string): Partial<Rules> => ({
  dataToSign: (parts) => [bytes(make(parts, text(parts.body)))],
})
const request = ({ httpMethod, uri }: SignedParts, body: string) => `${httpMethod}\n${uri}\n${body}\n`
const joined = (parts: SignedParts, body: string) => `${parts.timestamp};${parts.nonce};${request(parts, body)}`
/** The right data over another body. */
const alsoBody = (change: (body: string) => string) => alsoData((parts, body) => joined(parts, change(body)))
const alsoParts = (change: (parts: SignedParts) => Partial<SignedParts>) =>
  alsoData((parts, body) => joined({ ...parts, ...change(parts) }, body))

/** Another MAC is taken beside the right one: the key appears twice, and its copy is marked. */
const alsoMac = (make: (data: Uint8Array, key: ApiKey) => Buffer): Partial<Rules> => ({
  signingKeys: (key, _all, kind) => (kind === 'hmac' ? [key, { ...key, name: marked }] : [key]),
  mac: (data, key) => (key.name === marked ? make(data, key) : rules.mac(data, key)),
})
const marked = 'the copy of a key'

/** Other texts stand for a MAC beside the right one. */
const alsoMacText = (make: (mac: Buffer) => string | string[]): Partial<Rules> => ({
  macTexts: (cut, mac, profile) => [...rules.macTexts(cut, mac, profile), ...[make(mac)].flat()],
})
const base64 = (part: Uint8Array) => Buffer.from(part).toString('base64')
const alsoMacMatch = (fits: (received: string, expected: string) => boolean): Partial<Rules> => ({
  macTextMatches: (received, expected) => rules.macTextMatches(received, expected) || fits(received, expected),
})
const sameBytes = (from: number, to: number) => (received: string, expected: string) => {
  const [one, other] = [received, expected].map((encoded) => Buffer.from(encoded, 'base64'))
  return one?.length === other?.length && one?.subarray(from, to).equals(other?.subarray(from, to) ?? one) === true
}

/** An ED25519 signature of something else is taken beside the right one. */
const alsoEcc = (change: (data: Buffer, signature: Buffer) => Uint8Array | [Uint8Array, Buffer]): Partial<Rules> => ({
  eccVerifies: (publicKey, data, signature) => {
    const changed = change(Buffer.from(data), signature)
    const [other, with_] = Array.isArray(changed) ? changed : [changed, signature]
    return rules.eccVerifies(publicKey, data, signature) || rules.eccVerifies(publicKey, other, with_)
  },
})
const eccText = (change: (data: string) => string) => alsoEcc((data) => bytes(change(text(data))))
const alsoEccBytes = (read: (received: string) => Buffer): Partial<Rules> => ({
  eccSignatures: (received, profile) => [...rules.eccSignatures(received, profile), read(received)],
})

const order = 2n ** 252n + 27742317777372353535851937790883648493n
/** S brought below L: what a verifier without that check does. */
function reduced(signature: Buffer): Buffer {
  let s = 0n
  for (const byte of [...signature.subarray(32)].reverse()) s = (s << 8n) | BigInt(byte)
  s %= order
  return Buffer.concat([
    signature.subarray(0, 32),
    Buffer.from(Array.from({ length: 32 }, (_zero, index) => Number((s >> BigInt(8 * index)) & 0xffn))),
  ])
}

/** An ED25519 public key whose seed is made of a secret. */
function keyOfSeed(seed: Buffer): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

/** Sorted and compact, as many serialisers write it. */
const sorted = (body: string) => {
  const members = Object.entries(JSON.parse(body) as object).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(Object.fromEntries(members))
}
const again = (body: string) => JSON.stringify(JSON.parse(body))

const hmacMutants: Mutant[] = [
  { id: 'hmac-never-taken', breaks: 'signatures/hmac', with: { hmacTakenFor: () => false } },
  { id: 'whole-mac-expected', breaks: 'signatures/hmac', with: { macBytes: () => 32 } },
  {
    id: 'sha1-expected',
    breaks: 'signatures/hmac',
    with: { mac: (data, key) => createHmac('sha1', key.macKey).update(data).digest() },
  },
  {
    id: 'sha1-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => createHmac('sha1', key.macKey).update(data).digest()),
  },
  {
    id: 'sha512-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => createHmac('sha512', key.macKey).update(data).digest()),
  },
  {
    id: 'plain-hash-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => sha256(Buffer.concat([Buffer.from(key.secret), data]))),
  },
  {
    id: 'mac-over-a-hash-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => rules.mac(sha256(data), key)),
  },
  {
    id: 'empty-secret-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data) => createHmac('sha256', '').update(data).digest()),
  },
  {
    id: 'key-id-as-secret-taken-too',
    breaks: 'signatures/hmac',
    with: alsoMac((data, key) => createHmac('sha256', key.id).update(data).digest()),
  },
  {
    id: 'beginning-of-the-mac-taken',
    breaks: 'signatures/hmac',
    with: alsoMacMatch((received, expected) => expected.startsWith(received)),
  },
  { id: 'empty-mac-taken', breaks: 'signatures/hmac', with: alsoMacMatch((received) => received === '') },
  {
    id: 'case-of-the-mac-ignored',
    breaks: 'signatures/hmac',
    with: alsoMacMatch((received, expected) => received.toLowerCase() === expected.toLowerCase()),
  },
  { id: 'first-ten-bytes-compared', breaks: 'signatures/hmac', with: alsoMacMatch(sameBytes(0, 10)) },
  { id: 'all-but-the-last-byte-compared', breaks: 'signatures/hmac', with: alsoMacMatch(sameBytes(0, 19)) },
  { id: 'all-but-the-first-byte-compared', breaks: 'signatures/hmac', with: alsoMacMatch(sameBytes(1, 20)) },
  {
    id: 'whole-mac-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac)),
  },
  {
    id: 'any-mac-of-at-least-ten-bytes-taken',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => Array.from({ length: 23 }, (_none, index) => base64(mac.subarray(0, 10 + index)))),
  },
  {
    id: 'nineteen-bytes-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac.subarray(0, 19))),
  },
  {
    id: 'twenty-one-bytes-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac.subarray(0, 21))),
  },
  {
    id: 'last-twenty-bytes-taken-too',
    breaks: 'signatures/hmac-length',
    with: alsoMacText((mac) => base64(mac.subarray(-20))),
  },
  {
    id: 'mac-in-hex-taken-too',
    breaks: 'signatures/hmac-encoding',
    with: alsoMacText((mac) => mac.subarray(0, 20).toString('hex')),
  },
  {
    id: 'mac-in-base64url-taken-too',
    breaks: 'signatures/hmac-encoding',
    with: alsoMacText((mac) => base64(mac.subarray(0, 20)).replaceAll('+', '-').replaceAll('/', '_')),
  },
  {
    id: 'base64-of-hex-taken-too',
    breaks: 'signatures/hmac-encoding',
    with: alsoMacText((mac) => base64(Buffer.from(mac.subarray(0, 20).toString('hex')))),
  },
]

const eccMutants: Mutant[] = [
  { id: 'ecc-never-taken', breaks: 'signatures/ecc', with: { eccTakenFor: () => false } },
  {
    id: 'hash-of-the-data-verified',
    breaks: 'signatures/ecc',
    with: { eccVerifies: (publicKey, data, signature) => rules.eccVerifies(publicKey, sha256(data), signature) },
  },
  { id: 'ecc-over-a-hash-taken-too', breaks: 'signatures/ecc', with: alsoEcc(sha256) },
  { id: 'ecc-over-sha512-taken-too', breaks: 'signatures/ecc', with: alsoEcc(sha512) },
  {
    id: 'ecc-over-hex-taken-too',
    breaks: 'signatures/ecc',
    with: alsoEcc((data) => Buffer.from(sha256(data).toString('hex'))),
  },
  {
    id: 'ecc-over-base64-taken-too',
    breaks: 'signatures/ecc',
    with: alsoEcc((data) => Buffer.from(data.toString('base64'))),
  },
  { id: 'ecc-without-final-line-feed-too', breaks: 'signatures/ecc', with: eccText((data) => data.slice(0, -1)) },
  { id: 'ecc-over-the-trimmed-body-too', breaks: 'signatures/ecc', with: eccText((data) => `${data.trimEnd()}\n`) },
  {
    id: 'ecc-over-the-lower-case-method-too',
    breaks: 'signatures/ecc',
    with: eccText((data) => data.replace('POST', 'post')),
  },
  { id: 'ecc-without-the-timestamp-too', breaks: 'signatures/ecc', with: eccText((data) => data.replace(/^\d+/, '')) },
  { id: 'ecc-without-the-body-too', breaks: 'signatures/ecc', with: eccText((data) => data.replace(/{.*}/s, '')) },
  {
    id: 'ecc-first-64-bytes-verified',
    breaks: 'signatures/ecc',
    with: alsoEcc((data, signature) => [data, signature.subarray(0, 64)]),
  },
  {
    id: 'ecc-bytes-in-reverse-too',
    breaks: 'signatures/ecc',
    with: alsoEcc((data, signature) => [data, Buffer.from(signature).reverse()]),
  },
  {
    id: 'empty-ecc-signature-taken',
    breaks: 'signatures/ecc',
    with: {
      eccVerifies: (publicKey, data, signature) =>
        signature.length === 0 || rules.eccVerifies(publicKey, data, signature),
    },
  },
  {
    id: 'ecc-by-any-private-key',
    breaks: 'signatures/ecc',
    with: { signingKeys: (key, all, kind) => (kind === 'ecc' ? all() : [key]) },
  },
  {
    id: 'ecc-in-hex-taken-too',
    breaks: 'signatures/ecc-encoding',
    with: alsoEccBytes((received) => Buffer.from(received, 'hex')),
  },
  {
    id: 'ecc-in-base64url-taken-too',
    breaks: 'signatures/ecc-encoding',
    with: alsoEccBytes((received) => Buffer.from(received, 'base64url')),
  },
  {
    id: 'ecc-in-base64-of-hex-taken-too',
    breaks: 'signatures/ecc-encoding',
    with: alsoEccBytes((received) => Buffer.from(Buffer.from(received, 'base64').toString(), 'hex')),
  },
  {
    id: 'high-s-taken',
    breaks: 'signatures/ecc-malleability',
    with: alsoEcc((data, signature) => [data, signature.length === 64 ? reduced(signature) : signature]),
  },
]

const dataMutants: Mutant[] = [
  {
    id: 'lower-case-method-signed-too',
    breaks: 'signatures/request-method',
    with: alsoParts(() => ({ httpMethod: 'post' })),
  },
  {
    id: 'any-case-of-the-method-signed-too',
    breaks: 'signatures/request-method',
    with: alsoParts(() => ({ httpMethod: 'Post' })),
  },
  { id: 'get-signed-too', breaks: 'signatures/request-method', with: alsoParts(() => ({ httpMethod: 'GET' })) },
  {
    id: 'method-not-signed-too',
    breaks: 'signatures/request-method',
    with: alsoData(({ timestamp, nonce, uri }, body) => `${timestamp};${nonce};${uri}\n${body}\n`),
  },
  {
    id: 'lower-case-method-expected',
    breaks: 'signatures/hmac',
    with: { signedMethod: (method) => method.toLowerCase() },
  },
  {
    id: 'full-url-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ host, target }) => ({ uri: `http://${host}${target}` })),
  },
  {
    id: 'host-and-path-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ host, target }) => ({ uri: `${host}${target}` })),
  },
  {
    id: 'uri-not-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoData(({ timestamp, nonce, httpMethod }, body) => `${timestamp};${nonce};${httpMethod}\n${body}\n`),
  },
  {
    id: 'trailing-slash-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ uri }) => ({ uri: `${uri}/` })),
  },
  { id: 'root-signed-too', breaks: 'signatures/request-uri', with: alsoParts(() => ({ uri: '/' })) },
  {
    id: 'upper-case-uri-signed-too',
    breaks: 'signatures/request-uri',
    with: alsoParts(({ uri }) => ({ uri: uri.toUpperCase() })),
  },
  {
    id: 'full-url-expected',
    breaks: 'signatures/hmac',
    with: onlyData((parts, body) => joined({ ...parts, uri: `http://${parts.host}${parts.target}` }, body)),
  },
  { id: 'body-not-signed-too', breaks: 'signatures/request-body', with: alsoBody(() => '') },
  { id: 'trimmed-body-signed-too', breaks: 'signatures/request-body', with: alsoBody((body) => body.trim()) },
  { id: 'reserialised-body-signed-too', breaks: 'signatures/request-body', with: alsoBody(again) },
  { id: 'sorted-body-signed-too', breaks: 'signatures/request-body', with: alsoBody(sorted) },
  {
    id: 'line-feeds-of-the-body-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => body.replaceAll('\r\n', '\n')),
  },
  {
    id: 'escaped-slashes-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => again(body).replaceAll('/', '\\/')),
  },
  {
    id: 'params-alone-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => JSON.stringify((JSON.parse(body) as { params?: object }).params ?? {})),
  },
  {
    id: 'hash-of-the-body-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) => sha256(bytes(body)).toString('hex')),
  },
  {
    id: 'reserialised-body-expected',
    breaks: 'signatures/request-body',
    with: onlyData((parts, body) => joined(parts, again(body))),
  },
  {
    id: 'trimmed-body-expected',
    breaks: 'signatures/request-body',
    with: onlyData((parts, body) => joined(parts, body.trim())),
  },
  {
    id: 'body-expected-in-latin-1',
    breaks: 'signatures/request-body',
    with: onlyData((parts, body) => joined(parts, bytes(body).toString('utf8'))),
  },
  {
    id: 'body-in-ascii-signed-too',
    breaks: 'signatures/request-body',
    with: alsoBody((body) =>
      again(bytes(body).toString('utf8')).replace(
        /[\u0080-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    ),
  },
  {
    id: 'final-line-feed-not-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => joined(parts, body).slice(0, -1)),
  },
  {
    id: 'second-final-line-feed-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => `${joined(parts, body)}\n`),
  },
  {
    id: 'crlf-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => joined(parts, body).replaceAll('\n', '\r\n')),
  },
  {
    id: 'line-feeds-not-signed-too',
    breaks: 'signatures/request-line-feeds',
    with: alsoData((parts, body) => joined(parts, body).replaceAll('\n', '')),
  },
  {
    id: 'final-line-feed-not-expected',
    breaks: 'signatures/hmac',
    with: onlyData((parts, body) => joined(parts, body).slice(0, -1)),
  },
  {
    id: 'commas-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.timestamp},${parts.nonce},${request(parts, body)}`),
  },
  {
    id: 'timestamp-not-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.nonce};${request(parts, body)}`),
  },
  {
    id: 'nonce-not-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.timestamp};${request(parts, body)}`),
  },
  {
    id: 'nonce-before-timestamp-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.nonce};${parts.timestamp};${request(parts, body)}`),
  },
  {
    id: 'nothing-between-signed-too',
    breaks: 'signatures/data-to-sign',
    with: alsoData((parts, body) => `${parts.timestamp}${parts.nonce}${request(parts, body)}`),
  },
  {
    id: 'nonce-before-timestamp-expected',
    breaks: 'signatures/hmac',
    with: onlyData((parts, body) => `${parts.nonce};${parts.timestamp};${request(parts, body)}`),
  },
  {
    id: 'timestamp-may-be-empty-where-signed',
    breaks: 'signatures/timestamp',
    with: alsoParts(() => ({ timestamp: '' })),
  },
  {
    id: 'seconds-signed-too',
    breaks: 'signatures/timestamp',
    with: alsoParts(({ timestamp }) => ({ timestamp: timestamp.slice(0, 10) })),
  },
  {
    id: 'any-moment-signed-too',
    breaks: 'signatures/timestamp',
    with: alsoParts(() => ({ timestamp: '1702555410352' })),
  },
  { id: 'nonce-may-be-empty-where-signed', breaks: 'signatures/nonce', with: alsoParts(() => ({ nonce: '' })) },
  {
    id: 'bytes-of-the-nonce-signed-too',
    breaks: 'signatures/nonce',
    with: alsoParts(({ nonce }) => ({ nonce: Buffer.from(nonce, 'base64').toString('latin1') })),
  },
  {
    id: 'hex-of-the-nonce-signed-too',
    breaks: 'signatures/nonce',
    with: alsoParts(({ nonce }) => ({ nonce: Buffer.from(nonce, 'base64').toString('hex') })),
  },
]

const headerMutants: Mutant[] = [
  { id: 'sixth-field-ignored', breaks: 'signatures/header-fields', with: { fieldCountTaken: (count) => count >= 5 } },
  {
    id: 'version-may-be-left-out',
    breaks: 'signatures/header-fields',
    with: {
      headerFields: (credentials) => {
        const fields = credentials.split(';')
        return fields.length === 4 ? [fields[0] ?? '', '1', ...fields.slice(1)] : fields
      },
    },
  },
  { id: 'any-version-taken', breaks: 'signatures/version', with: { versionTaken: () => true } },
  {
    id: 'version-may-be-empty',
    breaks: 'signatures/version',
    with: { versionTaken: (version) => version === '1' || version === '' },
  },
  {
    id: 'version-compared-as-a-number',
    breaks: 'signatures/version',
    with: { versionTaken: (version) => Number(version) === 1 },
  },
  {
    id: 'version-that-begins-with-1-taken',
    breaks: 'signatures/version',
    with: { versionTaken: (version) => version.startsWith('1') },
  },
  {
    id: 'mac-by-any-secret',
    breaks: 'signatures/key-id',
    with: { signingKeys: (key, all, kind) => (kind === 'hmac' ? all() : [key]) },
  },
  {
    id: 'unknown-key-id-is-the-first-key',
    breaks: 'signatures/key-id',
    with: { keyNamed: (id, find, all, means) => find(id) ?? (means === 'hmac' ? all()[0] : undefined) },
  },
  {
    id: 'any-scheme-word-taken',
    breaks: 'signatures/scheme',
    with: {
      schemeTaken: (word, expected, profile) =>
        expected === profile.scheme || rules.schemeTaken(word, expected, profile),
    },
  },
  {
    id: 'longer-scheme-word-taken',
    breaks: 'signatures/scheme',
    with: { schemeTaken: (word, expected) => word.startsWith(expected) },
  },
  {
    id: 'hmac-for-public-keys-too',
    breaks: 'signatures/public-key-refuses-hmac',
    with: { hmacTakenFor: () => true },
  },
  {
    id: 'hmac-with-an-empty-secret-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys(() => ''),
  },
  {
    id: 'hmac-with-the-pem-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys((key) => key.publicKey ?? ''),
  },
  {
    id: 'hmac-with-the-public-key-itself',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys((key) => key.verifyKey?.export({ type: 'spki', format: 'der' }).subarray(-32) ?? ''),
  },
  {
    id: 'hmac-with-the-id-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: forPublicKeys((key) => key.id),
  },
  {
    id: 'hmac-with-any-secret-for-public-keys',
    breaks: 'signatures/public-key-refuses-hmac',
    with: {
      hmacTakenFor: () => true,
      signingKeys: (key, all, kind) => (kind === 'hmac' && key.publicKey !== undefined ? all() : [key]),
    },
  },
  {
    id: 'ecc-of-any-key-for-secret-keys',
    breaks: 'signatures/secret-key-refuses-ecc',
    with: {
      eccTakenFor: () => true,
      signingKeys: (key, all, kind) => (kind === 'ecc' && key.publicKey === undefined ? all() : [key]),
    },
  },
  {
    id: 'ecc-with-a-seed-made-of-the-secret',
    breaks: 'signatures/secret-key-refuses-ecc',
    with: {
      eccTakenFor: () => true,
      signingKeys: (key, _all, kind) =>
        kind === 'ecc' && key.publicKey === undefined ? [{ ...key, verifyKey: keyOfSeed(sha256(key.secret)) }] : [key],
    },
  },
]

/** HMACs taken for keys with a public key, made with something other than their secret. */
function forPublicKeys(secret: (key: ApiKey) => string | Buffer): Partial<Rules> {
  return {
    hmacTakenFor: () => true,
    mac: (data, key) =>
      key.publicKey === undefined ? rules.mac(data, key) : createHmac('sha256', secret(key)).update(data).digest(),
  }
}

/** Part 5.1 of the document, and part 8 where it is about signatures. */
export const signatureMutants: Mutant[] = [...hmacMutants, ...eccMutants, ...dataMutants, ...headerMutants]
