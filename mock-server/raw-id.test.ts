import { expect, test } from 'vitest'
import { rawId } from './encoding.ts'
import { createTestClient } from './test-client.ts'

test.each([
  ['{"id":9007199254740993}', '9007199254740993'],
  ['{"a":{"id":1},"id" : -12345678901234567890 ,"b":[{"id":2}]}', '-12345678901234567890'],
  ['{"x":"\\"id\\":3","\\u0069d":4}', '4'],
  ['{"id":1,"id":2}', '2'],
  ['{"id":"5"}', undefined],
  ['[{"id":6}]', undefined],
])('%s', (json, wanted) => {
  expect(rawId(json)).toBe(wanted)
})

test.each(['9007199254740993', '123456789012345678901234567890'])('the id %s comes back as it was sent', async (id) => {
  const client = createTestClient()
  const call = (method: string): string => `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{}}`
  const answer = async (method: string): Promise<string> => {
    const body = call(method)
    const { text } = await client.send({
      body: Buffer.from(body),
      headers: client.headersFor({ basic: client.root }, body),
    })
    return text
  }
  expect(await answer('solution/listSolutions')).toContain(`"id":${id},"result"`)
  expect(await answer('solution/nothing')).toContain(`"id":${id},"error"`)
})
