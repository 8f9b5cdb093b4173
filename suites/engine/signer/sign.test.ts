import { createHash, generateKeyPairSync, sign as signByNode } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat, fromBase64Strict, fromHex, toBase64, toHex, utf8 } from './bytes.ts'
import {
  ed25519Matcher,
  ed25519Sign,
  ed25519SignWithNeutralR,
  ed25519Verifier,
  ed25519Verify,
  prehashDomain,
  publicKeyOfSeed,
  withHighS,
  withLowS,
} from './ed25519.ts'
import { sha512 } from './hmac.ts'
import { derivedSecrets, ed25519KeyPair, publicKeyFromPem, publicKeyToPem, seedFromPkcs8 } from './pem.ts'
import { seededRandom, shortName } from './random.ts'
import { type SignInput, sign } from './sign.ts'

const hex = (text: string) => fromHex(text) ?? utf8('not hex')

const hmacInput: SignInput = {
  scheme: 'svc-hmac-sha256',
  keyId: 'hmac-key-1',
  key: { kind: 'secret', secret: 'not-a-secret-0001' },
  method: 'post',
  uri: '/api',
  body: utf8('{"jsonrpc":"2.0","id":0,"method":"solution/listSolutions","params":{}}'),
  timestamp: '1702555410352',
  nonce: 'q83vEjRWeJCrze8=',
}

const eccInput: SignInput = {
  ...hmacInput,
  keyId: 'ecc-key-1',
  key: { kind: 'ed25519', seed: hex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60') },
}

describe('Ed25519 (RFC 8032)', () => {
  test('signs as OpenSSL does in Node, with any seed and any data', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array({ maxLength: 300 }), (seed, data) => {
        const expected = new Uint8Array(signByNode(null, data, ed25519KeyPair(seed).privateKeyPem))
        // Twice, since the second signature takes what is remembered of the seed.
        expect([ed25519Sign(seed, data), ed25519Sign(seed, data)]).toEqual([expected, expected])
      }),
    )
  })

  test('Ed25519ph of "abc" (§7.3)', () => {
    const seed = hex('833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42')
    const expected =
      '98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae4131f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406'
    const made = ed25519Sign(seed, sha512(utf8('abc')), prehashDomain)
    expect(toHex(made)).toBe(expected)
    expect(ed25519Matcher(publicKeyOfSeed(seed), made)(sha512(utf8('abc')), prehashDomain)).toBe(true)
  })

  test('S + L is refused, and its low form is the signature', () => {
    const seed = utf8('an Ed25519 seed of 32 bytes ....')
    const right = ed25519Sign(seed, utf8('data'))
    expect(ed25519Verify(publicKeyOfSeed(seed), utf8('data'), withHighS(right))).toBe(false)
    expect(withLowS(withHighS(right))).toEqual(right)
    expect(withLowS(right)).toBeNull()
  })
})

test('strict BASE64 takes canonical, padded text only', () => {
  expect(fromBase64Strict('/+8=')).toEqual(Uint8Array.of(0xff, 0xef))
  for (const bad of ['_-8=', '/+8', '/+9=', ' /+8=', '/+8==', '$$$$']) expect(fromBase64Strict(bad)).toBeNull()
})

describe('signing', () => {
  test('a value of a mistake changes that value alone', () => {
    const right = sign(hmacInput)
    expect(sign(hmacInput, { 'key-id': 'x' }).header).toBe(right.header.replace('hmac-key-1', 'x'))
    expect(sign(hmacInput, { version: '2' }).header).toBe(right.header.replace(';1;', ';2;'))
    expect(sign(hmacInput, { secret: 'x' }).dataToSign).toEqual(right.dataToSign)
    expect(sign(hmacInput, { secret: 'x' }).signature).not.toBe(right.signature)
    const elsewhere = sign(hmacInput, { signed: { path: '/other', timestamp: 1 } })
    expect(new TextDecoder().decode(elsewhere.dataToSign)).toMatch(/^1;q83vEjRWeJCrze8=;POST\n\/other\n/)
    expect(elsewhere.header).toContain(';1702555410352;')
    expect(sign(hmacInput, { cut: { bytes: 10 } }).signatureBytes).toEqual(right.signatureBytes.slice(0, 10))
    expect(sign(hmacInput, { nonce: 'n' }).header).toContain(';n;')
    expect(new TextDecoder().decode(sign(hmacInput, { nonce: 'n' }).dataToSign)).toContain(';n;')
  })

  test('a word that is unknown or changes nothing is an error', () => {
    expect(() => sign(hmacInput, { data: 'without-everything' })).toThrow(
      'Unknown mistake "data: without-everything", known are without-final-newline',
    )
    expect(() => sign(hmacInput, { data: 'with-body-trimmed' })).toThrow('it changes nothing in this request')
    expect(() => sign(hmacInput, { signature: 'high-s' })).toThrow('it changes nothing in this request')
    expect(() => sign(eccInput, { signature: 'sha1' })).toThrow('it changes nothing in this request')
  })
})

test('the verifier of one key agrees with the plain check, on right and on wrong signatures', () => {
  const random = seededRandom(5)
  for (let round = 0; round < 12; round++) {
    const seed = random.bytes(32)
    const publicKey = publicKeyOfSeed(seed)
    const data = random.bytes(1 + round * 7)
    const verifier = ed25519Verifier(publicKey)
    const signature = ed25519Sign(seed, data)
    expect(verifier(data, signature)).toBe('right')
    expect(verifier(data, ed25519SignWithNeutralR(seed, data))).toBe('weak')
    for (const at of [0, 31, 32, 63]) {
      const wrong = signature.map((byte, index) => (index === at ? byte ^ 1 : byte))
      expect(verifier(data, wrong)).toBe('wrong')
      expect(ed25519Verify(publicKey, data, wrong)).toBe(false)
    }
    expect(verifier(data, withHighS(signature))).toBe('wrong')
    expect(verifier(random.bytes(9), signature)).toBe('wrong')
  }
})

const seedHex = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
const publicHex = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
const pair = ed25519KeyPair(hex(seedHex))
const pem = (label: string, der: Uint8Array) => `-----BEGIN ${label}-----\n${toBase64(der)}\n-----END ${label}-----\n`

describe('a private key', () => {
  test.each([
    ['as written', pair.privateKeyPem],
    ['with written line feeds, as JSON and variables have them', `"${pair.privateKeyPem.replaceAll('\n', '\\n')}"`],
    ['with written CR LF', pair.privateKeyPem.replaceAll('\n', '\\r\\n')],
    ['with CR LF', pair.privateKeyPem.replaceAll('\n', '\r\n')],
    ['on one line', pair.privateKeyPem.replaceAll('\n', ' ')],
    ['after its certificate', `${pem('CERTIFICATE', utf8('x'))}${pair.privateKeyPem}`],
    [
      'with its public key (RFC 5958)',
      pem('PRIVATE KEY', hex(`3053020101300506032b657004220420${seedHex}a123032100${publicHex}`)),
    ],
  ])('%s', (_, text) => {
    expect(toHex(seedFromPkcs8(text))).toBe(seedHex)
  })

  test.each([
    [pem('CERTIFICATE', utf8('x')), 'expected a PEM labelled "PRIVATE KEY", got a certificate'],
    [pem('ENCRYPTED PRIVATE KEY', utf8('x')), 'got an encrypted key: "openssl pkey -in FILE -out PLAIN" decrypts it'],
    [pem('OPENSSH PRIVATE KEY', utf8('x')), 'got a key of OpenSSH, which is not PKCS#8'],
    [
      '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAA==\n-----END RSA PRIVATE KEY-----',
      'got "RSA PRIVATE KEY"',
    ],
    [pem('PRIVATE KEY', concat(hex('302e020100300506032b656e04220420'), hex(seedHex))), 'got another kind of key'],
    ['-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----', 'expected BASE64 inside the PEM'],
    ['', 'expected a PEM that begins with "-----BEGIN PRIVATE KEY-----"'],
  ])('%j is not one', (text, message) => {
    expect(() => seedFromPkcs8(text)).toThrow(message)
  })
})

describe('a public key', () => {
  test('as written, and with written line feeds', () => {
    expect(toHex(publicKeyFromPem(pair.publicKeyPem))).toBe(publicHex)
    expect(toHex(publicKeyFromPem(pair.publicKeyPem.replaceAll('\n', '\\n')))).toBe(publicHex)
  })

  test.each([
    ['01', 'its point has a small order, so signatures by it prove nothing'],
    ['00', 'its point has a small order'],
    ['02', 'its point is not on the curve'],
  ])('that begins with %s is unusable', (first, problem) => {
    const weak = publicKeyToPem(hex(first + '00'.repeat(31)))
    expect(() => publicKeyFromPem(weak)).toThrow(`expected a usable Ed25519 public key: ${problem}`)
  })

  test('a certificate is not a public key', () => {
    expect(() => publicKeyFromPem(pem('CERTIFICATE', utf8('x')))).toThrow(
      'expected a PEM labelled "PUBLIC KEY", got a certificate: "openssl x509 -in FILE -pubkey -noout" prints its public key',
    )
  })
})

test('a derived secret is the digest that OpenSSL computes', () => {
  const { publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString().trimEnd()
  const secrets = derivedSecrets(raw)
  expect(Object.keys(secrets)).toHaveLength(12)
  for (const digest of ['md5', 'sha1', 'sha256']) {
    expect(secrets[`${digest}PemHex`]).toBe(createHash(digest).update(pem).digest('hex'))
    expect(secrets[`${digest}RawBase64`]).toBe(createHash(digest).update(raw).digest('base64'))
  }
})

test('a short name has eight small letters and digits and begins with a letter', () => {
  const names = Array.from({ length: 500 }, (_, at) => shortName(`a long session name-${at}`))
  for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]{7}$/)
  expect(new Set(names).size).toBe(names.length)
  expect(shortName('a long session name-0')).toBe(names[0])
  expect(shortName('x', 5)).toHaveLength(5)
})
