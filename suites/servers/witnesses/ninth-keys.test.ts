import { describe } from 'vitest'
import { createsKey, inTurn, makeEccKey, makeKey, testWitnesses, works } from '../test-witness.ts'

describe('ninth set: keys', () => {
  testWitnesses({
    'false-as-public-key-means-none': async (c) => {
      const key = await makeKey(c, { publicKey: false })
      return (
        key.id !== undefined &&
        works(await c.list({ basic: key })) &&
        (await makeKey(c, { publicKey: '' })).id === undefined
      )
    },
    'scope-of-key-kept-in-forty-characters': async (c) => {
      const key = await makeKey(c, { scope: ['stream', 'inbox', 'store', 'thread', 'context', 'solution', 'apikey'] })
      const lists = async (method: string) => works(await c.call(method, {}, { basic: key }))
      return (await lists('thread/listThreads')) && !(await lists('solution/listSolutions'))
    },
    'disabled-key-signs-with-ecc': async (c) => {
      const [{ id, auth }, plain] = [await makeEccKey(c), await makeKey(c)]
      for (const key of [id, plain.id])
        await c.call('manager/updateApiKey', { id: key, enabled: false }, { basic: c.root })
      return (
        works(await c.list(auth)) && !works(await c.list({ hmac: plain })) && !works(await c.list({ basic: plain }))
      )
    },
    'key-made-by-created-key-cannot-create-keys': async (c) => {
      const parent = await makeKey(c)
      const child = await makeKey(c, {}, { basic: parent })
      const childLists = works(await c.list({ basic: child }))
      return childLists && (await createsKey(c, { basic: parent })) && !(await createsKey(c, { basic: child }))
    },
    'creation-refused-for-its-params-frees-a-place': async (c) => {
      await inTurn(10, () => makeKey(c))
      const before = await createsKey(c, { basic: c.root })
      await c.createKey({ name: 'key' })
      return !before && (await createsKey(c, { basic: c.root })) && !(await createsKey(c, { basic: c.root }))
    },
    'creator-takes-scope-of-key-that-it-creates': async (c) => {
      const narrow = await makeKey(c, { scope: ['apikey'] })
      const before = works(await c.list({ basic: narrow }))
      await makeKey(c, { scope: ['apikey', 'solution'] }, { basic: narrow })
      return !before && works(await c.list({ basic: narrow }))
    },
  })
})
