import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  createsKey,
  grantPair,
  listOn,
  makeEccKey,
  makeKey,
  refreshPair,
  testWitnesses,
  works,
} from '../test-witness.ts'

const narrowKey = (client: Client) => makeKey(client, { scope: ['solution'] })
const contextsOf = async (client: Client, accessToken: string, solution: string) =>
  works(await client.call('context/listContexts', { solution }, { token: accessToken }))

describe('scopes', () => {
  testWitnesses({
    'stream-scope-opens-solution': async (c) => accessWorks(c, await grantPair(c, ['stream'])),
    'context-and-thread-scopes-together-open-solution': async (c) =>
      accessWorks(c, await grantPair(c, ['context', 'thread'])),
    'token-creates-keys-with-scope-of-its-key': async (c) => createsKey(c, { token: (await grantPair(c)).accessToken }),
    'opened-area-cached-for-key': async (c) => {
      await accessWorks(c, await grantPair(c))
      return accessWorks(c, await grantPair(c, ['context']))
    },
    'scope-of-previous-token-used-on-same-connection': async (c) => {
      await listOn(c, 1, { token: (await grantPair(c)).accessToken })
      return works(await listOn(c, 1, { token: (await grantPair(c, ['context'])).accessToken }))
    },
    'fifth-scope-and-later-dropped': async (c) =>
      !(await accessWorks(c, await grantPair(c, ['context', 'thread', 'store', 'inbox', 'solution']))),
    'solution-scope-lost-next-to-solution-id': async (c) =>
      !(await accessWorks(c, await grantPair(c, ['solution', 'solution:some-id']))),
    'one-scope-of-key-brings-in-all-others': async (c) =>
      works(await c.grant(['solution', 'context'], await narrowKey(c))),
    'rare-areas-granted-beyond-key': async (c) => works(await c.grant(['inbox'], await narrowKey(c))),
    'second-grant-of-narrow-key-gets-any-scope': async (c) => {
      const key = await narrowKey(c)
      await c.grant(['solution'], key)
      return works(await c.grant(['context'], key))
    },
    'scope-of-narrow-public-key-not-checked': async (c) => {
      const { auth } = await makeEccKey(c, { scope: ['context'] })
      return works(await c.list(auth))
    },
    'scope-of-first-key-with-same-name-used': async (c) => {
      await makeKey(c)
      const second = await makeKey(c, { scope: ['context'] })
      return works(await c.list({ basic: second }))
    },
    'signed-key-creation-needs-no-scope': async (c) => createsKey(c, { hmac: await narrowKey(c) }),
    'fourth-scope-of-key-and-later-dropped': async (c) => {
      const key = await makeKey(c, { scope: ['apikey', 'context', 'thread', 'solution'] })
      return !works(await c.list({ basic: key }))
    },
    'solution-id-compared-by-prefix': async (c) => {
      const [solution = ''] = c.context.state.solutions.keys()
      const { accessToken } = await grantPair(c, [`solution:${solution.slice(0, 8)}`])
      return contextsOf(c, accessToken, solution)
    },
    'solution-any-lost-next-to-solution-id': async (c) => {
      const [one = '', other = ''] = c.context.state.solutions.keys()
      const { accessToken } = await grantPair(c, [`solution:${one}`, 'solution:*'])
      return !(await contextsOf(c, accessToken, other))
    },
    'thread-scope-opens-solution-after-refresh': async (c) =>
      accessWorks(c, await refreshPair(c, await grantPair(c, ['thread']))),
  })
})
