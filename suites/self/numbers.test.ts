import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { blockIn, withBlock } from './marked-block.ts'
import { countAll, numbersTable } from './numbers.ts'

const table = numbersTable(await countAll())
const readme = join(packageRoot, 'README.md')

test('a block can be written between its markers and read back', () => {
  const text = 'a\n<!-- numbers:begin -->\nold\n<!-- numbers:end -->\nb\n'
  expect(blockIn(withBlock(text, 'numbers', table), 'numbers')).toBe(table)
  expect(() => withBlock('no markers', 'numbers', table)).toThrow('numbers:begin')
})

test('the numbers in README.md are up to date; npm run numbers -- --write renews them', () => {
  expect(existsSync(readme)).toBe(true)
  expect(blockIn(readFileSync(readme, 'utf8'), 'numbers')).toBe(table)
})
