import { expect, test } from 'vitest'
import { loadIndependentVariants } from '../targets/bundled.ts'
import { basic, create } from './calls.ts'
import { keyringOf } from './keyring.ts'
import { keyPairMaker } from './open.ts'
import { learnSolution } from './preflight.ts'
import { scopeLimits } from './scope-chains.ts'
import { expectEveryKeyAccepted } from './still-valid.ts'
import { brokenBy } from './test-findings.ts'

test('a word for one solution may open the listing, beside the scope context too', async () => {
  const variant = (await loadIndependentVariants()).find(({ id }) => id.startsWith('word-for-one-solution-opens'))
  const limits = async (caller: Parameters<typeof scopeLimits>[0]): Promise<void> => {
    await learnSolution(caller.x, 'root')
    await scopeLimits(caller, 'root', true)
  }
  expect(variant).toBeDefined()
  expect(await brokenBy({ ...variant?.create?.() }, limits)).toEqual([])
})

test('every key must still be accepted, narrow ones with a public key too', async () => {
  let isLost = false
  const rules = { eccTakenFor: () => !isLost }
  const broken = await brokenBy({ rules }, async ({ x }) => {
    x.setSignatureClock(0, true)
    const { seed, publicKeyPem: publicKey } = keyPairMaker(x.options.values)()
    x.names.set('ecc-solution-own', { seed, publicKey })
    const params = { name: 'narrow', scope: ['solution'], publicKey: '$ecc-solution-own.publicKey' }
    await x.call(create(basic('root'), params, { as: 'ecc-solution' }))
    const keyring = keyringOf(x, { grants: true, keys: true, limits: true })
    await expectEveryKeyAccepted(x, keyring)
    isLost = true
    await expectEveryKeyAccepted(x, keyring)
  })
  expect(broken.length).toBe(1)
})
