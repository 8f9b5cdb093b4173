import { expect, test } from 'vitest'
import { loadIndependentMutants, type ServerOptions } from '../targets/bundled.ts'
import { hmac, list } from './calls.ts'
import type { WayToEndKey } from './ended-keys.ts'
import { keyPairMaker } from './open.ts'
import { keysOfRareScopes, manyPublicKeys, removeOwnKeys } from './own-keys.ts'
import type { Caller } from './table.ts'
import { brokenBy, foundIn } from './test-findings.ts'

const deletion: WayToEndKey = {
  requirement: 'keys/can-be-deleted',
  method: 'manager/deleteApiKey',
  params: { id: '$id' },
}

async function otherKeys(caller: Caller): Promise<void> {
  const { x } = caller
  x.setSignatureClock(0, true)
  await x.call(list(hmac('root')))
  await removeOwnKeys(caller, deletion)
  await keysOfRareScopes(caller)
  await removeOwnKeys(caller, deletion)
  await manyPublicKeys(caller, { newKeys: 10, makeKeyPair: keyPairMaker(x.options.values) })
  await removeOwnKeys(caller, deletion)
}

const mutants = await loadIndependentMutants()
const broken = (id: string): Omit<ServerOptions, 'clock'> => {
  const mutant = mutants.find((one) => one.id === id)
  if (mutant === undefined) throw new Error(`There is no mutant "${id}"`)
  return mutant.create()
}

test('the reference server breaks nothing, and no key is left', async () => {
  const { x, found } = await foundIn({}, otherKeys)
  expect(found).toEqual([])
  const left = [...x.state().keys.values()].filter(({ ended }) => ended === undefined)
  expect(left.map(({ id }) => id)).toEqual([x.options.rootKey.id])
})

test.each([
  ['fifth-public-key-ends-the-first', 'keys/created-key-works'],
  ['public-keys-of-one-creator-sign-for-each-other', 'signatures/key-id'],
  ['stream-granted-to-key-with-store', 'scopes/within-key'],
  ['any-solution-granted-to-key-of-one-solution', 'scopes/within-key'],
  ['ninth-signing-key-pushes-first-one-out', 'keys/initial-full-access'],
])('%s shows', async (id, requirement) => {
  expect(await brokenBy(broken(id), otherKeys)).toContain(requirement)
})
