import { expect, test } from 'vitest'
import type { RunEvent } from '../../engine/conversation/conversation.ts'
import type { WireAnswer } from '../../engine/target.ts'
import { madeUpCorpus } from '../../self/made-up.ts'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { createEnding } from '../ending/ending.ts'
import { cleanUp } from './clean-up.ts'
import { leftKeyLines } from './left-keys.ts'

const corpus = madeUpCorpus({ requirements: [], scenarios: [] })
const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }
const keys = ['one', 'two', 'three'].map((id) => ({ id, name: `name of ${id}` }))

test('removed keys are recorded one by one', async () => {
  const target = madeUpTarget({ settings: { cleanup }, answer: () => ({ result: {} }) })
  const noted: unknown[] = []
  const listener = (event: RunEvent): void => {
    if (event.kind === 'key-noted') noted.push(event.entry)
  }
  const { left } = await cleanUp({ target, corpus, listener }, keys, createEnding())
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
  const { left, problems } = await cleanUp({ target: { ...target, open }, corpus, listener: () => {} }, keys, ending)
  expect(left).toEqual(keys)
  expect(problems).toEqual(['the clean-up took longer than 10 s'])
  expect(calls).toBe(1)
})

test('no connection is opened if there are no keys', async () => {
  const target = madeUpTarget({ answer: () => ({ result: {} }) })
  const open = async (): Promise<never> => {
    throw new Error('a connection')
  }
  expect(await cleanUp({ target: { ...target, open }, corpus, listener: () => {} }, [], createEnding())).toEqual({
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
