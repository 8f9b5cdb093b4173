import { describe, expect, test } from 'vitest'
import { alterWords, base64, basicWords } from './alter.ts'

const samples = [
  '9fff45b75c225d6559de671259b44366',
  'aZ4-_xY',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
  '1111',
  'UPPER',
  'lower',
]

describe('words that spoil a secret', () => {
  test.each(Object.keys(alterWords))('%s changes every secret', (word) => {
    for (const sample of samples) expect(alterWords[word]?.(sample)).not.toBe(sample)
  })

  test('a changed character keeps the length and the ends, so that no encoding can hide it', () => {
    for (const word of ['lower-case-letter-changed', 'upper-case-letter-changed', 'digit-changed']) {
      const token = 'eyJhbGciOiJIUzI1NiJ9abcDEF0123456789'
      const altered = alterWords[word]?.(token) ?? ''
      expect(altered).toHaveLength(token.length)
      expect([...altered].filter((character, index) => character !== token[index])).toHaveLength(1)
      expect(altered.slice(-2)).toBe(token.slice(-2))
    }
  })
})

test('a JWT without its signature keeps its claims and says that it has none', () => {
  const [head = '', ...rest] = (
    alterWords['without-signature']?.('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln') ?? ''
  ).split('.')
  expect(JSON.parse(atob(head))).toEqual({ alg: 'none', typ: 'JWT' })
  expect(rest).toEqual(['eyJzdWIiOiIxIn0', ''])
})

test('invalid Basic headers', () => {
  const right = Buffer.from('id:secret').toString('base64')
  for (const word of Object.keys(basicWords)) expect(basicWords[word]?.('id', 'secret')).not.toBe(right)
  expect(Buffer.from(basicWords['without-colon']?.('id', 'secret') ?? '', 'base64').toString()).toBe('idsecret')
})

test('a secret of a megabyte can be sent', () => {
  expect(base64('x'.repeat(2 ** 20))).toHaveLength(Math.ceil(2 ** 20 / 3) * 4)
})
