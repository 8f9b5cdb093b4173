import { expect, test } from 'vitest'
import { type Conversation, openConversation, type RunEvent, startRun } from '../engine/conversation/conversation.ts'
import { noFacts } from '../engine/conversation/target-facts.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { WireAnswer } from '../engine/target.ts'
import { madeUpTarget } from '../self/made-up-target.ts'
import { createEnding } from './ending.ts'
import { cleanUp, leftKeyLines, removeKeys } from './keys.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }
const keys = ['one', 'two', 'three'].map((id) => ({ id, name: `name of ${id}` }))

test('removed keys are recorded one by one', async () => {
  const target = madeUpTarget({ settings: { cleanup }, answer: () => ({ result: {} }) })
  const noted: unknown[] = []
  const listener = (event: RunEvent): void => {
    if (event.kind === 'key-noted') noted.push(event.entry)
  }
  const { left } = await cleanUp({ target, listener }, keys, createEnding())
  expect(left).toEqual([])
  expect(noted).toEqual([{ removed: 'one' }, { removed: 'two' }, { removed: 'three' }])
})

test('a clean-up method that never answers is given up at the end, and the remaining keys are known', async () => {
  const target = madeUpTarget({ settings: { cleanup }, answer: () => ({ result: {} }) })
  const ending = createEnding()
  let calls = 0
  let settle = (_answer: WireAnswer): void => {}
  const open = async () => ({
    ...(await target.open()),
    send: () => {
      calls += 1
      ending.end({ kind: 'time', cleanUpLimitMs: 10_000 })
      return new Promise<WireAnswer>((resolve) => {
        settle = resolve
      })
    },
    close: async () => settle({ kind: 'none', reason: 'closed', refusedConnection: false, stale: false }),
  })
  const { left, problems } = await cleanUp({ target: { ...target, open }, listener: () => {} }, keys, ending)
  expect(left).toEqual(keys)
  expect(problems).toEqual(['the clean-up took longer than 10 s'])
  expect(calls).toBe(1)
})

test('no connection is opened if there are no keys', async () => {
  const target = madeUpTarget({ answer: () => ({ result: {} }) })
  const open = async (): Promise<never> => {
    throw new Error('a connection')
  }
  expect(await cleanUp({ target: { ...target, open }, listener: () => {} }, [], createEnding())).toEqual({
    left: [],
    problems: [],
  })
})

test('each remaining key is listed with the call that removes it, without secrets and control characters', () => {
  const hostile = { id: "a'b\u001b[31m", name: 'n', secret: 'not-a-secret-0003' }
  const [line = ''] = leftKeyLines(
    { kept: [], notRemoved: [hostile], unanswered: [], problems: [] },
    'http://a.example',
    cleanup,
  )
  expect(line).toContain('to remove it: curl -sS http://a.example/api -u "$SVC_KEY_ID:$SVC_KEY_SECRET"')
  expect(line).toContain('"method":"manager/deleteApiKey"')
  expect(line).not.toContain('\u001b')
  expect(line).not.toContain('not-a-secret-0003')
})

test('a hundred creations without a clear answer give one line', () => {
  const unanswered = Array.from({ length: 104 }, (_, index) => `key ${index}`)
  expect(leftKeyLines({ kept: [], notRemoved: [], unanswered, problems: [] }, 'http://a.example')).toEqual([
    'perhaps 104 API keys, whose creation got no clear answer: "key 0", "key 1", "key 2", "key 3", "key 4" and 99 more',
  ])
})

async function callerWithKeys(removable: string[], refusal: { status: number; body?: unknown }): Promise<Conversation> {
  const target = madeUpTarget({
    settings: { cleanup },
    answer: ({ params }) => (removable.includes(String(params.id)) ? { result: {} } : refusal),
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  const talk = await openConversation(run)
  for (const id of ['one', 'two', 'three']) talk.createdKeys.note({ created: { id, name: id } })
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
