import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  grantPair,
  inTurn,
  makeEccKey,
  makeKey,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Whether a grant for the root key is given when some params are replaced. */
const grants = async (client: Client, params: object) =>
  works(
    await client.call('manager/auth', {
      grantType: 'api_key_credentials',
      apiKeyId: client.root.id,
      apiKeySecret: client.root.secret,
      scope: ['solution'],
      ...params,
    }),
  )

describe('grants', () => {
  testWitnesses({
    'grants-secret-trimmed': (c) => grants(c, { apiKeySecret: `${c.root.secret}\n` }),
    'grants-secret-ends-at-nul': (c) => grants(c, { apiKeySecret: `${c.root.secret}\0more` }),
    'grants-longer-secret-taken': (c) => grants(c, { apiKeySecret: `${c.root.secret}more` }),
    'beginning-of-key-id-suffices-in-grant': (c) => grants(c, { apiKeyId: c.root.id.slice(0, 12) }),
    'name-accepted-as-key-id-in-grant': async (c) => {
      const { secret } = await makeKey(c, { name: 'by-name' })
      return grants(c, { apiKeyId: 'by-name', apiKeySecret: secret })
    },
    'access-token-accepted-as-secret-in-grant': async (c) =>
      grants(c, { apiKeySecret: (await grantPair(c)).accessToken }),
    'initial-secret-accepted-for-created-key-in-grant': async (c) => grants(c, { apiKeyId: (await makeKey(c)).id }),
    'secret-not-checked-within-second-of-other-grant': async (c) => {
      const { id } = await makeKey(c)
      await grantPair(c)
      return grants(c, { apiKeyId: id, apiKeySecret: 'wrong' })
    },
    'sixth-wrong-secret-in-a-row-lets-in': async (c) =>
      (await inTurn(6, () => grants(c, { apiKeySecret: 'wrong' }))).includes(true),
    'grant-taken-for-public-key-without-apikey-scope': async (c) => {
      const { id, secret } = await makeEccKey(c, { scope: ['solution'] })
      return grants(c, { apiKeyId: id, apiKeySecret: secret })
    },
    'key-created-by-signature-gets-no-grant': async (c) => {
      const { id, secret } = await makeKey(c, {}, { hmac: c.root })
      return !(await grants(c, { apiKeyId: id, apiKeySecret: secret }))
    },
    'letter-case-of-grant-type-ignored': (c) => grants(c, { grantType: 'API_KEY_CREDENTIALS' }),
    'grant-type-in-a-list-accepted': (c) => grants(c, { grantType: ['api_key_credentials'] }),
    'missing-grant-type-guessed-from-refresh-token': async (c) => {
      const { refreshToken } = await grantPair(c)
      return works(await c.call('manager/auth', { refreshToken }))
    },
    'grant-with-a-text-as-scope': (c) => grants(c, { scope: 'solution' }),
    'numbers-in-scope-skipped-in-grant': (c) => grants(c, { scope: ['solution', 5] }),
    'expiry-as-text-with-expires-in': async (c) =>
      typeof (await grantPair(c, ['solution', 'expiresIn:60000'])).accessTokenExpiry !== 'number',
    'refresh-expiry-with-fraction-in-session': async (c) =>
      !Number.isInteger((await grantPair(c, ['solution', 'session:one'])).refreshTokenExpiry),
    'single-scope-reported-as-text': async (c) => !Array.isArray((await grantPair(c)).scope),
    'token-type-in-lower-case-with-address': async (c) =>
      (await grantPair(c, ['solution', 'ipAddr:127.0.0.1'])).tokenType !== 'Bearer',
    'initial-key-granted-without-stream': async (c) => !(await grants(c, { scope: ['stream'] })),
    'access-token-reported-with-bearer-word-for-created-key': async (c) =>
      !(await accessWorks(c, await grantPair(c, ['solution'], await makeKey(c)))),
    'no-refresh-token-with-expires-in': async (c) =>
      typeof (await grantPair(c, ['solution', 'expiresIn:60000'])).refreshToken !== 'string',
  })
})
