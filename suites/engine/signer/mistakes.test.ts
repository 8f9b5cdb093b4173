import { createPublicKey, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readDeviations } from '../language/deviations.ts'
import { cutLetterForms } from './bodies.ts'
import { fromBase64Strict, toHex, utf8 } from './bytes.ts'
import { type Change, type NonceKind, nonceOf, type PlainCall, Unmakeable, writeCall } from './changed-call.ts'
import { mistakes, mistakesInBody, serverHint, serverMistakes } from './mistakes.ts'
import { alterWords } from './operations.ts'
import { ed25519KeyPair } from './pem.ts'
import { seededRandom } from './random.ts'
import { type Mistake, type SignInput, sign } from './sign.ts'

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
    // A claim begins with a word, because a capital letter would change what is quoted.
    expect(when).toMatch(/^(?!\w*[=:<])/)
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
      // Other signatures are the same in base64url.
      const nonce =
        Array.from({ length: 8 }, fresh).find((one) => /[+/]/.test(sign({ ...input, nonce: one }).signature)) ?? ''
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

const key = { id: 'key-1', secret: 'Secret-1' }
const plain: PlainCall = {
  method: 'solution/listSolutions',
  params: { scope: ['solution'] },
  id: 1,
  caller: { kind: 'basic', key },
  write: (members) => JSON.stringify(Object.fromEntries(members)),
}
const settings = {
  scheme: 'svc-hmac-sha256',
  tokenWord: 'Bearer',
  uri: '/api',
  url: 'http://127.0.0.1/api',
  operations: readDeviations(),
  nextNonce: () => 'nonce',
  timestamp: () => 1_700_000_000_000,
}
const to = (field: string, operation: string): Change => ({ field, operation })
const written = (changes: readonly Change[], call: Partial<PlainCall> = {}) =>
  writeCall({ ...plain, ...call }, changes, settings)
const decoded = (header = ''): string => `${header.split(' ')[0]} ${atob(header.split(' ')[1] ?? '')}`

test('several parts are changed, and what follows is made from the changed ones', () => {
  const { authorization } = written([to('basic-word', 'upper-case'), to('basic-secret', 'first-half')])
  expect(decoded(authorization)).toBe('BASIC key-1:Secr')
})

test('a part that the call has not cannot be changed', () => {
  expect(() => written([{ field: 'mac', operation: 'reversed' }])).toThrow(Unmakeable)
})

test('a change without an effect is an error where it must have one', () => {
  const change: Change = { field: 'gap', operation: 'upper-case' }
  expect(() => written([change])).not.toThrow()
  expect(() => writeCall(plain, [change], { ...settings, mustChange: true })).toThrow('"gap" stays as it is')
})

test('where no word stands before a token, what else changes is what differs', () => {
  const call: PlainCall = { ...plain, caller: { kind: 'token', token: 'abcdef' } }
  const changes = [to('token-word', 'case-swapped'), to('token', 'inside-changed')]
  const { authorization } = writeCall(call, changes, { ...settings, tokenWord: '', mustChange: true })
  expect(authorization).not.toBe('abcdef')
})

test('a mistake that shows only in signatures with + or / is made in such a one', () => {
  let count = 0
  const call: PlainCall = { ...plain, caller: { kind: 'hmac', key } }
  const nextNonce = (): string => `nonce-${count++}`
  const of = (operation: string): string =>
    writeCall(call, [{ field: 'mistake', operation }], { ...settings, nextNonce }).authorization ?? ''
  for (let round = 0; round < 8; round++) expect(of('signature/base64url').split(';').at(-1)).toMatch(/[-_]/)
})

test('a character that is dropped inside an id is a letter or digit, because a UUID without a hyphen may be the same', () => {
  const without = alterWords['inner-character-dropped']
  const uuid = '7d444840-9dc0-11d1-b245-5ffdce74fad2'
  expect(without?.(uuid)).toBe(uuid.replace('-b245', '-245'))
  expect(without?.('a.')).toBe('a')
})

test('letters beyond Latin-1 cannot stand in a header', () => {
  expect(() => written([{ field: 'basic-word', operation: 'full-width-letter' }])).toThrow(Unmakeable)
})

describe('nonces', () => {
  const random = seededRandom(1)
  const seed = random.bytes(32)
  const withNonces = { ...settings, nextNonce: (kind: NonceKind | undefined) => nonceOf(kind, random) }
  const signature = (caller: PlainCall['caller'], nonce: NonceKind): Uint8Array => {
    const { authorization = '' } = writeCall({ ...plain, caller, nonce }, [], withNonces)
    return Buffer.from(authorization.split(';').at(-1) ?? '', 'base64')
  }

  test.each([
    ['leading-zero', 0],
    ['trailing-zero', 19],
  ] as const)('%s makes a MAC with a zero byte there', (nonce, at) => {
    expect(signature({ kind: 'hmac', key }, nonce)[at]).toBe(0)
  })

  test('leading-zero makes an ED25519 signature whose S has a zero byte on top', () => {
    expect(signature({ kind: 'ecc', key: { id: 'key-1', seed } }, 'leading-zero')[63]).toBe(0)
  })

  test('none is used twice', () => {
    expect(new Set(Array.from({ length: 200 }, () => nonceOf(undefined, random))).size).toBe(200)
  })
})

const readSize = 65_536

test.each([0, 1, 2, 180, 300, 451])(
  'after %i bytes of headers, a read ends within a letter of most forms',
  (headers) => {
    const isCut = Object.values(cutLetterForms).map((form) => {
      const bytes = Buffer.from(form('{"jsonrpc":"2.0","id":1}'), 'utf8')
      const next = bytes[readSize - headers] ?? 0
      return next >= 0x80 && next < 0xc0
    })
    expect(isCut.filter(Boolean)).toHaveLength(2)
  },
)
