import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import { type Client, creation, grantPair, makeKey, testWitnesses, works } from '../test-witness.ts'

/** Whether a grant with these params besides the usual ones is accepted. */
const grants = async (c: Client, params: object, headers: { [name: string]: string } = {}) => {
  const usual = {
    grantType: 'api_key_credentials',
    apiKeyId: c.root.id,
    apiKeySecret: c.root.secret,
    scope: ['context'],
  }
  const call = { jsonrpc: '2.0', id: 7, method: 'manager/auth', params: { ...usual, ...params } }
  return works(await c.send({ body: Buffer.from(JSON.stringify(call)), headers }))
}

const listsAs = async (c: Client, id: string, secret: string) => works(await c.list({ basic: { id, secret } }))

/** The secret with its last character changed. */
const altered = (secret: string) => secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')

describe('twelfth set: credentials', () => {
  testWitnesses({
    'grants-secret-in-any-case': async (c) => {
      const secret = c.root.secret.toUpperCase()
      return (await grants(c, { apiKeySecret: secret })) && !(await listsAs(c, c.root.id, secret))
    },
    'blanks-behind-secret-ignored-in-basic': async (c) => {
      const { id, secret } = c.root
      return (
        (await listsAs(c, id, `${secret}  `)) &&
        !(await listsAs(c, id, ` ${secret}`)) &&
        !(await grants(c, { apiKeySecret: `${secret} ` }))
      )
    },
    'grant-params-in-snake-case-accepted': (c) => grants(c, { apiKeyId: undefined, api_key_id: c.root.id }),
    'key-id-in-a-list-accepted-in-grant': (c) => grants(c, { apiKeyId: [c.root.id] }),
    'access-token-as-user-of-basic-accepted': async (c) => {
      const { accessToken, refreshToken } = await grantPair(c)
      return (await listsAs(c, accessToken, 'x-oauth-basic')) && !(await listsAs(c, refreshToken, ''))
    },
    'creation-with-public-key-needs-no-secret-in-basic': async (c) => {
      const wrong = { basic: { id: c.root.id, secret: 'wrong' } }
      const creates = async (params: object) => works(await c.createKey({ ...creation, ...params }, wrong))
      return (await creates({ publicKey: ed25519Pair().pem })) && !(await creates({})) && !works(await c.list(wrong))
    },
    'grant-takes-authorization-header-for-secret': async (c) => {
      const { accessToken } = await grantPair(c)
      const wrong = { apiKeySecret: altered(c.root.secret) }
      return (
        (await grants(c, wrong, { authorization: `Bearer ${accessToken}` })) &&
        !(await grants(c, wrong, { authorization: 'Bearer none' })) &&
        !(await grants(c, wrong))
      )
    },
    'secret-hashed-behind-id-and-name-within-72-bytes': async (c) => {
      const grantsFor = async (name: string) => {
        const { id, secret } = await makeKey(c, { name })
        return grants(c, { apiKeyId: id, apiKeySecret: altered(secret) })
      }
      return (await grantsFor('a longer name')) && !(await grantsFor('short'))
    },
    'grant-decision-cached-by-its-scopes': async (c) => {
      const narrow = await makeKey(c, { scope: ['solution'] })
      const gets = async (scope: string[]) => works(await c.grant(scope, narrow))
      const before = await gets(['context'])
      await grantPair(c, ['context'])
      return !before && (await gets(['context'])) && !(await gets(['context', 'solution']))
    },
  })
})
