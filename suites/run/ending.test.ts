import { expect, test, vi } from 'vitest'
import type { WireAnswer } from '../engine/target.ts'
import { madeUpTarget, noCorpus } from '../self/made-up-target.ts'
import { createEnding, endedTarget, openEndings } from './ending.ts'
import { runRequested } from './run.ts'

const call = { method: 'POST', path: '/api', headers: [], body: new Uint8Array() }

async function silentInstance() {
  const ending = createEnding()
  const target = madeUpTarget({ answer: () => ({ result: {} }) })
  let closed = (): void => {}
  const none = { kind: 'none', reason: 'closed', refusedConnection: false, stale: false } as const
  const silence = new Promise<WireAnswer>((resolve) => (closed = () => resolve(none)))
  let order = ''
  const send = () => silence.finally(() => (order += 'call ended, '))
  const open = async () => ({ ...(await target.open()), send, close: async () => closed() })
  const instance = await endedTarget({ ...target, open }, ending).open()
  return { ending, instance, order: () => order }
}

test('the end of a run ends a call at once, and no call is under way when the target is closed', async () => {
  const { ending, instance, order } = await silentInstance()
  const answer = instance.send(call)
  ending.end({ kind: 'time' })
  expect(await answer).toMatchObject({ kind: 'none', reason: 'the run was ended' })
  expect(order()).toBe('')
  await instance.close()
  expect(order()).toBe('call ended, ')
})

test('a call that changes the target may still get its answer for a short time', async () => {
  const { ending, instance } = await silentInstance()
  const answered = instance.send({ ...call, connection: 'fresh' })
  ending.end({ kind: 'interrupted', during: 'run' })
  await instance.close()
  expect(await answered).toMatchObject({ reason: 'closed' })
})

test('such a call gets no more time than that', async () => {
  const { ending, instance } = await silentInstance()
  const lost = instance.send({ ...call, connection: 'fresh' })
  vi.useFakeTimers()
  ending.end({ kind: 'interrupted', during: 'run' })
  await vi.advanceTimersByTimeAsync(500)
  vi.useRealTimers()
  expect(await lost).toMatchObject({ reason: 'the run was ended' })
})

test('after the end no call is made', async () => {
  const { ending, instance } = await silentInstance()
  ending.end({ kind: 'time' })
  expect((await instance.sendTogether([call, call])).map(({ kind }) => kind)).toEqual(['none', 'none'])
})

test('the first reason stays, and late listeners get it too', () => {
  const ending = createEnding()
  ending.end({ kind: 'time' })
  ending.end({ kind: 'interrupted', during: 'run' })
  const heard: string[] = []
  ending.onEnd(({ kind }) => heard.push(kind))
  expect(heard).toEqual(['time'])
})

test('a deadline shows how much time is left', () => {
  expect(createEnding().leftMs()).toBeUndefined()
  expect(createEnding(performance.timeOrigin + performance.now() + 60_000).leftMs()).toBeGreaterThan(50_000)
})

test('with a limit of time the cases end early enough for the clean-up', () => {
  const { cases, cleanUp, stop } = openEndings({ timeoutSeconds: 60, cleanUpMs: 10_000 })
  stop()
  expect((cleanUp.endsAtMs ?? 0) - (cases.endsAtMs ?? 0)).toBeCloseTo(10_000, -2)
})

test('a run that ends before its first call leaves no bundled server, which would keep the process alive', async () => {
  const servers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length
  const before = servers()
  const ending = createEnding()
  ending.end({ kind: 'time' })
  const request = { url: null, corpus: noCorpus, allow: [], items: [], seed: 1, unique: 'u' }
  await expect(runRequested(request, { ending, listener: () => {} })).rejects.toThrow('ended')
  await vi.waitFor(() => expect(servers()).toBe(before), { timeout: 600_000 })
})
