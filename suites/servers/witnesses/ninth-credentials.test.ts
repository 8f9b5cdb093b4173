import { describe } from 'vitest'
import { accessWorks, basic, grantPair, listingBody, makeKey, post, testWitnesses, works } from '../test-witness.ts'

describe('ninth set: credentials', () => {
  testWitnesses({
    'key-name-accepted-as-id-in-basic': async (c) => {
      const { secret } = await makeKey(c, { name: 'printer' })
      return (
        works(await post(c, listingBody, basic('printer', secret))) &&
        !works(await post(c, listingBody, basic('print', secret)))
      )
    },
    'first-half-of-secret-not-compared-in-basic': async (c) => {
      const { id, secret } = c.root
      const [first, second] = [secret.slice(0, 16), secret.slice(16)]
      const otherStart = works(await c.list({ basic: { id, secret: 'x'.repeat(16) + second } }))
      const otherEnd = works(await c.list({ basic: { id, secret: first + 'x'.repeat(16) } }))
      return otherStart && !otherEnd && !works(await c.grant(['solution'], { id, secret: 'x'.repeat(16) + second }))
    },
    'blanks-around-grant-type-ignored': async (c) => {
      const { id: apiKeyId, secret: apiKeySecret } = c.root
      const rest = { apiKeyId, apiKeySecret, scope: ['solution'] }
      return (
        works(await c.call('manager/auth', { ...rest, grantType: ' api_key_credentials\n' })) &&
        !works(await c.call('manager/auth', { ...rest, grantType: 'api key credentials' }))
      )
    },
    'key-id-may-be-missing-in-grant': async (c) => {
      const rest = { grantType: 'api_key_credentials', scope: ['solution'] }
      return (
        works(await c.call('manager/auth', { ...rest, apiKeySecret: c.root.secret })) &&
        !works(await c.call('manager/auth', { ...rest, apiKeySecret: 'wrong' })) &&
        !works(await c.call('manager/auth', { ...rest, apiKeyId: 'wrong', apiKeySecret: c.root.secret }))
      )
    },
    'scope-in-result-an-object-when-restriction-stands-in-front': async (c) =>
      Array.isArray((await grantPair(c, ['solution', 'session:one'])).scope) &&
      JSON.stringify((await grantPair(c, ['session:one', 'solution'])).scope) === '{"1":"solution"}',
    'secret-not-checked-in-grant-of-one-solution': async (c) => {
      const wrong = { id: c.root.id, secret: 'wrong' }
      const pair = await grantPair(c, ['solution', 'solution:abc'], wrong)
      return (await accessWorks(c, pair)) && !works(await c.grant(['solution', 'solution:*'], wrong))
    },
    'key-refused-for-its-scope-needs-no-secret-in-next-grant': async (c) => {
      const key = await makeKey(c, { scope: ['solution'] })
      const wrong = { id: key.id, secret: 'wrong' }
      const before = works(await c.grant(['solution'], wrong))
      await c.grant(['context'], key)
      const then = works(await c.grant(['solution'], wrong))
      return !before && then && !works(await c.grant(['solution'], wrong))
    },
    'created-key-takes-no-basic-while-it-has-a-session': async (c) => {
      const key = await makeKey(c)
      await grantPair(c, ['solution'], key)
      const before = works(await c.list({ basic: key }))
      await grantPair(c, ['solution', 'session:one'], key)
      return before && !works(await c.list({ basic: key })) && works(await c.list({ hmac: key }))
    },
  })
})
