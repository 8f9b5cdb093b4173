import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/fixture/package-root.ts'
import { countAll, numbersIn, numbersTable, withNumbers } from './numbers.ts'

const table = numbersTable(await countAll())
const readme = join(packageRoot, 'README.md')

test('the table of numbers can be written between markers, and read back', () => {
  const text = 'a\n<!-- numbers:begin -->\nold\n<!-- numbers:end -->\nb\n'
  expect(numbersIn(withNumbers(text, table))).toBe(table)
  expect(withNumbers(text, 'new')).toBe('a\n<!-- numbers:begin -->\nnew\n<!-- numbers:end -->\nb\n')
  expect(() => withNumbers('no markers', table)).toThrow('numbers:begin')
})

test('README.md quotes the numbers as they are; npm run numbers -- --write renews them', () => {
  expect(existsSync(readme)).toBe(true)
  expect(numbersIn(readFileSync(readme, 'utf8'))).toBe(table)
})
