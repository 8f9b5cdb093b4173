import { expect, test } from 'vitest'
import { startMockServer } from '../../targets/bundled.ts'
import { openWire } from '../../targets/http.ts'
import { showExchange } from './show-exchange.ts'

test('a report shows where the reference server refused', async () => {
  const server = await startMockServer({ explain: true })
  const wire = openWire({ baseUrl: server.url, requestTimeoutMs: 5000 })
  try {
    const body = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'
    const request = {
      method: 'POST',
      path: '/api',
      headers: [
        ['content-type', 'application/json'],
        ['authorization', 'Basic bm8=='],
      ] as [string, string][],
      body: new TextEncoder().encode(body),
    }
    const { answer } = showExchange(request, await wire.send(request), undefined)
    expect(answer.find((line) => line.startsWith('x-refused-at: '))).toBeDefined()
  } finally {
    wire.close()
    await server.close()
  }
})
