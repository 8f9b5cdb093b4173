/**
 * Interrupts bundled runs of the built command line at random times: each must soon end with 130.
 *
 *     npm run interrupt [-- --times 100] [--seed 1]
 */
import { seededRandom } from '../suites/engine/signer/random.ts'
import { interruptRun } from '../suites/self/printed-by.ts'
import { readArguments } from './arguments.ts'

const { values } = readArguments({
  options: { times: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
})
const random = seededRandom(Number(values.seed))
/** A bundled run takes no longer than this. In ms. */
const latestMs = 2500
let interrupted = 0
let early = 0
let longestMs = 0
for (let time = 1; time <= Number(values.times); ) {
  const afterMs = random.below(latestMs)
  const { exitCode, tookMs, printed, wasOver } = await interruptRun(afterMs)
  // It ended by itself before the signal: try another time.
  if (wasOver) {
    early += 1
    continue
  }
  time += 1
  longestMs = Math.max(longestMs, tookMs)
  if (exitCode === 130) interrupted += 1
  else console.log(`✗ after ${afterMs} ms: exit code ${exitCode}\n${printed.slice(-2000)}`)
}
console.log(
  `${interrupted} of ${values.times} interruptions ended with 130, at most ${(longestMs / 1000).toFixed(1)} s later; ${early} runs were over before`,
)
process.exitCode = interrupted === Number(values.times) ? 0 : 1
