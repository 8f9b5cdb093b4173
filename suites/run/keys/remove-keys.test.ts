import { expect, test } from 'vitest'
import { type Client, openClient, startRun } from '../../engine/case/client.ts'
import { noFacts } from '../../engine/case/target-facts.ts'
import { seededRandom } from '../../engine/random.ts'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { removeKeys } from './remove-keys.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }

async function clientWithKeys(removable: string[], refusal: { status: number; body?: unknown }): Promise<Client> {
  const target = madeUpTarget({
    settings: { cleanup },
    answer: ({ params }) => (removable.includes(String(params.id)) ? { result: {} } : refusal),
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  const client = await openClient(run)
  for (const id of ['one', 'two', 'three']) client.createdKeys.created({ id, name: id })
  return client
}

test('a cleanup method that is refused is said once, with its answer', async () => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no such method' } }
  const client = await clientWithKeys(['two'], { status: 200, body })
  const { left, problems } = await removeKeys(client, client.createdKeys.keys)
  expect(left.map(({ id }) => id)).toEqual(['one', 'three'])
  expect(problems).toEqual(['manager/deleteApiKey was refused (error -32601)'])
  expect(client.createdKeys.keys.map(({ id }) => id)).toEqual(['one', 'three'])
})

test('where every key is removed there is nothing to say', async () => {
  const client = await clientWithKeys(['one', 'two', 'three'], { status: 401 })
  expect(await removeKeys(client, [...client.createdKeys.keys])).toEqual({ left: [], problems: [] })
})
