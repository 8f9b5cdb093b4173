import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startMockServer } from '../../targets/bundled.ts'
import { openWire } from '../../targets/transport.ts'
import { cutAnswer, showExchange } from './exchange.ts'

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

test('a long body is shown by its beginning, its end, its length and its SHA-256', () => {
  const body = new TextEncoder().encode(`begin${'x'.repeat(1_000_000)}end`)
  const request = { method: 'POST', path: '/api', headers: [], body: new Uint8Array() }
  const { answer } = showExchange(request, cutAnswer({ kind: 'answer', status: 200, headers: {}, body }), undefined)
  expect(answer[1]).toMatch(/^beginx+$/)
  expect(answer[2]).toBe(`… (1000008 bytes in all, SHA-256 ${createHash('sha256').update(body).digest('hex')})`)
  expect(answer[3]).toMatch(/^x+end$/)
  expect(answer.join('').length).toBeLessThan(5000)
})
