import { describe } from 'vitest'
import {
  createsKey,
  grantPair,
  inTurn,
  makeEccKey,
  makeKey,
  openSessions,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('fourth set: keys', () => {
  testWitnesses({
    'tenth-key-with-public-key-refused': async (c) => {
      await inTurn(8, () => makeKey(c))
      const ninth = await makeEccKey(c)
      return ninth.id !== undefined && (await makeEccKey(c)).id === undefined && (await makeKey(c)).id !== undefined
    },
    'ninth-key-overwrites-scope-of-first': async (c) => {
      const [first = c.root] = await inTurn(8, () => makeKey(c))
      const before = works(await c.list({ hmac: first }))
      await makeKey(c, { scope: ['store'] })
      return before && !works(await c.list({ hmac: first }))
    },
    'key-made-by-created-key-has-scope-of-initial-key': async (c) => {
      const [byRoot, byKey] = [
        await makeKey(c, { scope: ['store'] }),
        await makeKey(c, { scope: ['store'] }, { basic: await makeKey(c) }),
      ]
      return !works(await c.list({ basic: byRoot })) && works(await c.list({ basic: byKey }))
    },
    'scope-of-key-made-by-token-compared-place-by-place': async (c) => {
      const token = (await grantPair(c, ['apikey', 'solution'])).accessToken
      const [same, other] = [
        await makeKey(c, { scope: ['apikey', 'solution'] }, { token }),
        await makeKey(c, { scope: ['solution'] }, { token }),
      ]
      return works(await c.list({ basic: same })) && !works(await c.list({ basic: other }))
    },
    'creations-in-flight-share-an-id': async (c) => {
      const [first, second] = await Promise.all([makeKey(c), makeKey(c)])
      return first.id === second.id && (await makeKey(c)).id !== first.id
    },
    'key-created-in-session-ends-with-it': async (c) => {
      const token = (await grantPair(c, ['apikey', 'session:first'])).accessToken
      const key = await makeKey(c, {}, { token })
      const before = works(await c.list({ hmac: key }))
      await openSessions(c, 16)
      return before && !works(await c.list({ hmac: key }))
    },
    'public-key-created-by-ecc-call-is-that-of-its-creator': async (c) => {
      const creator = await makeEccKey(c)
      const { pem, privateKey } = await makeEccKey(c)
      const { id } = await makeKey(c, { publicKey: pem }, creator.auth)
      return (
        !works(await c.list({ ecc: { id, privateKey } })) &&
        works(await c.list({ ecc: { id, privateKey: creator.privateKey } }))
      )
    },
    'fifth-public-key-ends-the-first': async (c) => {
      const [first] = await inTurn(4, () => makeEccKey(c))
      const before = works(await c.list(first?.auth ?? { none: true }))
      await makeEccKey(c)
      return before && !works(await c.list(first?.auth ?? { none: true }))
    },
    'keys-created-within-a-second-not-counted': async (c) => {
      await inTurn(10, () => makeKey(c))
      const soon = await createsKey(c, { basic: c.root })
      c.clock.advance(1000)
      return soon && !(await createsKey(c, { basic: c.root }))
    },
    'null-as-scope-of-creation-taken': async (c) => works(await c.createKey({ name: 'key', scope: null })),
    'creation-by-token-returns-no-secret': async (c) => {
      const { id, secret } = await makeKey(c, {}, { token: (await grantPair(c, ['apikey'])).accessToken })
      return id !== undefined && secret === undefined
    },
  })
})
