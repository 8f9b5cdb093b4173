import { expect, test } from 'vitest'
import type { ServerOptions } from '../targets/bundled.ts'
import { basic, create, hmac } from './calls.ts'
import { keyPairMaker } from './open.ts'
import { compareCreators, compareWithoutPublicKey } from './refused-creations.ts'
import type { Auth } from './step.ts'
import type { Caller } from './table.ts'
import { brokenBy } from './test-findings.ts'

const createdBy = (server: Omit<ServerOptions, 'clock'>, ways: readonly Auth[]): Promise<readonly string[]> =>
  brokenBy(server, async ({ x }: Caller) => {
    x.setSignatureClock(0, true)
    // As on a target that is not fresh: it is unknown how many places are free.
    x.setTerms({ fresh: false })
    const { seed, publicKeyPem: publicKey } = keyPairMaker(x.options.values)()
    x.names.set('own', { seed, publicKey })
    for (const [at, auth] of ways.entries())
      await x.call(create(auth, { name: `key-${at}`, scope: ['solution'], publicKey: '$own.publicKey' }))
    await compareCreators(x, 0)
    await compareWithoutPublicKey(x, 0)
  })

const noPublicKeys = { rules: { publicKey: () => undefined } }

test('a server that takes no public key breaks keys/public-key', async () => {
  expect(await createdBy(noPublicKeys, [basic('root'), basic('root')])).toEqual(['keys/public-key'])
})

test('one refusal may be due to a limit of rates', async () => {
  expect(await createdBy(noPublicKeys, [basic('root')])).toEqual([])
})

test('a server without a free place breaks nothing', async () => {
  expect(
    await createdBy({ rules: { keysCounted: (all) => (all.length > 1 ? 10 : 0) } }, [basic('root'), hmac('root')]),
  ).toEqual([])
})
