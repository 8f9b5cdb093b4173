import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { cutAnswer, showExchange } from './exchange.ts'
import { showJson } from './judge/classify.ts'
import { createRedactor, redactExchange } from './redact.ts'

const request = { method: 'POST', path: '/api', headers: [], body: new Uint8Array() } satisfies Parameters<
  typeof showExchange
>[0]
const token = (length: number): string =>
  createHash('shake256', { outputLength: length }).update(String(length)).digest('base64url').slice(0, length)

test.each([500, 3000, 2_000_000])(
  'neither the beginning nor the end of a token of %i characters is shown',
  (length) => {
    const [access, refresh] = [`a${token(length)}`, `r${token(length + 1)}`]
    const redactor = createRedactor([])
    redactor.add(access)
    redactor.add(refresh)
    const echo = JSON.stringify({ error: { message: `you sent ${access}` }, more: { list: [refresh] } })
    const wire = cutAnswer({ kind: 'answer', status: 200, headers: {}, body: new TextEncoder().encode(echo) })
    const shown = redactExchange(showExchange(request, wire, undefined), redactor).answer.join('\n')
    for (const text of [shown, redactor.text(showJson(access)), redactor.text(showJson({ x: refresh }))]) {
      for (const secret of [access, refresh]) {
        expect(text).not.toContain(secret.slice(0, 20))
        expect(text).not.toContain(secret.slice(-20))
      }
    }
    expect(shown).toContain('you sent ')
  },
)

test('the id that a token begins with stays readable', () => {
  const redactor = createRedactor([])
  redactor.add(`0123456789abcdef0123456789abcdef.${token(40)}`)
  expect(redactor.text('{"id":"0123456789abcdef0123456789abcdef"}')).toBe('{"id":"0123456789abcdef0123456789abcdef"}')
})
