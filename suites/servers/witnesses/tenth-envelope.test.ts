import { describe } from 'vitest'
import { basic, type Client, listingBody, listOn, post, testWitnesses, works } from '../test-witness.ts'

const send = (c: Client, body: string) => post(c, body, basic(c.root.id, c.root.secret))

describe('tenth set: envelope', () => {
  testWitnesses({
    'beginning-of-operation-suffices': async (c) => {
      const lists = async (name: string) => works(await send(c, listingBody.replace('solution/listSolutions', name)))
      return (await lists('solution/listSol')) && !(await lists('solution/')) && !(await lists('solution/Solutions'))
    },
    'params-as-json-text-accepted': async (c) => {
      const listsWith = async (params: string) =>
        works(await send(c, listingBody.replace('"params":{}', `"params":${JSON.stringify(params)}`)))
      return (await listsWith('{}')) && !(await listsWith('[]')) && !(await listsWith(''))
    },
    'refusal-kept-for-its-id-on-connection': async (c) => {
      const right = { basic: c.root }
      const refused = !works(await listOn(c, 1, { basic: { id: c.root.id, secret: 'wrong' } }, 5))
      const again = works(await listOn(c, 1, right, 5))
      return refused && !again && works(await listOn(c, 1, right, 6)) && works(await listOn(c, 2, right, 5))
    },
  })
})
