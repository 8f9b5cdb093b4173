import { expect, test } from 'vitest'
import type { Explorer } from './explorer.ts'
import { withOtherKeys } from './shrink.ts'
import { type CallStep, ecc, grant, list, type Step, type Value } from './step.ts'

const seed = new Uint8Array(32)
const names = new Map<string, Value>([
  ['root', { id: 'r', secret: 's' }],
  ['by-token', { id: 't', secret: 's' }],
  ['ecc-a', { id: 'a', seed }],
  ['ecc-b', { id: 'b', seed }],
  ['pair1', { accessToken: 'x' }],
])
/** The steps with each key in turn in another's place. */
const others = (...steps: Step[]) => withOtherKeys({ names } as Explorer, steps).map((exchange) => exchange(steps))

test('a key with a secret gives way to root, one with a public key to the first of them', () => {
  const granted = grant('by-token', ['solution'], { as: 'pair1' })
  expect(others(granted, list(ecc('ecc-b')), list(ecc('ecc-a')))).toEqual([
    [grant('root', ['solution'], { as: 'pair1' }), list(ecc('ecc-b')), list(ecc('ecc-a'))],
    [granted, list(ecc('ecc-a')), list(ecc('ecc-a'))],
  ])
})

test('every place of the key is exchanged, and no longer name that begins like it', () => {
  const placed = (value: string): CallStep['alter'] & object => ({ secret: { value } })
  const params = { a: '$ecc-b.id', b: '$ecc-b-2.id' }
  const step: Step = { ...list(ecc('ecc-b')), params, alter: placed('$ecc-b-own.publicKey') }
  const exchanged = { params: { a: '$ecc-a.id', b: '$ecc-b-2.id' }, alter: placed('$ecc-a-own.publicKey') }
  expect(others(step)).toEqual([[{ ...list(ecc('ecc-a')), ...exchanged }]])
})
