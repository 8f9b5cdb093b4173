/**
 * Prints the drawing of imports in docs/architecture.md, or writes it between its markers.
 *
 *     npm run imports [-- --write]
 */
import { packageRoot } from '../suites/engine/language/package-root.ts'
import { drawImports, readImports, writeBlock } from '../suites/self/sources.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({ options: { write: { type: 'boolean', default: false } } })
const drawing = drawImports(readImports(packageRoot))
if (values.write) writeBlock('docs/architecture.md', 'imports', drawing)
else console.log(drawing)
