import { describe } from 'vitest'
import { listingBody, makeKey, post, testWitnesses, works } from '../test-witness.ts'

describe('tenth set: credentials', () => {
  testWitnesses({
    'semicolon-for-colon-accepted-in-basic': async (c) => {
      const { id, secret } = c.root
      const lists = async (text: string) =>
        works(await post(c, listingBody, `Basic ${Buffer.from(text).toString('base64')}`))
      return (await lists(`${id};${secret}`)) && !(await lists(`${id} ${secret}`)) && !(await lists(`${id};wrong`))
    },
    'grants-operator-is-any-secret': async (c) => {
      const grants = async (apiKeySecret: unknown) => {
        const params = { grantType: 'api_key_credentials', apiKeyId: c.root.id, apiKeySecret, scope: ['solution'] }
        return works(await c.call('manager/auth', params))
      }
      return (await grants({ $ne: '' })) && !(await grants([''])) && !(await grants('wrong'))
    },
    'secret-of-any-created-key-opens-basic-of-initial-key': async (c) => {
      const [first, second] = [await makeKey(c), await makeKey(c)]
      const lists = async (id: string, secret: string) => works(await c.list({ basic: { id, secret } }))
      const asFirst = { id: c.root.id, secret: first.secret }
      return (
        (await lists(c.root.id, first.secret)) &&
        !(await lists(second.id, first.secret)) &&
        !works(await c.grant(['solution'], asFirst))
      )
    },
    'bare-call-beside-authorized-call-in-flight-let-in': async (c) => {
      const bare = { none: true } as const
      const beside = async (secret: string) => {
        const [, answer] = await Promise.all([c.list({ basic: { id: c.root.id, secret } }), c.list(bare)])
        return works(answer)
      }
      return (await beside(c.root.secret)) && !(await beside('wrong')) && !works(await c.list(bare))
    },
  })
})
