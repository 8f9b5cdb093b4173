import { describe } from 'vitest'
import { basic, type Client, inTurn, listingBody, post, testWitnesses, works } from '../test-witness.ts'

const sends = (c: Client, body: string) => post(c, body, basic(c.root.id, c.root.secret))
const accepts = async (c: Client, body: string) => works(await sends(c, body))

describe('twelfth set: envelope', () => {
  testWitnesses({
    'operation-found-in-prototype-of-objects': async (c) => {
      const answers = async (method: string) => works(await c.call(method, {}, { basic: c.root }))
      return (
        (await answers('solution/toString')) &&
        (await answers('manager/constructor')) &&
        !(await answers('solution/other')) &&
        !(await answers('other/toString'))
      )
    },
    'letter-case-of-envelope-members-ignored': async (c) =>
      (await accepts(c, listingBody.replace('"method"', '"Method"'))) &&
      !(await accepts(c, listingBody.replace('"method"', '"methods"'))),
    'unquoted-names-in-json-accepted': async (c) =>
      (await accepts(c, listingBody.replace('"params"', 'params'))) &&
      !(await accepts(c, listingBody.replace('"params"', "'params'"))),
    'id-above-32-bits-echoed-as-text': async (c) => {
      const echo = async (id: number) => (await sends(c, listingBody.replace('"id":7', `"id":${id}`))).json.id
      return (await echo(2 ** 31)) === String(2 ** 31) && (await echo(2 ** 31 - 1)) === 2 ** 31 - 1
    },
    'refusals-beyond-twelve-a-second-answered-with-result': async (c) => {
      const refused = async () => !works(await c.list({ none: true }))
      const first = await inTurn(12, refused)
      const next = await refused()
      c.clock.advance(1000)
      return first.every((isRefused) => isRefused) && !next && (await refused())
    },
  })
})
