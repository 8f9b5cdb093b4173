import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutAnswer, showExchange } from './conversation/exchange.ts'
import { showJson } from './judge/classify.ts'
import { line, lines, printable, printableJson, printed } from './printable.ts'

import { createRedactor, redactExchange } from './redact.ts'

/** Unless another limit is given. */
const longestPrinted = 1000

/** The unit "binary" of fast-check is the same, and first makes a table of a million characters. */
const anyCharacter = fc.nat({ max: 0x10f7ff }).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800))

describe('foreign text', () => {
  test.each([
    ['an escape sequence', '\u001b[31mred', '\\u001b[31mred'],
    ['a C1 control character', 'a\u009b31m', 'a\\u009b31m'],
    ['line ends', 'a\r\nb\u2028c\u0085', 'a\\r\\nb\\u2028c\\u0085'],
    ['a tab', 'a\tb', 'a\\tb'],
    ['right-to-left marks', '\u202egnp.exe\u2066\u200f', '\\u202egnp.exe\\u2066\\u200f'],
    ['invisible characters', 'a\u200b\u200d\ufeff\u00ad\u3164\u034fb', 'a\\u200b\\u200d\\ufeff\\u00ad\\u3164\\u034fb'],
    ['tags outside the basic plane', 'a\u{e0041}', 'a\\u{e0041}'],
    ['other blanks', 'a\u00a0b\u3000c', 'a\\u00a0b\\u3000c'],
    ['half a surrogate pair', '\ud800x', '\\ud800x'],
    ['private characters', '\ue0b0', '\\ue0b0'],
    ['marks that pile up', 'a\u0301\u0301\u0301\u0301', 'a\u0301\u0301\u0301\\u0301'],
    ['a mark without a letter', '\u0301a', '\\u0301a'],
    ['a command of GitHub', '::error::x', ':\\u003aerror::x'],
    ['a command of GitHub after a blank', 'a ::set-output name=a::b', 'a :\\u003aset-output name=a::b'],
    ['an older command of GitHub', '##[error]x', '#\\u0023[error]x'],
    ['a command of Azure', 'a ##vso[task.complete]', 'a #\\u0023vso[task.complete]'],
    ['a command of TeamCity', "##teamcity[testFailed name='a']", "#\\u0023teamcity[testFailed name='a']"],
    ['a forged verdict', 'x\nVerdict: conforms (exit code 0)', 'x\\nVerdict\\u003a conforms (exit code 0)'],
  ])('%s', (_, text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  test('stays as it is where there is nothing to fear', () => {
    for (const text of ['', 'fe80::1', '::1', 'Grüße, 漢字, 👍, …–×␊', '{"a":"\\u001b"}', '# one ## two'])
      expect(printable(text)).toBe(text)
  })

  test('is cut at a stated length, however long its escapes are', () => {
    expect(printable('x'.repeat(2000))).toBe(`${'x'.repeat(longestPrinted - 19)}… (2000 characters)`)
    expect(printable('\u0000'.repeat(400)).length).toBeLessThanOrEqual(longestPrinted)
    expect(printable('\u0000'.repeat(10), 40)).toBe('\\u0000\\u0000\\u0000… (10 characters)')
    expect(printable('x'.repeat(longestPrinted))).toHaveLength(longestPrinted)
  })

  test('of 20 MB takes no time', () => {
    expect(printable('\u0000'.repeat(20_000_000))).toMatch(/… \(20000000 characters\)$/)
  })

  const piece = fc.oneof(
    fc.constantFrom('#', '##', ':', '::', 'a', 'vso[', '[', 'Verdict', ' ', '\\', 'u', '\u0301', '\n'),
    fc.string({ unit: anyCharacter, maxLength: 3 }),
  )
  const pieces = fc.array(piece, { maxLength: 30 }).map((all) => all.join(''))

  test('is on one line of visible characters, and printable text stays as it is', () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 30, max: 80 }), (text, limit) => {
        const shown = printable(text, limit)
        expect(shown).not.toMatch(/\p{C}|(?! )\p{Z}/u)
        expect(shown.length).toBeLessThanOrEqual(limit)
        expect(printable(shown, limit)).toBe(shown)
      }),
    )
  })
})

test('a line escapes what is put into it, and not our own words', () => {
  expect(line`Verdict: ${'a\nb'} of ${3}`).toBe('Verdict: a\\nb of 3')
  expect(lines([line`a`, line`b`])).toBe('a\nb\n')
})

test('JSON keeps the exact value, and no log obeys it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
      const text = printableJson(value, 2)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(text.replaceAll('\n', '')).not.toMatch(/\p{C}|(?! )\p{Z}/u)
    }),
  )
  const commands = { a: '##vso[x]', b: '\u001b\u202e\u{e0041}' }
  expect(printableJson(commands)).toBe('{"a":"#\\u0023vso[x]","b":"\\u001b\\u202e\\udb40\\udc41"}')
  expect(JSON.parse(printableJson(commands))).toEqual(commands)
})

test('every string of a value is made printable', () => {
  expect(printed({ a: ['\u0007'], b: 1, c: null, 'd\n': 'e' })).toEqual({ a: ['\\u0007'], b: 1, c: null, 'd\\n': 'e' })
})

describe('redact fragments', () => {
  const request: Parameters<typeof showExchange>[0] = { method: 'POST', path: '/api', headers: [], body: Buffer.of() }
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
      const parts = [access, refresh].flatMap((secret) => [secret.slice(0, 20), secret.slice(-20)])
      for (const text of [shown, redactor.text(showJson(access)), redactor.text(showJson({ x: refresh }))])
        for (const part of parts) expect(text).not.toContain(part)
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
    const afterId = (id: string): [string, string, string] => {
      const text = base64(id + secret)
      return [`base64 after ${id}`, text, text.slice(4)]
    }
    const spelled: [string, string, string][] = [
      ['plain', secret, secret],
      ['upper-cased', secret.toUpperCase(), secret.toUpperCase()],
      ['JSON-escaped', JSON.stringify({ any: secret }), JSON.stringify(secret).slice(1, -1)],
      ['JSON in JSON', JSON.stringify(JSON.stringify(secret)), JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
      ['URL-encoded', `?key=${encodeURIComponent(secret)}&b=1`, encodeURIComponent(secret)],
      ['hex', Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('hex')],
      ['base64', base64(secret), base64(secret)],
      ['base64url', Buffer.from(secret).toString('base64url'), Buffer.from(secret).toString('base64url')],
      ...['a:', 'ab:', 'abc:'].map(afterId),
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

  const redactor = createRedactor([])
  const publicKey = '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----'
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
    [publicKey, publicKey],
  ])('an unknown secret is found by its place: %s', (text, safe) => {
    expect(redactor.text(text)).toBe(safe)
  })
})
