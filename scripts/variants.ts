/**
 * Every conforming variant by itself, on fresh servers and on a lasting one. With words only the variants whose id begins
 * with one of them.
 *
 *     npm run variants [-- [ID…] [--concurrency 1,4,16]]
 */

import { departuresOf, runVariant } from '../suites/self/conforming-run.ts'
import { conformingServers } from '../suites/servers/table.ts'
import { lastingTarget } from '../suites/targets/bundled.ts'
import { readArguments, wrongArgument } from './arguments.ts'

const { values, positionals: words } = readArguments({
  allowPositionals: true,
  options: { concurrency: { type: 'string', default: '1' } },
})
/** How the cases run: 0, each against a fresh server; else all against one server, with this many calls at once. */
const ways = values.concurrency.split(',').map(Number)
const variants = await conformingServers('own')
const unknown = words.find((word) => !variants.some(({ id }) => id.startsWith(word)))
if (unknown !== undefined) wrongArgument(`there is no variant whose id begins with "${unknown}"`)
const servers = variants.filter(({ id }) => words.length === 0 || words.some((word) => id.startsWith(word)))

let unexpected = 0
for (const server of servers) {
  for (const atOnce of [0, ...ways]) {
    const { departures, messages } = await runVariant(server, {
      lasting: atOnce > 0 ? lastingTarget : undefined,
      concurrency: Math.max(1, atOnce),
    })
    const name = `${server.id}${atOnce > 0 ? ` (lasting, ${atOnce} at once)` : ''}`
    if (departures.join() === departuresOf([server.id]).join()) {
      console.log(`${name}: ${departures.length === 0 ? 'passed' : departures.join(', ')}`)
    } else {
      unexpected += 1
      console.log(`${name}: UNEXPECTED\n  ${messages.join('\n  ')}`)
    }
  }
}
console.log(`${servers.length} servers, ${unexpected} with unexpected cases`)
if (unexpected > 0) process.exitCode = 1
