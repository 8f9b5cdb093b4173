import { describe } from 'vitest'
import {
  accessWorks,
  basic,
  type Client,
  grantPair,
  inTurn,
  listingBody,
  makeEccKey,
  makeKey,
  post,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

const grants = async (c: Client, key: { id: string; secret: string }) => works(await c.grant(['solution'], key))
const listsWith = async (c: Client, authorization: string) => works(await post(c, listingBody, authorization))

describe('fourth set: credentials', () => {
  testWitnesses({
    'public-key-takes-basic-until-its-first-signature': async (c) => {
      const key = await makeEccKey(c)
      const before = works(await c.list({ basic: key }))
      await c.list(key.auth)
      return before && !works(await c.list({ basic: key }))
    },
    'public-key-created-by-ecc-call-gets-grants': async (c) => {
      const creator = await makeEccKey(c)
      const { pem } = await makeEccKey(c)
      const made = await makeKey(c, { publicKey: pem }, creator.auth)
      return !(await grants(c, creator)) && (await grants(c, made))
    },
    'last-of-several-basic-credentials-taken': (c) =>
      listsWith(c, `${basic('nobody', 'nothing')}, ${basic(c.root.id, c.root.secret)}`),
    'percent-escapes-in-basic-credentials-decoded': (c) => {
      const [first = '', ...rest] = c.root.secret
      return listsWith(c, basic(c.root.id, `%${first.charCodeAt(0).toString(16)}${rest.join('')}`))
    },
    'key-id-in-capitals-taken-in-grant': (c) => grants(c, { ...c.root, id: c.root.id.toUpperCase() }),
    'blanks-behind-key-id-ignored-in-grant': (c) => grants(c, { ...c.root, id: `${c.root.id} ` }),
    'grant-with-a-refresh-token-beside-it-refreshes': async (c) => {
      const pair = await grantPair(c)
      await c.call('manager/auth', {
        grantType: 'api_key_credentials',
        apiKeyId: 'nobody',
        apiKeySecret: 'nothing',
        scope: ['solution'],
        refreshToken: pair.refreshToken,
      })
      return !(await accessWorks(c, pair)) && !(await refreshWorks(c, pair))
    },
    'secret-of-newest-created-key-gets-grants-of-its-creator': async (c) => {
      const [first, second] = [await makeKey(c), await makeKey(c)]
      return (
        !(await grants(c, { id: c.root.id, secret: first.secret })) &&
        (await grants(c, { id: c.root.id, secret: second.secret }))
      )
    },
    'disabled-key-gets-tokens-that-work': async (c) => {
      const key = await makeKey(c)
      await c.call('manager/updateApiKey', { id: key.id, enabled: false }, { basic: c.root })
      return accessWorks(c, await grantPair(c, ['solution'], key))
    },
    'basic-secret-compared-by-its-half-after-five-right-ones': async (c) => {
      const half = basic(c.root.id, c.root.secret.slice(0, 16).padEnd(32, 'x'))
      const before = await listsWith(c, half)
      await inTurn(5, () => c.list({ basic: c.root }))
      return !before && (await listsWith(c, half))
    },
  })
})
