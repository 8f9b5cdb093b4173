/**
 * Prints the numbers of the README's table, or writes them between its markers.
 *
 *     npm run numbers [-- --write]
 */

import { countAll, numbersTable } from '../suites/self/numbers.ts'
import { writeBlock } from '../suites/self/sources.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({ options: { write: { type: 'boolean', default: false } } })
const table = numbersTable(await countAll())
if (values.write) writeBlock('README.md', 'numbers', table)
else console.log(table)
