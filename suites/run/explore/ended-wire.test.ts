import { expect, test } from 'vitest'
import { TargetGone } from '../../explore/explorer-types.ts'
import type { Request, Response, Wire } from '../../explore/wire.ts'
import { createEnding } from '../ending/ending.ts'
import { endedWire } from './ended-wire.ts'

const request: Request = { authorization: undefined, body: '{}', from: undefined, connection: 0 }
const answer: Response = { kind: 'answer', status: 200, retryAfter: undefined, date: undefined, body: '{}' }

function wireWith(send: () => Promise<Response>): Wire {
  return {
    url: 'http://target/api',
    send,
    now: Date.now,
    sleep: () => new Promise(() => {}),
    controlled: false,
    close: () => {},
  }
}

test('the end of a run ends the waits of the model', async () => {
  const ending = createEnding()
  const waits = endedWire(
    wireWith(async () => answer),
    ending,
  ).sleep(86_400_000)
  ending.end({ kind: 'time' })
  await expect(waits).rejects.toThrow(TargetGone)
})

test('the end of a run ends a call of the model that gets no answer', async () => {
  const ending = createEnding()
  const call = endedWire(
    wireWith(() => new Promise(() => {})),
    ending,
  ).send(request)
  ending.end({ kind: 'interrupted', during: 'run' })
  await expect(call).rejects.toThrow(TargetGone)
})

test('after the end of a run the model makes no call', async () => {
  const ending = createEnding()
  let calls = 0
  const wire = endedWire(
    wireWith(async () => {
      calls += 1
      return answer
    }),
    ending,
  )
  await expect(wire.send(request)).resolves.toEqual(answer)
  ending.end({ kind: 'time' })
  await expect(wire.send(request)).rejects.toThrow('the run was ended')
  expect(calls).toBe(1)
})
