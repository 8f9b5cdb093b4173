/** The short form of `npm run hostile`: attacks of each kind against the built command line; outside of a proof of four kinds. */
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { runAttack } from './hostile/attack.ts'
import { attackKinds, attacks } from './hostile/attacks.ts'
import { attacksOfOutput } from './hostile/attacks-on-commands.ts'
import { isProof, onlyInProof } from './proof-form.ts'

/** `npm run hostile` holds the limits of time. Here other tests run beside, so only a run that does not end is noticed. */
const patience = 5

/** One of every kind; secrets.test.ts has a server of its own for those of the output. */
const short = attackKinds.flatMap((kind) => (kind === attacksOfOutput ? [] : Object.keys(kind).slice(0, 1)))

/** Outside of a proof one each of files, signals, sockets and answers. */
const tried = isProof ? short : ['full-disk-of-serve', 'ctrl-c-in-silence', 'reset-in-body', 'token-with-line-feeds']
test.skipIf(!isProof)(onlyInProof('attacks of all the other kinds'), () => expect(tried).toEqual(short))

test('the suite survives attacks', async () => {
  const chosen = attacks.filter(([id]) => tried.includes(id))
  expect(chosen).toHaveLength(tried.length)
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
