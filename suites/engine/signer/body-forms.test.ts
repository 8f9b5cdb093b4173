import { expect, test } from 'vitest'
import { cutLetterForms } from './body-forms.ts'

const readSize = 65_536

test.each([0, 1, 2, 180, 300, 451])(
  'after %i bytes of headers, a read ends within a letter of most forms',
  (headers) => {
    const isCut = Object.values(cutLetterForms).map((form) => {
      const bytes = Buffer.from(form('{"jsonrpc":"2.0","id":1}'), 'utf8')
      const next = bytes[readSize - headers] ?? 0
      return next >= 0x80 && next < 0xc0
    })
    expect(isCut.filter(Boolean)).toHaveLength(2)
  },
)
