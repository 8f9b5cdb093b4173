import { describe } from 'vitest'
import { accessWorks, createsKey, grantPair, makeKey, signs, testWitnesses, works } from '../test-witness.ts'

describe('ninth set: restrictions', () => {
  testWitnesses({
    'address-in-reverse-byte-order-taken-too': async (c) => {
      const pair = await grantPair(c, ['solution', 'ipAddr:1.0.0.127'])
      return (await accessWorks(c, pair, '127.0.0.1')) && !(await accessWorks(c, pair, '127.0.0.2'))
    },
    'address-0-0-0-0-taken-for-any': async (c) =>
      (await accessWorks(c, await grantPair(c, ['solution', 'ipAddr:0.0.0.0']))) &&
      !(await accessWorks(c, await grantPair(c, ['solution', 'ipAddr:0.0.0.1']))),
    'token-with-address-creates-no-keys': async (c) => {
      const creates = async (scope: string[]) => createsKey(c, { token: (await grantPair(c, scope)).accessToken })
      return (await creates(['apikey'])) && !(await creates(['apikey', 'ipAddr:127.0.0.1']))
    },
    'stream-granted-to-key-with-store': async (c) => {
      const key = await makeKey(c, { scope: ['store'] })
      return works(await c.grant(['stream'], key)) && !works(await c.grant(['inbox'], key))
    },
    'solution-id-not-held-in-session': async (c) => {
      const { list } = (await c.list({ basic: c.root })).json.result
      const reaches = async (scope: string[]) => {
        const { accessToken } = await grantPair(c, ['context', `solution:${list[0].id}`, ...scope])
        const params = { solution: list[1].id, name: 'one', description: '', scope: 'private' }
        return works(await c.call('context/createContext', params, { token: accessToken }))
      }
      return !(await reaches([])) && reaches(['session:one'])
    },
    'address-of-signed-call-trusted-for-tokens-of-key': async (c) => {
      const pair = await grantPair(c, ['solution', 'ipAddr:10.0.0.1'])
      const before = await accessWorks(c, pair)
      await signs(c, {})
      return !before && (await accessWorks(c, pair)) && !(await accessWorks(c, pair, '10.0.0.2'))
    },
    'scopes-of-earlier-session-of-same-name-added': async (c) => {
      await grantPair(c, ['solution', 'session:one'])
      const other = await accessWorks(c, await grantPair(c, ['context', 'session:two']))
      return !other && accessWorks(c, await grantPair(c, ['context', 'session:one']))
    },
  })
})
