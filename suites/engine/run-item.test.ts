import { expect, test } from 'vitest'
import { madeUpTarget } from '../self/made-up-target.ts'
import { emptyKnowledge } from './knowledge.ts'
import { seededRandom } from './random.ts'
import { removeKeys } from './run-item.ts'
import { type Seat, startRun, takeSeat } from './seat.ts'

const corpus = { requirements: [], questions: [], cast: [], schemas: {}, scenarios: [] }
const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }

async function seatWithKeys(removable: string[], refusal: { status: number; body?: unknown }): Promise<Seat> {
  const target = madeUpTarget({
    settings: { cleanup },
    answer: ({ params }) => (removable.includes(String(params.id)) ? { result: {} } : refusal),
  })
  const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
  const seat = await takeSeat(run)
  for (const id of ['one', 'two', 'three']) seat.ledger.created({ id, name: id })
  return seat
}

test('a cleanup method that is refused is said once, with its answer', async () => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no such method' } }
  const seat = await seatWithKeys(['two'], { status: 200, body })
  const { left, problems } = await removeKeys(seat, seat.ledger.keys)
  expect(left.map(({ id }) => id)).toEqual(['one', 'three'])
  expect(problems).toEqual(['manager/deleteApiKey was refused (error -32601)'])
  expect(seat.ledger.keys.map(({ id }) => id)).toEqual(['one', 'three'])
})

test('where every key is removed there is nothing to say', async () => {
  const seat = await seatWithKeys(['one', 'two', 'three'], { status: 401 })
  expect(await removeKeys(seat, [...seat.ledger.keys])).toEqual({ left: [], problems: [] })
})
