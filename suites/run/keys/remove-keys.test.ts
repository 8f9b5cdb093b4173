import { expect, test } from 'vitest'
import { type Conversation, openConversation, startRun } from '../../engine/conversation/conversation.ts'
import { noFacts } from '../../engine/conversation/target-facts.ts'
import { seededRandom } from '../../engine/random.ts'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { removeKeys } from './remove-keys.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }

async function callerWithKeys(removable: string[], refusal: { status: number; body?: unknown }): Promise<Conversation> {
  const target = madeUpTarget({
    settings: { cleanup },
    answer: ({ params }) => (removable.includes(String(params.id)) ? { result: {} } : refusal),
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  const talk = await openConversation(run)
  for (const id of ['one', 'two', 'three']) talk.createdKeys.created({ id, name: id })
  return talk
}

test('a cleanup method that is refused is reported once, with its answer', async () => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no such method' } }
  const talk = await callerWithKeys(['two'], { status: 200, body })
  const { left, problems } = await removeKeys(talk, talk.createdKeys.keys)
  expect(left.map(({ id }) => id)).toEqual(['one', 'three'])
  expect(problems).toEqual(['manager/deleteApiKey was refused (error -32601)'])
  expect(talk.createdKeys.keys.map(({ id }) => id)).toEqual(['one', 'three'])
})

test('if every key is removed nothing is reported', async () => {
  const talk = await callerWithKeys(['one', 'two', 'three'], { status: 401 })
  expect(await removeKeys(talk, [...talk.createdKeys.keys])).toEqual({ left: [], problems: [] })
})
