import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { cutAnswer, showExchange } from './conversation/exchange.ts'
import { showJson } from './judge/classify.ts'
import { createRedactor, redactExchange } from './redact.ts'

describe('redact fragments', () => {
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
})

describe('redact', () => {
  const secret = 'Pl4nted"Secret/With+Odd&Letters\\ü'
  const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')

  /** Any run of this many letters of the secret or of a spelling of it would be too much. */
  const leaks = (text: string, spelling: string, tooMuch = 12): boolean => {
    for (let at = 0; at + tooMuch <= spelling.length; at++)
      if (text.includes(spelling.slice(at, at + tooMuch))) return true
    return false
  }

  describe('a known secret', () => {
    const spelled: [string, string, string][] = [
      ['plain', secret, secret],
      ['upper-cased', secret.toUpperCase(), secret.toUpperCase()],
      ['JSON-escaped', JSON.stringify({ any: secret }), JSON.stringify(secret).slice(1, -1)],
      ['JSON in JSON', JSON.stringify(JSON.stringify(secret)), JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
      ['URL-encoded', `?key=${encodeURIComponent(secret)}&b=1`, encodeURIComponent(secret)],
      ['hex', Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('hex')],
      ['base64', base64(secret), base64(secret)],
      ['base64url', Buffer.from(secret).toString('base64url'), Buffer.from(secret).toString('base64url')],
      ...['a:', 'ab:', 'abc:'].map((id): [string, string, string] => [
        `base64 after ${id}`,
        base64(id + secret),
        base64(id + secret).slice(4),
      ]),
    ]
    test.each(spelled)('is shortened when %s', (_, text, spelling) => {
      expect(leaks(text, spelling), 'the text held it before').toBe(true)
      expect(leaks(createRedactor([secret]).text(`before ${text} after`), spelling)).toBe(false)
    })

    test('added later is shortened as well, every time it occurs', () => {
      const redactor = createRedactor([])
      expect(redactor.text('x token-0123456789 y')).toContain('token-0123456789')
      redactor.add('token-0123456789')
      expect(redactor.text('x token-0123456789 y token-0123456789')).toBe('x toke… y toke…')
    })

    test('too short to be one leaves ordinary words alone', () => {
      expect(createRedactor(['a', 'POST']).text('POST /api')).toBe('POST /api')
    })
  })

  describe('an unknown secret is found by its place', () => {
    const redactor = createRedactor([])
    test.each([
      ['authorization: Basic dXNlcjpwYXNzd29yZC0wMDAx', 'authorization: Basic dXNl…'],
      ['Authorization: Bearer 0123456789abcdef0123', 'Authorization: Bearer 0123…'],
      ['> authorization: 0123456789abcdef0123', '> authorization: 0123…'],
      [
        'authorization: svc-hmac-sha256 b047b047b047b047b047;1;1795154904754;tCLqKvRgaK/NpT0f;tS4e0123456789abcdefghijklmn',
        'authorization: svc-hmac-sha256 b047…;1;1795154904754;tCLqKvRgaK/NpT0f;tS4e…',
      ],
      ['set-cookie: session=0123456789abcdef', 'set-cookie: sess…'],
      ['{"accessToken":"0123456789abcdef","id":"k"}', '{"accessToken":"0123…","id":"k"}'],
      ['{"refreshToken" : "0123456789\\"abcdef","id":"k"}', '{"refreshToken" : "0123…","id":"k"}'],
      ['{"params":{"apiKeySecret":"short"}}', '{"params":{"apiKeySecret":"…"}}'],
      ['"{\\"secret\\":\\"0123456789abcdef\\"}"', '"{\\"secret\\":\\"0123…\\"}"'],
      [
        '{"k":"-----BEGIN PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIAAA\\n-----END PRIVATE KEY-----"}',
        '{"k":"-----BEGIN PRIVATE KEY-----…"}',
      ],
      ['-----BEGIN EC PRIVATE KEY-----\nMC4C\ncut off', '-----BEGIN EC PRIVATE KEY-----…'],
      [
        '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----',
        '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----',
      ],
    ])('%s', (text, safe) => {
      expect(redactor.text(text)).toBe(safe)
    })
  })

  test('an exchange keeps its lines', () => {
    const exchange = {
      request: ['POST /api', 'authorization: Bearer 0123456789abcdef', '{"id":1}'],
      answer: ['HTTP 200', '{"result":{"refreshToken":"0123456789abcdef"}}'],
    }
    expect(redactExchange(exchange, createRedactor([]))).toEqual({
      request: ['POST /api', 'authorization: Bearer 0123…', '{"id":1}'],
      answer: ['HTTP 200', '{"result":{"refreshToken":"0123…"}}'],
    })
  })
})
