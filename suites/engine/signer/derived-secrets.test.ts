import { createHash, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { derivedSecrets } from './derived-secrets.ts'

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
