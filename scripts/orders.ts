/**
 * A server that keeps its state over a run must be judged the same in every order of the cases, and nothing but its defects may be named:
 * each of the defects that a deployed server had, and the first four together.
 *
 *     npm run orders [-- --times 10] [--seed 1] [DEFECT…]
 *
 * Exits with 1 when a verdict differs, or when a requirement fails that nothing broke.
 */
import { allItems } from '../suites/engine/conversation/cases.ts'
import { openCorpus } from '../suites/run/corpus-cache.ts'
import { defectSets, runInOrders } from '../suites/self/run-in-orders.ts'
import { readArguments } from './arguments.ts'

const { values, positionals: wanted } = readArguments({
  options: { times: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
})
const corpus = await openCorpus()
const seeds = Array.from({ length: Number(values.times) }, (_, index) => Number(values.seed) + index)
let isSteady = true
for (const defects of defectSets) {
  const name = defects.map(({ id }) => id).join('+')
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const begun = performance.now()
  const { problems, counts, broken } = await runInOrders({ corpus, items: allItems(corpus) }, defects, seeds)
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  const summary = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`)
  console.log(
    `${problems.length === 0 ? '✓' : '✗'} ${name}: ${seeds.length} orders in ${seconds} s, ${summary.join(', ')}`,
  )
  console.log(`    broken: ${broken.join(', ') || 'nothing'}`)
  for (const problem of problems.slice(0, 40)) console.log(`    ${problem}`)
  if (problems.length > 0) isSteady = false
}
process.exitCode = isSteady ? 0 : 1
