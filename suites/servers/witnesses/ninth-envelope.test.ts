import { describe } from 'vitest'
import { basic, type Client, listingBody, post, testWitnesses, works } from '../test-witness.ts'

const send = (c: Client, body: string) => post(c, body, basic(c.root.id, c.root.secret))

describe('ninth set: envelope', () => {
  testWitnesses({
    'slash-in-front-of-method-name-ignored': async (c) =>
      works(await send(c, listingBody.replace('solution/', '/solution/'))) &&
      !works(await send(c, listingBody.replace('solution/', '//solution/'))),
    'form-fields-taken-instead-of-json': async (c) =>
      works(await send(c, 'id=7&method=solution%2FlistSolutions')) && !works(await send(c, 'solution/listSolutions')),
    'answer-to-grant-without-id': async (c) => {
      const grant = await c.grant(['solution'])
      return works(grant) && grant.json.id === undefined && (await c.list({ basic: c.root })).json.id === 7
    },
    'id-beyond-24-bits-rounded': async (c) => {
      const echoOf = async (id: number) => (await send(c, listingBody.replace('"id":7', `"id":${id}`))).json.id
      return (await echoOf(16_777_217)) === 16_777_216 && (await echoOf(16_777_215)) === 16_777_215
    },
    'unknown-method-hides-its-group-for-100-ms': async (c) => {
      await c.call('solution/unknown', {}, { basic: c.root })
      const hidden = !works(await c.list({ basic: c.root }))
      const others = works(await c.grant(['solution']))
      c.clock.advance(100)
      return hidden && others && works(await c.list({ basic: c.root }))
    },
  })
})
