/**
 * Every conforming variant by itself, on fresh servers and on a lasting one; with --pairs also every compatible pair.
 *
 *     npm run variants [-- --pairs] [--concurrency 1,4,16]
 */

import { departuresOf, type Merged, merge, pairsOf, runVariant } from '../suites/self/conforming-run.ts'
import { lastingTarget, loadVariants } from '../suites/targets/bundled.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: { pairs: { type: 'boolean', default: false }, concurrency: { type: 'string', default: '1' } },
})
/** How the cases run: 0, each against a fresh server; else all against one server, with this many calls at once. */
const ways = values.concurrency.split(',').map(Number)
const variants = await loadVariants()
const servers: Merged[] = [
  ...variants.map((variant) => merge([variant])),
  ...(values.pairs ? pairsOf(variants).map((pair) => merge(pair)) : []),
]

let unexpected = 0
for (const server of servers) {
  for (const atOnce of server.ids.length === 1 ? [0, ...ways] : [0]) {
    const { departures, messages } = await runVariant(server, {
      lasting: atOnce > 0 ? lastingTarget : undefined,
      concurrency: Math.max(1, atOnce),
    })
    const name = `${server.ids.join(' + ')}${atOnce > 0 ? ` (lasting, ${atOnce} at once)` : ''}`
    if (departures.join() === departuresOf(server.ids).join()) {
      console.log(`${name}: ${departures.length === 0 ? 'passed' : departures.join(', ')}`)
    } else {
      unexpected += 1
      console.log(`${name}: UNEXPECTED\n  ${messages.join('\n  ')}`)
    }
  }
}
console.log(`${servers.length} servers, ${unexpected} with unexpected cases`)
if (unexpected > 0) process.exitCode = 1
