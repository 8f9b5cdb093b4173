import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { line, lines, longestPrinted, printable, printableJson, printed } from './printable.ts'

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
