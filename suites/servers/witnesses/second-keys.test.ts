import { describe } from 'vitest'
import type { Auth } from '../../../mock-server/test-client.ts'
import { type Client, creation, inTurn, makeEccKey, makeKey, testWitnesses, works } from '../test-witness.ts'

/** How many keys could be made of eleven. */
const madeOfEleven = async (c: Client, nameOf: (index: number) => string, authOf: (index: number) => Auth) =>
  (await inTurn(11, (index) => c.createKey({ ...creation, name: nameOf(index) }, authOf(index)))).filter(works).length

describe('second set: keys', () => {
  testWitnesses({
    'key-created-after-public-key-gets-it-too': async (c) => {
      await makeEccKey(c)
      return !works(await c.list({ basic: await makeKey(c) }))
    },
    'keys-of-one-name-counted-once': async (c) =>
      (await madeOfEleven(
        c,
        () => 'same',
        () => ({ basic: c.root }),
      )) > 10,
    'each-creator-has-ten-places': async (c) => {
      const creator = await makeKey(c)
      return (
        (await madeOfEleven(
          c,
          (index) => `key ${index}`,
          (index) => ({ basic: index < 9 ? c.root : creator }),
        )) === 11
      )
    },
    'key-created-by-ecc-signature-takes-no-place': async (c) => {
      const { auth } = await makeEccKey(c)
      return (
        (await madeOfEleven(
          c,
          (index) => `key ${index}`,
          () => auth,
        )) === 11
      )
    },
    'creations-in-flight-share-a-scope': async (c) => {
      const [context] = await Promise.all([makeKey(c, { scope: ['context'] }), makeKey(c, { scope: ['solution'] })])
      return works(await c.list({ basic: context }))
    },
    'scope-of-key-cut-at-three-entries': async (c) =>
      !works(await c.list({ basic: await makeKey(c, { scope: ['apikey', 'context', 'thread', 'solution'] }) })),
  })
})
