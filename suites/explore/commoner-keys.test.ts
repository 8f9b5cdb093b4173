import { expect, test } from 'vitest'
import type { Explorer } from './explorer-types.ts'
import { exchanges, withKey } from './shrink.ts'
import { type CallStep, ecc, grant, list, type Step, type Value } from './step.ts'

const seed = new Uint8Array(32)
const names = new Map<string, Value>([
  ['root', { id: 'r', secret: 's' }],
  ['by-token', { id: 't', secret: 's' }],
  ['ecc-a', { id: 'a', seed }],
  ['ecc-b', { id: 'b', seed }],
  ['pair1', { accessToken: 'x' }],
])
const of = (...steps: Step[]) => exchanges({ names } as Explorer, steps)

test('a key with a secret gives way to root, one with a public key to the first of them', () => {
  const steps = [grant('by-token', ['solution'], { as: 'pair1' }), list(ecc('ecc-b')), list(ecc('ecc-a'))]
  expect(of(...steps)).toEqual([
    { key: 'by-token', by: 'root' },
    { key: 'ecc-b', by: 'ecc-a' },
  ])
})

test('every place of the key is exchanged, and no longer name that begins like it', () => {
  const placed = (value: string): CallStep['alter'] & object => ({ secret: { value } })
  const params = { a: '$ecc-b.id', b: '$ecc-b-2.id' }
  const step: Step = { ...list(ecc('ecc-b')), params, alter: placed('$ecc-b-own.publicKey') }
  expect(withKey([step], { key: 'ecc-b', by: 'ecc-a' })).toEqual([
    {
      ...list(ecc('ecc-a')),
      params: { a: '$ecc-a.id', b: '$ecc-b-2.id' },
      alter: placed('$ecc-a-own.publicKey'),
    },
  ])
})
