import { createPublicKey, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fromBase64Strict, toHex, utf8 } from './bytes.ts'
import { mistakes, mistakesInBody, serverHint, serverMistakes } from './mistakes.ts'
import { ed25519KeyPair } from './pem.ts'
import { type Mistake, needsBase64Marks, nonceWithBase64Marks, type SignInput, sign } from './sign.ts'

const seed = utf8('an Ed25519 seed of 32 bytes ....')
const hmac: SignInput = {
  scheme: 'svc-hmac-sha256',
  keyId: '7c41a5d2f0a94e6bb1d6a2f3c4e5d6f7',
  key: { kind: 'secret', secret: '0a1b2c3d' },
  method: 'POST',
  uri: '/api',
  body: utf8('{"jsonrpc":"2.0","id":17,"method":"solution/listSolutions","params":{}}'),
  timestamp: '1795154904754',
  nonce: 'AAAAAAAAAAAAAAAAAAAAAA==',
}
const ecc: SignInput = { ...hmac, key: { kind: 'ed25519', seed } }

test('every id is used once, names a group and has words for both readers', () => {
  const ids = mistakes.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { id, title, when, fix } of mistakes) {
    expect(id).toMatch(/^(data|key|signature|fields)\/[a-z0-9-]+$/)
    expect(title.slice(1)).toBe(when.slice(1))
    expect(fix).not.toBe('')
  }
})

test('small-order-r holds the equation with the neutral point as R', () => {
  const { dataToSign, signature } = sign(ecc, { signature: 'small-order-r' })
  const bytes = fromBase64Strict(signature) ?? utf8('')
  expect(toHex(bytes.slice(0, 32))).toBe(`01${'00'.repeat(31)}`)
  const publicKey = createPublicKey(ed25519KeyPair(seed).publicKeyPem)
  expect(verify(null, dataToSign, publicKey, bytes)).toBe(true)
  expect(verify(null, utf8('other data'), publicKey, bytes)).toBe(false)
})

test.each([
  ['other-scheme', 'other-hmac-sha256'],
  ['basic-scheme', 'Basic'],
  ['longer-scheme', 'svc-hmac-sha2560'],
  ['upper-case-scheme', 'SVC-HMAC-SHA256'],
])('%s changes the scheme word alone', (word, scheme) => {
  expect(sign(ecc, { fields: word }).header).toBe(`${scheme}${sign(ecc).header.slice(ecc.scheme.length)}`)
})

describe.each([
  ['hmac', hmac],
  ['ecc', ecc],
] as const)('mistakes of servers with %s', (kind, input) => {
  test('every one can be made in any request of a run', () => {
    expect(serverMistakes(kind).length).toBeGreaterThan(25)
    for (const { id } of serverMistakes(kind)) {
      const [group = '', word] = id.split('/')
      const mistake: Mistake = { [group]: word }
      let next = 0
      const fresh = () => `${'ABCD'.charAt(next++ % 4).repeat(22)}==`
      const nonce = needsBase64Marks(mistake) ? nonceWithBase64Marks(input, fresh) : fresh()
      expect(sign({ ...input, nonce }, mistake).header).not.toBe(sign({ ...input, nonce }).header)
    }
  })

  test('no hint tells a server to send something', () => {
    for (const mistake of serverMistakes(kind))
      expect(serverHint(mistake).split('. ').at(-1)).toMatch(/^(Accept|Begin|Compare|Compute|Decode|End|Take|Verify) /)
  })
})

test('a hint speaks to the author of the server', () => {
  expect(serverMistakes('hmac').map(serverHint)[0]).toBe(
    'The server accepts this call when all 32 bytes of the MAC are sent. Compare the signature with the first 20 bytes of the MAC, no more and no less',
  )
})

test('a refused body suggests the mistakes that change nothing in the accepted one', () => {
  const ids = mistakesInBody(utf8('{"id": 1}\r\n'), utf8('{"id":1}')).map(({ id }) => id)
  expect(ids).toEqual(expect.arrayContaining(['data/with-body-compact', 'data/with-body-lf', 'data/with-body-trimmed']))
  expect(ids).not.toContain('data/without-final-newline')
})
