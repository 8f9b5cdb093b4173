import { describe } from 'vitest'
import type { Auth } from '../../../mock-server/test-client.ts'
import {
  type Client,
  createsKey,
  creation,
  grantPair,
  inTurn,
  makeEccKey,
  makeKey,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Creates `count` keys with names of their own; returns how many calls were accepted. */
const countCreated = async (client: Client, count: number, params: object = {}, auth?: Auth) => {
  const answers = await inTurn(count, (index) =>
    client.createKey({ ...creation, name: `key ${index}`, ...params }, auth),
  )
  return answers.filter(works).length
}

describe('key limit', () => {
  testWitnesses({
    'keys-with-public-key-not-counted': async (c) => {
      await makeEccKey(c)
      return (await countCreated(c, 10)) === 10
    },
    'keys-of-same-name-counted-once': async (c) => (await countCreated(c, 11, { name: 'twin' })) === 11,
    'no-key-limit-for-ecc-callers': async (c) => {
      const { auth } = await makeEccKey(c)
      return (await countCreated(c, 10, {}, auth)) === 10
    },
    'token-callers-make-eight-keys': async (c) =>
      (await countCreated(c, 10, {}, { token: (await grantPair(c, ['apikey'])).accessToken })) < 9,
    'eleventh-key-created-on-second-try': async (c) => (await countCreated(c, 12)) > 10,
    'refused-creation-ends-newest-key': async (c) => {
      const keys = await inTurn(10, () => makeKey(c))
      await createsKey(c, { basic: c.root })
      return !works(await c.list({ basic: keys[9] ?? c.root }))
    },
    'new-key-replaces-key-of-same-name': async (c) => {
      const key = await makeKey(c)
      await makeKey(c)
      return !works(await c.list({ basic: key }))
    },
    'new-key-replaces-key-with-same-public-key': async (c) => {
      const { auth, pem } = await makeEccKey(c)
      await makeKey(c, { publicKey: pem })
      return !works(await c.list(auth))
    },
  })
})
