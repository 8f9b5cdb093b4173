/**
 * Measures the judge of simultaneous calls: how many correct histories raise a false alarm, and how long it takes.
 *
 *     npm run histories [-- --count N]
 */
import { type Exchange, explain } from '../suites/engine/model/explain.ts'
import type { State } from '../suites/engine/model/state.ts'
import { seededRandom } from '../suites/engine/signer/random.ts'
import {
  accepted,
  afterGrants,
  at,
  correctHistory,
  listWith,
  newState,
  tokenHeader,
} from '../suites/self/made-up-calls.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({ options: { count: { type: 'string', default: '2000' } } })
const count = Number(values.count)
const random = seededRandom(1)
const newStart = (): State => afterGrants(newState(), ['a', 'b', 'c'], ['solution'])
const counts = { impossible: 0, undecided: 0, explained: 0 }
for (let round = 0; round < count; round++) {
  const start = newStart()
  const history = correctHistory(start, {
    random,
    reading: round % start.sessions.length,
    lossy: round % 2 === 0,
    calls: 14,
  })
  counts[explain(start, history).is] += 1
}
console.log(
  `${counts.impossible} alarms and ${counts.undecided} undecided in ${count} correct histories, half with lost answers`,
)

const operations = 100_000
const start = newStart()
const exchange = (index: number): Exchange => ({
  call: listWith(tokenHeader(['a', 'b', 'c'][index % 3] ?? 'a')),
  answer: accepted(),
  span: { from: at(index).from, to: at(index + 20).from },
  like: `${index % 3}`,
})
const history = Array.from({ length: operations }, (_, index) => exchange(index))
const before = process.cpuUsage()
const found = explain(start, history, operations * 2)
const { user, system } = process.cpuUsage(before)
console.log(`${operations} operations: ${found.is} in ${((user + system) / 1e6).toFixed(2)} s of CPU`)
if (counts.impossible > 0) process.exitCode = 1
