import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, inTurn, testWitnesses, works } from '../test-witness.ts'

const home = '10.0.0.1'
const bound = (client: Client, ...more: string[]) => grantPair(client, ['solution', `ipAddr:${home}`, ...more])

describe('addresses', () => {
  testWitnesses({
    'address-checked-until-first-success': async (c) => {
      const pair = await bound(c)
      await accessWorks(c, pair, home)
      return accessWorks(c, pair, '10.0.0.2')
    },
    'wrong-address-let-in-on-third-try': async (c) => {
      const pair = await bound(c)
      return (await inTurn(3, () => accessWorks(c, pair, '10.0.0.2'))).includes(true)
    },
    'address-not-checked-on-key-creation': async (c) => {
      const { accessToken } = await grantPair(c, ['apikey', `ipAddr:${home}`])
      const params = { name: 'key', scope: ['solution'] }
      return works(await c.call('manager/createApiKey', params, { token: accessToken }, { from: '10.0.0.2' }))
    },
    'address-not-checked-in-session': async (c) => accessWorks(c, await bound(c, 'session:one'), '10.0.0.2'),
    'right-address-refused-with-expires-in': async (c) =>
      !(await accessWorks(c, await bound(c, 'expiresIn:60000'), home)),
  })
})
