/**
 * Attacks the built command line with hostile servers, files and signals, and prints one line for each attack.
 *
 *     npm run hostile [-- ID…]                        only attacks whose id begins with one of these
 *     npm run hostile -- --proxy MINUTES [--seed N]   runs through a proxy that flips bytes, one after the other
 *
 * Exits with 1 when an attack succeeds.
 */

import { type Finding, flipBytes, runAttack } from '../suites/self/hostile/attack.ts'
import { attacks } from '../suites/self/hostile/attacks.ts'
import { readArguments } from './arguments.ts'

const { values, positionals: wanted } = readArguments({
  options: { proxy: { type: 'string' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
})
let made = 0
let succeeded = 0
let peakMiB = 0
let longestMs = 0
for await (const { id, about, ran, problems } of values.proxy === undefined ? named() : flipped(Number(values.proxy))) {
  made += 1
  peakMiB = Math.max(peakMiB, ran.peakMiB)
  longestMs = Math.max(longestMs, ran.durationMs)
  const figures = `exit ${ran.exitCode}, ${(ran.durationMs / 1000).toFixed(1)} s, ${ran.peakMiB} MiB`
  console.log(`${problems.length === 0 ? '✓' : '✗'} ${id.padEnd(34)}${figures.padEnd(28)}${about}`)
  for (const problem of problems) console.log(`    ${problem}`)
  if (problems.length > 0) succeeded += 1
}
console.log(
  `${made} attacks, ${succeeded} succeeded; ${peakMiB} MiB at most, ${(longestMs / 1000).toFixed(1)} s at most`,
)
process.exitCode = succeeded === 0 ? 0 : 1

type Told = Finding & { id: string; about: string }

async function* named(): AsyncGenerator<Told> {
  for (const [id, attack] of attacks)
    if (wanted.length === 0 || wanted.some((start) => id.startsWith(start)))
      yield { id, about: attack.about, ...(await runAttack(attack)) }
}

async function* flipped(minutes: number): AsyncGenerator<Told> {
  const endsAtMs = performance.now() + minutes * 60_000
  for (let seed = Number(values.seed); performance.now() < endsAtMs; seed += 1)
    yield { id: `flipped-bytes-${seed}`, about: 'bytes are flipped on the way', ...(await flipBytes({ seed })) }
}
