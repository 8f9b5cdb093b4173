import { describe } from 'vitest'
import {
  accessWorks,
  basic,
  type Client,
  grantPair,
  inTurn,
  lineOfPairs,
  listingBody,
  listOn,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

const send = (client: Client, body: string) => post(client, body, basic(client.root.id, client.root.secret))
const answersWithOtherId = async (client: Client, id: number) =>
  (await listOn(client, 1, { basic: client.root }, id)).json?.id !== id

describe('envelope', () => {
  testWitnesses({
    'zero-id-becomes-one': (c) => answersWithOtherId(c, 0),
    'id-wraps-at-32-bits': (c) => answersWithOtherId(c, 2 ** 31),
    'second-answer-on-connection-repeats-id': async (c) =>
      (await inTurn(2, (index) => answersWithOtherId(c, index + 1))).includes(true),
    'concurrent-listings-answer-with-last-id': async (c) =>
      (await Promise.all([answersWithOtherId(c, 1), answersWithOtherId(c, 2)])).includes(true),
    'answer-to-refresh-without-jsonrpc': async (c) => {
      const [pair] = await lineOfPairs(c, 0)
      return (await c.refresh(pair?.refreshToken ?? '')).json?.jsonrpc !== '2.0'
    },
    'signed-listing-answered-with-a-list': async (c) => Array.isArray((await c.list({ hmac: c.root })).json?.result),
    'letter-case-of-method-ignored': async (c) => works(await send(c, listingBody.replace('listS', 'lists'))),
    'text-behind-method-name-ignored': async (c) =>
      works(await send(c, listingBody.replace('Solutions', 'SolutionsX'))),
    'unknown-solution-method-answered-with-empty-result': async (c) =>
      works(await send(c, listingBody.replace('listSolutions', 'unknown'))),
    'method-name-in-a-list-accepted': async (c) =>
      works(await send(c, listingBody.replace('"solution/listSolutions"', '["solution/listSolutions"]'))),
    'text-behind-json-ignored': async (c) => works(await send(c, `${listingBody} more`)),
    'comma-before-closing-brace-accepted': async (c) => works(await send(c, listingBody.replace(/}$/, ',}'))),
    'call-after-third-malformed-body-refused': async (c) => {
      await inTurn(3, () => send(c, '{'))
      return !works(await send(c, listingBody))
    },
    'pretty-printed-body-refused': async (c) =>
      !works(await send(c, JSON.stringify(JSON.parse(listingBody), undefined, 2))),
    'empty-params-refused-with-token': async (c) => !(await accessWorks(c, await grantPair(c))),
    'method-with-escaped-slash-unknown': async (c) => !works(await send(c, listingBody.replace('/', '\\/'))),
    'every-fiftieth-call-not-found': async (c) =>
      (await inTurn(50, async () => works(await send(c, listingBody)))).includes(false),
  })
})
