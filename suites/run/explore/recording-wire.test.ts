import { expect, test } from 'vitest'
import { openCreatedKeys } from '../../engine/conversation/conversation.ts'
import type { Request, Response, Wire } from '../../explore/wire.ts'
import { recordingWire } from './recording-wire.ts'

const creation = (name: string): Request => ({
  authorization: undefined,
  body: JSON.stringify({ method: 'manager/createApiKey', params: { name } }),
  from: undefined,
  connection: 0,
})
const answer = (status: number, body: unknown): Response => ({
  kind: 'answer',
  status,
  retryAfter: undefined,
  date: undefined,
  body: JSON.stringify(body),
})

function wireWith(send: () => Promise<Response>): Wire {
  return { url: 'http://target/api', send, now: Date.now, sleep: async () => {}, controlled: false, close: () => {} }
}

test('a key that explore creates is recorded before the call, and with its id after it', async () => {
  const keys = openCreatedKeys()
  const wire = recordingWire(
    wireWith(async () => {
      expect(keys.unanswered).toEqual(['mine'])
      return answer(200, { result: { id: 'k1', secret: 's1' } })
    }),
    keys,
  )
  await wire.send(creation('mine'))
  expect(keys).toMatchObject({ keys: [{ id: 'k1', name: 'mine', secret: 's1' }], unanswered: [] })
})

test('a refused creation leaves no key, and an unanswered one perhaps does', async () => {
  const keys = openCreatedKeys()
  await recordingWire(
    wireWith(async () => answer(401, {})),
    keys,
  ).send(creation('refused'))
  await recordingWire(
    wireWith(async () => ({ kind: 'none', reason: 'dropped', stale: false })),
    keys,
  ).send(creation('lost'))
  expect(keys).toMatchObject({ keys: [], unanswered: ['lost'] })
})

test('a key that explore deletes is no longer recorded, unless the deletion was refused', async () => {
  const keys = openCreatedKeys()
  for (const id of ['k1', 'k2']) keys.created({ id, name: id })
  const deletion = (id: string): Request => ({
    ...creation(''),
    body: JSON.stringify({ method: 'manager/deleteApiKey', params: { id } }),
  })
  const answering = (body: unknown) =>
    recordingWire(
      wireWith(async () => answer(200, body)),
      keys,
      'manager/deleteApiKey',
    )
  await answering({ result: 'OK' }).send(deletion('k1'))
  await answering({ error: { code: 1 } }).send(deletion('k2'))
  expect(keys.keys.map(({ id }) => id)).toEqual(['k2'])
})
