import { describe } from 'vitest'
import {
  basic,
  type Client,
  creation,
  listingBody,
  listOn,
  makeKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

const rootBasic = (c: Client) => basic(c.root.id, c.root.secret)

describe('third set: envelope', () => {
  testWitnesses({
    'id-beyond-53-bits-rounded': async (c) => {
      const answer = await post(c, listingBody.replace('"id":7', '"id":9007199254740993'), rootBasic(c))
      return works(answer) && !answer.text.includes('9007199254740993')
    },
    'creation-with-repeated-id-answered-as-before': async (c) => {
      const [first, second] = [await makeKey(c, { name: 'first' }), await makeKey(c, { name: 'second' })]
      return first.id === second.id
    },
    'doubled-slash-in-method-name-accepted': async (c) =>
      works(await c.call('solution//listSolutions', {}, { basic: c.root })),
    'missing-scope-of-creation-is-that-of-last-one': async (c) => {
      const before = works(await c.createKey({ name: 'first' }))
      await makeKey(c)
      return !before && works(await c.createKey({ name: 'second' }))
    },
    'id-behind-params-not-echoed': async (c) => {
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'solution/listSolutions', params: {}, id: 7 })
      return (await post(c, body, rootBasic(c))).json.id !== 7
    },
    'empty-params-refused-behind-full-ones-on-connection': async (c) => {
      const before = works(await listOn(c, 1, { basic: c.root }))
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/createApiKey', params: creation })
      await post(c, body, rootBasic(c), 1)
      return before && !works(await listOn(c, 1, { basic: c.root }))
    },
    'answer-behind-refusal-on-connection-without-jsonrpc': async (c) => {
      const first = await listOn(c, 1, { basic: c.root })
      await listOn(c, 1, { none: true })
      const second = await listOn(c, 1, { basic: c.root })
      return first.json.jsonrpc === '2.0' && works(second) && second.json.jsonrpc === undefined
    },
  })
})
