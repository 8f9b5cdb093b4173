import { describe } from 'vitest'
import { type Client, creation, signs, testWitnesses, works } from '../test-witness.ts'

const cut = (bytes: number) => ({ encode: (mac: Buffer) => mac.subarray(0, bytes).toString('base64') })

/** Whether a listing and a creation work that are signed and in flight together. */
async function pairInFlight(c: Client): Promise<boolean[]> {
  const auth = { hmac: c.root }
  return (await Promise.all([c.list(auth), c.createKey(creation, auth)])).map(works)
}

describe('tenth set: HMAC', () => {
  testWitnesses({
    'mac-cut-to-96-bits-accepted': async (c) =>
      (await signs(c, cut(12))) && (await signs(c, {})) && !(await signs(c, cut(16))) && !(await signs(c, cut(19))),
    'mac-by-secret-with-line-feed-accepted': async (c) => {
      const { id, secret } = c.root
      return (await signs(c, {}, { id, secret: `${secret}\n` })) && !(await signs(c, {}, { id, secret: `${secret} ` }))
    },
    'signed-calls-in-flight-share-their-body': async (c) => {
      const [first, second] = await pairInFlight(c)
      return first === false && second === true && (await signs(c, {}))
    },
    'timestamp-of-last-signature-of-key-signed-too': async (c) => {
      const earlier = c.clock.now()
      const stale = { data: (text: string) => text.replace(/^[0-9]+/, String(earlier)) }
      await signs(c, {})
      c.clock.advance(1000)
      const last = await signs(c, stale)
      return last && (await signs(c, {})) && !(await signs(c, stale))
    },
  })
})
