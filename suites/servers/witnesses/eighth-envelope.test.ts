import { describe } from 'vitest'
import { creation, grantPair, listOn, makeKey, testWitnesses, works } from '../test-witness.ts'

describe('eighth set: envelope', () => {
  testWitnesses({
    'method-name-in-snake-case-accepted': async (c) =>
      works(await c.call('solution/list_solutions', {}, { basic: c.root })),
    'id-of-key-creation-echoed-as-text': async (c) =>
      (await c.createKey(creation)).json.id === '7' && (await c.list({ basic: c.root })).json.id === 7,
    'result-of-listing-is-null-for-tokens-of-created-keys': async (c) => {
      const key = await makeKey(c)
      const { accessToken } = await grantPair(c, ['solution'], key)
      return works(await c.list({ basic: key })) && (await c.list({ token: accessToken })).json.result === null
    },
    'id-below-that-of-last-call-on-connection-refused': async (c) => {
      const auth = { basic: c.root }
      const ids = [await listOn(c, 1, auth, 7), await listOn(c, 1, auth, 6), await listOn(c, 2, auth, 6)]
      return ids.map(works).join() === 'true,false,true'
    },
  })
})
