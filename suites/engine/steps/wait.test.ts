import { expect, test } from 'vitest'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { emptyKnowledge, type Knowledge } from '../knowledge.ts'
import { seededRandom } from '../random.ts'
import { type Seat, startRun, takeSeat } from '../seat.ts'
import { lifeTrouble, suitableLifeMs } from './wait.ts'

const corpus = { requirements: [], questions: [], cast: [], schemas: {}, scenarios: [] }

function seatKnowing(known: Partial<Knowledge>): Promise<Seat> {
  const target = madeUpTarget({ answer: () => ({ result: {} }) })
  const knowledge = { ...emptyKnowledge(), ...known }
  return takeSeat(startRun({ target, corpus, knowledge, random: seededRandom(1), unique: 'test' }))
}

test('a suitable lifetime grows with the way and with every try, and leaves half of that of a refresh token', async () => {
  const near = suitableLifeMs(await seatKnowing({}), 1)
  expect(suitableLifeMs(await seatKnowing({}), 2)).toBeGreaterThan(near)
  expect(suitableLifeMs(await seatKnowing({ roundTripMs: 700 }), 1)).toBeGreaterThan(near + 3 * 700)
  expect(suitableLifeMs(await seatKnowing({ refreshLifeMs: 4000, roundTripMs: 700 }), 1)).toBe(2000)
  expect(suitableLifeMs(await seatKnowing({ refreshLifeMs: 0 }), 1)).toBe(near)
})

test('no lifetime near that of a refresh token, or beyond, may be expected', async () => {
  const seat = await seatKnowing({ refreshLifeMs: 20_000 })
  expect(lifeTrouble(seat, 12_345)).toBeUndefined()
  expect(lifeTrouble(seat, 19_000)).toContain('about 20 s')
  expect(lifeTrouble(seat, 30_000)).toContain('about 20 s')
  expect(lifeTrouble(await seatKnowing({}), 30_000)).toBeUndefined()
})
