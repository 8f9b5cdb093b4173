/**
 * Prints the numbers of the README's table, or writes them between its markers.
 *
 *     npm run numbers [-- --write]
 */
import { writeBlock } from '../suites/self/marked-block.ts'
import { countAll, numbersTable } from '../suites/self/numbers.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({ options: { write: { type: 'boolean', default: false } } })
const table = numbersTable(await countAll())
if (values.write) writeBlock('README.md', 'numbers', table)
else console.log(table)
