/**
 * Prints the numbers of the README's table, or writes them between its markers.
 *
 *     npm run numbers [-- --write]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../suites/engine/fixture/package-root.ts'
import { withBlock } from '../suites/self/marked-block.ts'
import { countAll, numbersTable } from '../suites/self/numbers.ts'

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const table = numbersTable(await countAll())
if (values.write) {
  const file = join(packageRoot, 'README.md')
  writeFileSync(file, withBlock(readFileSync(file, 'utf8'), 'numbers', table))
} else console.log(table)
