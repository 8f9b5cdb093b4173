/** The short form of `npm run hostile`: one attack of each kind against the built command line. */
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { attacks } from './hostile/attacks.ts'
import { flipBytes } from './hostile/flip-bytes.ts'
import { runAttack } from './hostile/run-attack.ts'

const short = [
  'evil-error-message',
  'body-without-end',
  'huge-result',
  'deep-result',
  'wrong-gzip',
  'reset-in-body',
  'one-header-of-a-megabyte',
  'retry-after-a-day',
  'ctrl-c-in-silence',
  'redirect-elsewhere',
  'key-id-with-escapes',
  'token-with-line-feeds',
  'report-is-link-to-target',
  'secret-behind-anchor',
  'target-is-pipe',
  'full-disk-of-serve',
  'key-not-on-the-curve',
]

test('the suite survives every attack of the short form', { timeout: 240_000 }, async () => {
  const chosen = attacks.filter(({ id }) => short.includes(id))
  expect(chosen).toHaveLength(short.length)
  const found: string[] = []
  const next = chosen.values()
  const lane = async (): Promise<void> => {
    for (const attack of next) {
      const { problems } = await runAttack(attack)
      for (const problem of problems) found.push(`${attack.id}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(3, availableParallelism()) }, lane))
  expect(found).toEqual([])
})

test('attacks have unique names', () => {
  expect(new Set(attacks.map(({ id }) => id)).size).toBe(attacks.length)
  expect(attacks.length).toBeGreaterThan(100)
})

test('a run through a proxy that flips bytes ends with a verdict', { timeout: 240_000 }, async () => {
  const { problems } = await flipBytes({ seed: 1, only: ['basic', 'signatures/hmac'] })
  expect(problems).toEqual([])
})
