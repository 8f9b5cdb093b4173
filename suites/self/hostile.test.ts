/** The short form of `npm run hostile`: one attack of each kind against the built command line. */
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { flipBytes, runAttack } from './hostile/attack.ts'
import { attackKinds, attacks } from './hostile/attacks.ts'
import { attacksOfOutput } from './hostile/attacks-on-commands.ts'

const short = [
  'evil-error-message',
  'reset-in-body',
  'ctrl-c-in-silence',
  'token-with-line-feeds',
  'report-is-link-to-target',
  'secret-behind-anchor',
  'target-is-pipe',
  'full-disk-of-serve',
  'key-not-on-the-curve',
  'explore-not-http',
  'redirect-with-credentials',
  'facts-of-escapes',
  'keys-of-another-hand',
]

/** `npm run hostile` holds the limits of time. Here other tests run beside, so only a run that does not end is noticed. */
const patience = 5

test('the short form has an attack of every kind', () => {
  const left = attackKinds.filter((kind) => !short.some((id) => id in kind))
  // secrets.test.ts has a server of its own for these.
  expect(left).toEqual([attacksOfOutput])
})

test('the suite survives every attack of the short form', async () => {
  const chosen = attacks.filter(([id]) => short.includes(id))
  expect(chosen).toHaveLength(short.length)
  const found: string[] = []
  const next = chosen.values()
  const lane = async (): Promise<void> => {
    for (const [id, attack] of next) {
      const { problems } = await runAttack(attack, patience)
      for (const problem of problems) found.push(`${id}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(3, availableParallelism()) }, lane))
  expect(found).toEqual([])
})

test('attacks have unique names', () => {
  expect(new Set(attacks.map(([id]) => id)).size).toBe(attacks.length)
  expect(attacks.length).toBeGreaterThan(100)
})

test('a run through a proxy that flips bytes ends with a verdict', async () => {
  const { problems } = await flipBytes({ seed: 1, only: ['basic'] })
  expect(problems).toEqual([])
})
