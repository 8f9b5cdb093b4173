import { expect, test } from 'vitest'
import { readDeviations } from '../language/deviations.ts'
import { type Change, Unmakeable } from './change.ts'
import { type PlainCall, writeCall } from './changed-call.ts'

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
