/**
 * Attacks the built command line with hostile servers, files and signals, and prints one line for each attack.
 *
 *     npm run hostile [-- ID…]    only attacks whose id begins with one of these
 *
 * Exits with 1 when an attack succeeds.
 */
import { attacks } from '../suites/self/hostile/attacks.ts'
import { runAttack } from '../suites/self/hostile/run-attack.ts'

const wanted = process.argv.slice(2)
const chosen = attacks.filter(({ id }) => wanted.length === 0 || wanted.some((start) => id.startsWith(start)))
let succeeded = 0
let peakMiB = 0
let longestMs = 0
for (const attack of chosen) {
  const { ran, problems } = await runAttack(attack)
  peakMiB = Math.max(peakMiB, ran.peakMiB)
  longestMs = Math.max(longestMs, ran.durationMs)
  const figures = `exit ${ran.exitCode}, ${(ran.durationMs / 1000).toFixed(1)} s, ${ran.peakMiB} MiB`
  console.log(`${problems.length === 0 ? '✓' : '✗'} ${attack.id.padEnd(34)}${figures.padEnd(28)}${attack.about}`)
  for (const problem of problems) console.log(`    ${problem}`)
  if (problems.length > 0) succeeded += 1
}
console.log(
  `${chosen.length} attacks, ${succeeded} succeeded; ${peakMiB} MiB at most, ${(longestMs / 1000).toFixed(1)} s at most`,
)
process.exitCode = succeeded === 0 ? 0 : 1
