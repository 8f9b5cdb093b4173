import { describe } from 'vitest'
import { basic, listingBody, listOn, post, testWitnesses, works } from '../test-witness.ts'

describe('second set: envelope', () => {
  testWitnesses({
    'body-behind-malformed-one-on-connection-refused': async (c) => {
      await post(c, '{"jsonrpc":', undefined, 1)
      const first = await listOn(c, 1, { basic: c.root })
      return !works(first) && works(await listOn(c, 1, { basic: c.root }))
    },
    'missing-method-is-that-of-last-call': async (c) => {
      const authorization = basic(c.root.id, c.root.secret)
      await post(c, listingBody, authorization)
      return works(await post(c, JSON.stringify({ jsonrpc: '2.0', id: 7, params: {} }), authorization))
    },
    'listing-of-caller-cached-with-its-id': async (c) => {
      await listOn(c, 1, { basic: c.root }, 1)
      return (await listOn(c, 1, { basic: c.root }, 2)).json.id === 1
    },
    'operation-found-in-every-group': async (c) => works(await c.call('manager/listSolutions', {}, { basic: c.root })),
  })
})
