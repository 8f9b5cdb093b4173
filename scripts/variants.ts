/**
 * Every conforming variant by itself, on fresh servers and on a lasting one; with --pairs also every compatible pair.
 *
 *     npm run variants [-- --pairs]
 */
import { parseArgs } from 'node:util'
import { departuresOf } from '../suites/self/expected-departures.ts'
import { type Merged, merge, pairsOf } from '../suites/self/merge-variants.ts'
import { runVariant } from '../suites/self/variant-run.ts'
import { loadVariants } from '../suites/targets/bundled.ts'

const { values } = parseArgs({ options: { pairs: { type: 'boolean', default: false } } })
const variants = await loadVariants()
const servers: Merged[] = [
  ...variants.map((variant) => merge([variant])),
  ...(values.pairs ? pairsOf(variants).map((pair) => merge(pair)) : []),
]

let unexpected = 0
for (const server of servers) {
  for (const lasting of server.ids.length === 1 ? [false, true] : [false]) {
    const { departures, messages } = await runVariant(server, lasting)
    const name = `${server.ids.join(' + ')}${lasting ? ' (lasting)' : ''}`
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
