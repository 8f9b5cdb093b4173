import { describe } from 'vitest'
import { accessWorks, grantPair, listOn, makeKey, testWitnesses, works } from '../test-witness.ts'

const elsewhere = 'ipAddr:203.0.113.9'

describe('second set: scopes and addresses', () => {
  testWitnesses({
    'address-checked-once-for-each-connection': async (c) => {
      const bound = { token: (await grantPair(c, ['solution', elsewhere])).accessToken }
      const wasRefused = !works(await listOn(c, 1, bound))
      await listOn(c, 1, { token: (await grantPair(c)).accessToken })
      return wasRefused && works(await listOn(c, 1, bound))
    },
    'latest-grant-of-key-sets-address-of-all-its-tokens': async (c) => {
      const bound = await grantPair(c, ['solution', elsewhere])
      const wasRefused = !(await accessWorks(c, bound))
      await grantPair(c)
      return wasRefused && accessWorks(c, bound)
    },
    'restrictions-behind-fourth-scope-entry-ignored': async (c) =>
      accessWorks(c, await grantPair(c, ['solution', 'context', 'thread', 'store', elsewhere])),
    'latest-grant-of-key-opens-areas-for-all-its-tokens': async (c) => {
      const narrow = await grantPair(c, ['context'])
      const wasRefused = !(await accessWorks(c, narrow))
      await grantPair(c)
      return wasRefused && accessWorks(c, narrow)
    },
    'repeated-area-scope-opens-next-area': async (c) => accessWorks(c, await grantPair(c, ['context', 'context'])),
    'area-numbers-compared-as-bits': async (c) => accessWorks(c, await grantPair(c, ['thread'])),
    'session-grant-exceeds-scope-of-key': async (c) => {
      const key = await makeKey(c, { scope: ['context'] })
      return accessWorks(c, await grantPair(c, ['solution', 'session:one'], key))
    },
    'calls-in-flight-share-the-scopes-of-the-last-token': async (c) => {
      const narrow = await grantPair(c, ['context'])
      const wide = await grantPair(c)
      const wasRefused = !(await accessWorks(c, narrow))
      const [isAccepted] = await Promise.all([accessWorks(c, narrow), accessWorks(c, wide)])
      return wasRefused && isAccepted
    },
    'narrow-grant-narrows-its-key': async (c) => {
      const key = await makeKey(c)
      await grantPair(c, ['context'], key)
      return !works(await c.list({ basic: key }))
    },
  })
})
