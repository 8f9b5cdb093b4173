import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { concat, fromHex, toBase64, toHex, utf8 } from './bytes.ts'
import { derivedSecrets, ed25519KeyPair, publicKeyFromPem, publicKeyToPem, seedFromPkcs8 } from './pem.ts'

const bytes = (hex: string) => fromHex(hex) ?? utf8('not hex')
const seedHex = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
const publicHex = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
const pair = ed25519KeyPair(bytes(seedHex))
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
      pem('PRIVATE KEY', bytes(`3053020101300506032b657004220420${seedHex}a123032100${publicHex}`)),
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
    [pem('PRIVATE KEY', concat(bytes('302e020100300506032b656e04220420'), bytes(seedHex))), 'got another kind of key'],
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
    const weak = publicKeyToPem(bytes(first + '00'.repeat(31)))
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
