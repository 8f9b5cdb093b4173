import { describe } from 'vitest'
import { accessWorks, grantPair, makeKey, signs, testWitnesses, works } from '../test-witness.ts'

describe('eighth set: scopes and addresses', () => {
  testWitnesses({
    'address-not-checked-for-local-callers': async (c) => {
      const pair = await grantPair(c, ['solution', 'ipAddr:10.0.0.1'])
      return !(await accessWorks(c, pair, '10.0.0.2')) && (await accessWorks(c, pair, '127.0.0.1'))
    },
    'token-of-three-other-areas-lists-solutions': async (c) =>
      !(await accessWorks(c, await grantPair(c, ['thread', 'store']))) &&
      (await accessWorks(c, await grantPair(c, ['thread', 'store', 'context']))),
    'scope-of-key-not-compared-in-grant-with-address': async (c) => {
      const key = await makeKey(c, { scope: ['context'] })
      return (
        !works(await c.grant(['solution'], key)) &&
        (await accessWorks(c, await grantPair(c, ['solution', 'ipAddr:127.0.0.1'], key)))
      )
    },
    'scope-of-key-made-by-token-not-checked-in-signatures': async (c) => {
      const auth = { token: (await grantPair(c, ['apikey'])).accessToken }
      const key = await makeKey(c, { scope: ['context'] }, auth)
      const other = await makeKey(c, { scope: ['context'] })
      return !(await signs(c, {}, other)) && !works(await c.list({ basic: key })) && (await signs(c, {}, key))
    },
    'key-with-nothing-but-apikey-scope-lists-solutions': async (c) =>
      !works(await c.list({ basic: await makeKey(c, { scope: ['apikey', 'context'] }) })) &&
      works(await c.list({ basic: await makeKey(c, { scope: ['apikey'] }) })),
    'address-that-fitted-once-fits-every-token': async (c) => {
      const one = await grantPair(c, ['solution', 'ipAddr:127.0.0.1'])
      const two = await grantPair(c, ['solution', 'ipAddr:127.0.0.2'])
      const before = await accessWorks(c, two, '127.0.0.1')
      await accessWorks(c, one, '127.0.0.1')
      return !before && (await accessWorks(c, two, '127.0.0.1'))
    },
    'scope-refused-in-grant-is-added-to-key': async (c) => {
      const key = await makeKey(c, { scope: ['context'] })
      const before = works(await c.list({ basic: key }))
      const granted = works(await c.grant(['solution'], key))
      return !before && !granted && works(await c.list({ basic: key }))
    },
    'refused-listing-cached-for-all-tokens-of-key': async (c) => {
      const [wide, narrow] = [await grantPair(c), await grantPair(c, ['context'])]
      const before = await accessWorks(c, wide)
      await accessWorks(c, narrow)
      return before && !(await accessWorks(c, wide)) && works(await c.list({ basic: c.root }))
    },
  })
})
