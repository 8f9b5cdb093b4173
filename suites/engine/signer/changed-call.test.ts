import { describe, expect, test } from 'vitest'
import { readDeviations } from '../language/deviations.ts'
import { cutLetterForms } from './bodies.ts'
import { type Change, type NonceKind, nonceOf, type PlainCall, Unmakeable, writeCall } from './changed-call.ts'
import { seededRandom } from './random.ts'

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
const written = (changes: readonly Change[], call: Partial<PlainCall> = {}) =>
  writeCall({ ...plain, ...call }, changes, settings)
const decoded = (header = ''): string => `${header.split(' ')[0]} ${atob(header.split(' ')[1] ?? '')}`

test('several parts are changed, and what follows is made from the changed ones', () => {
  const { authorization } = written([
    { field: 'basic-word', operation: 'upper-case' },
    { field: 'basic-secret', operation: 'first-half' },
  ])
  expect(decoded(authorization)).toBe('BASIC key-1:Secr')
})

test('a changed param, member and name are in the body that is signed', () => {
  const { body } = written([
    { field: 'param scope', wrap: 'joined' },
    { field: 'member jsonrpc', remove: true },
    { field: 'name-of method', operation: 'upper-case' },
    { field: 'member extra', value: [1] },
  ])
  expect(JSON.parse(body)).toEqual({
    id: 1,
    METHOD: 'solution/listSolutions',
    params: { scope: 'solution' },
    extra: [1],
  })
})

test('the body that is sent differs from the body that is signed', () => {
  const caller = { kind: 'hmac', key } as const
  const right = written([], { caller })
  const other = written([{ field: 'sent-body', operation: 'line-feed-appended' }], { caller })
  expect(other).toMatchObject({ body: `${right.body}\n`, authorization: right.authorization })
})

test('a part that the call has not cannot be changed', () => {
  expect(() => written([{ field: 'mac', operation: 'reversed' }])).toThrow(Unmakeable)
})

test('a change without an effect is named', () => {
  const change: Change = { field: 'basic-word', value: 'Basic' }
  expect(written([change]).idle).toEqual([change])
  expect(written([{ field: 'basic-word', operation: 'upper-case' }]).idle).toEqual([])
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
