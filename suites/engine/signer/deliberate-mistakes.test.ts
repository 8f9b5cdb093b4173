import { createPublicKey, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { fromBase64Strict, fromHex, toHex, utf8 } from './bytes.ts'
import { ed25519KeyPair } from './pem.ts'
import { type SignInput, sign } from './sign.ts'

const seed = fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60') ?? utf8('')
const input: SignInput = {
  scheme: 'svc-hmac-sha256',
  keyId: 'ecc-key-1',
  key: { kind: 'ed25519', seed },
  method: 'POST',
  uri: '/api',
  body: utf8('{}'),
  timestamp: '1702555410352',
  nonce: 'q83vEjRWeJCrze8=',
}

test('small-order-r holds the equation with the neutral point as R', () => {
  const { dataToSign, signature } = sign(input, { signature: 'small-order-r' })
  const bytes = fromBase64Strict(signature) ?? utf8('')
  expect(toHex(bytes.slice(0, 32))).toBe(`01${'00'.repeat(31)}`)
  const publicKey = createPublicKey(ed25519KeyPair(seed).publicKeyPem)
  expect(verify(null, dataToSign, publicKey, bytes)).toBe(true)
  expect(verify(null, utf8('other data'), publicKey, bytes)).toBe(false)
})

test('the words for the scheme change the scheme word alone', () => {
  const fields = sign(input).header.slice(input.scheme.length)
  expect(sign(input, { fields: 'other-scheme' }).header).toBe(`other-hmac-sha256${fields}`)
  expect(sign(input, { fields: 'basic-scheme' }).header).toBe(`Basic${fields}`)
  expect(sign(input, { fields: 'longer-scheme' }).header).toBe(`svc-hmac-sha2560${fields}`)
  expect(sign(input, { fields: 'upper-case-scheme' }).header).toBe(`SVC-HMAC-SHA256${fields}`)
})
